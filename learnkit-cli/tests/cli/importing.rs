//! `import`: round trips, what is refused, and what an older LearnKit left.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::support::{Shell, data};

const OLDER: &str = include_str!("data/older.json");

/// The export of a store that learned a little, as text.
fn export() -> String {
    Shell::taught().ok(&["export", "-"])
}

/// A shell with an export and no store.
fn with_export(text: &str) -> Shell {
    let shell = Shell::new();
    shell.write("backup.jsonl", text);
    shell
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The lines between the first and the last.
fn body(export: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = export.lines().skip(1).collect();
    lines.pop();
    lines
}

/// Writes the records of an older list into a database as the older LearnKit made them.
fn older_database(path: &Path, schema: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let connection = rusqlite::Connection::open(path).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE metadata (key TEXT PRIMARY KEY, value TEXT);
             CREATE TABLE records (id TEXT PRIMARY KEY, type TEXT, domains TEXT, task_type TEXT, content TEXT,
                confidence REAL, reuse_count INTEGER, success_rate REAL, scope TEXT, status TEXT, created_at TEXT,
                expires_at TEXT, last_reinforced TEXT, full_record TEXT);
             CREATE VIRTUAL TABLE records_fts USING fts5(id, task_type, content_text, domains_text);",
        )
        .unwrap();
    connection.execute("INSERT INTO metadata VALUES ('schema_version', ?1)", [schema]).unwrap();
    let list: Vec<Value> = serde_json::from_str(OLDER).unwrap();
    for record in &list {
        let values = [record["id"].as_str().unwrap(), record["type"].as_str().unwrap(), &record.to_string()];
        connection.execute("INSERT INTO records (id, type, full_record) VALUES (?1, ?2, ?3)", values).unwrap();
    }
    connection.execute("INSERT INTO records (id, full_record) VALUES ('broken', '{\"id\": ')", []).unwrap();
}

#[test]
fn what_was_exported_comes_back_line_by_line_and_replays() {
    let export = export();
    let shell = with_export(&export);
    shell.run(&["import", "backup.jsonl"]).matches("import");
    assert_eq!(body(&shell.ok(&["export", "-"])), body(&export));
    let task = shell.json(&["inspect", "Email the weekly report", "--agent", "mailer"]);
    assert_eq!(task["mode"], "replay", "{task}");
    shell.run(&["import", "backup.jsonl"]).matches("import_again");
    assert_eq!(body(&shell.ok(&["export", "-"])), body(&export), "a second import changes nothing");
}

#[test]
fn a_compressed_export_and_a_pipe_are_read_too() {
    let export = export();
    for (args, input) in [(&["import", "backup.jsonl"][..], &b""[..]), (&["import", "-"], &gzip(export.as_bytes()))] {
        let shell = Shell::new();
        shell.write("backup.jsonl", gzip(export.as_bytes()));
        let ran = shell.run_with(args, input);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(body(&shell.ok(&["export", "-"])), body(&export));
    }
    // As some editors leave it.
    let shell = with_export(&format!("\u{feff}\n{}\n\n", export.replace('\n', "\r\n")));
    shell.ok(&["import", "backup.jsonl"]);
    assert_eq!(body(&shell.ok(&["export", "-"])), body(&export));
}

#[test]
fn a_dry_run_says_the_same_and_stores_nothing() {
    let export = export();
    let shell = with_export(&export);
    shell.run(&["import", "backup.jsonl", "--dry-run"]).matches("import_dry_run");
    assert!(!shell.has_database());
    shell.ok(&["import", "backup.jsonl"]);
    let dry = shell.json(&["import", "backup.jsonl", "--dry-run"]);
    assert_eq!(
        (&dry["dry_run"], &dry["records"]["unchanged"], &dry["runs"]["unchanged"]),
        (&json!(true), &json!(6), &json!(3))
    );
}

