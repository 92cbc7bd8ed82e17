//! The table of costs, for people and for programs.

use comfy_table::Table;
use serde_json::{Value, json};

use crate::meter::Cost;

/// One line of the result.
#[derive(Debug)]
pub(crate) struct Row {
    name: &'static str,
    n: usize,
    cost: Cost,
    floor: Option<Cost>,
    /// The ratio that is aimed at; without a floor the microseconds of CPU.
    bar: f64,
}

impl Row {
    /// A cost beside what SQLite alone takes for the same.
    pub(crate) fn beside(name: &'static str, n: usize, cost: Cost, floor: Cost, bar: f64) -> Self {
        Self { name, n, cost, floor: Some(floor), bar }
    }

    /// A cost with a bar in microseconds of CPU.
    pub(crate) fn alone(name: &'static str, n: usize, cost: Cost, bar: f64) -> Self {
        Self { name, n, cost, floor: None, bar }
    }

    fn ratio(&self) -> Option<f64> {
        Some(self.cost.cpu_us / self.floor?.cpu_us)
    }

    fn as_json(&self) -> Value {
        json!({
            "name": self.name, "n": self.n, "cpu_us": self.cost.cpu_us, "wall_us": self.cost.wall_us,
            "floor_cpu_us": self.floor.map(|floor| floor.cpu_us), "ratio": self.ratio(), "bar": self.bar,
            "bar_is": if self.floor.is_some() { "ratio" } else { "cpu_us" },
        })
    }

    fn cells(&self) -> [String; 7] {
        let number = |value: f64| format!("{value:.1}");
        let bar = if self.floor.is_some() { format!("{:.1} ×", self.bar) } else { format!("{:.0} µs", self.bar) };
        [
            self.name.to_owned(),
            self.n.to_string(),
            number(self.cost.cpu_us),
            number(self.cost.wall_us),
            self.floor.map(|floor| number(floor.cpu_us)).unwrap_or_default(),
            self.ratio().map(|ratio| format!("{ratio:.2}")).unwrap_or_default(),
            bar,
        ]
    }
}

/// Prints the table and, for programs, the object on the last line.
pub(crate) fn print(rows: &[Row], as_json: bool) {
    let mut table = Table::new();
    table.set_header(["name", "n", "CPU µs", "wall µs", "floor CPU µs", "ratio", "bar"]);
    table.add_rows(rows.iter().map(Row::cells));
    println!("{table}");
    if as_json {
        println!("{}", json!({ "rows": rows.iter().map(Row::as_json).collect::<Vec<_>>() }));
    }
}
