//! `inspect`, `key`, `records` and `runs`: what is shown, to people and to programs.

use learnkit_cli::Terminal;
use serde_json::{Value, json};

use crate::support::{Shell, data};

const MAILER: [&str; 2] = ["--agent", "mailer"];

#[test]
fn inspect_shows_the_plan_of_an_exact_task() {
    let shell = Shell::taught();
    let args = ["inspect", "Email the weekly report", MAILER[0], MAILER[1]];
    shell.run(&args).matches("inspect_exact");
    let object = shell.json(&args);
    assert_eq!((&object["mode"], &object["trust"]), (&json!("replay"), &json!("verified")));
    assert_eq!(object["plan"][1]["open"], json!(["/id"]));
}

#[test]
fn inspect_of_a_near_miss_guides_and_names_records_of_other_agents() {
    let shell = Shell::taught();
    shell.run(&["inspect", "Email the weekly reports", MAILER[0], MAILER[1]]).matches("inspect_near_miss");
    let object = shell.json(&["inspect", "Email the weekly report"]);
    assert_ne!(object["mode"], "replay", "another agent's procedure does not replay");
    let near = object["near"].as_array().unwrap();
    assert!(near.iter().any(|near| near["agent"] == "mailer"), "{object}");
}

#[test]
fn an_environment_is_part_of_the_task_wherever_one_is_named() {
    let shell = Shell::new();
    let row = json!({ "task": "Restart alpha", "success": true, "answer": "up",
        "calls": [{ "tool": "restart", "arguments": {}, "result": "ok" }] });
    shell.write("row.jsonl", row.to_string());
    shell.ok(&["learn", "row.jsonl", "--environment", "v1"]);
    let inspect = |environment: &[&str]| shell.json(&[&["inspect", "Restart alpha"], environment].concat());
    let same = inspect(&["--environment", "v1"]);
    assert_eq!((&same["mode"], &same["world_check"]), (&json!("replay"), &json!("environment")));
    assert_eq!(inspect(&["--environment", "v2"])["mode"], "guide");
    assert_eq!(inspect(&[])["mode"], "guide");
    let key = shell.run_with(&["key", "--environment", "v1"], "Restart alpha\n").stdout;
    assert!(key.contains(same["key"].as_str().unwrap()), "{key}");
    let blank = shell.run(&["inspect", "Restart alpha", "--environment", " "]);
    assert!(blank.stderr.contains("a blank digest says nothing"), "{blank:?}");
}

#[test]
fn inspect_says_what_each_step_may_do_and_what_would_be_asked() {
    let mut shell = Shell::taught();
    let args = ["inspect", "Email the weekly report", MAILER[0], MAILER[1]];
    let object = shell.json(&args);
    assert_eq!(object["replay_policy"], "all");
    assert!(
        object["plan"].as_array().unwrap().iter().all(|line| line["effect"] == "unknown" && line["approval"] == false)
    );
    shell.variables = vec![("LEARNKIT_REPLAY_POLICY", "ask".to_owned())];
    shell.run(&args).matches("inspect_ask");
    assert!(shell.json(&args)["plan"].as_array().unwrap().iter().all(|line| line["approval"] == true));
    shell.variables = vec![("LEARNKIT_REPLAY_POLICY", "read_only".to_owned())];
    let object = shell.json(&args);
    assert_eq!(object["mode"], "guide");
    let reason = object["reason"].as_str().unwrap();
    assert!(reason.contains("is not stated to only read, and `replay_policy` is `read_only`"), "{reason}");
}

#[test]
fn inspect_wraps_its_tables_at_the_width_of_a_terminal() {
    let mut shell = Shell::taught();
    shell.terminal = Terminal { stdout: true, stderr: true, width: Some(72) };
    let shown = shell.ok(&["inspect", "Email the weekly report", MAILER[0], MAILER[1]]);
    let table = shown.lines().skip_while(|line| !line.contains("plan")).take_while(|line| !line.contains("candidates"));
    assert!(table.clone().all(|line| line.chars().count() <= 72), "{shown}");
    assert!(table.into_iter().any(|line| line.contains('─')), "{shown}");
    assert!(shown.contains("\u{1b}[1mplan"), "{shown:?}");
}

#[test]
fn no_color_switches_colours_off() {
    let mut shell = Shell::taught();
    shell.terminal = Terminal { stdout: true, stderr: true, width: None };
    shell.variables.push(("NO_COLOR", "1".to_owned()));
    let ran = shell.run(&["inspect", "Email the weekly report", MAILER[0], MAILER[1]]);
    assert!(!format!("{}{}", ran.stdout, ran.stderr).contains('\u{1b}'), "{ran:?}");
    assert!(!shell.run(&["--help"]).stdout.contains('\u{1b}'));
    assert!(!shell.run(&["--bogus"]).stderr.contains('\u{1b}'));
}