#[test]
fn what_differs_is_kept_and_named_unless_it_is_to_be_replaced() {
    let shell = with_export(&export());
    shell.ok(&["import", "backup.jsonl"]);
    let id = shell.record("skill");
    shell.ok(&["records", "pin", &id]);
    let kept = shell.run(&["import", "backup.jsonl"]);
    kept.matches("import_kept");
    assert!(kept.stderr.contains(&id), "{kept:?}");
    for dry in [&["--dry-run"][..], &[]] {
        let kept = shell.json(&[&["import", "backup.jsonl"], dry].concat());
        assert_eq!((&kept["records"]["kept"], &kept["records"]["unchanged"]), (&json!([id]), &json!(5)));
    }
    assert_eq!(shell.json(&["records", "show", &id])["pinned"], true);
    let replaced = shell.json(&["import", "backup.jsonl", "--replace"]);
    assert_eq!((&replaced["records"]["replaced"], &replaced["records"]["kept"]), (&json!(1), &json!([])));
    assert_eq!(shell.json(&["records", "show", &id])["pinned"], false);
}

/// What is done to a line.
type Edit = fn(&str) -> String;

/// Changes one line of an export, counted from 1.
fn changed(export: &str, number: usize, change: impl Fn(&str) -> String) -> String {
    export.lines().enumerate().fold(String::new(), |mut text, (at, line)| {
        let line = if at + 1 == number { change(line) } else { line.to_owned() };
        writeln!(text, "{line}").unwrap();
        text
    })
}

#[test]
fn d6_f78_one_wrong_line_is_named_and_nothing_is_stored() {
    let export = export();
    let edits: [(&str, usize, Edit, &str); 9] = [
        ("half a line", 4, |line| line[..40].to_owned(), "line 4, column 40: EOF while parsing"),
        (
            "an unknown field",
            3,
            |line| line.replacen("\"id\"", "\"colour\":1,\"id\"", 1),
            "line 3, column 19: unknown field `colour`; take it out, or update LearnKit",
        ),
        (
            "an unknown line",
            9,
            |line| line.replacen("run", "walk", 1),
            "line 9, column 7: unknown variant `walk`; take it out, or update LearnKit",
        ),
        (
            "a newer form",
            5,
            |line| line.replacen("\"schema_version\":1", "\"schema_version\":2,\"new\":0", 1),
            "line 5: the record has form 2 and this build knows up to 1; update LearnKit",
        ),
        ("a time", 2, |line| line.replacen("\"created\":\"2", "\"created\":\"x", 1), "line 2"),
        ("an id", 2, |line| line.replacen("\"id\":\"", "\"id\":\" ", 1), "record id starts or ends with a space"),
        (
            "a confidence",
            2,
            |line| line.replacen("\"confidence\":0.", "\"confidence\":7.", 1),
            "confidence must be a number from 0 to 1",
        ),
        (
            "another tenant",
            6,
            |line| line.replacen("\"tenant\":\"default\"", "\"tenant\":\"b\"", 1),
            "line 6: it belongs to tenant `b` and the export to `default`",
        ),
        ("a surrogate", 2, |line| line.replacen("\"status_reason\":\"", "\"status_reason\":\"\\ud83d", 1), "line 2"),
    ];
    for (what, number, edit, told) in edits {
        let broken = changed(&export, number, edit);
        assert_ne!(broken, export, "{what}");
        let shell = with_export(&broken);
        for input in ["backup.jsonl", "-"] {
            let ran = shell.run_with(&["import", input], &broken);
            assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (1, "", 1), "{what}: {ran:?}");
            assert!(ran.stderr.contains(told), "{what}: {ran:?}");
            assert!(!shell.has_database(), "{what}: a broken file makes no store");
        }
        shell.ok(&["records", "add", "fact", "The office has 4 floors"]);
        let ran = shell.run(&["import", "backup.jsonl", "--json"]);
        assert!(ran.code == 1 && ran.last_object()["error"]["kind"].is_string(), "{what}: {ran:?}");
        let doctor = shell.json(&["doctor"]);
        assert_eq!((&doctor["records"]["total"], &doctor["runs"]["total"]), (&json!(1), &json!(0)), "{what}");
    }
}

