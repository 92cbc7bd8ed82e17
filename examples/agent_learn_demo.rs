//! One task four ways: cold, repeated, as a sibling, and with a tool that fails in mid-replay.
//!
//! Offline, no key, embedded SQLite. `cargo run --example agent_learn_demo` prints a table;
//! `-- --json` prints one object as the last line.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use comfy_table::{ContentArrangement, Table};
use learnkit::engine::{Planner, PlannerReply, PlanningTurn, ReactOptions};
use learnkit::run::{Arguments, ToolOutput};
use learnkit::tool::{ToolAnnotations, ToolSet};
use learnkit::{BoxError, LearnKit, RunReport, async_trait, run_react_agent};
use serde_json::{Value, json};

const TASK: &str = "Build an active-user csv report";
const SIBLING: &str = "Build an active-user json report";

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let as_json = std::env::args().any(|argument| argument == "--json");
    let runs = four_runs().await?;
    if as_json {
        let object: serde_json::Map<String, Value> =
            runs.iter().map(|run| Ok((run.name.to_owned(), run.to_json()?))).collect::<Result<_, BoxError>>()?;
        println!("{}", Value::Object(object));
    } else {
        print_table(&runs);
    }
    Ok(())
}

/// The four runs, on a store of their own.
async fn four_runs() -> Result<[DemoRun; 4], BoxError> {
    let folder = tempfile::tempdir()?;
    let store = folder.path().join("learnkit.db");
    let memory = LearnKit::builder().backend(format!("sqlite:{}", store.display())).build().await?;
    let demo = Demo { memory, world: Arc::default(), planner: ReportPlanner::default() };

    let cold = demo.run("cold", TASK).await?;
    let repeat = demo.run("repeat", TASK).await?;
    let sibling = demo.run("sibling", SIBLING).await?;
    demo.world.format_is_down.store(true, Ordering::SeqCst);
    let handover = demo.run("handover", TASK).await?;
    demo.memory.shutdown().await?;
    Ok([cold, repeat, sibling, handover])
}

struct Demo {
    memory: LearnKit,
    world: Arc<World>,
    planner: ReportPlanner,
}

/// One run, with what the demo itself counted.
struct DemoRun {
    name: &'static str,
    report: RunReport,
    /// How often the planner was asked, counted by the planner.
    planner_counted: u32,
    /// How often each tool ran, counted by the tools.
    executed: BTreeMap<String, u32>,
}

impl Demo {
    async fn run(&self, name: &'static str, task: &str) -> Result<DemoRun, BoxError> {
        self.planner.asked.store(0, Ordering::SeqCst);
        self.world.executed.lock().map_err(|_| "a tool panicked")?.clear();
        let exploration_tools = ["list_tables".to_owned(), "describe".to_owned()].into();
        let options = ReactOptions { exploration_tools, max_steps: 12, ..ReactOptions::default() };
        let report = run_react_agent(&self.memory, task, &self.tools(), &self.planner, options).await?;
        let executed = self.world.executed.lock().map_err(|_| "a tool panicked")?.clone();
        Ok(DemoRun { name, report, planner_counted: self.planner.asked.load(Ordering::SeqCst), executed })
    }

    fn tools(&self) -> ToolSet {
        let tool = |tools: ToolSet, name: &'static str, work: fn(&World, &Value) -> Result<String, BoxError>| {
            let world = Arc::clone(&self.world);
            tools.with_fn(name, ToolAnnotations::default(), move |arguments: Arguments| {
                let result = world.count(name).and_then(|()| work(&world, &arguments.parse()?));
                async move { result.map(ToolOutput::text) }
            })
        };
        let tools = tool(ToolSet::new(), "list_tables", |_, _| Ok(json!(["orders", "users"]).to_string()));
        let tools = tool(tools, "describe", |_, _| Ok(json!({"columns": ["name", "active"]}).to_string()));
        let tools = tool(tools, "query", |_, arguments| World::query(arguments));
        let tools = tool(tools, "filter", |_, arguments| World::filter(arguments));
        tool(tools, "format", World::format)
    }
}

/// The tools' little world: two tables, and a formatter that can be down once.
#[derive(Default)]
struct World {
    format_is_down: AtomicBool,
    executed: Mutex<BTreeMap<String, u32>>,
}

impl World {
    fn count(&self, tool: &str) -> Result<(), BoxError> {
        *self.executed.lock().map_err(|_| "a tool panicked")?.entry(tool.to_owned()).or_default() += 1;
        Ok(())
    }

