//! The cases: adversarial pairs of tasks, identical texts in other worlds, and right repeats.

use std::collections::{BTreeMap, HashMap};

use learnkit::BoxError;
use learnkit::tool::ToolManifest;
use serde::Deserialize;
use serde_json::Value;

use crate::random::Random;
use crate::stream::rows::{self, Call, Recorded};
use crate::tools;

const PAIRS: &[u8] = include_bytes!("../../../tests/data/adversarial_pairs.jsonl.gz");
const IDENTICAL: &[u8] = include_bytes!("../../data/identical_text_pairs.jsonl.gz");
const TELECOM: &[u8] = include_bytes!("../../data/same_text_other_world_telecom.jsonl.gz");
const TICKETS: &str = include_str!("../../data/telecom_tickets.json");
const AIRLINE: &[u8] = include_bytes!("../../data/tau_airline_runs.jsonl.gz");

/// Pairs of airline runs that both solved their task, with the same effects or none.
pub(crate) const REPEATS: [&str; 2] = [REPEATS_OF_READS, REPEATS_OF_EFFECTS];
const REPEATS_OF_READS: &str = "airline, right repeat of reads";
const REPEATS_OF_EFFECTS: &str = "airline, right repeat of effects";

/// What is taught before the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lessons {
    /// One run that worked as far as its tools say.
    Once,
    /// A second run that did the same.
    Twice,
    /// One run, reported as a success.
    Reported,
}

impl Lessons {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Twice => "twice",
            Self::Reported => "reported",
        }
    }
}

/// A run to teach.
#[derive(Debug, Clone)]
pub(crate) struct Lesson {
    pub(crate) calls: Vec<Call>,
    pub(crate) answer: Option<String>,
}

impl Lesson {
    fn of(calls: Vec<Call>) -> Self {
        Self { calls, answer: Some("Done.".to_owned()) }
    }
}

/// A task that is taught, and another one that is asked for.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) group: &'static str,
    pub(crate) id: String,
    /// The text of what is taught.
    pub(crate) taught: String,
    /// The first run, and one that did the same.
    pub(crate) lessons: [Lesson; 2],
    /// The text that is asked for.
    pub(crate) asked: String,
    /// The tools there.
    pub(crate) tools: ToolManifest,
    /// What calls give back there.
    pub(crate) there: There,
}

impl Case {
    /// Whether what was taught reads nothing before its first effect.
    pub(crate) fn is_blind(&self) -> bool {
        self.lessons[0].calls.first().is_none_or(|call| call.write != Some(false))
    }
}

/// The world in which is asked.
#[derive(Debug)]
pub(crate) struct There {
    /// By the effects before a call, and the call.
    results: HashMap<(Vec<String>, String), (bool, String)>,
    /// The effects that are right there, in order; absent where any would be wrong.
    pub(crate) right: Option<Vec<String>>,
}

impl There {
    /// A world where these runs were recorded.
    fn of<'c>(runs: impl IntoIterator<Item = &'c [Call]>, right: Option<Vec<String>>) -> Self {
        let mut results = HashMap::new();
        for calls in runs {
            let mut effects = Vec::new();
            for call in calls {
                results.entry((effects.clone(), call.key())).or_insert_with(|| (call.ok, call.result.clone()));
                if may_be_effect(call) {
                    effects.push(call.key());
                }
            }
        }
        Self { results, right }
    }

    /// What a call gives back there after these effects; absent where nobody knows.
    pub(crate) fn result(&self, effects: &[String], key: &str) -> Option<&(bool, String)> {
        self.results.get(&(effects.to_vec(), key.to_owned()))
    }
}

/// Whether a call worked and may have changed something.
fn may_be_effect(call: &Call) -> bool {
    call.ok && call.write != Some(false)
}

fn effects(calls: &[Call]) -> Vec<String> {
    calls.iter().filter(|call| may_be_effect(call)).map(Call::key).collect()
}

/// The tools of these calls; one that some call does not know as a read may have effects.
fn tools_of<'c>(calls: impl IntoIterator<Item = &'c Call>) -> ToolManifest {
    let mut read_only: BTreeMap<&str, bool> = BTreeMap::new();
    for call in calls {
        *read_only.entry(&call.tool).or_insert(true) &= call.write == Some(false);
    }
    tools::manifest(read_only.into_iter().map(|(tool, is_read)| (tool, tools::reads(is_read))))
}

/// Every case.
pub(crate) fn all() -> Result<Vec<Case>, BoxError> {
    let mut cases = pairs()?;
    cases.extend(identical()?);
    cases.extend(telecom()?);
    cases.extend(repeats()?);
    Ok(cases)
}

fn read<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Result<Vec<T>, BoxError> {
    let text = rows::text_of(bytes)?;
    text.lines().map(|line| serde_json::from_str(line).map_err(BoxError::from)).collect()
}

#[derive(Deserialize)]
struct Pair {
    id: String,
    a: Side,
    b: Side,
}

#[derive(Deserialize)]
struct Side {
    text: String,
    #[serde(default)]
    procedure: Vec<Value>,
}

/// Other words: nothing of what is there is known, so it answers as the taught world did.
fn pairs() -> Result<Vec<Case>, BoxError> {
    let case = |pair: Pair| {
        let calls: Vec<Call> = pair.a.procedure.iter().filter_map(gold_call).collect();
        Case {
            group: "pair, other text",
            id: pair.id,
            taught: pair.a.text,
            asked: pair.b.text,
            tools: tools_of(&calls),
            there: There::of([calls.as_slice()], None),
            lessons: [Lesson::of(calls.clone()), Lesson::of(calls)],
        }
    };
    Ok(read(PAIRS)?.into_iter().map(case).collect())
}