#[test]
fn d6_a_half_written_export_is_refused() {
    let export = export();
    let end = export.lines().last().unwrap();
    let cut = export.strip_suffix(&format!("{end}\n")).unwrap();
    let shell = with_export(cut);
    shell.run(&["import", "backup.jsonl"]).matches("import_cut_off");
    let fewer = changed(&export, 2, |_| String::new());
    let twice = format!("{export}{export}");
    let half = gzip(export.as_bytes());
    let half = &half[..half.len() / 2];
    for (broken, told) in [
        (fewer.as_bytes(), "the last line counts 6 records and 3 runs, but there are 5 and 3"),
        (twice.as_bytes(), "the export goes on after its last line"),
        (half, "the compressed input is cut off; copy it again or export again"),
    ] {
        shell.write("backup.jsonl", broken);
        let ran = shell.run(&["import", "backup.jsonl"]);
        assert_eq!((ran.code, ran.stderr.lines().count()), (1, 1), "{ran:?}");
        assert!(ran.stderr.contains(told), "{ran:?}");
        assert!(!shell.has_database());
    }
}

#[test]
fn f78_what_is_no_export_is_told_in_one_line_with_the_way_out() {
    let shell = Shell::new();
    let other = rusqlite::Connection::open(shell.path("notes.db")).unwrap();
    other.execute_batch("CREATE TABLE notes (x)").unwrap();
    drop(other);
    let taught = Shell::taught();
    let newer = r#"{"format":"learnkit-export","version":2,"learnkit":"9.0.0","exported":"2030-01-01T00:00:00Z","tenant":"default","more":1}"#;
    shell.write("newer.jsonl", newer);
    shell.write("empty.jsonl", "");
    shell.write("blank.jsonl", " \n\n");
    shell.write("text.jsonl", "these are notes\n".repeat(9));
    shell.write("random.jsonl", (0..=255_u8).cycle().take(99_999).collect::<Vec<_>>());
    shell.write("seed.jsonl", crate::support::SEED);
    shell.write("list.json", r#"[{"messages": []}]"#);
    shell.write("numbers.json", "[1, 2]");
    std::fs::copy(taught.path("memory.db"), shell.path("own.db")).unwrap();
    for (file, told) in [
        ("newer.jsonl", "the export has format 2 and this build reads up to 1; update LearnKit"),
        ("empty.jsonl", "the input is empty; export again"),
        ("blank.jsonl", "the input is empty; export again"),
        ("text.jsonl", "the input is no export of LearnKit; `learnkit export` writes one"),
        ("random.jsonl", "the input is no export of LearnKit; `learnkit export` writes one"),
        ("seed.jsonl", "`learnkit learn` reads recorded conversations"),
        ("list.json", "the list holds no records of an older LearnKit; `learnkit learn` reads"),
        ("numbers.json", "item 1 of the list is no object, so this is no export of LearnKit"),
        ("notes.db", "the file is a SQLite database of another program; name another file"),
        ("own.db", "is a store of this LearnKit; `learnkit export FILE --backend sqlite:PATH` writes"),
        ("./missing.jsonl", "there is no such file or folder; check the path"),
        ("", "cannot be read"),
    ] {
        let path = if file.is_empty() { shell.path("").display().to_string() } else { file.to_owned() };
        let ran = shell.run(&["import", &path]);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (1, "", 1), "{file}: {ran:?}");
        assert!(ran.stderr.contains(told), "{file}: {ran:?}");
        assert!(ran.stderr.matches("path: ").count() <= 1, "{file}: {ran:?}");
        assert!(!shell.has_database(), "{file}");
    }
}

#[test]
fn f70_a_tenant_is_never_crossed_unasked() {
    let source = Shell::new();
    source.write("seed.jsonl", crate::support::SEED);
    source.ok(&["learn", "seed.jsonl", "--tenant", "acme"]);
    let export = source.ok(&["export", "-", "--tenant", "acme"]);
    let shell = with_export(&export);
    let object = shell.json(&["import", "backup.jsonl"]);
    assert_eq!(
        (&object["from_tenant"], &object["tenant"]),
        (&json!("acme"), &json!("acme")),
        "it goes where it came from"
    );
    assert_eq!(shell.json(&["doctor"])["records"]["total"], 0);
    assert_eq!(body(&shell.ok(&["export", "-", "--tenant", "acme"])), body(&export));

    let moved = shell.run(&["--tenant", "default", "import", "backup.jsonl"]);
    moved.matches("import_moved");
    let again = shell.json(&["import", "backup.jsonl", "--tenant", "default"]);
    assert_eq!((&again["tenant"], &again["records"]["unchanged"]), (&json!("default"), &json!(4)));
    assert_eq!(shell.json(&["doctor"])["records"]["total"], 4);
    let task = shell.json(&["inspect", "Restart the mail server"]);
    assert_eq!(task["mode"], "guide", "the tenant is part of the key: {task}");
    let own = shell.json(&["inspect", "Restart the mail server", "--tenant", "acme"]);
    assert_eq!(own["mode"], "replay", "{own}");
}

