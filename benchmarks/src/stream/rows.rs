//! Reading recorded runs. A line of an unknown shape is refused by its number and field.

use std::io::Read as _;
use std::path::Path;

use learnkit::BoxError;
use serde_json::{Map, Value};

/// What a file of recorded runs holds, for `--help`.
pub(crate) const FORMAT: &str = "\
Rows of --runs: JSON lines, also compressed (.gz). One line is one recorded run:
  task            text or number   the task it belongs to; runs of one task start in the same world
  text            text             the task in words
  calls           list             its tool calls in order, each with
    tool            text
    args            object
    ok              true or false    whether it worked
    result          any              optional; what the tool gave back
    write           true or false    optional; whether it changes the world when it works
  planning_calls  number           how often its planner was asked
  verdict         true or false    whether it truly solved the task
  answer          true or false    whether it ended with an answer
  state_ok        true or false    optional; whether its calls alone leave the right world; else the verdict
  run             text or number   optional; a name to show
Rows of tau-bench are taken as they are: task_id, trial, reward, replay_state_ok, llm_calls, instruction,
required_outputs, messages, calls (name, args, ok, write).";

/// A recorded run.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    /// The task it belongs to.
    pub(crate) task: String,
    /// What to call it in a report.
    pub(crate) name: String,
    /// The task in words.
    pub(crate) text: String,
    /// Its tool calls.
    pub(crate) calls: Vec<Call>,
    /// How often its planner was asked.
    pub(crate) planning_calls: u32,
    /// Whether it truly solved the task.
    pub(crate) verdict: bool,
    /// Whether its calls alone leave the right world.
    pub(crate) state_ok: bool,
    /// Its answer, if it ended with one.
    pub(crate) answer: Option<String>,
}

/// A recorded tool call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    /// The tool.
    pub(crate) tool: String,
    /// The arguments, an object.
    pub(crate) args: Value,
    /// Whether it worked.
    pub(crate) ok: bool,
    /// What the tool gave back.
    pub(crate) result: String,
    /// Whether it changes the world when it works; absent where nobody says.
    pub(crate) write: Option<bool>,
}

impl Call {
    /// Equal for equal calls.
    pub(crate) fn key(&self) -> String {
        key(&self.tool, &self.args)
    }

    /// Whether it changed the world.
    pub(crate) fn is_effect(&self) -> bool {
        self.ok && self.write == Some(true)
    }
}

/// Equal for equal calls.
pub(crate) fn key(tool: &str, args: &Value) -> String {
    format!("{tool} {args}")
}

/// A line that is no recorded run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RowError {
    line: usize,
    /// Empty for the whole line.
    field: String,
    problem: String,
}

impl std::fmt::Display for RowError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { line, field, problem } = self;
        if field.is_empty() {
            write!(f, "line {line}: {problem}")
        } else {
            write!(f, "line {line}, `{field}`: {problem}")
        }
    }
}

impl std::error::Error for RowError {}

/// Reads a file of recorded runs.
pub(crate) fn read_file(path: &Path) -> Result<Vec<Recorded>, BoxError> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let rows = read(&text_of(&bytes)?)?;
    if rows.is_empty() {
        return Err(format!("{}: no recorded run; --help shows the rows", path.display()).into());
    }
    Ok(rows)
}

/// The text of a file that may be compressed.
pub(crate) fn text_of(bytes: &[u8]) -> Result<String, BoxError> {
    let mut text = String::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        flate2::read::GzDecoder::new(bytes).read_to_string(&mut text)?;
    } else {
        text.push_str(std::str::from_utf8(bytes)?);
    }
    Ok(text)
}

/// Reads recorded runs, one in a line; blank lines are passed over.
pub(crate) fn read(text: &str) -> Result<Vec<Recorded>, RowError> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(index, line)| read_line(index + 1, line)).collect()
}

fn read_line(line: usize, text: &str) -> Result<Recorded, RowError> {
    let whole = |problem: String| RowError { line, field: String::new(), problem };
    let value: Value = serde_json::from_str(text).map_err(|error| whole(format!("no JSON: {error}")))?;
    let Value::Object(object) = &value else { return Err(whole("a row must be an object".to_owned())) };
    let fields = Fields { line, path: String::new(), object };
    if object.contains_key("task_id") { tau(&fields) } else { own(&fields) }
}

