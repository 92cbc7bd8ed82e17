//! `export`: what is written, what is refused, and what a broken row or disk costs.

use std::io::{ErrorKind, Read as _};

use flate2::read::GzDecoder;
use learnkit_cli::Terminal;
use serde_json::{Value, json};

use crate::support::{Failing, Shell};

/// The lines of an export, the first and the last among them.
fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn exported(shell: &Shell, name: &str) -> Vec<Value> {
    lines(&std::fs::read_to_string(shell.path(name)).unwrap())
}

fn files(shell: &Shell) -> Vec<String> {
    let entries = std::fs::read_dir(shell.path("")).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Makes one row unreadable, as a bad disk or a foreign program would.
fn damage(shell: &Shell, table: &str, id: &str) {
    let connection = rusqlite::Connection::open(shell.path(shell.database)).unwrap();
    let changed = connection.execute(&format!("UPDATE {table} SET body = '{{' WHERE id = ?1"), [id]).unwrap();
    assert_eq!(changed, 1);
}

#[test]
fn an_export_has_a_header_a_line_for_each_record_and_run_and_an_end_that_counts_them() {
    let shell = Shell::taught();
    shell.run(&["export", "./backup.jsonl"]).matches("export");
    let lines = exported(&shell, "backup.jsonl");
    assert_eq!(lines.len(), 11);
    let (first, last) = (&lines[0], &lines[10]);
    assert_eq!(
        (&first["format"], &first["version"], &first["tenant"]),
        (&json!("learnkit-export"), &json!(1), &json!("default"))
    );
    assert_eq!(last, &json!({ "end": { "records": 6, "runs": 3 } }));
    assert!(lines[1..7].iter().all(|line| line["record"]["revision"] == 0), "{lines:?}");
    assert!(lines[7..10].iter().all(|line| line["run"]["task"]["key"].is_string()), "{lines:?}");
    let json = shell.json(&["export", "./second.jsonl"]);
    assert_eq!((&json["records"], &json["runs"], &json["tenant"]), (&json!(6), &json!(3), &json!("default")));
    assert_eq!(json["skipped"], json!({ "records": [], "runs": [] }));
}

#[test]
fn a_name_that_ends_in_gz_is_compressed_and_the_standard_output_is_not() {
    let shell = Shell::taught();
    shell.ok(&["export", "./backup.jsonl.gz"]);
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(shell.path("backup.jsonl.gz")).unwrap()).read_to_string(&mut text).unwrap();
    assert_eq!(lines(&text).len(), 11);
    let ran = shell.run(&["export", "-"]);
    assert_eq!((ran.code, lines(&ran.stdout).len()), (0, 11), "{ran:?}");
    assert_eq!(ran.stderr, "learnkit: exported 6 records and 3 runs of tenant `default`\n");
    let ran = shell.run(&["export", "-", "--json"]);
    assert_eq!(ran.code, 2, "{ran:?}");
}

#[test]
fn scope_agent_and_kind_choose_what_is_exported() {
    let shell = Shell::taught();
    shell.ok(&["records", "add", "fact", "Refunds take 5 days", "--agent", "clerk", "--scope", "user:ann"]);
    let counted = |filter: &[&str]| {
        let lines = lines(&shell.ok(&[&["export", "-"], filter].concat()));
        let end = &lines.last().unwrap()["end"];
        (end["records"].as_u64().unwrap(), end["runs"].as_u64().unwrap())
    };
    assert_eq!(counted(&[]), (7, 3));
    assert_eq!(counted(&["--no-runs"]), (7, 0));
    assert_eq!(counted(&["--agent", "mailer"]), (4, 2));
    assert_eq!(counted(&["--scope", "user:ann"]), (1, 0));
    assert_eq!(counted(&["--scope", "team:default,user:ann", "--agent", "clerk"]), (3, 1));
    assert_eq!(counted(&["--kind", "skill,fact"]), (3, 0), "kinds are of records, so no run is meant");
    assert_eq!(counted(&["--tenant", "other"]), (0, 0));
}

