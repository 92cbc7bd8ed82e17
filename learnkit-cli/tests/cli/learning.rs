//! `learn`: what is read, what is said about it, and what is left in the store.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use learnkit_cli::Terminal;
use serde_json::json;

use crate::support::{OTHER, SEED, Shell, data};

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// A folder with everything that `learn` meets: packed, nested, broken, refused and ignored files.
fn recordings(shell: &Shell) {
    shell.write("runs/b.jsonl.gz", gzip(SEED));
    shell.write("runs/a/nested.jsonl", OTHER);
    shell.write("runs/packed.json", gzip(OTHER));
    shell.write("runs/notes.md", "not a recording");
    shell.write("runs/broken.jsonl", format!("{OTHER}{{\"task\": \n[]\n{{\"messages\": []}}\n"));
    shell.write("runs/stream.json", "data: {}\n");
    shell.write("runs/empty.jsonl", "");
}

#[test]
fn learn_says_per_file_what_was_learned_and_what_was_not_and_why() {
    let shell = Shell::new();
    recordings(&shell);
    shell.run(&["learn", "runs"]).matches("learn_folder");
}

#[test]
fn learn_gives_programs_one_object() {
    let shell = Shell::new();
    recordings(&shell);
    let ran = shell.run(&["--json", "learn", "runs", "./missing.jsonl"]);
    assert_eq!(ran.stdout.lines().count(), 1);
    ran.matches("learn_folder_json");
}

#[test]
fn f23_learning_a_file_again_changes_nothing() {
    let shell = Shell::taught();
    let before = shell.ok(&["records", "list", "--all", "--json"]);
    let ran = shell.run(&["learn", "seed.jsonl", "--agent", "mailer"]);
    assert!(ran.stdout.ends_with("seed.jsonl: 2 already learned\n"), "{ran:?}");
    assert_eq!(shell.ok(&["records", "list", "--all", "--json"]), before);
}

#[test]
fn the_real_recordings_are_learned_once_and_their_repeats_counted() {
    let shell = Shell::new();
    let recording = data("tau_airline_runs.jsonl.gz");
    let first = shell.json(&["learn", &recording]);
    let total = &first["total"];
    assert_eq!(total["runs"], 12, "{first}");
    assert_eq!(total["skipped"], 0);
    let again = shell.json(&["learn", &recording]);
    assert_eq!(again["total"]["already_learned"], 12);
}

#[test]
fn the_fixtures_of_both_chat_formats_are_learned_and_others_refused_by_name() {
    let shell = Shell::new();
    let learned = shell.json(&["learn", &data("fixtures")]);
    let total = &learned["total"];
    assert!(total["learned"].as_u64().unwrap() > 0, "{learned}");
    let reasons = learned["files"].as_array().unwrap().iter().flat_map(|file| file["reasons"].as_array().unwrap());
    let refused: Vec<&str> =
        reasons.filter(|reason| reason["how"] == "refused").map(|reason| reason["reason"].as_str().unwrap()).collect();
    for format in ["OpenAI Responses", "OTLP", "SSE"] {
        assert!(refused.iter().any(|reason| reason.contains(format)), "{format}: {refused:?}");
    }
}

#[test]
fn the_standard_input_is_read_packed_or_not() {
    let shell = Shell::new();
    let ran = shell.run_with(&["learn", "-"], SEED);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "-: 2 learned\n"), "{ran:?}");
    let ran = shell.run_with(&["learn", "-"], gzip(SEED));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "-: 2 already learned\n"), "{ran:?}");
}

#[test]
fn a_name_does_not_decide_whether_a_file_is_packed() {
    let shell = Shell::new();
    shell.write("plain.jsonl.gz", SEED);
    shell.write("packed", gzip(OTHER));
    let ran = shell.run(&["learn", "plain.jsonl.gz", "packed"]);
    assert!(ran.stdout.ends_with("total: 2 learned, 1 failure stored\n"), "{ran:?}");
}

