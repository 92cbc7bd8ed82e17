//! Learned templates on siblings: three of them are learned as successes, the others are asked, and every call
//! that memory sends of its own accord is compared with the call that the sibling really made.

use std::collections::{BTreeMap, BTreeSet};

use learnkit::backend::ScanRequest;
use learnkit::config::{Settings, TemplateReplay};
use learnkit::engine::{Decision, Outcome, Session, SessionOptions, View};
use learnkit::record::{AgentName, RunId};
use learnkit::replay::PlannedCall;
use learnkit::run::{Arguments, CallDraft, Mode, Verdict};
use learnkit::{BoxError, LearnKit, Task};
use serde::Serialize;

use super::{Groups, Row, argument_leaves};
use crate::fresh;
use crate::random::Random;
use crate::share::percent;
use crate::tools;

/// So many siblings are learned.
const EXAMPLES: usize = 3;
/// So many draws of them are made for each tool sequence.
const DRAWS: usize = 12;

/// What was counted.
#[derive(Debug, Default, Serialize)]
pub(super) struct Figures {
    /// Draws of three siblings of one tool sequence.
    draws: usize,
    /// Of them: a template was learned.
    templates: usize,
    /// Held-out siblings that were asked.
    asked: usize,
    /// Of them: a replay began.
    attempted: usize,
    /// Of those: it went through with every call as the sibling made it.
    right: usize,
    /// Of those: it stopped and handed over.
    stopped: usize,
    /// Of those: it sent a call that differs from the sibling's.
    wrong: usize,
    /// Calls that the replays sent.
    calls: usize,
    /// Arguments of them that differ from those of the sibling.
    silent_wrong_values: usize,
    /// Replays that began as a share of what was asked.
    attempted_pct: f64,
}

/// Arguments that differ, with how often they did.
#[derive(Debug, Default)]
struct Wrong(BTreeMap<String, usize>);

/// Learns, asks and prints; every argument that was wrong is named.
pub(super) async fn run(groups: &Groups<'_>, rows: &[Row]) -> Result<Figures, BoxError> {
    let (mut figures, mut wrong, mut stops) = (Figures::default(), Wrong::default(), BTreeMap::new());
    for (shape, group) in groups.iter().filter(|(_, group)| group.len() > EXAMPLES) {
        for draw in 0..DRAWS {
            let mut group: Vec<&Row> = group.iter().map(|at| &rows[*at]).collect();
            Random::of(shape, draw).shuffle(&mut group);
            let (examples, others) = group.split_at(EXAMPLES);
            let memory = learned(examples).await?;
            figures.draws += 1;
            figures.templates += usize::from(has_template(&memory).await?);
            for other in others {
                figures.ask(&memory, other, &mut wrong, &mut stops).await?;
            }
        }
    }
    figures.attempted_pct = percent(figures.attempted, figures.asked);
    figures.report(&wrong, &stops);
    Ok(figures)
}

/// A memory that saw these succeed.
async fn learned(examples: &[&Row]) -> Result<LearnKit, BoxError> {
    let replay = TemplateReplay::Confirmed { min_distinct: TemplateReplay::LEAST };
    let memory = fresh::with(Settings { template_replay: replay, ..Settings::default() }).await?;
    let memory = memory.with_agent(AgentName::new("siblings")?);
    for (at, row) in examples.iter().enumerate() {
        let options = SessionOptions { run_id: Some(RunId::new(format!("example_{at}"))?) };
        let session = memory.session(Task::new(&row.text), options)?;
        for (call, response) in row.calls.iter().map(|call| (call, call.response.get())) {
            session.observe(draft(&call.name, Arguments::from_raw(call.args.get())), Ok(response.into()));
        }
        session.finish(&Outcome::answered("done").with_verdict(Some(Verdict::Success))).await;
    }
    Ok(memory)
}

fn draft(tool: &str, arguments: Arguments) -> CallDraft {
    CallDraft::new(tool, arguments).with_annotations(tools::reads(true))
}

async fn has_template(memory: &LearnKit) -> Result<bool, BoxError> {
    let all = ScanRequest { filter: memory.every_record(), after: None, limit: 100 };
    Ok(memory.scan(&all).await?.items.iter().any(|record| record.template().is_some()))
}

