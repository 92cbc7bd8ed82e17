//! What is done in the campaign: procedures that are replayed, tasks that are planned, and both in one run.

use std::sync::atomic::{AtomicUsize, Ordering};

use learnkit_core::engine::{Planner, PlannerReply, PlanningTurn, ReactOptions, SessionOptions, ToolRequest};
use learnkit_core::record::RunId;
use learnkit_core::run::ToolCall;
use learnkit_core::tool::{Tool as _, ToolAnnotations, ToolContext, ToolSet};
use learnkit_core::{BoxError, LearnKit, Result, RunReport, async_trait, run_react_agent};
use serde_json::{Value, json};

use super::service::{Acting, Files, Points};

/// Each has a task of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// A read, then two effects; the second takes its argument from the first.
    Replay,
    /// Two effects side by side between others.
    Parallel,
    /// An effect that may be repeated beside one that may not.
    Idempotent,
    /// The same call twice, both meant.
    Twice,
    /// A replay that a changed world stops after an effect; the planner makes two more.
    Mixed,
    /// A planner's run of which nothing is known.
    Planned,
    /// An agent function with calls of its own.
    Function,
}

impl Scenario {
    pub(crate) const ALL: [Self; 7] =
        [Self::Replay, Self::Parallel, Self::Idempotent, Self::Twice, Self::Mixed, Self::Planned, Self::Function];

    pub(crate) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    pub(crate) fn parse(name: &str) -> Self {
        Self::ALL.into_iter().find(|scenario| scenario.name() == name).unwrap()
    }

    fn task(self) -> String {
        format!("Bill the newest order, as in {}", self.name())
    }

    /// Whether it is learned before the campaign.
    pub(crate) fn is_known(self) -> bool {
        !matches!(self, Self::Planned | Self::Function)
    }

    /// The effects of one whole run, by tool, in any order.
    pub(crate) fn effects(self) -> Vec<&'static str> {
        let mut effects = match self {
            Self::Replay | Self::Function => vec!["charge", "mail"],
            Self::Parallel => vec!["charge", "reserve", "mail"],
            Self::Idempotent => vec!["mark", "charge", "mail"],
            Self::Twice => vec!["charge", "charge", "mail"],
            Self::Mixed => vec!["charge", "letter", "archive"],
            Self::Planned => vec!["charge", "mail", "archive"],
        };
        effects.sort_unstable();
        effects
    }

    /// What the planner asks for, one reply after the other.
    fn script(self, is_learning: bool) -> Vec<Vec<&'static str>> {
        match self {
            Self::Replay | Self::Function => vec![vec!["newest"], vec!["charge"], vec!["mail"]],
            Self::Parallel => vec![vec!["newest"], vec!["charge", "reserve"], vec!["mail"]],
            Self::Idempotent => vec![vec!["newest"], vec!["mark"], vec!["charge"], vec!["mail"]],
            Self::Twice => vec![vec!["newest"], vec!["charge"], vec!["charge"], vec!["mail"]],
            Self::Mixed if is_learning => vec![vec!["newest"], vec!["charge"], vec!["printer"], vec!["mail"]],
            Self::Mixed => vec![vec!["newest"], vec!["charge"], vec!["printer"], vec!["letter"], vec!["archive"]],
            Self::Planned => vec![vec!["newest"], vec!["charge"], vec!["mail"], vec!["archive"]],
        }
    }
}

/// One process that works on a scenario.
pub(crate) struct Work {
    pub(crate) scenario: Scenario,
    pub(crate) files: Files,
    pub(crate) points: Points,
    pub(crate) is_learning: bool,
}

impl Work {
    /// Runs the task, as a first try or as a retry: there is no difference.
    pub(crate) async fn run(&self, memory: &LearnKit, id: &RunId) -> Result<RunReport> {
        if self.scenario == Scenario::Function {
            return Box::pin(self.call_function(memory, id)).await;
        }
        let planner = Following { script: self.scenario.script(self.is_learning), asked: AtomicUsize::new(0) };
        let options = ReactOptions { run_id: Some(id.clone()), ..ReactOptions::default() };
        run_react_agent(memory, self.scenario.task(), &self.tools(), &planner, options).await
    }

