//! `report`: the ledger as people, programs and eyes see it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use learnkit::config::Settings;
use learnkit::engine::{Decision, Outcome, SessionOptions, View};
use learnkit::record::{AgentName, RunId};
use learnkit::run::{CallDraft, Verdict};
use learnkit::{Clock, LearnKit, Task};
use serde_json::{Value, json};

use crate::support::Shell;

/// Goes a minute on whenever it is asked, so that runs are told apart and nothing is measured.
#[derive(Debug, Default)]
struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> jiff::Timestamp {
        let minutes = self.0.fetch_add(1, Ordering::Relaxed);
        jiff::Timestamp::UNIX_EPOCH
            + jiff::SignedDuration::from_hours(24 * 20_000)
            + jiff::SignedDuration::from_mins(minutes)
    }
}

/// A memory in which one procedure helped, another one failed on its way, and a half was held out.
async fn fill(shell: &Shell) {
    let settings = Settings { holdout_rate: 0.5, ..Settings::default() };
    let backend = format!("sqlite:{}", shell.path(shell.database).display());
    let builder = LearnKit::builder().backend(backend).settings(settings).clock(Arc::new(Ticking::default()));
    let memory = builder.agent(AgentName::new("clerk").unwrap()).build().await.unwrap();
    for n in 0..120 {
        pay(&memory, n).await;
    }
    for n in 0..4 {
        mail(&memory, n).await;
    }
}

/// Without memory every third run books the wrong bill, which somebody tells later.
async fn pay(memory: &LearnKit, n: usize) {
    let options = SessionOptions { run_id: Some(RunId::new(format!("pay-{n}")).unwrap()) };
    let session = memory.session(Task::new("Pay the bill <of> March & April"), options).unwrap();
    session.count_planning();
    let mut wrong = false;
    loop {
        match session.decide(&View::default()).await {
            Decision::Replay(calls) => {
                for call in calls {
                    session.observe(CallDraft::new(call.tool, call.arguments), Ok("paid".into()));
                }
            }
            Decision::Answer { .. } => break,
            Decision::Forward { .. } | Decision::Synthesize { .. } => {
                session.planning_call();
                session.planning_call();
                session.observe(CallDraft::new("pay", json!({"bill": 4})), Ok("paid".into()));
                wrong = n > 0 && n.is_multiple_of(3);
                break;
            }
        }
    }
    session.finish(&Outcome::answered("Paid.")).await;
    // What did the same as a failed run would be retired with it, so only the run itself is judged.
    if wrong {
        let mut stored = memory.run(session.run_id()).await.unwrap();
        stored.reports.push(Verdict::Failure);
        memory.store().runs.update_run(&stored).await.unwrap();
    }
}

/// A mail that is sent once and then cannot be.
async fn mail(memory: &LearnKit, n: usize) {
    let options = SessionOptions { run_id: Some(RunId::new(format!("mail-{n}")).unwrap()) };
    let session = memory.session(Task::new("Mail the receipt"), options).unwrap();
    session.count_planning();
    if let Decision::Replay(calls) = session.decide(&View::default()).await {
        for call in calls {
            session.observe(CallDraft::new(call.tool, call.arguments), Err("down".to_owned()));
        }
        session.decide(&View::default()).await;
    }
    session.planning_call();
    let sent = if n == 0 { Ok("sent".into()) } else { Err("down".to_owned()) };
    session.observe(CallDraft::new("send", json!({"to": "boss"})), sent);
    session.finish(&Outcome::answered("Tried.")).await;
}

async fn filled() -> Shell {
    let shell = Shell::new();
    fill(&shell).await;
    shell
}

#[test]
fn the_report_of_a_filled_database_says_what_was_saved_and_what_it_cost() {
    let shell = tokio::runtime::Runtime::new().unwrap().block_on(filled());
    shell.run(&["report"]).matches("report");
    shell.run(&["report", "--limit", "1"]).matches("report_limit");
    let object = shell.json(&["report"]);
    let arms = &object["arms"];
    assert_eq!(object["runs"]["total"], 124);
    assert!(arms["memory"]["runs"].as_u64().unwrap() + arms["hold_out"]["runs"].as_u64().unwrap() > 110, "{object}");
    assert!(object["planner_calls"]["saved"].as_f64().unwrap() > 50.0, "{object}");
    assert!(object["failed_replays"]["stopped"].as_u64().unwrap() > 0, "{object}");
    let best = &object["records"][0];
    assert_eq!((&best["effect"]["class"], &best["agent"]), (&json!("helpful"), &json!("clerk")), "{best}");
    let run = shell.json(&["runs", "show", "pay-1"]);
    assert!(run["arm"] == "memory" || run["arm"] == "hold_out", "{run}");
}

#[test]
fn a_run_that_was_held_out_shows_what_it_was_held_out_from() {
    let shell = tokio::runtime::Runtime::new().unwrap().block_on(filled());
    let is_held_out = |n: &usize| shell.json(&["runs", "show", &format!("pay-{n}")])["arm"] == "hold_out";
    let n = (1..40).find(is_held_out).unwrap();
    let shown = shell.ok(&["runs", "show", &format!("pay-{n}")]);
    assert!(shown.contains("arm              hold_out"), "{shown}");
    assert!(shown.contains("held out from    replay by skill_"), "{shown}");
}

#[test]
fn a_picture_is_whole_names_every_record_and_replaces_only_what_it_may() {
    let shell = tokio::runtime::Runtime::new().unwrap().block_on(filled());
    let drawn = shell.run(&["report", "--plot", "./memory.svg"]);
    assert_eq!(drawn.code, 0, "{drawn:?}");
    let svg = std::fs::read_to_string(shell.path("memory.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    let records = shell.json(&["report"])["records"].as_array().unwrap().clone();
    for record in records.iter().filter(|record| record["effect"]["points"].is_object()) {
        let name: String = record["id"].as_str().unwrap().chars().take(22).collect();
        assert!(svg.contains(&name), "{name}: {svg}");
    }
    assert!(svg.contains("<polyline") && svg.contains("<circle"), "{svg}");
    let again = shell.run(&["report", "--plot", "memory.svg"]);
    assert_eq!((again.code, again.stdout.as_str()), (1, ""), "{again:?}");
    assert_eq!(shell.run(&["report", "--plot", "memory.svg", "--force", "--json"]).code, 0);
}

#[test]
fn a_report_of_recorded_runs_claims_nothing() {
    let shell = Shell::taught();
    shell.run(&["report"]).matches("report_recorded");
    let object = shell.json(&["report"]);
    assert_eq!((&object["planner_calls"]["saved"], &object["arms"]), (&Value::Null, &Value::Null));
    assert_eq!(shell.ok(&["report", "--agent", "nobody"]), "no runs\n");
    assert_eq!(shell.json(&["report", "--agent", "nobody"])["runs"]["total"], 0);
    assert_eq!(shell.json(&["report", "--scope", "public"])["runs"]["total"], 0);
    let empty = Shell::new();
    assert_eq!(empty.run(&["report"]).code, 1);
    assert_eq!(empty.run(&["report", "--since", "soon"]).code, 2);
    assert!(!empty.has_database());
}
