//! What the looks say, for people and for programs.

use comfy_table::Table;
use learnkit::ledger::Class;
use serde_json::{Value, json};

use super::design::{Design, PLANTED};
use super::{Looks, Options, SHOWN, STEP, WITHIN};
use crate::share::percent;

/// So many in a hundred have to be right within `WITHIN` runs, in the first design.
const RIGHT_PCT: f64 = 95.0;
/// So many in a hundred may be wrong at any look.
const WRONG_PCT: f64 = 5.0;

pub(crate) fn print(results: &[(&Design, Vec<Looks>)], options: Options) {
    for (design, looks) in results {
        println!("\n{}: {}", design.name, design.words);
        println!("{}", table(looks));
    }
    let held = held(results);
    println!(
        "\nmust hold: {} classifies {:.1} % right within {WITHIN} runs (at least {RIGHT_PCT}); wrong at any look, over \
         every design: {:.1} % (at most {WRONG_PCT})",
        results.first().map_or("nothing", |(design, _)| design.name),
        held.right_pct,
        held.wrong_pct
    );
    if options.json {
        println!("{}", as_json(results, &held, options));
    }
}

fn table(looks: &[Looks]) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(["PLANTED", "RUNS", "RIGHT %", "NOT YET %", "WRONG %", "EVER WRONG %"]);
    for planted in PLANTED {
        let of: Vec<&Looks> = looks.iter().filter(|looks| looks.planted == planted).collect();
        let ever = percent(of.iter().filter(|looks| looks.was_ever_wrong()).count(), of.len());
        for shares in SHOWN.iter().filter_map(|runs| Shares::of(&of, *runs)) {
            table.add_row([
                planted.to_string(),
                shares.runs.to_string(),
                format!("{:.1}", shares.right),
                format!("{:.1}", shares.not_yet),
                format!("{:.1}", shares.wrong),
                format!("{ever:.1}"),
            ]);
        }
    }
    table
}

/// What the looks after so many runs say, in percent.
struct Shares {
    runs: usize,
    right: f64,
    not_yet: f64,
    wrong: f64,
}

impl Shares {
    fn of(looks: &[&Looks], runs: usize) -> Option<Self> {
        let classes: Vec<(Class, Class)> =
            looks.iter().filter_map(|looks| Some((looks.planted, looks.at(runs)?))).collect();
        if classes.is_empty() {
            return None;
        }
        let share = |is: &dyn Fn(Class, Class) -> bool| {
            percent(classes.iter().filter(|(planted, seen)| is(*planted, *seen)).count(), classes.len())
        };
        Some(Self {
            runs,
            right: share(&|planted, seen| seen == planted),
            not_yet: share(&|_, seen| seen == Class::NotYet),
            wrong: share(&|planted, seen| seen != planted && seen != Class::NotYet),
        })
    }
}

struct Held {
    right_pct: f64,
    wrong_pct: f64,
}

fn held(results: &[(&Design, Vec<Looks>)]) -> Held {
    let first: Vec<&Looks> = results.first().into_iter().flat_map(|(_, looks)| looks).collect();
    let all: Vec<&Looks> = results.iter().flat_map(|(_, looks)| looks).collect();
    Held {
        right_pct: Shares::of(&first, WITHIN).map_or(0.0, |shares| shares.right),
        wrong_pct: percent(all.iter().filter(|looks| looks.was_ever_wrong()).count(), all.len()),
    }
}

fn as_json(results: &[(&Design, Vec<Looks>)], held: &Held, options: Options) -> Value {
    let of_design = |(design, looks): &(&Design, Vec<Looks>)| {
        let planted: Vec<Value> = PLANTED.iter().map(|planted| of_class(*planted, looks)).collect();
        json!({"name": design.name, "design": design.words, "runs": design.runs, "planted": planted})
    };
    json!({
        "seeds": options.seeds, "effect_points": 10, "holdout_rate": 0.5, "look_every_runs": STEP,
        "designs": results.iter().map(of_design).collect::<Vec<_>>(),
        "must_hold": {
            "right_within_200_runs_pct": held.right_pct, "at_least": RIGHT_PCT,
            "wrong_at_any_look_pct": held.wrong_pct, "at_most": WRONG_PCT,
            "holds": held.right_pct >= RIGHT_PCT && held.wrong_pct <= WRONG_PCT,
        },
    })
}

fn of_class(planted: Class, looks: &[Looks]) -> Value {
    let of: Vec<&Looks> = looks.iter().filter(|looks| looks.planted == planted).collect();
    let at = |shares: Shares| {
        json!({
            "runs": shares.runs, "right_pct": shares.right, "not_yet_pct": shares.not_yet, "wrong_pct": shares.wrong,
        })
    };
    json!({
        "class": planted,
        "at": SHOWN.iter().filter_map(|runs| Shares::of(&of, *runs)).map(at).collect::<Vec<_>>(),
        "wrong_at_any_look_pct": percent(of.iter().filter(|looks| looks.was_ever_wrong()).count(), of.len()),
    })
}