#[test]
fn secrets_are_masked_on_the_way_in_and_what_held_one_only_guides() {
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let edited = export().replace("rep_20417", secret);
    let shell = with_export(&edited);
    shell.ok(&["import", "backup.jsonl"]);
    let stored = shell.ok(&["export", "-"]);
    assert!(edited.contains(secret) && !stored.contains(secret) && stored.contains("[secret]"), "{stored}");
    let task = shell.json(&["inspect", "Email the weekly report", "--agent", "mailer"]);
    assert_ne!(task["mode"], "replay", "{task}");
}

#[test]
fn d8_d11_an_older_list_is_taken_over_and_what_cannot_be_is_named() {
    let shell = Shell::new();
    shell.write("older.json", OLDER);
    shell.run(&["import", "older.json", "--agent", "support"]).matches("import_older");
    let show = |number: u8| shell.json(&["records", "show", &format!("5b0f7e0e-3b67-4a0e-9c7d-0e7c6c0a000{number}")]);

    let skill = show(1);
    assert_eq!(
        (&skill["agent"], &skill["status"], &skill["scope"]),
        (&json!("support"), &json!("active"), &json!("team:default"))
    );
    assert_eq!(skill["provenance"], json!({ "author": "import" }));
    assert_eq!(
        (&skill["created"], &skill["expires"]),
        (&json!("2025-10-01T08:30:00.123456Z"), &json!("2096-03-30T08:30:00.123456Z"))
    );
    assert_eq!((&skill["last_reinforced"], &skill["confidence"]), (&json!("2025-11-02T09:00:00.5Z"), &json!(0.79)));
    assert_eq!((&skill["success_rate"], &skill["usage"]["reuse_count"]), (&json!(0.92), &json!(5)));
    assert_eq!((&skill["usage"]["help"], &skill["usage"]["harm"]), (&json!(4), &json!(1)));
    let content = &skill["content"];
    assert!(content.get("procedure").is_none() && skill.get("task").is_none(), "nothing that could replay: {skill}");
    assert_eq!(content["steps"][0], r#"query {"limit":9007199254740993,"table":"<from the task, as users was>"}"#);
    assert_eq!(content["steps"][1], r#"render {"title": "a title that was cut…"#);
    assert_eq!(
        (&content["constraints"], &content["pitfalls"]),
        (&json!(["Count before you render"]), &json!(["The table may be empty"]))
    );

    let fact = show(2);
    assert_eq!(
        (&fact["scope"], &fact["status"], &fact["trust"]),
        (&json!("public"), &json!("probation"), &json!("unverified"))
    );
    assert_eq!(fact["created"], json!("2025-10-01T08:30:00Z"), "an offset is counted in");
    assert!(fact.get("expires").is_none(), "null is never: {fact}");

    let failure = show(3);
    assert_eq!((&failure["status"], &failure["expires"]), (&json!("retired"), &json!("2025-12-31T17:00:00Z")));
    assert_eq!(failure["content"]["what_to_avoid"], "Exporting as xls with token [secret]; instead: export as csv");

    let again = shell.json(&["import", "older.json", "--agent", "support"]);
    assert_eq!((&again["records"]["unchanged"], &again["format"]["name"]), (&json!(3), &json!("older_list")));
    assert_eq!(again["left_out"][0]["place"], "item 4");
    let guided = shell.json(&["inspect", "Build the users report", "--agent", "support"]);
    assert_eq!(guided["mode"], "guide", "{guided}");
}

#[test]
fn d11_an_older_list_that_is_cut_off_is_refused_and_an_empty_one_holds_nothing() {
    let shell = Shell::new();
    for (cut, told) in [
        (&OLDER[..OLDER.len() / 2], "the list is damaged or cut off in item"),
        (OLDER.trim_end().strip_suffix(']').unwrap(), "cut off at item 5"),
        (&OLDER.replacen("},\n  {\n    \"id\"", "}\n  {\n    \"id\"", 1), "cut off at item 1"),
        (&format!("{OLDER} x"), "something follows the end of the list"),
    ] {
        shell.write("older.json", cut);
        let ran = shell.run(&["import", "older.json"]);
        assert!(ran.code == 1 && ran.stderr.contains(told), "{told}: {ran:?}");
        assert!(!shell.has_database());
    }
    shell.write("older.json", "[\n]\n");
    assert_eq!(shell.json(&["import", "older.json"])["records"]["added"], 0);
}

#[test]
fn f58_the_database_of_an_older_learnkit_is_read_and_never_changed() {
    let shell = Shell::new();
    older_database(&shell.path("old/memory.db"), "1");
    let before = std::fs::read(shell.path("old/memory.db")).unwrap();
    shell.run(&["import", "old/memory.db"]).matches("import_older_database");
    assert_eq!(std::fs::read(shell.path("old/memory.db")).unwrap(), before);
    assert_eq!(std::fs::read_dir(shell.path("old")).unwrap().count(), 1, "nothing is left beside it");
    assert_eq!(shell.json(&["doctor"])["records"]["by_kind"], json!({ "fact": 1, "failure": 1, "skill": 1 }));
    let object = shell.json(&["import", "old/memory.db"]);
    let left_out: Vec<&str> =
        object["left_out"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert!(left_out.contains(&"broken") && left_out.len() == 3, "{object}");

    older_database(&shell.path("odd.db"), "7");
    let ran = shell.run(&["import", "odd.db"]);
    assert!(
        ran.code == 1 && ran.stderr.contains("the older database has schema 7 and this build reads only 1"),
        "{ran:?}"
    );
}

#[test]
fn f58_an_older_database_in_use_is_read_with_what_its_log_holds() {
    let shell = Shell::new();
    older_database(&shell.path("memory_old.db"), "1");
    let writer = rusqlite::Connection::open(shell.path("memory_old.db")).unwrap();
    writer.pragma_update(None, "journal_mode", "WAL").unwrap();
    writer.execute("DELETE FROM records WHERE type <> 'fact' OR type IS NULL", []).unwrap();
    let object = shell.json(&["import", "memory_old.db"]);
    assert_eq!((&object["records"]["added"], object["left_out"].as_array().unwrap().len()), (&json!(1), 1), "{object}");
}

#[test]
fn f58_opening_an_older_database_as_a_store_names_the_way_out() {
    let shell = Shell::new();
    older_database(&shell.path("memory.db"), "1");
    let before = std::fs::read(shell.path("memory.db")).unwrap();
    shell.run(&["records", "list"]).matches("older_as_store");
    shell.write("seed.jsonl", crate::support::SEED);
    assert_eq!(shell.run(&["learn", "seed.jsonl"]).code, 1);
    assert_eq!(std::fs::read(shell.path("memory.db")).unwrap(), before);
}

#[test]
fn f58_what_an_older_learnkit_left_at_home_is_told_where_no_store_is() {
    let mut shell = Shell::new();
    shell.database = "new.db";
    older_database(&shell.path("ann/.learnkit/memory.db"), "1");
    shell.variables.push(("HOME", shell.path("ann").display().to_string()));
    shell.run(&["records", "list"]).matches("missing_with_older");
    let doctor = shell.json(&["doctor"]);
    let problem = doctor["problems"][0].as_str().unwrap();
    let command = problem.split('`').find(|part| part.starts_with("learnkit import ")).unwrap();
    let path = command.strip_prefix("learnkit import ").unwrap();
    assert_eq!(shell.json(&["import", path])["records"]["added"], 3, "the command that was told works");
    assert_eq!(shell.run(&["doctor"]).code, 0);
}

#[test]
fn an_agent_is_only_named_for_what_knows_none() {
    let shell = with_export(&export());
    let ran = shell.run(&["import", "backup.jsonl", "--agent", "support"]);
    assert!(ran.code == 2 && ran.stderr.contains("--agent is for what an older LearnKit left"), "{ran:?}");
    assert!(!shell.has_database());
    assert_eq!(shell.run(&["import", &data("near_miss.jsonl")]).code, 1);
}