#[test]
fn d20_an_export_makes_no_store_and_replaces_no_file_unasked() {
    let empty = Shell::new();
    let ran = empty.run(&["export", "./backup.jsonl"]);
    assert_eq!((ran.code, empty.has_database(), files(&empty).len()), (1, false, 0), "{ran:?}");

    let shell = Shell::taught();
    shell.write("backup.jsonl", "mine");
    shell.run(&["export", "backup.jsonl"]).matches("export_exists");
    assert_eq!(std::fs::read_to_string(shell.path("backup.jsonl")).unwrap(), "mine");
    shell.ok(&["export", "backup.jsonl", "--force"]);
    assert_eq!(exported(&shell, "backup.jsonl").len(), 11);

    std::fs::create_dir(shell.path("folder")).unwrap();
    for (target, told) in [
        ("memory.db", "is a database, which an export never replaces"),
        ("folder", "something that is no file"),
        ("./nowhere/backup.jsonl", "the folder does not exist; make it first"),
    ] {
        let ran = shell.run(&["export", target, "--force"]);
        assert!(ran.code == 1 && ran.stderr.contains(told), "{target}: {ran:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    }
    assert_eq!(shell.run(&["doctor"]).code, 0, "the store is untouched");
    let left: Vec<String> = files(&shell).into_iter().filter(|name| name.contains("part")).collect();
    assert_eq!(left, [""; 0], "no temporary file is left");
}

#[cfg(unix)]
#[test]
fn a_link_stays_and_what_it_leads_to_is_replaced() {
    let shell = Shell::taught();
    shell.write("real.jsonl", "old");
    std::os::unix::fs::symlink(shell.path("real.jsonl"), shell.path("link.jsonl")).unwrap();
    shell.ok(&["export", "link.jsonl", "--force"]);
    assert!(shell.path("link.jsonl").symlink_metadata().unwrap().is_symlink());
    assert_eq!(exported(&shell, "real.jsonl").len(), 11);
}

#[test]
fn d7_an_unreadable_row_is_named_left_out_and_told_by_the_exit_code() {
    let shell = Shell::taught();
    let (record, run) =
        (shell.record("skill"), shell.json(&["runs", "list"])["runs"][0]["id"].as_str().unwrap().to_owned());
    damage(&shell, "records", &record);
    damage(&shell, "runs", &run);
    let ran = shell.run(&["export", "./backup.jsonl"]);
    ran.matches("export_bad_row");
    assert!(ran.stderr.contains(&record) && ran.stderr.contains(&run), "{ran:?}");
    let lines = exported(&shell, "backup.jsonl");
    assert_eq!(lines.last().unwrap(), &json!({ "end": { "records": 5, "runs": 2 } }));
    let ran = shell.run(&["export", "./again.jsonl", "--json"]);
    let object = ran.last_object();
    assert_eq!((ran.code, &object["skipped"]["records"][0]["id"]), (1, &json!(record)));
    assert_eq!((&object["skipped"]["runs"][0]["id"], &object["error"]["kind"]), (&json!(run), &json!("corrupt")));
    let other = Shell::new();
    other.write("backup.jsonl", std::fs::read(shell.path("backup.jsonl")).unwrap());
    other.ok(&["import", "backup.jsonl"]);
    assert_eq!(other.json(&["doctor"])["records"]["total"], 5, "what is there is a whole export");
}

#[test]
fn a_reader_that_hangs_up_is_no_failure_and_a_full_disk_is_one() {
    let shell = Shell::taught();
    for after in [0, 10, 2_000] {
        let hung_up = Failing { after, kind: ErrorKind::BrokenPipe };
        let ran = shell.run_into(&["export", "-"], b"", Box::new(hung_up));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{after}");
    }
    let full = Failing { after: 10, kind: ErrorKind::StorageFull };
    let ran = shell.run_into(&["export", "-"], b"", Box::new(full));
    assert!(ran.code == 1 && ran.stderr.contains("check the disk it goes to"), "{ran:?}");
}

#[test]
fn progress_is_drawn_only_on_a_terminal() {
    let mut shell = Shell::taught();
    shell.terminal = Terminal { stdout: true, stderr: false, width: Some(80) };
    let ran = shell.run(&["export", "./backup.jsonl"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
}