    fn query(arguments: &Value) -> Result<String, BoxError> {
        match arguments["table"].as_str() {
            Some("users") => Ok(json!([
                {"name": "Ann", "active": true}, {"name": "Ben", "active": false},
                {"name": "Cleo", "active": true}, {"name": "Dan", "active": true},
            ])
            .to_string()),
            Some("orders") => Ok(json!([{"order": 1}]).to_string()),
            other => Err(format!("no table {other:?}").into()),
        }
    }

    fn filter(arguments: &Value) -> Result<String, BoxError> {
        let table: Value = serde_json::from_str(&Self::query(arguments)?)?;
        let active = table.as_array().into_iter().flatten().filter(|row| row["active"] == true);
        Ok(json!(active.collect::<Vec<_>>()).to_string())
    }

    fn format(&self, arguments: &Value) -> Result<String, BoxError> {
        if self.format_is_down.swap(false, Ordering::SeqCst) {
            return Err("the formatter is restarting".into());
        }
        match arguments["fmt"].as_str() {
            Some("csv") => Ok("name\nAnn\nCleo\nDan\n".to_owned()),
            Some("json") => Ok(json!({"names": ["Ann", "Cleo", "Dan"]}).to_string()),
            other => Err(format!("no format {other:?}").into()),
        }
    }
}

/// A planner in place of an LLM: it explores when it knows nothing and follows a playbook when it
/// has one. Each call stands for one LLM call.
#[derive(Default)]
struct ReportPlanner {
    asked: AtomicU32,
}

#[async_trait]
impl Planner for ReportPlanner {
    async fn plan(&self, turn: &PlanningTurn<'_>) -> Result<PlannerReply, BoxError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let done = |tool: &str| turn.history.iter().any(|call| call.tool == tool && call.status.is_ok());
        let fmt = if turn.task.text().contains("json") { "json" } else { "csv" };
        let knows_the_way = turn.playbook.contains("query(") || done("query");
        Ok(if !knows_the_way && !done("list_tables") {
            PlannerReply::call("list_tables", json!({}))
        } else if !knows_the_way && !done("describe") {
            PlannerReply::call("describe", json!({"table": "users"}))
        } else if !done("query") {
            PlannerReply::call("query", json!({"table": "users"}))
        } else if !done("filter") {
            PlannerReply::call("filter", json!({"table": "users", "column": "active"}))
        } else if !done("format") {
            PlannerReply::call("format", json!({"fmt": fmt}))
        } else {
            PlannerReply::answer(format!("The {fmt} report lists 3 active users."))
        })
    }
}

impl DemoRun {
    fn to_json(&self) -> Result<Value, BoxError> {
        let mut value = serde_json::to_value(&self.report)?;
        value["planner_counted"] = json!(self.planner_counted);
        value["executed"] = json!(self.executed);
        Ok(value)
    }

    fn executed_text(&self) -> String {
        self.executed.iter().map(|(tool, count)| format!("{tool}×{count}")).collect::<Vec<_>>().join(" ")
    }
}

fn print_table(runs: &[DemoRun]) {
    let mut table = Table::new();
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(120);
    table.set_header([
        "run",
        "mode",
        "replayed",
        "planning calls",
        "planner's own count",
        "tool calls",
        "answer",
        "why",
    ]);
    for run in runs {
        let report = &run.report;
        let source = report.answer_source.map_or("none", |source| source.as_str());
        table.add_row([
            run.name.to_owned(),
            report.mode.to_string(),
            report.replayed.to_string(),
            report.planning_calls.map_or("not counted".to_owned(), |calls| calls.to_string()),
            run.planner_counted.to_string(),
            format!("{}: {}", report.tool_calls, run.executed_text()),
            format!("{} ({source})", report.answer.as_deref().unwrap_or("none")),
            report.reason.clone(),
        ]);
    }
    println!("{table}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_demo_shows_what_it_says() -> Result<(), BoxError> {
        let [cold, repeat, sibling, handover] = four_runs().await?;
        for run in [&cold, &repeat, &sibling, &handover] {
            assert_eq!(run.report.planning_calls, Some(run.planner_counted), "{}", run.name);
            assert!(run.report.answer.is_some(), "{}", run.name);
        }
        assert_eq!((cold.report.replayed, cold.planner_counted), (false, 6));
        assert_eq!((repeat.report.replayed, repeat.planner_counted, repeat.report.synthesis_calls), (true, 0, 0));
        assert!(sibling.planner_counted < cold.planner_counted);
        assert_eq!((sibling.report.mode, sibling.report.replayed), (learnkit::run::Mode::Guide, false));
        assert!(!handover.report.replayed);
        for (tool, times) in [("query", 1), ("filter", 1), ("format", 2)] {
            assert_eq!(handover.executed.get(tool), Some(&times), "{tool}");
        }
        Ok(())
    }
}