#[test]
fn stored_text_cannot_act_on_the_terminal() {
    let shell = Shell::new();
    let row = json!({ "task": "Clear \u{1b}[2J it\nnow", "success": true, "answer": "\u{1b}]0;x\u{7}ok",
        "calls": [{ "tool": "t\u{1b}c", "arguments": {}, "result": "\u{9b}31m" }] });
    shell.write("row.jsonl", row.to_string());
    let run = |args: &[&str]| shell.ok(args);
    let shown = [run(&["learn", "row.jsonl"]), run(&["records", "list"]), run(&["runs", "list"])].concat();
    let skill = run(&["records", "show", &shell.record("skill")]);
    let task = shell.ok(&["inspect", "Clear \u{1b}[2J it\nnow"]);
    let key = shell.run_with(&["key"], "Clear \u{1b}[2J\u{2028} it\n").stdout;
    for text in [shown, skill, task, key] {
        assert!(!text.chars().any(|char| char.is_control() && !matches!(char, '\n' | '\t')), "{text:?}");
    }
}

#[test]
fn key_prints_one_line_for_each_task_and_opens_no_store() {
    let shell = Shell::new();
    let input = "Email  the report.\r\n\"two\\nlines\"\n\"quoted\" word\n\n\"no end\nlast";
    shell.run_with(&["key", "--agent", "mailer"], input).matches("key");
    let ran = shell.run_with(&["key", "--json", "--backend", "unlinked:x"], "\"a\\tb\"\nc.\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    let rows: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (&rows[0]["text"], &rows[1]["text"], &rows[1]["canonical"]),
        (&json!("a\tb"), &json!("c."), &json!("c"))
    );
    assert!(!shell.has_database());
}

#[test]
fn key_tells_every_near_miss_apart_and_no_true_repeat() {
    let shell = Shell::new();
    for (cases, is_same) in [("near_miss.jsonl", false), ("true_repeat.jsonl", true)] {
        let pairs = std::fs::read_to_string(data(cases)).unwrap();
        let pairs: Vec<Value> = pairs.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let keys = |side: &str| {
            let input: Vec<String> = pairs.iter().map(|pair| pair[side].to_string()).collect();
            let ran = shell.run_with(&["key"], input.join("\n"));
            let keys = ran.stdout.lines().map(|line| line.rsplit_once('\t').unwrap().1.to_owned());
            keys.collect::<Vec<_>>()
        };
        let (a, b) = (keys("a"), keys("b"));
        assert_eq!((a.len(), b.len()), (pairs.len(), pairs.len()));
        for ((a, b), pair) in a.iter().zip(&b).zip(&pairs) {
            assert_eq!(a == b, is_same, "{pair}");
        }
    }
}

#[test]
fn key_depends_on_who_asks_and_of_a_template_on_names_only() {
    let shell = Shell::new();
    let key = |args: &[&str]| shell.run_with(&[&["key"], args].concat(), "Report of {t}\n").stdout;
    let base = key(&[]);
    for other in [["--tenant", "b"], ["--scope", "public"], ["--agent", "b"], ["--param", "t=users"]] {
        assert_ne!(key(&other), base, "{other:?}");
    }
    assert_eq!(key(&["--param", "t=users"]), key(&["--param", "t=orders"]));
}

#[test]
fn records_are_listed_newest_first_and_filtered() {
    let shell = Shell::taught();
    shell.run(&["records", "list"]).matches("records_list");
    let total = |args: &[&str]| shell.json(&[&["records", "list"], args].concat())["total"].as_u64().unwrap();
    assert_eq!(total(&[]), 6);
    assert_eq!(total(&["--kind", "skill,failure"]), 3);
    assert_eq!(total(&["--status", "probation"]), 2);
    assert_eq!(total(&["--agent", "clerk"]), 2);
    assert_eq!(total(&["--scope", "public"]), 0);
    assert_eq!(total(&["--tenant", "other"]), 0);
    let ran = shell.run(&["records", "list", "--limit", "2"]);
    assert_eq!(
        (ran.stdout.lines().count(), ran.stderr.as_str()),
        (3, "learnkit: 2 of 6 records; --all shows every one\n")
    );
    assert_eq!(shell.ok(&["records", "list", "--scope", "public"]), "no records\n");
}

