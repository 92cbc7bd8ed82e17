//! LearnKit in a stream: a fresh memory, and a session for each recorded run.

use std::collections::HashSet;

use learnkit::config::ReplayTrust;
use learnkit::engine::{Decision, Outcome, Session, SessionOptions, View};
use learnkit::record::RunId;
use learnkit::replay::PlannedCall;
use learnkit::run::{CallDraft, ToolOutput, Verdict};
use learnkit::tool::ToolManifest;
use learnkit::{BoxError, LearnKit, Task};

use super::order::{Order, Turn};
use super::rows::{Recorded, key};
use super::score::Tally;
use super::world::{Effects, Made, Position, Truth, World, effects};
use crate::fresh::open;

/// How LearnKit is set, and what it is told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    pub(crate) trust: ReplayTrust,
    pub(crate) reports: Reports,
    /// How tools that may change something are declared.
    pub(crate) effects: Effects,
}

/// What the caller says about outcomes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Reports {
    /// Nothing: tool outcomes only.
    Nothing,
    /// The true verdict of every run, and of every replay.
    Verdicts,
    /// This share of the wrong runs and replays, afterwards.
    Failures(f64),
}

impl Reports {
    /// The share of failures that is reported afterwards; absent where verdicts are.
    pub(crate) fn failures(self) -> Option<f64> {
        match self {
            Self::Nothing => Some(0.0),
            Self::Failures(share) => Some(share),
            Self::Verdicts => None,
        }
    }
}

const fn setting(name: &'static str, trust: ReplayTrust, reports: Reports) -> Setting {
    Setting { name, trust, reports, effects: Effects::Free }
}

/// The settings of the table.
pub(crate) const SETTINGS: [Setting; 10] = [
    setting("verified", ReplayTrust::Verified, Reports::Verdicts),
    setting("careful_reported", ReplayTrust::Careful, Reports::Verdicts),
    setting("tool_outcome_reported", ReplayTrust::ToolOutcome, Reports::Verdicts),
    Setting { effects: Effects::Approved, ..setting("careful_reads", ReplayTrust::Careful, Reports::Nothing) },
    setting("careful", ReplayTrust::Careful, Reports::Nothing),
    setting("tool_outcome", ReplayTrust::ToolOutcome, Reports::Nothing),
    setting("careful_failures_50", ReplayTrust::Careful, Reports::Failures(0.5)),
    setting("careful_failures_100", ReplayTrust::Careful, Reports::Failures(1.0)),
    setting("tool_outcome_failures_50", ReplayTrust::ToolOutcome, Reports::Failures(0.5)),
    setting("tool_outcome_failures_100", ReplayTrust::ToolOutcome, Reports::Failures(1.0)),
];

impl Setting {
    /// Plays one order with a fresh memory, where a share of the runs skips it.
    pub(crate) async fn play(&self, world: &World<'_>, order: &Order, holdout: f64) -> Result<Tally, BoxError> {
        let kit = open(self.trust).await?;
        let mut stream = Stream {
            setting: self,
            world,
            tools: world.manifest(self.effects),
            kit,
            seen: HashSet::new(),
            ready: HashSet::new(),
            tally: Tally::default(),
        };
        for (place, turn) in order.turns.iter().enumerate() {
            let Some(run) = world.runs.get(turn.run) else { continue };
            let id = RunId::derived(&[&order.number.to_string(), &place.to_string()]);
            let task = Task::new(run.text.as_str());
            let session = stream.kit.session(task, SessionOptions { run_id: Some(id) })?;
            stream.turn(&session, run, turn, holdout).await?;
        }
        Ok(stream.tally)
    }
}

struct Stream<'a> {
    setting: &'a Setting,
    world: &'a World<'a>,
    tools: ToolManifest,
    kit: LearnKit,
    /// Recorded runs whose place was passed.
    seen: HashSet<usize>,
    /// Tasks of which a true success with a call was planned.
    ready: HashSet<&'a str>,
    tally: Tally,
}

/// How the decisions of a session ended.
enum End {
    Answer(String),
    /// The planner is asked, and why.
    Forward(String),
}

impl<'a> Stream<'a> {
    async fn turn(&mut self, session: &Session, run: &'a Recorded, turn: &Turn, holdout: f64) -> Result<(), BoxError> {
        let mut made = Vec::new();
        let is_held_out = turn.holdout < holdout;
        let end = if is_held_out { None } else { Some(self.decide(session, turn, &mut made).await?) };
        let right = match end {
            Some(End::Answer(answer)) => self.replayed(session, run, answer, &made).await,
            Some(End::Forward(reason)) => {
                self.count_reason(run, &reason, &made);
                self.planned(session, run, &made).await
            }
            None => self.planned(session, run, &made).await,
        };
        if let Reports::Failures(share) = self.setting.reports
            && !right
            && turn.report < share
        {
            self.kit.report_failure(session.run_id()).await?;
        }
        self.seen.insert(turn.run);
        Ok(())
    }

