//! Siblings: what one example of a task says about another of the same tool sequence.
//!
//! For every ordered pair of procedures with one tool sequence, the slots that one example gives are read from
//! the recorded responses of the other and compared with the arguments that it really had. Then three siblings at a
//! time are learned with templates on, and the others are replayed.

mod templates;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::sync::Arc;

use flate2::read::GzDecoder;
use learnkit::backend::Scored;
use learnkit::config::RetrievalBudget;
use learnkit::procedure::{Candidate, Distilled, Part, Procedure, Slot, Source, distil};
use learnkit::record::{AgentName, Content, Origin, Provenance, Record, RecordId, RunId, Scope, Skill, Tenant};
use learnkit::retrieve::compose;
use learnkit::run::{CallDraft, STORED_RESULT_BYTES, ToolTracker};
use learnkit::{BoxError, Json, SystemClock, Task};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::share::{percent, share};
use crate::tools;

/// The recorded procedures of ComplexFuncBench.
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/siblings_complexfuncbench.jsonl.gz");

#[derive(Debug, Deserialize)]
struct Row {
    text: String,
    shape: String,
    calls: Vec<Call>,
}

#[derive(Debug, Deserialize)]
struct Call {
    name: String,
    args: Box<RawValue>,
    /// Argument name to the call and the path that it came from.
    bind: BTreeMap<String, (usize, Vec<String>)>,
    response: Box<RawValue>,
}

/// Where the procedures of each tool sequence stand.
type Groups<'r> = BTreeMap<&'r str, Vec<usize>>;

/// The playbook of this procedure is printed.
const SHOWN_PLAYBOOK: usize = 100;

/// What was counted.
#[derive(Debug, Default, Serialize)]
struct Figures {
    procedures: usize,
    /// Leaf arguments of all procedures.
    arguments: usize,
    /// Of them: taken anew from an earlier result in a replay.
    slots: usize,
    /// Of those: labelled with one of the places that the slot reads.
    slots_at_labelled_path: usize,
    /// Of those: labelled with no binding at all.
    slots_unlabelled: usize,
    /// Labelled bindings, and how many of them became slots.
    labelled: usize,
    /// Slots read from the responses of a sibling: a value came out.
    transfers: usize,
    /// It was the argument that the sibling really had.
    transfers_right: usize,
    /// No certain value: the replay would have handed over.
    transfers_stopped: usize,
    playbook_tokens_mean: f64,
    playbook_tokens_p95: usize,
    transfer_precision_pct: f64,
    slot_coverage_pct: f64,
    /// What templates of three siblings sent for the others.
    templates: templates::Figures,
}

/// Runs the measurement; the last line is one JSON object when asked for.
pub fn run(json: bool) -> Result<(), BoxError> {
    let rows = rows(Path::new(DATA))?;
    let groups = groups(&rows);
    let mut figures = measured(&rows, &groups)?;
    figures.templates = tokio::runtime::Runtime::new()?.block_on(templates::run(&groups, &rows))?;
    if json {
        println!("{}", serde_json::to_string(&figures)?);
    }
    Ok(())
}

fn groups(rows: &[Row]) -> Groups<'_> {
    let mut groups = Groups::new();
    for (at, row) in rows.iter().enumerate() {
        groups.entry(&row.shape).or_default().push(at);
    }
    groups
}

/// What one example says of others; prints it, too.
fn measured(rows: &[Row], groups: &Groups<'_>) -> Result<Figures, BoxError> {
    let procedures: Vec<Procedure> = rows.iter().map(procedure).collect::<Result<_, _>>()?;
    let mut figures = Figures { procedures: rows.len(), ..Figures::default() };
    for (row, procedure) in rows.iter().zip(&procedures) {
        figures.add_labels(row, procedure);
    }
    let responses: Vec<Vec<Vec<learnkit::Leaf>>> = rows.iter().map(leaves).collect();
    let mut missed: BTreeMap<String, usize> = BTreeMap::new();
    for group in groups.values() {
        for (&example, &other) in group.iter().flat_map(|a| group.iter().map(move |b| (a, b))).filter(|(a, b)| a != b) {
            figures.add_transfer(&procedures[example], &rows[other], &responses[other], &mut missed);
        }
    }
    figures.add_playbooks(&procedures)?;
    figures.transfer_precision_pct = percent(figures.transfers_right, figures.transfers);
    figures.slot_coverage_pct = percent(figures.slots, figures.arguments);
    report(&figures, &missed);
    Ok(figures)
}

