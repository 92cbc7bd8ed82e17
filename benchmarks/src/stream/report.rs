//! The tables of a repeat stream, for people and for programs.

use comfy_table::Table;
use serde_json::{Map, Value, json};

use super::curve::Curve;
use super::rows::Recorded;
use super::score::{Figure, Summary};
use super::world::{World, effects, made_by};
use super::{Comparison, Measured, Reports, SETTINGS};

/// Calls saved may fall short of the oracle by so many points.
const ORACLE_POINTS: f64 = 1.0;
/// How a user gets the setting `careful_reads`.
const READS: &str = "`careful_reads` is `replay_trust = \"careful\"` where every tool that writes is declared `requires_approval` \
                     and no approval hook is given: procedures that only read replay, the others guide";
/// So many tasks with wrong replays are named for people; programs get all.
const BLAMED: usize = 12;

/// Prints the tables and, for programs, the object on the last line.
pub(crate) fn print(world: &World<'_>, measured: &Measured, as_json: bool) {
    println!("seed {}, {} orders; ranges hold 95 % of the orders", measured.seed, measured.orders);
    println!("{}", recorded_line(world));
    println!("\n{}", summaries("setting", &measured.settings));
    println!("\ngates without LearnKit, first admitted run replayed for ever\n{}", summaries("gate", &measured.gates));
    println!("\nboth curves: calls saved % / wrong per 100 runs, by share of runs that skip memory");
    println!("{}", curves(&measured.curves, &measured.gate_curves));
    println!("\nboth curves at the same calls saved: wrong per 100 runs\n{}", comparisons(&measured.comparisons));
    println!("\n{}", verdicts(measured));
    println!("\nwhose replays were wrong, by task, most first\n{}", blamed(&measured.settings));
    print_refusals(measured);
    if as_json {
        println!("{}", as_object(world, measured));
    }
}

/// How the recorded runs went; successes without a call cannot be replayed, so they are told apart.
struct Successes {
    all: usize,
    without_call: usize,
    without_effect: usize,
}

impl Successes {
    fn of(runs: &[Recorded]) -> Self {
        let successes = || runs.iter().filter(|run| run.verdict);
        Self {
            all: successes().count(),
            without_call: successes().filter(|run| run.calls.is_empty()).count(),
            without_effect: successes().filter(|run| effects(&made_by(run)).next().is_none()).count(),
        }
    }
}

fn recorded_line(world: &World<'_>) -> String {
    let successes = Successes::of(world.runs);
    format!(
        "{} recorded runs, {} successes: {} of them without a call, {} without an effect",
        world.runs.len(),
        successes.all,
        successes.without_call,
        successes.without_effect
    )
}

fn summaries(title: &str, rows: &[(&'static str, Summary)]) -> Table {
    let mut table = Table::new();
    table.set_header([
        title,
        "success",
        "calls saved %",
        "wrong per 100",
        "replays",
        "without effect",
        "wrong",
        "hand-overs",
        "after effect",
        "synthesis",
    ]);
    for (name, summary) in rows {
        let sum = &summary.sum;
        table.add_row([
            (*name).to_owned(),
            figure(&summary.success, 3),
            figure(&summary.calls_saved_pct, 1),
            figure(&summary.wrong_per_100, 1),
            sum.replays.to_string(),
            sum.replays_without_effect.to_string(),
            sum.wrong().to_string(),
            sum.hand_overs.to_string(),
            sum.hand_overs_after_effect.to_string(),
            sum.synthesis_calls.to_string(),
        ]);
    }
    table
}

fn figure(figure: &Figure, digits: usize) -> String {
    let [low, high] = figure.range95;
    format!("{:.digits$} ({low:.digits$}–{high:.digits$})", figure.mean)
}

fn curves(learnkit: &[Curve], gates: &[Curve]) -> Table {
    let mut table = Table::new();
    table.set_header(["curve of", "", "points"]);
    let all = learnkit.iter().map(|curve| ("LearnKit", curve)).chain(gates.iter().map(|curve| ("gate", curve)));
    for (whose, curve) in all {
        let points = curve.points().iter().rev();
        let points = points.map(|point| format!("{:.2}: {:.1}/{:.1}", point.holdout, point.saved, point.wrong));
        table.add_row([whose.to_owned(), curve.name.to_owned(), points.collect::<Vec<_>>().join("  ")]);
    }
    table
}

fn comparisons(comparisons: &[Comparison]) -> Table {
    let mut table = Table::new();
    table.set_header(["LearnKit", "gate", "calls saved %", "wrong LearnKit", "wrong gate", "LearnKit has fewer"]);
    for comparison in comparisons {
        table.add_row([
            comparison.setting.to_owned(),
            comparison.gate.to_owned(),
            format!("{:.1}", comparison.saved),
            format!("{:.2}", comparison.learnkit_wrong),
            format!("{:.2}", comparison.gate_wrong),
            ending(comparison),
        ]);
    }
    table
}

fn ending(comparison: &Comparison) -> String {
    if comparison.is_clean() {
        return "both none".to_owned();
    }
    let less = comparison.gate_wrong - comparison.learnkit_wrong;
    if comparison.is_fewer() { format!("yes, by {less:.2}") } else { format!("NO, loses by {:.2}", -less) }
}

/// What has to hold.
struct Held {
    /// Wrong replays where true verdicts are reported and needed.
    wrong: u32,
    /// Points that these settings save less than the oracle.
    behind_oracle: f64,
    careful_behind_oracle: f64,
    /// Of the settings that know tool outcomes only: the gates that each does not beat.
    losses: Vec<(&'static str, Vec<&'static str>)>,
}

impl Held {
    fn of(measured: &Measured) -> Self {
        let find = |name| measured.settings.iter().find(|(own, _)| *own == name).map(|(_, summary)| summary);
        let saved = |name| find(name).map_or(0.0, |summary| summary.calls_saved_pct.mean);
        let unbeaten = |setting: &str| -> Vec<&'static str> {
            let own = measured.comparisons.iter().filter(|comparison| comparison.setting == setting);
            own.filter(|comparison| !comparison.is_fewer()).map(|comparison| comparison.gate).collect()
        };
        let told_nothing = SETTINGS.iter().filter(|setting| setting.reports == Reports::Nothing);
        Self {
            wrong: find("verified").map_or(u32::MAX, |summary| summary.sum.wrong()),
            behind_oracle: saved("oracle") - saved("verified"),
            careful_behind_oracle: saved("oracle") - saved("careful_reported"),
            losses: told_nothing.map(|setting| (setting.name, unbeaten(setting.name))).collect(),
        }
    }

    /// The settings that beat every gate.
    fn winners(&self) -> Vec<&'static str> {
        self.losses.iter().filter(|(_, gates)| gates.is_empty()).map(|(setting, _)| *setting).collect()
    }

    fn as_json(&self) -> Value {
        let losses: Map<String, Value> =
            self.losses.iter().map(|(setting, gates)| ((*setting).to_owned(), json!(gates))).collect();
        json!({
            "verified_wrong": self.wrong, "verified_points_behind_oracle": self.behind_oracle,
            "verified_holds": self.wrong == 0 && self.behind_oracle <= ORACLE_POINTS,
            "careful_reported_points_behind_oracle": self.careful_behind_oracle,
            "beat_every_gate": self.winners(), "gates_not_beaten": losses,
        })
    }
}

