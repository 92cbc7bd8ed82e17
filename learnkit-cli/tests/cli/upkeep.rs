//! `maintain`, `runs report`, `runs delete` and `doctor`: what time, people and accidents do to a store.

use serde_json::json;

use crate::support::Shell;

/// Makes one row unreadable, as a bad disk or a foreign program would.
fn damage(shell: &Shell, table: &str, id: &str) {
    let connection = rusqlite::Connection::open(shell.path(shell.database)).unwrap();
    let changed = connection.execute(&format!("UPDATE {table} SET body = '{{' WHERE id = ?1"), [id]).unwrap();
    assert_eq!(changed, 1);
}

#[test]
fn maintain_says_what_it_changed_and_the_second_time_nothing() {
    let shell = Shell::taught();
    let args = ["maintain", "--quarantine-hours", "0"];
    shell.run(&args).matches("maintain");
    assert_eq!(shell.json(&args), json!({ "decayed": 0, "stale": 0, "promoted": 0, "merged": 0, "superseded": 0 }));
}

#[test]
fn d20_senseless_numbers_are_refused_in_one_line() {
    let shell = Shell::taught();
    shell.run(&["maintain", "--weeks", "-5"]).matches("maintain_weeks");
    for wrong in [["--weeks", "0"], ["--weeks", "x"], ["--decay-rate", "-0.1"], ["--quarantine-hours", "NaN"]] {
        let ran = shell.run(&["maintain", wrong[0], wrong[1], "--json"]);
        assert_eq!((ran.code, ran.stderr.lines().count()), (2, 1), "{wrong:?}: {ran:?}");
        assert_eq!(ran.last_object()["error"]["kind"], "invalid_input");
    }
}

#[test]
fn d7_one_bad_row_is_named_and_stops_nothing() {
    let shell = Shell::taught();
    let bad = shell.record("skill");
    damage(&shell, "records", &bad);
    let list = shell.run(&["records", "list"]);
    assert_eq!((list.code, list.stdout.lines().count()), (0, 6), "{list:?}");
    assert!(list.stderr.contains(&bad), "{list:?}");
    assert_eq!(shell.json(&["records", "list"])["skipped"][0]["id"], json!(bad));
    let maintained = shell.run(&["maintain"]);
    assert_eq!(maintained.code, 0);
    assert!(maintained.stderr.contains(&bad), "{maintained:?}");
    shell.run(&["doctor"]).matches("doctor_bad_row");
    assert_eq!(shell.run(&["inspect", "Email the weekly report", "--agent", "mailer"]).code, 0);
    assert_eq!(shell.run(&["records", "show", &bad]).code, 1);
    assert_eq!(shell.run(&["records", "delete", &bad]).code, 0, "a row that cannot be read can be deleted");
    assert_eq!(shell.run(&["doctor"]).code, 0);
}

#[test]
fn d7_a_bad_run_is_named_and_stops_nothing() {
    let shell = Shell::taught();
    let id = shell.json(&["runs", "list"])["runs"][0]["id"].as_str().unwrap().to_owned();
    damage(&shell, "runs", &id);
    let list = shell.run(&["runs", "list"]);
    assert_eq!((list.code, list.stdout.lines().count()), (0, 3), "{list:?}");
    assert!(list.stderr.contains(&id), "{list:?}");
    let doctor = shell.run(&["doctor"]);
    assert!(doctor.code == 1 && doctor.stderr.contains("`learnkit runs delete` removes it"), "{doctor:?}");
    let deleted = shell.json(&["runs", "delete", &id]);
    assert_eq!(deleted, json!({ "deleted": [{ "id": id, "records": 1, "runs": 1 }] }), "the run and its trace");
    assert_eq!(shell.run(&["doctor"]).code, 0);
}