fn own(row: &Fields<'_>) -> Result<Recorded, RowError> {
    row.know(&["task", "text", "calls", "planning_calls", "verdict", "answer", "state_ok", "run"])?;
    let task = row.name("task")?;
    let verdict = row.bool("verdict")?;
    let name = if row.has("run") { format!(", run {}", row.name("run")?) } else { format!(", line {}", row.line) };
    let calls = row.objects("calls")?.iter().map(own_call).collect::<Result<_, _>>()?;
    Ok(Recorded {
        name: format!("task {task}{name}"),
        task,
        text: row.text("text")?,
        calls,
        planning_calls: row.count("planning_calls")?,
        verdict,
        state_ok: if row.has("state_ok") { row.bool("state_ok")? } else { verdict },
        answer: row.bool("answer")?.then(|| "Done.".to_owned()),
    })
}

fn own_call(call: &Fields<'_>) -> Result<Call, RowError> {
    call.know(&["tool", "args", "ok", "result", "write"])?;
    let ok = call.bool("ok")?;
    let result = match call.object.get("result") {
        None => if ok { "ok" } else { "Error: failed" }.to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    let write = if call.has("write") { Some(call.bool("write")?) } else { None };
    Ok(Call { tool: call.text("tool")?, args: call.arguments()?, ok, result, write })
}

fn tau(row: &Fields<'_>) -> Result<Recorded, RowError> {
    row.know(&[
        "task_id",
        "trial",
        "reward",
        "replay_state_ok",
        "llm_calls",
        "instruction",
        "required_outputs",
        "messages",
        "calls",
    ])?;
    let messages = row.objects("messages")?;
    let results = messages.iter().filter(|message| message.object.get("role") == Some(&"tool".into()));
    let results: Vec<String> = results.map(|message| message.text("content")).collect::<Result<_, _>>()?;
    let calls = row.objects("calls")?;
    if calls.len() != results.len() {
        return Err(row.wrong("messages", format!("{} tool results for {} calls", results.len(), calls.len())));
    }
    let calls = calls.iter().zip(results).map(|(call, result)| tau_call(call, result)).collect::<Result<_, _>>()?;
    let task = row.name("task_id")?;
    Ok(Recorded {
        name: format!("task {task}, trial {}", row.name("trial")?),
        task,
        text: row.text("instruction")?,
        calls,
        planning_calls: row.count("llm_calls")?,
        verdict: row.number("reward")? >= 1.0,
        state_ok: row.bool("replay_state_ok")?,
        answer: tau_answer(&messages),
    })
}

fn tau_call(call: &Fields<'_>, result: String) -> Result<Call, RowError> {
    call.know(&["name", "args", "ok", "write"])?;
    let (ok, write) = (call.bool("ok")?, Some(call.bool("write")?));
    Ok(Call { tool: call.text("name")?, args: call.arguments()?, ok, result, write })
}

/// The last thing the agent said, unless a tool call was its last word.
fn tau_answer(messages: &[Fields<'_>]) -> Option<String> {
    let last = messages.iter().rev().find(|message| message.object.get("role") == Some(&"assistant".into()))?;
    let said = last.object.get("content").and_then(Value::as_str);
    said.filter(|said| !said.trim().is_empty() && !last.has("tool_calls")).map(str::to_owned)
}

/// The fields of one object of a line.
struct Fields<'a> {
    line: usize,
    /// Where the object is, with a dot at its end; empty for the row itself.
    path: String,
    object: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    fn wrong(&self, field: &str, problem: impl Into<String>) -> RowError {
        RowError { line: self.line, field: format!("{}{field}", self.path), problem: problem.into() }
    }

    fn has(&self, field: &str) -> bool {
        self.object.get(field).is_some_and(|value| !value.is_null())
    }

    fn know(&self, known: &[&str]) -> Result<(), RowError> {
        let strange = self.object.keys().find(|field| !known.contains(&field.as_str()));
        strange.map_or(Ok(()), |field| Err(self.wrong(field, format!("unknown; there are {}", known.join(", ")))))
    }

    fn get<T>(&self, field: &str, kind: &str, read: impl Fn(&'a Value) -> Option<T>) -> Result<T, RowError> {
        let value = self.object.get(field).ok_or_else(|| self.wrong(field, format!("missing; it must be {kind}")))?;
        read(value).ok_or_else(|| self.wrong(field, format!("it must be {kind}")))
    }

    fn text(&self, field: &str) -> Result<String, RowError> {
        self.get(field, "a text", |value| value.as_str().map(str::to_owned))
    }

    fn name(&self, field: &str) -> Result<String, RowError> {
        self.get(field, "a text or a number", |value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        })
    }

    fn bool(&self, field: &str) -> Result<bool, RowError> {
        self.get(field, "true or false", Value::as_bool)
    }

    fn number(&self, field: &str) -> Result<f64, RowError> {
        self.get(field, "a number", Value::as_f64)
    }

    fn count(&self, field: &str) -> Result<u32, RowError> {
        self.get(field, "a whole number", |value| value.as_u64().and_then(|count| u32::try_from(count).ok()))
    }

    fn arguments(&self) -> Result<Value, RowError> {
        self.get("args", "an object", |value| value.is_object().then(|| value.clone()))
    }

    fn objects(&self, field: &str) -> Result<Vec<Fields<'a>>, RowError> {
        let list = self.get(field, "a list", Value::as_array)?;
        let place = |(index, value): (usize, &'a Value)| match value {
            Value::Object(object) => {
                Ok(Fields { line: self.line, path: format!("{}{field}[{index}].", self.path), object })
            }
            _ => Err(self.wrong(&format!("{field}[{index}]"), "it must be an object")),
        };
        list.iter().enumerate().map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = r#"{"task": 1, "text": "t", "planning_calls": 3, "verdict": true, "answer": true, "calls": "#;

    fn error(calls: &str) -> String {
        read(&format!("\n{RUN}{calls}}}")).unwrap_err().to_string()
    }

    #[test]
    fn a_row_of_another_shape_is_named_by_line_and_field() {
        assert_eq!(error("7"), "line 2, `calls`: it must be a list");
        assert_eq!(error(r#"[{"tool": "a", "args": {}}]"#), "line 2, `calls[0].ok`: missing; it must be true or false");
        assert_eq!(
            error(r#"[{"tool": "a", "args": [], "ok": true}]"#),
            "line 2, `calls[0].args`: it must be an object"
        );
        let strange = error(r#"[{"tool": "a", "args": {}, "ok": true, "okay": true}]"#);
        assert_eq!(strange, "line 2, `calls[0].okay`: unknown; there are tool, args, ok, result, write");
        assert_eq!(read("[]").unwrap_err().to_string(), "line 1: a row must be an object");
        assert_eq!(read("{}").unwrap_err().to_string(), "line 1, `task`: missing; it must be a text or a number");
        assert!(read("{").unwrap_err().to_string().starts_with("line 1: no JSON: "));
    }

    #[test]
    fn results_and_state_have_defaults() {
        let row =
            format!("{RUN}{}}}", r#"[{"tool": "a", "args": {}, "ok": true}, {"tool": "a", "args": {}, "ok": false}]"#);
        let runs = read(&row).unwrap();
        let results: Vec<&str> = runs[0].calls.iter().map(|call| call.result.as_str()).collect();
        assert_eq!((results, runs[0].state_ok), (vec!["ok", "Error: failed"], true));
    }

    #[test]
    fn a_run_that_ends_with_a_call_has_no_answer() {
        let row = |last: &str| {
            format!(
                r#"{{"task_id": 1, "trial": 0, "reward": 1.0, "replay_state_ok": true, "llm_calls": 2, "instruction": "t",
                "required_outputs": [], "calls": [], "messages": [{last}]}}"#
            )
            .replace('\n', " ")
        };
        let said = row(r#"{"role": "assistant", "content": "Done"}, {"role": "user", "content": "stop"}"#);
        assert_eq!(read(&said).unwrap()[0].answer.as_deref(), Some("Done"));
        let called = row(r#"{"role": "assistant", "content": null, "tool_calls": []}"#);
        assert_eq!(read(&called).unwrap()[0].answer, None);
    }
}
