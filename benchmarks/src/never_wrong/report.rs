//! The table of what was replayed, for people and for programs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use comfy_table::Table;
use learnkit::config::ReplayTrust;
use serde_json::{Value, json};

use super::cases::{Lessons, REPEATS};
use super::{Asked, Result};
use crate::share::{percent, share};
use crate::stream::play::short;

/// So many rows are listed for people; programs get all.
const LISTED: usize = 3;

/// How the cases of one group ended.
#[derive(Debug, Default)]
struct Ends {
    asked: usize,
    refused: usize,
    left: usize,
    wrong: usize,
    right: usize,
    /// Wrong though the procedure reads its world.
    wrong_seeing: usize,
}

impl Ends {
    fn add(&mut self, result: &Result) {
        self.asked += 1;
        match result.asked {
            Asked::Refused(_) => self.refused += 1,
            Asked::Left(_) => self.left += 1,
            Asked::Wrong(_) => self.wrong += 1,
            Asked::Right => self.right += 1,
        }
        self.wrong_seeing += usize::from(matches!(result.asked, Asked::Wrong(_)) && !result.blind);
    }

    fn as_json(&self) -> Value {
        json!({
            "asked": self.asked, "refused": self.refused, "left_in_time": self.left, "replayed_wrong": self.wrong,
            "replayed_wrong_though_it_reads": self.wrong_seeing, "replayed_right": self.right,
        })
    }
}

type Key = (&'static str, &'static str, &'static str);

/// Prints the tables and, for programs, the object on the last line.
pub(crate) fn print(results: &[Result], as_json: bool) {
    let ends = ends(results);
    println!("{}\n", ends_table(&ends));
    println!("why nothing, or not all, was replayed\n{}\n", reasons_table(results));
    println!("{}", wrong_rows(results));
    println!("{}", verdict(results));
    if as_json {
        println!("{}", as_object(results, &ends));
    }
}

fn ends(results: &[Result]) -> BTreeMap<Key, Ends> {
    let mut ends: BTreeMap<Key, Ends> = BTreeMap::new();
    for result in results {
        ends.entry((result.group, result.trust.as_str(), result.lessons.name())).or_default().add(result);
    }
    ends
}

fn ends_table(ends: &BTreeMap<Key, Ends>) -> Table {
    let mut table = Table::new();
    table.set_header([
        "asked for",
        "setting",
        "taught",
        "asked",
        "refused",
        "left in time",
        "wrong",
        "right",
        "right %",
    ]);
    for ((group, trust, lessons), ends) in ends {
        let counts = [ends.asked, ends.refused, ends.left, ends.wrong, ends.right].map(|count| count.to_string());
        let mut row = vec![(*group).to_owned(), (*trust).to_owned(), (*lessons).to_owned()];
        row.extend(counts);
        row.push(format!("{:.0}", percent(ends.right, ends.asked)));
        table.add_row(row);
    }
    table
}

fn reasons(results: &[Result]) -> BTreeMap<(Key, String), (usize, String)> {
    let mut reasons: BTreeMap<(Key, String), (usize, String)> = BTreeMap::new();
    for result in results {
        let (Asked::Refused(reason) | Asked::Left(reason)) = &result.asked else { continue };
        let key = (result.group, result.trust.as_str(), result.lessons.name());
        reasons.entry((key, short(reason))).or_insert_with(|| (0, result.id.clone())).0 += 1;
    }
    reasons
}

fn reasons_table(results: &[Result]) -> Table {
    let mut table = Table::new();
    table.set_header(["asked for", "setting", "taught", "count", "first", "reason"]);
    for (((group, trust, lessons), reason), (count, first)) in reasons(results) {
        table.add_row([group, trust, lessons, &count.to_string(), &first, &reason]);
    }
    table
}

/// The first rows of every group that were replayed wrongly, and how.
fn wrong_rows(results: &[Result]) -> String {
    let mut groups: BTreeMap<Key, Vec<String>> = BTreeMap::new();
    for result in results {
        let Asked::Wrong(how) = &result.asked else { continue };
        let blind = if result.blind { "its world cannot be seen" } else { "it READS its world" };
        let how: String = how.chars().take(100).collect();
        let key = (result.group, result.trust.as_str(), result.lessons.name());
        groups.entry(key).or_default().push(format!("  {}: {how} ({blind})\n", result.id));
    }
    let mut text = String::new();
    for ((group, trust, lessons), rows) in groups {
        let _ = writeln!(text, "wrong: {group}, {trust}, taught {lessons}: {} rows", rows.len());
        text.extend(rows.into_iter().take(LISTED));
    }
    text
}

fn wrong(results: &[Result], trust: ReplayTrust) -> impl Iterator<Item = &Result> {
    results.iter().filter(move |result| result.trust == trust && matches!(result.asked, Asked::Wrong(_)))
}

/// The share of right repeats that replay under careful once two planned runs were taught: of reads, of effects.
fn right_of_repeats(results: &[Result]) -> [f64; 2] {
    REPEATS.map(|group| {
        let is_confirmed = |result: &&Result| {
            result.group == group && result.trust == ReplayTrust::Careful && result.lessons == Lessons::Twice
        };
        let repeats: Vec<&Result> = results.iter().filter(is_confirmed).collect();
        share(repeats.iter().filter(|result| result.asked == Asked::Right).count(), repeats.len())
    })
}

fn verdict(results: &[Result]) -> String {
    let careful = wrong(results, ReplayTrust::Careful).count();
    let seeing = wrong(results, ReplayTrust::ToolOutcome).filter(|result| !result.blind).count();
    let [reads, effects] = right_of_repeats(results).map(|rate| 100.0 * rate);
    format!(
        "under careful: {careful} wrong replays; of right airline repeats that were planned twice replay {reads:.0} % \
         of those that read, {effects:.0} % of those with effects\n\
         under tool_outcome: {seeing} wrong replays of procedures that read their world first"
    )
}

fn as_object(results: &[Result], ends: &BTreeMap<Key, Ends>) -> Value {
    let groups = ends.iter().map(|((group, trust, lessons), ends)| {
        json!({"group": group, "setting": trust, "taught": lessons, "ends": ends.as_json()})
    });
    let rows = results.iter().filter_map(|result| match &result.asked {
        Asked::Wrong(how) => Some(json!({
            "group": result.group, "id": result.id, "setting": result.trust.as_str(), "taught": result.lessons.name(),
            "how": how, "world_cannot_be_seen": result.blind,
        })),
        _ => None,
    });
    let seeing = wrong(results, ReplayTrust::ToolOutcome).filter(|result| !result.blind).count();
    let [reads, effects] = right_of_repeats(results);
    json!({
        "groups": groups.collect::<Vec<_>>(), "wrong_rows": rows.collect::<Vec<_>>(),
        "must_hold": {
            "careful_wrong": wrong(results, ReplayTrust::Careful).count(),
            "tool_outcome_wrong_though_it_reads": seeing,
            "careful_repeats_of_reads_replayed": reads,
            "careful_repeats_of_effects_replayed": effects,
        },
    })
}