#[test]
fn d13_a_deleted_record_takes_the_runs_of_its_task_that_cannot_be_read_with_it() {
    let shell = Shell::taught();
    let again = crate::support::SEED.lines().find(|line| line.contains("Restart")).unwrap();
    shell.write("again.jsonl", again.replacen('{', r#"{"id": "again", "#, 1));
    shell.ok(&["learn", "again.jsonl", "--agent", "mailer"]);
    let restarts = |list: &str, rows: &str| {
        let list = shell.json(&[list, "list", "--agent", "mailer"]);
        let rows =
            list[rows].as_array().unwrap().iter().filter(|row| row.to_string().contains("Restart the mail server"));
        rows.filter(|row| row["kind"] != "trace").map(|row| row["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (runs, skills) = (restarts("runs", "runs"), restarts("records", "records"));
    assert_eq!((runs.len(), skills.len()), (2, 1));
    runs.iter().for_each(|run| damage(&shell, "runs", run));
    assert_eq!(shell.json(&["records", "delete", &skills[0]])["deleted"][0]["runs"], 2);
    assert_eq!(shell.json(&["doctor"])["runs"]["total"], 2, "the runs of other tasks");
    assert_eq!(shell.run(&["doctor"]).code, 0, "nothing is left that cannot be read");
}

#[test]
fn a_deleted_run_leaves_no_trace_and_what_it_taught_stays() {
    let shell = Shell::taught();
    let id = shell.json(&["runs", "list", "--agent", "mailer"])["runs"][0]["id"].as_str().unwrap().to_owned();
    shell.run(&["runs", "delete", &id, "run_gone"]).matches("runs_delete");
    assert_eq!(shell.run(&["runs", "show", &id]).code, 1);
    assert_eq!(shell.json(&["doctor"])["records"]["by_kind"], json!({ "failure": 1, "skill": 2, "trace": 2 }));
    assert_eq!(shell.run(&["runs", "delete", &id]).code, 1);
}

#[test]
fn f33_doctor_names_what_no_run_retrieved_and_calls_it_no_problem() {
    let shell = Shell::taught();
    for number in 0..5 {
        shell.ok(&["records", "add", "preference", &format!("colour {number}"), "blue"]);
    }
    let ran = shell.run(&["doctor", "--json"]);
    let object = ran.last_object();
    assert_eq!((ran.code, &object["problems"]), (0, &json!([])));
    let never = object["never_retrieved"].as_array().unwrap();
    assert_eq!(never.len(), 8, "the three records that runs taught and five: {object}");
    let shown = shell.ok(&["doctor"]);
    let line = shown.lines().find(|line| line.starts_with("never retrieved")).unwrap();
    assert!(line.contains("8 records by the last 1000 runs: ") && line.ends_with(", …"), "{line}");
}

#[test]
fn a_report_moves_what_the_run_taught() {
    let shell = Shell::taught();
    let runs = shell.json(&["runs", "list", "--agent", "mailer"]);
    let restart = runs["runs"].as_array().unwrap().iter().find(|run| run["text"] == "Restart the mail server").unwrap();
    let id = restart["id"].as_str().unwrap();
    shell.run(&["runs", "report", "success", id]).matches("report_success");
    let object = shell.json(&["runs", "report", "failure", id]);
    assert_eq!((&object["reported"], &object["run_id"]), (&json!("failure"), &json!(id)));
    let task = shell.json(&["inspect", "Restart the mail server", "--agent", "mailer"]);
    assert_ne!(task["mode"], "replay", "{task}");
    assert_eq!(shell.json(&["runs", "show", id])["reports"], json!(["success", "failure"]));
}

#[test]
fn doctor_says_what_is_linked_stored_and_fine() {
    let shell = Shell::taught();
    shell.run(&["doctor"]).matches("doctor");
    let ran = shell.run(&["doctor", "--json"]);
    assert_eq!(ran.code, 0);
    let object = ran.last_object();
    assert_eq!(object["records"]["by_kind"], json!({ "failure": 1, "skill": 2, "trace": 3 }));
    assert_eq!((&object["runs"]["total"], &object["problems"]), (&json!(3), &json!([])));
    assert!(object["store"]["capabilities"]["durable"].as_bool().unwrap());
}

#[test]
fn doctor_says_why_it_is_online_or_not() {
    let mut shell = Shell::taught();
    let reason = |shell: &Shell| {
        let object = shell.json(&["doctor"]);
        (object["offline"].as_bool().unwrap(), object["offline_reason"].as_str().unwrap().to_owned())
    };
    assert_eq!(reason(&shell), (true, "neither a provider key nor a model is set".to_owned()));
    shell.variables.push(("OPENAI_API_KEY", "secret-value".to_owned()));
    assert_eq!(reason(&shell), (false, "OPENAI_API_KEY is set".to_owned()));
    assert!(!shell.ok(&["doctor"]).contains("secret-value"));
    shell.variables.push(("LEARNKIT_OFFLINE", "1".to_owned()));
    assert_eq!(reason(&shell), (true, "LEARNKIT_OFFLINE says so".to_owned()));
}

#[test]
fn doctor_without_a_store_still_says_what_is_linked() {
    let shell = Shell::new();
    shell.run(&["doctor"]).matches("doctor_missing");
    let object = shell.json(&["doctor"]);
    assert!(object["backends"].as_array().unwrap().iter().any(|backend| backend["scheme"] == "sqlite"));
    assert!(object["adapters"].as_array().unwrap().iter().any(|adapter| adapter["name"] == "react"));
    assert!(!shell.has_database());
}

#[test]
fn old_runs_are_pruned_and_a_dry_run_only_says_so() {
    let shell = Shell::taught();
    shell.run(&["runs", "prune", "--older-than", "0m", "--keep", "1", "--dry-run"]).matches("runs_prune_dry");
    assert_eq!(shell.json(&["doctor"])["runs"]["total"], 3);
    assert_eq!(
        shell.json(&["runs", "prune", "--older-than", "30d"]),
        json!({ "records": 0, "runs": 0, "dry_run": false })
    );
    let pruned = shell.json(&["runs", "prune", "--older-than", "0m", "--keep", "1"]);
    assert_eq!(pruned, json!({ "records": 2, "runs": 2, "dry_run": false }));
    shell.run(&["runs", "prune", "--older-than", "0m"]).matches("runs_prune");
    assert_eq!(shell.json(&["doctor"])["records"]["by_kind"], json!({ "failure": 1, "skill": 2 }), "what they taught");
}

#[test]
fn tombstones_are_purged_within_the_given_agent() {
    let shell = Shell::taught();
    let id = shell.json(&["runs", "list", "--agent", "mailer"])["runs"][0]["id"].as_str().unwrap().to_owned();
    shell.ok(&["runs", "report", "failure", &id]);
    let purge = ["records", "purge", "--older-than", "0m"];
    let elsewhere = shell.json(&[&purge[..], &["--agent", "clerk"]].concat());
    assert_eq!(elsewhere, json!({ "records": 0, "dry_run": false }));
    shell.run(&[&purge[..], &["--dry-run"]].concat()).matches("records_purge_dry");
    shell.run(&purge).matches("records_purge");
    assert_eq!(shell.json(&["doctor"])["records"]["by_status"]["retired"], json!(null));
}

#[test]
fn an_age_that_is_none_is_a_wrong_command_line() {
    let shell = Shell::taught();
    for age in ["30", "-1d", "1y", "soon", ""] {
        for command in [&["runs", "prune"][..], &["records", "purge"]] {
            let ran = shell.run(&[command, &["--older-than", age]].concat());
            assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{age}: {ran:?}");
        }
    }
    let without = shell.run(&["runs", "prune"]);
    assert!(without.code == 2 && without.stderr.contains("--older-than"), "{without:?}");
}

#[test]
fn vacuum_gives_space_back_and_says_how_much() {
    let shell = Shell::taught();
    for number in 0..40 {
        shell.ok(&["records", "add", "fact", &format!("f{number} {}", "is a long word ".repeat(300))]);
    }
    let list = shell.json(&["records", "list", "--kind", "fact", "--all"]);
    let ids: Vec<&str> = list["records"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    shell.ok(&[&["records", "delete"][..], &ids].concat());
    let size = || std::fs::metadata(shell.path(shell.database)).unwrap().len();
    let before = size();
    let done = shell.json(&["vacuum"]);
    assert_eq!((&done["bytes_after"], &done["reindexed"]), (&json!(size()), &json!(0)), "{done}");
    assert!(size() * 2 < before, "{before} bytes before, {} after", size());
    shell.run(&["vacuum"]).matches("vacuum");
    let memory = shell.run(&["vacuum", "--backend", "memory:"]);
    assert_eq!(memory.code, 1, "{memory:?}");
}

#[test]
fn vacuum_of_a_store_that_is_busy_is_one_clear_line() {
    let shell = Shell::taught();
    let writer = rusqlite::Connection::open(shell.path(shell.database)).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let ran = shell.run(&["vacuum", "--json"]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (1, 1), "{ran:?}");
    assert_eq!(ran.last_object()["error"]["kind"], "unavailable");
    assert!(ran.stderr.contains("locked by another process; try again"), "{ran:?}");
    writer.execute_batch("ROLLBACK").unwrap();
    shell.ok(&["vacuum"]);
}

#[test]
fn f61_a_long_result_is_shown_as_cut() {
    let shell = Shell::new();
    let row = json!({
        "task": "Load the page",
        "calls": [{ "tool": "load", "arguments": { "body": "ü".repeat(1_500_000) }, "result": "漢".repeat(3_400_000) }],
        "answer": "Loaded.",
    });
    shell.write("long.jsonl", row.to_string());
    shell.ok(&["learn", "long.jsonl"]);
    let id = shell.json(&["runs", "list"])["runs"][0]["id"].as_str().unwrap().to_owned();
    let shown = shell.ok(&["runs", "show", &id]);
    assert!(shown.contains("[cut: 65535 of 3000011 bytes are stored]"), "{shown}");
    assert!(shown.contains("[cut: 65535 of 10200000 bytes are stored]"), "{shown}");
    assert!(shown.len() < 5_000, "{} bytes", shown.len());
    let call = &shell.json(&["runs", "show", &id])["calls"][0];
    assert_eq!((&call["result"]["truncated"], &call["arguments_cut"]["bytes"]), (&json!(true), &json!(3_000_011)));
    assert!(std::fs::metadata(shell.path(shell.database)).unwrap().len() < 1_000_000);
}