    async fn call_function(&self, memory: &LearnKit, id: &RunId) -> Result<RunReport> {
        let (files, points) = (self.files.clone(), self.points.clone());
        let agent = memory.agent_learn("biller").wrap(move |run| {
            let (files, points) = (files.clone(), points.clone());
            async move {
                let mut receipt = json!("order_1001");
                for name in ["charge", "mail"] {
                    let arguments = json!({ "of": receipt });
                    // A function has no key of the run, so it makes one that tells its calls apart.
                    let key = format!("{name}1234567");
                    let acting = acting(name, ToolAnnotations::default(), &files, &points);
                    let context = ToolContext { idempotency_key: key };
                    let raw = arguments.clone().into();
                    let result: String = run
                        .call(name, arguments, async { Ok::<_, BoxError>(acting.call(&raw, &context).await?.into()) })
                        .await?;
                    receipt = serde_json::from_str::<Value>(&result)?["receipt"].clone();
                }
                Ok::<_, BoxError>("billed".to_owned())
            }
        });
        Box::pin(agent.call_with(self.scenario.task(), SessionOptions { run_id: Some(id.clone()) })).await
    }

    fn tools(&self) -> ToolSet {
        let read_only = ToolAnnotations { read_only: Some(true), ..ToolAnnotations::default() };
        let idempotent = ToolAnnotations { idempotent: Some(true), ..ToolAnnotations::default() };
        let unknown = ToolAnnotations::default();
        // Text where an object was: the world has changed since the run that was learned.
        let printer =
            if self.is_learning { json!({ "printer": "idle" }).to_string() } else { "out of paper".to_owned() };
        let mut tools = ToolSet::new()
            .with_fn("newest", read_only, |_| async { Ok(json!({ "id": "order_1001" }).into()) })
            .with_fn("printer", read_only, move |_| std::future::ready(Ok(printer.clone().into())))
            .with(acting("mark", idempotent, &self.files, &self.points));
        for name in ["charge", "reserve", "mail", "letter", "archive"] {
            tools = tools.with(acting(name, unknown, &self.files, &self.points));
        }
        tools
    }
}

fn acting(name: &'static str, annotations: ToolAnnotations, files: &Files, points: &Points) -> Acting {
    Acting { name, annotations, files: files.clone(), points: points.clone() }
}

/// A planner that starts from scratch in each process.
struct Following {
    script: Vec<Vec<&'static str>>,
    asked: AtomicUsize,
}

#[async_trait]
impl Planner for Following {
    async fn plan(&self, turn: &PlanningTurn<'_>) -> Result<PlannerReply, BoxError> {
        if turn.answer_only {
            return Ok(PlannerReply::answer("billed"));
        }
        let at = self.asked.fetch_add(1, Ordering::SeqCst);
        let Some(names) = self.script.get(at) else { return Ok(PlannerReply::answer("billed")) };
        let request = |name: &&'static str| ToolRequest::new(*name, arguments(name, &turn.history));
        Ok(PlannerReply { tool_calls: names.iter().map(request).collect(), ..PlannerReply::default() })
    }
}

/// The first effects are about the order, everything after it about the receipt of the charge.
fn arguments(tool: &str, history: &[ToolCall]) -> Value {
    let of_charge = history.iter().find(|call| call.tool == "charge" && call.status.is_ok());
    match tool {
        "newest" | "printer" => json!({}),
        "charge" | "reserve" | "mark" => json!({ "of": "order_1001" }),
        _ => {
            let result = of_charge.map_or("{}", |call| call.output.as_text());
            json!({ "of": serde_json::from_str::<Value>(result).unwrap()["receipt"] })
        }
    }
}