#[test]
fn a_record_is_shown_with_its_steps_guards_and_standing() {
    let shell = Shell::taught();
    let list = shell.json(&["records", "list", "--kind", "skill"]);
    let email = list["records"].as_array().unwrap().iter().find(|record| record["trust"] == "verified").unwrap();
    let id = email["id"].as_str().unwrap();
    shell.run(&["records", "show", id]).matches("records_show");
    let object = shell.json(&["records", "show", id]);
    assert_eq!(object["content"]["procedure"]["steps"][1]["tool"], "send");
    shell.run(&["records", "show", &shell.record("failure")]).matches("records_show_failure");
}

#[test]
fn a_pinned_record_says_so_and_can_be_unpinned() {
    let shell = Shell::taught();
    let id = shell.record("skill");
    shell.run(&["records", "pin", &id]).matches("records_pin");
    assert_eq!(shell.json(&["records", "show", &id])["pinned"], true);
    assert_eq!(shell.json(&["records", "pin", &id, "--off"])["pinned"], false);
}

/// A shell whose store has a skill that was healed once, and the id of the skill.
fn healed() -> (Shell, String) {
    let shell = Shell::taught();
    let id = shell.record("skill");
    let mut record = shell.json(&["records", "show", &id]);
    let procedure = record.pointer_mut("/content/procedure").unwrap();
    let before = procedure.clone();
    let set = |object: &mut Value, key: &str, value: Value| {
        object.as_object_mut().unwrap().insert(key.to_owned(), value);
    };
    set(procedure, "version", json!(2));
    set(procedure, "answer", json!("another answer"));
    let history = json!({
        "last_good": { "procedure": before, "trust": "confirmed", "help": 3, "harm": 0 },
        "changes": [{ "version": 2, "at": "2026-01-05T08:00:00Z", "run": "run_healed", "why": "other values" }],
    });
    set(&mut record, "history", history);
    set(&mut record, "revision", json!(0));
    let lines = [
        json!({ "format": "learnkit-export", "version": 1, "learnkit": "0.1.0", "exported": "2026-01-05T08:00:00Z", "tenant": "default" }),
        json!({ "record": record }),
        json!({ "end": { "records": 1, "runs": 0 } }),
    ];
    shell.write("healed.jsonl", lines.map(|line| line.to_string()).join("\n") + "\n");
    shell.ok(&["import", "healed.jsonl", "--replace"]);
    (shell, id)
}

#[test]
fn a_healed_record_shows_its_history_and_can_be_rolled_back_once() {
    let (shell, id) = healed();
    shell.run(&["records", "show", &id]).matches("records_show_history");
    shell.run(&["records", "rollback", &id]).matches("records_rollback");
    let record = shell.json(&["records", "show", &id]);
    assert_eq!((&record["trust"], &record["usage"]["help"]), (&json!("confirmed"), &json!(3)));
    assert_ne!(record["content"]["procedure"]["answer"], json!("another answer"));
    assert_eq!(record["history"]["changes"][1]["version"], json!(3));
    let again = shell.run(&["records", "rollback", &id]);
    assert_eq!((again.code, again.stderr.contains("no earlier version")), (1, true), "{again:?}");
    let (shell, id) = healed();
    let rolled = shell.json(&["records", "rollback", &id]);
    assert_eq!((&rolled["version"], &rolled["change"]["version"]), (&json!(3), &json!(3)));
}

#[test]
fn delete_says_what_it_removed_and_names_what_is_not_there() {
    let shell = Shell::taught();
    let id = shell.record("skill");
    shell.run(&["records", "delete", &id, "skill_gone"]).matches("records_delete");
    let object = shell.run(&["--json", "records", "delete", &shell.record("failure"), &id]).last_object();
    assert_eq!(object["deleted"][0]["records"], 2, "the failure and the trace of its run: {object}");
    assert_eq!(object["error"]["kind"], "not_found");
    assert_eq!(shell.json(&["records", "list"])["total"], 2);
}

#[test]
fn runs_are_listed_newest_first() {
    let shell = Shell::taught();
    shell.run(&["runs", "list"]).matches("runs_list");
    let object = shell.json(&["runs", "list", "--agent", "mailer", "--limit", "1"]);
    assert_eq!((object["runs"].as_array().unwrap().len(), &object["more"]), (1, &json!(true)));
    assert_eq!(shell.ok(&["runs", "list", "--agent", "nobody"]), "no runs\n");
}

#[test]
fn a_run_is_shown_with_every_decision_and_its_reason() {
    let shell = Shell::taught();
    let id = shell.json(&["runs", "list", "--agent", "clerk"])["runs"][0]["id"].as_str().unwrap().to_owned();
    shell.run(&["runs", "show", &id]).matches("runs_show");
    assert_eq!(shell.json(&["runs", "show", &id])["decisions"][0]["decision"], "learn");
}
