//! The table of costs, for people and for programs.

use comfy_table::Table;
use serde_json::{Value, json};

use crate::meter::Cost;

/// One line of the result.
#[derive(Debug)]
pub(crate) struct Row {
    name: &'static str,
    n: usize,
    figure: Figure,
    /// What is aimed at, in the unit of the figure.
    bar: f64,
}

#[derive(Debug)]
enum Figure {
    /// The bar is the ratio of CPU.
    Beside { cost: Cost, floor: Cost },
    /// The bar is microseconds of CPU.
    Alone(Cost),
    /// The bar is microseconds of CPU over the floor.
    Over { cost: Cost, floor: Cost },
    /// The bar is a count of waits for the disk.
    Syncs(f64),
    /// The bar is microseconds of wall time.
    Start { cost: Cost, floor: Cost },
    /// The bar is MB of 10^6 bytes.
    Resident(f64),
}

impl Row {
    /// A cost beside what SQLite alone takes for the same.
    pub(crate) fn beside(name: &'static str, n: usize, cost: Cost, floor: Cost, bar: f64) -> Self {
        Self { name, n, figure: Figure::Beside { cost, floor }, bar }
    }

    /// A cost with a bar in microseconds of CPU.
    pub(crate) fn alone(name: &'static str, n: usize, cost: Cost, bar: f64) -> Self {
        Self { name, n, figure: Figure::Alone(cost), bar }
    }

    /// A cost over what the same takes without LearnKit, with a bar in microseconds of CPU.
    pub(crate) fn over(name: &'static str, n: usize, cost: Cost, floor: Cost, bar: f64) -> Self {
        Self { name, n, figure: Figure::Over { cost, floor }, bar }
    }

    /// Waits for the disk, with a bar in the same.
    pub(crate) fn syncs(name: &'static str, n: usize, count: f64, bar: f64) -> Self {
        Self { name, n, figure: Figure::Syncs(count), bar }
    }

    /// A start of a process beside one that does nothing, with a bar in microseconds of wall time.
    pub(crate) fn start(name: &'static str, n: usize, cost: Cost, floor: Cost, bar: f64) -> Self {
        Self { name, n, figure: Figure::Start { cost, floor }, bar }
    }

    /// The most memory that a process held, and its bar, in MB.
    pub(crate) fn resident(n: usize, peak: f64, bar: f64) -> Self {
        Self { name: "resident_memory", n, figure: Figure::Resident(peak), bar }
    }

    fn cost(&self) -> Option<Cost> {
        match self.figure {
            Figure::Beside { cost, .. }
            | Figure::Over { cost, .. }
            | Figure::Alone(cost)
            | Figure::Start { cost, .. } => Some(cost),
            Figure::Resident(_) | Figure::Syncs(_) => None,
        }
    }

    fn floor(&self) -> Option<Cost> {
        match self.figure {
            Figure::Beside { floor, .. } | Figure::Over { floor, .. } | Figure::Start { floor, .. } => Some(floor),
            Figure::Alone(_) | Figure::Resident(_) | Figure::Syncs(_) => None,
        }
    }

    fn ratio(&self) -> Option<f64> {
        Some(self.cost()?.cpu_us / self.floor()?.cpu_us)
    }

    /// The figure that the bar is for, and its unit.
    fn value(&self) -> (f64, &'static str) {
        match self.figure {
            Figure::Beside { cost, floor } => (cost.cpu_us / floor.cpu_us, "ratio"),
            Figure::Over { cost, floor } => (cost.cpu_us - floor.cpu_us, "cpu_us"),
            Figure::Syncs(count) => (count, "fsyncs"),
            Figure::Alone(cost) => (cost.cpu_us, "cpu_us"),
            Figure::Start { cost, .. } => (cost.wall_us, "wall_us"),
            Figure::Resident(peak) => (peak, "MB"),
        }
    }

    fn as_json(&self) -> Value {
        let (value, unit) = self.value();
        json!({
            "name": self.name, "n": self.n, "cpu_us": self.cost().map(|cost| cost.cpu_us),
            "wall_us": self.cost().map(|cost| cost.wall_us), "floor_cpu_us": self.floor().map(|floor| floor.cpu_us),
            "ratio": self.ratio(), "bar": self.bar, "value": value, "unit": unit, "met": value <= self.bar,
        })
    }

    fn cells(&self) -> [String; 8] {
        let number = |value: Option<f64>| value.map(|value| format!("{value:.1}")).unwrap_or_default();
        let (value, unit) = self.value();
        [
            self.name.to_owned(),
            self.n.to_string(),
            number(self.cost().map(|cost| cost.cpu_us)),
            number(self.cost().map(|cost| cost.wall_us)),
            number(self.floor().map(|floor| floor.cpu_us)),
            format!("{value:.2} {unit}"),
            self.bar.to_string(),
            if value <= self.bar { "met" } else { "missed" }.to_owned(),
        ]
    }
}

/// Prints the table and, for programs, the object on the last line.
pub(crate) fn print(rows: &[Row], as_json: bool) {
    let mut table = Table::new();
    table.set_header(["name", "n", "CPU µs", "wall µs", "floor CPU µs", "value", "bar", ""]);
    table.add_rows(rows.iter().map(Row::cells));
    println!("{table}");
    if as_json {
        println!("{}", json!({ "rows": rows.iter().map(Row::as_json).collect::<Vec<_>>() }));
    }
}