#[test]
fn refused_formats_alone_fail_by_name_and_make_no_database() {
    let shell = Shell::new();
    shell.write("stream.json", "data: {}\n");
    shell.run(&["learn", "stream.json"]).matches("learn_refused");
    assert!(!shell.has_database());
    let object = shell.run(&["learn", "stream.json", "--json"]).last_object();
    assert_eq!(object["error"]["kind"], "invalid_input");
    assert_eq!(object["total"]["refused"], 1);
}

#[test]
fn refused_formats_beside_a_readable_run_are_no_failure() {
    let shell = Shell::new();
    shell.write("stream.json", "data: {}\n");
    shell.write("seed.jsonl", SEED);
    let ran = shell.run(&["learn", "stream.json", "seed.jsonl"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.contains("SSE"), "{ran:?}");
}

#[test]
fn a_path_that_cannot_be_read_fails_and_the_others_are_still_learned() {
    let shell = Shell::new();
    shell.write("seed.jsonl", SEED);
    shell.write("cut.jsonl.gz", &gzip(SEED)[..60]);
    shell.write("bare/readme.md", "");
    shell.run(&["learn", "./missing.jsonl", "cut.jsonl.gz", "bare", "seed.jsonl"]).matches("learn_unreadable");
}

#[test]
fn a_recorded_template_is_one_and_other_texts_stay_plain() {
    let shell = Shell::new();
    let row = |task: &str| {
        let calls = json!([{ "tool": "build", "arguments": { "table": "users" }, "result": "ok" }]);
        json!({ "task": task, "calls": calls, "answer": "ok", "success": true }).to_string()
    };
    shell.write("rows.jsonl", format!("{}\n{}\n", row("Report of {table}"), row("Report of all")));
    shell.ok(&["learn", "rows.jsonl", "--param", "table=users"]);
    let template = shell.json(&["inspect", "Report of {table}", "--param", "table=orders"]);
    assert_eq!((&template["mode"], &template["canonical"]), (&json!("replay"), &json!("Report of {table}")));
    assert_eq!(template["plan"][0]["arguments"], r#"{"table":"orders"}"#);
    let same = shell.json(&["inspect", "Report of {table}", "--param", "table=users"]);
    assert_eq!(same["mode"], "replay", "{same}");
    assert_eq!(shell.json(&["inspect", "Report of all"])["mode"], "replay");
    let listed = |value: &str| shell.json(&["records", "list", "--param", value])["total"].clone();
    assert_eq!((listed("table=users"), listed("table=orders")), (json!(1), json!(0)));
}

#[test]
fn a_recorded_template_with_another_placeholder_is_skipped_with_the_reason() {
    let shell = Shell::new();
    let rows = SEED.replace("weekly report", "{a} report of {b}");
    shell.write("rows.jsonl", rows);
    let learned = shell.json(&["learn", "rows.jsonl", "--param", "a=weekly"]);
    assert_eq!(learned["total"]["skipped"], 1, "{learned}");
    assert_eq!(learned["files"][0]["reasons"][0]["places"], json!(["line 1"]));
}

#[test]
fn progress_is_drawn_only_on_a_terminal() {
    let mut shell = Shell::new();
    shell.write("seed.jsonl", SEED);
    assert_eq!(shell.run(&["learn", "seed.jsonl"]).stderr, "");
    // On a terminal the bar goes to the process's own standard error; what is told stays the same.
    shell.terminal = Terminal { stdout: false, stderr: true, width: Some(80) };
    let ran = shell.run(&["learn", "seed.jsonl"]);
    assert!(ran.stdout.ends_with("seed.jsonl: 2 already learned\n"), "{ran:?}");
}

#[test]
fn a_store_that_cannot_be_opened_fails_in_one_line() {
    let mut shell = Shell::new();
    shell.write("seed.jsonl", SEED);
    shell.database = "no/such/folder.db";
    let ran = shell.run(&["learn", "seed.jsonl", "--json"]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (1, 1), "{ran:?}");
    assert_eq!(ran.last_object()["error"]["kind"], "not_found");
}