    /// Makes what is planned until the planner is asked or there is an answer.
    async fn decide(&mut self, session: &Session, turn: &Turn, made: &mut Vec<Made>) -> Result<End, BoxError> {
        let tools = self.tools.clone();
        let view = View { tools: Some(&tools), can_synthesize: true };
        loop {
            match session.decide(&view).await {
                Decision::Replay(calls) => {
                    for call in calls {
                        made.push(self.make(session, turn, made, call)?);
                    }
                }
                Decision::Synthesize { .. } => {
                    self.tally.synthesis_calls += 1;
                    session.synthesized("Done.");
                }
                Decision::Answer { text, .. } => return Ok(End::Answer(text)),
                Decision::Forward { reason, .. } => return Ok(End::Forward(reason)),
            }
        }
    }

    /// Makes a planned call in the recorded world. Of several recorded results the one of the run in this place
    /// is taken, then one that memory has not seen, then any.
    fn make(&mut self, session: &Session, turn: &Turn, made: &[Made], call: PlannedCall) -> Result<Made, BoxError> {
        let args = serde_json::from_str(call.arguments.raw())?;
        let rank = |run: usize| if run == turn.run { 0 } else { 1 + usize::from(self.seen.contains(&run)) };
        let recorded = self.world.result(&Position { run: turn.run, made, rank: &rank }, &call.tool, &args);
        let (entry, result) = if let Some(recorded) = recorded {
            (Made::from(recorded), outcome(recorded.ok, &recorded.result))
        } else {
            self.tally.unrecorded_calls += 1;
            let entry = Made { key: key(&call.tool, &args), ok: false, effect: false };
            (entry, Err("nobody recorded this call here".to_owned()))
        };
        let own = self.tools.annotations(&call.tool);
        let draft = CallDraft::new(call.tool, call.arguments).with_annotations(own).with_group(call.group);
        session.observe(draft, result);
        Ok(entry)
    }

    /// Ends a replay; says whether it was right.
    async fn replayed(&mut self, session: &Session, run: &Recorded, answer: String, made: &[Made]) -> bool {
        let truth = self.world.truth(&run.task, made);
        self.tally.replayed(run, truth, effects(made).next().is_some());
        let right = truth == Truth::Right;
        session.finish(&Outcome::answered(answer).with_verdict(self.verdict(right))).await;
        right
    }

    /// Goes on as recorded, without what a replay did before; says whether that was right.
    async fn planned(&mut self, session: &Session, run: &'a Recorded, made: &[Made]) -> bool {
        let spoilt = effects(made).next().is_some() && !self.world.begins_right(&run.task, made);
        self.tally.planned(run, spoilt);
        let mut done: Vec<&str> = made.iter().filter(|made| made.ok).map(|made| made.key.as_str()).collect();
        for call in &run.calls {
            if let Some(place) = done.iter().position(|key| *key == call.key()) {
                done.remove(place);
                continue;
            }
            let draft = CallDraft::new(call.tool.as_str(), call.args.clone());
            session.observe(draft.with_annotations(self.tools.annotations(&call.tool)), outcome(call.ok, &call.result));
        }
        let right = run.verdict && !spoilt;
        let outcome = Outcome { answer: run.answer.clone(), ..Outcome::default() };
        session.finish(&outcome.with_verdict(self.verdict(right))).await;
        if right && !run.calls.is_empty() {
            self.ready.insert(&run.task);
        }
        right
    }

    fn verdict(&self, right: bool) -> Option<Verdict> {
        let verdict = if right { Verdict::Success } else { Verdict::Failure };
        (self.setting.reports == Reports::Verdicts).then_some(verdict)
    }

    fn count_reason(&mut self, run: &Recorded, reason: &str, made: &[Made]) {
        if !made.is_empty() {
            self.tally.hand_overs += 1;
            self.tally.hand_overs_after_effect += u32::from(effects(made).next().is_some());
            self.tally.calls_in_vain += u32::try_from(made.len()).unwrap_or(u32::MAX);
        }
        if self.ready.contains(run.task.as_str()) {
            self.tally.refused(short(reason), &run.name);
        }
    }
}

/// A reason without what differs from record to record.
pub(crate) fn short(reason: &str) -> String {
    reason.split("; ").next().unwrap_or_default().to_owned()
}

fn outcome(ok: bool, result: &str) -> Result<ToolOutput, String> {
    if ok { Ok(ToolOutput::text(result)) } else { Err(result.to_owned()) }
}