/// A gold call of any of the data sets: `[tool, args]`, `[who, tool, args]`, `{tool: args}`,
/// `{"name": tool, "args": …}` or `"tool(args)"`.
fn gold_call(gold: &Value) -> Option<Call> {
    let call = |tool: &str, args: &Value| Call {
        tool: tool.to_owned(),
        args: if args.is_object() { args.clone() } else { serde_json::json!({"arguments": args}) },
        ok: true,
        result: "ok".to_owned(),
        write: None,
    };
    match gold {
        Value::Array(parts) => match parts.as_slice() {
            [Value::String(tool), args] => Some(call(tool, args)),
            [Value::String(who), Value::String(tool), args] => Some(call(&format!("{who}.{tool}"), args)),
            _ => None,
        },
        Value::Object(object) => match (object.get("name").and_then(Value::as_str), object.iter().next()) {
            (Some(name), _) => Some(call(name, object.get("args").or(object.get("arguments"))?)),
            (None, Some((tool, args))) => Some(call(tool, args)),
            (None, None) => None,
        },
        Value::String(text) => text.split_once('(').map(|(tool, args)| call(tool, &args.into())),
        _ => None,
    }
}

#[derive(Deserialize)]
struct SameText {
    id: String,
    group: String,
    text: String,
    a: Own,
    b: Own,
}

#[derive(Deserialize)]
struct Own {
    calls: Vec<OwnCall>,
}

#[derive(Deserialize)]
struct OwnCall {
    tool: String,
    args: Value,
    #[serde(default)]
    result: Option<String>,
    #[serde(default)]
    write: Option<bool>,
}

impl From<OwnCall> for Call {
    fn from(own: OwnCall) -> Self {
        let OwnCall { tool, args, result, write } = own;
        Self { tool, args, ok: true, result: result.unwrap_or_else(|| "ok".to_owned()), write }
    }
}

/// The same words where files or tools are others. What is there is what its own right calls show.
fn identical() -> Result<Vec<Case>, BoxError> {
    let case = |pair: SameText| {
        let [a, b] = [pair.a, pair.b].map(|own| own.calls.into_iter().map(Call::from).collect::<Vec<Call>>());
        // The pairs of single calls differ in the tools at hand; the others in the files.
        let is_other_files = pair.group == "bfclmt";
        let tools = if is_other_files { tools_of(a.iter().chain(&b)) } else { tools_of(&b) };
        Case {
            group: if is_other_files { "identical text, other files" } else { "identical text, other tools" },
            id: pair.id,
            taught: pair.text.clone(),
            asked: pair.text,
            tools,
            there: There::of([b.as_slice()], Some(effects(&b))),
            lessons: [Lesson::of(a.clone()), Lesson::of(a)],
        }
    };
    Ok(read(IDENTICAL)?.into_iter().map(case).collect())
}

#[derive(Deserialize)]
struct Phone {
    id: String,
    ticket: usize,
    gold: Vec<Value>,
}

/// The same ticket on another phone. Every call works there: executed, 196 of 200 failed without a tool error.
fn telecom() -> Result<Vec<Case>, BoxError> {
    let texts: BTreeMap<String, String> = serde_json::from_str(TICKETS)?;
    let tasks: Vec<(Phone, Vec<Call>)> = read::<Phone>(TELECOM)?
        .into_iter()
        .map(|task| {
            let calls = task.gold.iter().filter_map(gold_call).collect();
            (task, calls)
        })
        .collect();
    let tools = tools_of(tasks.iter().flat_map(|(_, calls)| calls));
    let mut random = Random::of("telecom", 0);
    let mut cases = Vec::with_capacity(tasks.len());
    for (task, right) in &tasks {
        let others: Vec<&Vec<Call>> = tasks
            .iter()
            .filter(|(other, calls)| other.ticket == task.ticket && calls != right)
            .map(|(_, calls)| calls)
            .collect();
        let (Some(other), Some(text)) = (others.get(random.below(others.len())), texts.get(&task.ticket.to_string()))
        else {
            return Err(format!("telecom task {} has no other task of its ticket", task.id).into());
        };
        cases.push(Case {
            group: "telecom, same ticket",
            id: task.id.clone(),
            taught: text.clone(),
            asked: text.clone(),
            tools: tools.clone(),
            there: There::of([other.as_slice()], Some(effects(right))),
            lessons: [Lesson::of((*other).clone()), Lesson::of((*other).clone())],
        });
    }
    Ok(cases)
}

/// Two airline runs that truly solved one task and did the same; the task is asked for again.
fn repeats() -> Result<Vec<Case>, BoxError> {
    let runs = rows::read(&rows::text_of(AIRLINE)?)?;
    let tools = tools_of(runs.iter().flat_map(|run| &run.calls));
    let good: Vec<&Recorded> = runs.iter().filter(|run| run.verdict && !run.calls.is_empty()).collect();
    let mut cases = Vec::new();
    for (index, first) in good.iter().enumerate() {
        let same = |run: &&&Recorded| run.task == first.task && effects(&run.calls) == effects(&first.calls);
        for second in good.iter().skip(index + 1).filter(same) {
            let lesson = |run: &Recorded| Lesson { calls: run.calls.clone(), answer: run.answer.clone() };
            cases.push(Case {
                group: if effects(&first.calls).is_empty() { REPEATS_OF_READS } else { REPEATS_OF_EFFECTS },
                id: format!("{} and {}", first.name, second.name),
                taught: first.text.clone(),
                asked: first.text.clone(),
                tools: tools.clone(),
                there: There::of([first.calls.as_slice(), second.calls.as_slice()], Some(effects(&first.calls))),
                lessons: [lesson(first), lesson(second)],
            });
        }
    }
    Ok(cases)
}