fn verdicts(measured: &Measured) -> String {
    let held = Held::of(measured);
    let yes = |holds: bool| if holds { "yes" } else { "NO" };
    let winners = held.winners();
    let winners = if winners.is_empty() { "none".to_owned() } else { winners.join(", ") };
    let losses = held.losses.iter().filter(|(_, gates)| !gates.is_empty());
    let losses: Vec<String> = losses.map(|(setting, gates)| format!("\n  {setting}: {}", gates.join(", "))).collect();
    format!(
        "true verdicts reported: {} wrong ({}), {:.2} points behind the oracle ({}); careful with the same reports: {:.2} points\n\
         tool outcomes only, fewer wrong replays than every gate at the same calls saved: {winners}\n\
         {READS}\n\
         gates that a setting does not beat:{}",
        held.wrong,
        yes(held.wrong == 0),
        held.behind_oracle,
        yes(held.behind_oracle <= ORACLE_POINTS),
        held.careful_behind_oracle,
        losses.concat(),
    )
}

/// The tasks behind the wrong replays of each setting.
fn blamed(settings: &[(&'static str, Summary)]) -> Table {
    let mut table = Table::new();
    table.set_header(["setting", "task: wrong replays over all orders"]);
    for (name, summary) in settings.iter().filter(|(_, summary)| summary.sum.wrong() > 0) {
        let mut tasks: Vec<_> = summary.sum.wrong_of_task.iter().collect();
        tasks.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let most: Vec<String> = tasks.iter().take(BLAMED).map(|(task, count)| format!("{task}: {count}")).collect();
        table.add_row([(*name).to_owned(), format!("{} (of {} tasks)", most.join(", "), tasks.len())]);
    }
    table
}

fn print_refusals(measured: &Measured) {
    for (name, summary) in measured.settings.iter().filter(|(_, summary)| !summary.sum.refusals.is_empty()) {
        let mut table = Table::new();
        table.set_header(["count", "first", "reason"]);
        for (reason, refusal) in &summary.sum.refusals {
            table.add_row([refusal.count.to_string(), refusal.example.clone(), reason.clone()]);
        }
        println!("\n{name}: planned although a true success with a call was learned before\n{table}");
    }
}

fn as_object(world: &World<'_>, measured: &Measured) -> Value {
    let successes = Successes::of(world.runs);
    let object = |rows: &[(&'static str, Summary)]| -> Map<String, Value> {
        rows.iter().map(|(name, summary)| ((*name).to_owned(), summary.as_json())).collect()
    };
    let curves = measured.curves.iter().chain(&measured.gate_curves);
    let curves: Map<String, Value> = curves.map(|curve| (curve.name.to_owned(), curve.as_json())).collect();
    let refusals = |summary: &Summary| -> Value {
        let each = summary.sum.refusals.iter();
        let each =
            each.map(|(reason, refusal)| json!({"reason": reason, "count": refusal.count, "first": refusal.example}));
        each.collect()
    };
    let refusals: Map<String, Value> =
        measured.settings.iter().map(|(name, summary)| ((*name).to_owned(), refusals(summary))).collect();
    json!({
        "seed": measured.seed, "orders": measured.orders, "runs": world.runs.len(), "successes": successes.all,
        "successes_without_call": successes.without_call, "successes_without_effect": successes.without_effect,
        "settings": object(&measured.settings), "gates": object(&measured.gates), "curves": curves,
        "comparisons": measured.comparisons.iter().map(Comparison::as_json).collect::<Vec<_>>(),
        "must_hold": Held::of(measured).as_json(), "refusals": refusals,
    })
}
