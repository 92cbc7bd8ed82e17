//! `runs recover`: runs that were cut off, and what people say about their steps.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use learnkit::config::Settings;
use learnkit::engine::SessionOptions;
use learnkit::record::RunId;
use learnkit::{BoxError, LearnKit};
use serde_json::json;
use tokio::sync::Notify;

use crate::support::Shell;

/// How long the process that died holds its run.
const OVER: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_hours(1);

/// A store with a run that died while it sent a mail, after a charge.
fn cut_off(lease: Duration) -> Shell {
    let shell = Shell::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let settings = Settings { run_lease: lease, ..Settings::default() };
        let backend = format!("sqlite:{}", shell.path(shell.database).display());
        let memory = LearnKit::builder().backend(backend).settings(settings).build().await.unwrap();
        let id = SessionOptions { run_id: RunId::new("order-1001").ok() };
        let run = memory.prepare_run("Charge the order and mail the receipt", id).await.unwrap();
        let charge = json!({ "order": "order_1001", "token": "ghp_abcdefghijklmnopqrstuvwxyz0123456789" });
        run.call("charge", charge, async { Ok::<_, BoxError>("{\"receipt\":\"r_81\"}".to_owned()) }).await.unwrap();
        let (inner, stuck) = (run.clone(), Arc::new(Notify::new()));
        let reached = Arc::clone(&stuck);
        let mut mail = Box::pin(async move {
            let work = async {
                reached.notify_one();
                pending::<Result<String, BoxError>>().await
            };
            inner.call("mail", json!({ "receipt": "r_81" }), work).await
        });
        tokio::select! {
            ended = &mut mail => panic!("it ended: {ended:?}"),
            () = stuck.notified() => {}
        }
        // A process that dies drops nothing.
        std::mem::forget((mail, run));
    });
    shell
}

#[test]
fn runs_that_did_not_finish_are_listed_with_what_is_in_doubt() {
    let shell = cut_off(OVER);
    shell.run(&["runs", "recover"]).matches("runs_recover");
    let object = shell.json(&["runs", "recover"]);
    let run = &object["open_runs"][0];
    assert_eq!((&run["run"]["id"], &run["held"], &run["in_doubt"]), (&json!("order-1001"), &json!(false), &json!([2])));
    assert!(!object.to_string().contains("ghp_"), "{object}");
    shell.run(&["runs", "recover", "order-1001"]).matches("runs_recover_one");
    let doctor = shell.json(&["doctor"]);
    assert_eq!(doctor["open_runs"], json!({ "total": 1, "in_doubt": 1 }));
    assert_eq!(doctor["problems"], json!([]));
    let empty = Shell::taught();
    empty.run(&["runs", "recover", "--exit-code"]).matches("runs_recover_none");
}

#[test]
fn the_exit_code_says_whether_a_step_is_in_doubt() {
    let shell = cut_off(OVER);
    shell.run(&["runs", "recover", "--exit-code"]).matches("runs_recover_exit_code");
    let ran = shell.run(&["runs", "recover", "order-1001", "--exit-code", "--json"]);
    assert_eq!((ran.code, &ran.last_object()["error"]["kind"]), (1, &json!("in_doubt")));
    shell.ok(&["runs", "recover", "order-1001", "--step", "2", "--not-done"]);
    assert_eq!(shell.run(&["runs", "recover", "--exit-code"]).code, 0);
}

#[test]
fn what_is_said_of_a_step_is_written_down_once() {
    let shell = cut_off(OVER);
    let said = ["runs", "recover", "order-1001", "--step", "2", "--done", "--result", "{\"sent\": true}"];
    shell.run(&said).matches("runs_recover_done");
    let object = shell.json(&["runs", "recover", "order-1001"]);
    assert_eq!((&object["in_doubt"], &object["steps"][1]["state"]), (&json!([]), &json!("said_done")));
    assert_eq!(object["steps"][1]["call"]["result"]["text"], json!("{\"sent\": true}"));
    let contradicted = shell.run(&["runs", "recover", "order-1001", "--step", "2", "--not-done", "--json"]);
    assert_eq!((contradicted.code, &contradicted.last_object()["error"]["kind"]), (1, &json!("conflict")));
}

#[test]
fn a_run_that_is_held_is_taken_only_on_request() {
    let shell = cut_off(LONG);
    let said = ["runs", "recover", "order-1001", "--step", "2", "--not-done"];
    let refused = shell.run(&said);
    assert!(refused.code == 1 && refused.stderr.contains("--take"), "{refused:?}");
    assert_eq!(shell.json(&["runs", "recover"])["open_runs"][0]["held"], json!(true));
    shell.ok(&[&said[..], &["--take"]].concat());
    assert_eq!(shell.json(&["runs", "recover"])["open_runs"][0]["held"], json!(false));
}

#[test]
fn a_run_that_nobody_goes_on_with_is_closed_or_deleted() {
    let shell = cut_off(OVER);
    shell.run(&["runs", "recover", "order-1001", "--abandon"]).matches("runs_recover_abandon");
    assert_eq!(shell.json(&["runs", "recover"])["open_runs"], json!([]));
    let shown = shell.json(&["runs", "show", "order-1001"]);
    assert_eq!((&shown["gate"]["source"], &shown["learned"]), (&json!("abstained"), &json!(null)));
    let again = shell.run(&["runs", "recover", "order-1001", "--abandon"]);
    assert!(again.code == 1 && again.stderr.contains("no open run"), "{again:?}");
    let shell = cut_off(OVER);
    assert_eq!(shell.json(&["runs", "delete", "order-1001"])["deleted"][0]["runs"], json!(1));
    assert_eq!(shell.json(&["runs", "recover"])["open_runs"], json!([]));
}

#[test]
fn flags_that_do_not_go_together_are_a_wrong_command_line() {
    let shell = cut_off(OVER);
    for wrong in [
        &["--step", "2"][..],
        &["--done"],
        &["order-1001", "--step", "2"],
        &["order-1001", "--done"],
        &["order-1001", "--step", "2", "--done", "--not-done"],
        &["order-1001", "--step", "2", "--not-done", "--result", "x"],
        &["order-1001", "--abandon", "--step", "2", "--done"],
        &["--take"],
    ] {
        let ran = shell.run(&[&["runs", "recover"], wrong].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{wrong:?}: {ran:?}");
    }
}

#[test]
fn a_journal_that_cannot_be_read_is_named_and_can_be_deleted() {
    let shell = cut_off(OVER);
    let connection = rusqlite::Connection::open(shell.path(shell.database)).unwrap();
    assert_eq!(connection.execute("UPDATE open_steps SET body = '{' WHERE number = 1", []).unwrap(), 1);
    let list = shell.run(&["runs", "recover"]);
    assert!(list.code == 0 && list.stderr.contains("order-1001"), "{list:?}");
    let doctor = shell.run(&["doctor"]);
    assert!(doctor.code == 1 && doctor.stderr.contains("`learnkit runs delete` removes it"), "{doctor:?}");
    assert_eq!(shell.run(&["runs", "recover", "order-1001"]).code, 1);
    shell.ok(&["runs", "delete", "order-1001"]);
    assert_eq!(shell.run(&["doctor"]).code, 0);
}