impl Figures {
    /// Asks a sibling whose world is what it recorded. It teaches nothing.
    async fn ask(
        &mut self,
        memory: &LearnKit,
        row: &Row,
        wrong: &mut Wrong,
        stops: &mut BTreeMap<String, usize>,
    ) -> Result<(), BoxError> {
        self.asked += 1;
        let session = memory.session(Task::new(&row.text), SessionOptions::default())?;
        let mut is_begun = false;
        loop {
            match session.decide(&View::default()).await {
                Decision::Replay(calls) => {
                    self.attempted += usize::from(!is_begun);
                    is_begun = true;
                    if calls.iter().map(|call| self.send(&session, row, call, wrong)).filter(|right| !right).count() > 0
                    {
                        self.wrong += 1;
                        break;
                    }
                }
                Decision::Forward { reason, .. } => {
                    self.stopped += usize::from(is_begun);
                    if is_begun {
                        *stops.entry(reason).or_default() += 1;
                    }
                    break;
                }
                Decision::Answer { .. } | Decision::Synthesize { .. } => {
                    let is_whole = session.tracker().call_count() == row.calls.len();
                    assert!(session.mode() == Mode::Replay, "only a replay answers of itself");
                    self.right += usize::from(is_whole);
                    self.wrong += usize::from(!is_whole);
                    break;
                }
            }
        }
        session.finish(&Outcome::interrupted("asked to see what it would do")).await;
        Ok(())
    }

    /// Sends a planned call to the sibling's world; whether it is the call that the sibling made.
    fn send(&mut self, session: &Session, row: &Row, planned: &PlannedCall, wrong: &mut Wrong) -> bool {
        self.calls += 1;
        let Some(real) = row.calls.get(planned.step).filter(|real| real.name == planned.tool) else {
            wrong.add(&format!("{} was not called at step {}", planned.tool, planned.step + 1));
            self.silent_wrong_values += 1;
            return false;
        };
        let differing = differing(planned.arguments.raw(), real.args.get());
        self.silent_wrong_values += differing.len();
        for words in &differing {
            wrong.add(&format!("{} {words}", planned.tool));
        }
        session.observe(draft(&planned.tool, planned.arguments.clone()), Ok(real.response.get().into()));
        differing.is_empty()
    }

    fn report(&self, wrong: &Wrong, stops: &BTreeMap<String, usize>) {
        println!("\nlearned templates, {EXAMPLES} examples, {DRAWS} draws for each tool sequence:");
        println!("{} of {} draws gave a template", self.templates, self.draws);
        println!("{} of {} held-out siblings began a replay ({:.1} %)", self.attempted, self.asked, self.attempted_pct);
        println!("  {} went through right, {} stopped, {} wrong", self.right, self.stopped, self.wrong);
        println!("  {} calls sent, {} silent wrong values", self.calls, self.silent_wrong_values);
        for (words, count) in &wrong.0 {
            println!("  wrong {count} times: {words}");
        }
        let mut stops: Vec<(&String, &usize)> = stops.iter().collect();
        stops.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (reason, count) in stops.into_iter().take(8) {
            println!("  stopped {count} times: {reason}");
        }
    }
}

impl Wrong {
    fn add(&mut self, words: &str) {
        *self.0.entry(words.to_owned()).or_default() += 1;
    }
}

/// The arguments that differ, each with what was sent and what the sibling had.
fn differing(sent: &str, real: &str) -> Vec<String> {
    let by_pointer = |arguments: &str| -> BTreeMap<String, String> {
        argument_leaves(arguments).into_iter().map(|leaf| (leaf.pointer, leaf.value.to_text())).collect()
    };
    let (sent, real) = (by_pointer(sent), by_pointer(real));
    let pointers: BTreeSet<&String> = sent.keys().chain(real.keys()).collect();
    let shown = |value: Option<&String>| value.map_or("nothing", String::as_str).to_owned();
    let differing = pointers.into_iter().filter(|pointer| sent.get(*pointer) != real.get(*pointer));
    differing
        .map(|pointer| format!("{pointer}: {} for {}", shown(sent.get(pointer)), shown(real.get(pointer))))
        .collect()
}