fn report(figures: &Figures, missed: &BTreeMap<String, usize>) {
    let f = figures;
    println!("{} procedures with {} leaf arguments", f.procedures, f.arguments);
    println!("taken anew from results: {} ({:.1} % of arguments)", f.slots, f.slot_coverage_pct);
    println!(
        "  at a labelled place {}, without a label {}; labelled bindings in all {}",
        f.slots_at_labelled_path, f.slots_unlabelled, f.labelled
    );
    println!(
        "read from a sibling: {} values, {} right ({:.2} %); {} times no certain value",
        f.transfers, f.transfers_right, f.transfer_precision_pct, f.transfers_stopped
    );
    println!(
        "playbook of one example: {:.0} tokens on average, 95 % within {}",
        f.playbook_tokens_mean, f.playbook_tokens_p95
    );
    let mut missed: Vec<(&String, &usize)> = missed.iter().collect();
    missed.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (argument, count) in missed.iter().take(12) {
        println!("  wrong {count} times: {argument}");
    }
}

fn rows(path: &Path) -> Result<Vec<Row>, BoxError> {
    let lines = BufReader::new(GzDecoder::new(std::fs::File::open(path)?)).lines();
    lines.map(|line| Ok(serde_json::from_str(&line?)?)).collect()
}

/// The procedure that LearnKit makes of a row.
fn procedure(row: &Row) -> Result<Procedure, BoxError> {
    let tracker = ToolTracker::new(Arc::new(SystemClock));
    for call in &row.calls {
        let arguments = learnkit::run::Arguments::from_raw(call.args.get());
        let draft = CallDraft::new(&call.name, arguments).with_annotations(tools::reads(true));
        tracker.begin(draft).finish(call.response.get().into(), Some(true));
    }
    let source = Source {
        task: &Task::new(&row.text),
        calls: &tracker.calls(),
        answer: None,
        run: &RunId::derived(&[&row.text]),
        stored_result_bytes: STORED_RESULT_BYTES,
        today: None,
    };
    match distil(&source) {
        Distilled::Procedure(procedure) => Ok(*procedure),
        Distilled::Nothing(_) => Err("nothing was distilled".into()),
    }
}

fn leaves(row: &Row) -> Vec<Vec<learnkit::Leaf>> {
    row.calls.iter().map(|call| Json::of_result(call.response.get()).leaves()).collect()
}

fn argument_leaves(arguments: &str) -> Vec<learnkit::Leaf> {
    Json::parse(arguments).map(|json| json.leaves()).unwrap_or_default()
}

impl Figures {
    fn add_labels(&mut self, row: &Row, procedure: &Procedure) {
        for (call, step) in row.calls.iter().zip(&procedure.steps) {
            self.arguments += argument_leaves(call.args.get()).len();
            self.slots += step.slots.len();
            self.labelled += call.bind.len();
            for slot in &step.slots {
                let label = call.bind.get(slot.argument.trim_start_matches('/'));
                match label {
                    None => self.slots_unlabelled += 1,
                    Some((from, path)) if reads(slot, *from, path) => self.slots_at_labelled_path += 1,
                    Some(_) => {}
                }
            }
        }
    }

    fn add_transfer(
        &mut self,
        example: &Procedure,
        other: &Row,
        responses: &[Vec<learnkit::Leaf>],
        missed: &mut BTreeMap<String, usize>,
    ) {
        for (step, call) in example.steps.iter().zip(&other.calls) {
            let real = argument_leaves(call.args.get());
            for slot in &step.slots {
                let Some(real) = real.iter().find(|leaf| leaf.pointer == slot.argument) else { continue };
                match value(slot, responses) {
                    None => self.transfers_stopped += 1,
                    Some(value) => {
                        self.transfers += 1;
                        if real.value.scalar_text() == Some(&value) {
                            self.transfers_right += 1;
                        } else {
                            *missed.entry(format!("{} {}", step.tool, slot.argument)).or_default() += 1;
                        }
                    }
                }
            }
        }
    }

    fn add_playbooks(&mut self, procedures: &[Procedure]) -> Result<(), BoxError> {
        let mut tokens: Vec<usize> = Vec::new();
        for (at, procedure) in procedures.iter().enumerate() {
            let origin = Origin {
                tenant: Tenant::default(),
                scope: Scope::default(),
                agent: AgentName::default(),
                provenance: Provenance::caller(),
                at: jiff::Timestamp::UNIX_EPOCH,
            };
            let content = Content::Skill(Skill::of_procedure(procedure.clone()));
            let record = Record::new(RecordId::new(format!("skill_{at}"))?, origin, content);
            let playbook = compose("another task", &[Scored { item: record, score: 1.0 }], RetrievalBudget::default());
            tokens.push(playbook.tokens);
            if at == SHOWN_PLAYBOOK {
                println!("{}\n", playbook.text);
            }
        }
        tokens.sort_unstable();
        self.playbook_tokens_p95 = tokens.get(tokens.len() * 95 / 100).copied().unwrap_or_default();
        self.playbook_tokens_mean = share(tokens.iter().sum(), tokens.len());
        Ok(())
    }
}

/// Whether a slot reads the place of a label.
fn reads(slot: &Slot, call: usize, path: &[String]) -> bool {
    let pointer = format!("/{}", path.join("/"));
    let fits = |candidate: &&Candidate| candidate.step == call && matches(&candidate.path, &pointer);
    slot.candidates().any(|candidate| fits(&candidate))
}

/// Whether a pointer lies at a pattern.
fn matches(pattern: &str, pointer: &str) -> bool {
    let (pattern, pointer): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), pointer.split('/').collect());
    pattern.len() == pointer.len() && pattern.iter().zip(&pointer).all(|(a, b)| *a == "*" || a == b)
}

/// The value that a slot takes from these responses, by the rules of a replay: one and the same from every
/// candidate.
fn value(slot: &Slot, responses: &[Vec<learnkit::Leaf>]) -> Option<String> {
    let [Part::Result { candidates }] = slot.parts.as_slice() else { return None };
    let mut values = BTreeSet::new();
    for candidate in candidates {
        let at = responses.get(candidate.step)?.iter().filter(|leaf| leaf.pattern == candidate.path);
        let at = at.filter(|leaf| candidate.position.as_ref().is_none_or(|position| *position == leaf.pointer));
        let here: BTreeSet<&str> = at.filter_map(|leaf| leaf.value.scalar_text()).collect();
        if here.len() != 1 {
            return None;
        }
        values.extend(here);
    }
    if values.len() == 1 { values.first().map(|value| (*value).to_owned()) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_example_binds_is_right_for_97_of_100_siblings_and_playbooks_are_short() {
        // A few of each tool sequence: time goes by the square of their number.
        let all = rows(Path::new(DATA)).unwrap();
        let mut taken: BTreeMap<String, usize> = BTreeMap::new();
        let mut is_taken = |row: &Row| {
            let taken = taken.entry(row.shape.clone()).or_default();
            *taken += 1;
            *taken <= 3
        };
        let rows: Vec<Row> = all.into_iter().filter(|row| is_taken(row)).collect();
        let figures = measured(&rows, &groups(&rows)).unwrap();
        assert!(figures.transfers > 100 && figures.transfer_precision_pct >= 97.0, "{figures:?}");
        assert!(figures.playbook_tokens_mean <= 150.0, "{figures:?}");
    }
}
