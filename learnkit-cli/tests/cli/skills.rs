//! `skills`: files for other agents, and files of other authors.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::Shell;

/// Every file below a folder with its content.
fn files(folder: &Path) -> BTreeMap<String, String> {
    fn walk(root: &Path, folder: &Path, found: &mut BTreeMap<String, String>) {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                walk(root, &path, found);
            } else {
                let name = path.strip_prefix(root).unwrap().display().to_string();
                found.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(folder, folder, &mut found);
    found
}

/// The front matter of a skill file as a parser of its own reads it.
fn front_matter(text: &str) -> Value {
    let front = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap().0;
    serde_saphyr::from_str(front).unwrap()
}

fn outcomes(report: &Value) -> Vec<&str> {
    report["skills"].as_array().unwrap().iter().map(|skill| skill["outcome"].as_str().unwrap()).collect()
}

/// The folder of the exported skill for the weekly report.
fn weekly(shell: &Shell, out: &str) -> String {
    let found = files(&shell.path(out)).into_keys().find(|name| name.starts_with("email-the-weekly-report-"));
    found.unwrap().split('/').next().unwrap().to_owned()
}

const FOREIGN: &str = "---\nname: pdf-forms\ndescription: >-\n  Fill in PDF forms: use it when a form is a PDF.\nlicense: MIT\n\
                       allowed-tools: Bash(pdftk:*)\ncompatibility: Needs pdftk\n---\n# Forms\n\n1. List the fields\n2. Fill them in\n\n\
                       ## Pitfalls\n- Locked files\n";

#[test]
fn d19_f75_exported_folders_keep_to_the_format_and_the_same_store_gives_the_same_bytes() {
    let shell = Shell::taught();
    shell.run(&["skills", "export", "--out", "./first"]).matches("skills_export");
    shell.ok(&["skills", "export", "--out", "./second"]);
    let written = files(&shell.path("first"));
    assert_eq!(written, files(&shell.path("second")));
    assert_eq!(written.len(), 4, "two files for each of two skills, and nothing left of the writing: {written:?}");
    for (path, text) in written.iter().filter(|(path, _)| path.ends_with("SKILL.md")) {
        let front = front_matter(text);
        assert_eq!(front["name"], path.trim_end_matches("/SKILL.md"), "the name is that of the folder");
        assert_eq!(front["metadata"]["learnkit-agent"], "mailer");
        assert!(front["allowed-tools"].is_null() && text.contains("On probation: unproven"), "{text}");
    }
    let again = shell.json(&["skills", "export", "--out", "./first"]);
    assert_eq!(outcomes(&again), ["unchanged", "unchanged"]);
    shell.ok(&["maintain", "--quarantine-hours", "0"]);
    shell.ok(&["skills", "export", "--out", "./proven"]);
    for (_, text) in files(&shell.path("proven")).iter().filter(|(path, _)| path.ends_with("SKILL.md")) {
        assert!(front_matter(text)["allowed-tools"].is_string(), "{text}");
    }
}

#[test]
fn deep_agents_find_the_same_folders_where_they_look() {
    let shell = Shell::taught();
    shell.ok(&["skills", "export", "--out", "./plain"]);
    shell.ok(&["skills", "export", "--out", "./project", "--format", "deepagents"]);
    assert_eq!(files(&shell.path("plain")), files(&shell.path("project/.deepagents/skills")));
    assert_eq!(std::fs::read_dir(shell.path("project")).unwrap().count(), 1);
}

#[test]
fn what_is_left_out_is_counted_with_its_reason() {
    let shell = Shell::taught();
    shell.write("ann.jsonl", crate::support::SEED);
    shell.ok(&["learn", "ann.jsonl", "--scope", "user:ann", "--agent", "mailer"]);
    shell.write("clerk.jsonl", crate::support::SEED.replace("\"task\": \"", "\"task\": \"Please: "));
    shell.ok(&["learn", "clerk.jsonl", "--agent", "clerk"]);
    let run = shell.json(&["runs", "list", "--agent", "clerk", "--limit", "1"])["runs"][0]["id"].clone();
    shell.ok(&["runs", "report", "failure", run.as_str().unwrap()]);
    let export = |args: &[&str]| shell.json(&[&["skills", "export", "--out", "./out"], args].concat());
    let all = export(&[]);
    assert_eq!(outcomes(&all), ["written"; 3]);
    assert_eq!(all["left_out"], json!({ "in a scope that is not read": 2, "retired": 1 }));
    let one = export(&["--agent", "mailer", "--min-status", "active"]);
    let expected = json!({ "in a scope that is not read": 2, "of another agent": 2, "on probation": 2 });
    assert_eq!((outcomes(&one), &one["left_out"]), (vec![], &expected));
    shell.run(&["skills", "export", "--out", "./none", "--min-status", "active"]).matches("skills_export_none");
    assert!(!shell.path("none").exists(), "nothing to write makes no folder");
    shell.ok(&["maintain", "--quarantine-hours", "0"]);
    let active = export(&["--agent", "mailer", "--min-status", "active", "--force"]);
    assert_eq!(outcomes(&active), ["replaced", "replaced"], "their status changed: {active}");
}

#[test]
fn the_agent_that_the_settings_name_is_the_one_whose_skills_are_exported() {
    let mut shell = Shell::taught();
    shell.write("learnkit.toml", "agent = 'nobody'");
    let export = |shell: &Shell, args: &[&str]| {
        shell.json(&[&["skills", "export", "--out", "./out", "--force"], args].concat())["skills"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!((export(&shell, &[]), export(&shell, &["--agent", "mailer"])), (0, 2));
    shell.variables.push(("LEARNKIT_AGENT", "mailer".to_owned()));
    assert_eq!((export(&shell, &[]), export(&shell, &["--agent", "clerk"])), (2, 0));
}

#[test]
fn what_learnkit_did_not_write_is_never_replaced() {
    let shell = Shell::taught();
    shell.ok(&["skills", "export", "--out", "./out"]);
    let name = weekly(&shell, "out");
    let path = format!("out/{name}/SKILL.md");
    let own = std::fs::read_to_string(shell.path(&path)).unwrap();
    for foreign in [FOREIGN.to_owned(), "no front matter".to_owned(), own.replace("learnkit-record", "other-record")] {
        shell.write(&path, &foreign);
        for args in [&["skills", "export", "--out", "./out"][..], &["skills", "export", "--out", "./out", "--force"]] {
            let ran = shell.run(args);
            assert_eq!(ran.code, 1, "{ran:?}");
            assert!(ran.stdout.contains("LearnKit did not write what is there"), "{ran:?}");
            assert_eq!(std::fs::read_to_string(shell.path(&path)).unwrap(), foreign);
        }
    }
    std::fs::remove_dir_all(shell.path(&format!("out/{name}"))).unwrap();
    shell.write(&format!("out/{name}"), "a file where the folder belongs");
    let ran = shell.run(&["skills", "export", "--out", "./out", "--force", "--json"]);
    assert_eq!((ran.code, &ran.last_object()["error"]["kind"]), (1, &json!("conflict")), "{ran:?}");
}

#[cfg(unix)]
#[test]
fn a_link_is_not_followed_out_of_the_folder() {
    let shell = Shell::taught();
    shell.ok(&["skills", "export", "--out", "./out"]);
    let name = weekly(&shell, "out");
    std::fs::rename(shell.path(&format!("out/{name}")), shell.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(shell.path("elsewhere"), shell.path(&format!("out/{name}"))).unwrap();
    shell.write("elsewhere/SKILL.md", "mine");
    assert_eq!(shell.run(&["skills", "export", "--out", "./out", "--force"]).code, 1);
    assert_eq!(files(&shell.path("elsewhere"))["SKILL.md"], "mine");
}

#[test]
fn force_replaces_an_older_export_and_keeps_what_others_put_beside_it() {
    let shell = Shell::taught();
    shell.ok(&["skills", "export", "--out", "./out"]);
    let name = weekly(&shell, "out");
    let before = files(&shell.path("out"));
    let path = format!("{name}/SKILL.md");
    shell.write(&format!("out/{path}"), before[&path].replace("Steps", "Stages"));
    shell.write(&format!("out/{name}/references/notes.md"), "mine");
    shell.write("out/pdf-forms/SKILL.md", FOREIGN);
    shell.run(&["skills", "export", "--out", "./out"]).matches("skills_export_changed");
    let forced = shell.json(&["skills", "export", "--out", "./out", "--force"]);
    assert!(outcomes(&forced).contains(&"replaced"), "{forced}");
    let mut after = files(&shell.path("out"));
    assert_eq!(after.remove(&format!("{name}/references/notes.md")).as_deref(), Some("mine"));
    assert_eq!(after.remove("pdf-forms/SKILL.md").as_deref(), Some(FOREIGN));
    assert_eq!(after, before);
}

#[test]
fn a_skill_with_long_arguments_is_unchanged_the_second_time_and_comes_back_whole() {
    let shell = Shell::new();
    let calls: Vec<Value> = (0..25)
        .map(|n| json!({ "tool": "write", "arguments": { "at": n, "text": "x y ".repeat(12_500) }, "result": "ok" }))
        .collect();
    shell.write(
        "long.jsonl",
        json!({ "task": "Write it", "calls": calls, "answer": "Done.", "success": true }).to_string(),
    );
    shell.ok(&["learn", "long.jsonl"]);
    let export = || outcomes(&shell.json(&["skills", "export", "--out", "./out"])).concat();
    assert_eq!((export(), export()), ("written".to_owned(), "unchanged".to_owned()));
    shell.ok(&["skills", "export", "--format", "json", "--out", "./skills.json"]);
    let import = |path: &str| outcomes(&shell.json(&["skills", "import", path])).concat();
    assert_eq!((import("skills.json"), import("out")), ("stored".to_owned(), "known".to_owned()));
}

#[test]
fn arguments_of_several_lines_stay_one_line_of_json() {
    let shell = Shell::new();
    let call = json!({ "function": { "name": "send", "arguments": "{\n  \"to\": \"boss\"\n}" }, "id": "1", "type": "function" });
    let messages = json!([
        { "role": "user", "content": "Email the boss" },
        { "role": "assistant", "tool_calls": [call] },
        { "role": "tool", "tool_call_id": "1", "content": "ok" },
        { "role": "assistant", "content": "Done." },
    ]);
    shell.write("run.jsonl", json!({ "messages": messages }).to_string());
    shell.ok(&["learn", "run.jsonl"]);
    let ran = shell.run(&["skills", "export", "--format", "json", "--json"]);
    assert_eq!(ran.stdout.lines().count(), 1, "{ran:?}");
    assert_eq!(ran.last_object()["skills"][0]["calls"][0]["arguments"], json!({ "to": "boss" }));
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_neither_read_nor_replaced() {
    let shell = Shell::taught();
    for path in ["/dev/null", "/dev/zero"] {
        let ran = shell.run(&["skills", "export", "--format", "json", "--out", path, "--force"]);
        assert!(ran.code == 1 && ran.stdout.contains("what is there is no file"), "{path}: {ran:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_linked_skill_folder_is_imported_and_a_link_back_ends() {
    let shell = Shell::new();
    shell.write("installed/pdf-forms/SKILL.md", FOREIGN);
    std::fs::create_dir(shell.path("linked")).unwrap();
    let link = |to: &str, from: &str| std::os::unix::fs::symlink(shell.path(to), shell.path(from)).unwrap();
    link("installed/pdf-forms", "linked/pdf-forms");
    link("linked", "linked/back");
    assert_eq!(outcomes(&shell.json(&["skills", "import", "linked"])), ["stored"]);
}

#[test]
fn what_a_killed_export_left_is_not_imported() {
    let shell = Shell::new();
    shell.write("out/.learnkit-export-77/pdf-forms/SKILL.md", FOREIGN);
    assert_eq!(shell.run(&["skills", "import", "out"]).code, 1);
}

#[test]
fn json_is_one_document_for_a_file_or_a_stream() {
    let shell = Shell::taught();
    let stream = shell.ok(&["skills", "export", "--format", "json"]);
    assert_eq!(shell.ok(&["skills", "export", "--format", "json", "--out", "-"]), stream);
    shell.ok(&["skills", "export", "--format", "json", "--out", "./skills.json"]);
    assert_eq!(std::fs::read_to_string(shell.path("skills.json")).unwrap(), stream);
    let line = shell.json(&["skills", "export", "--format", "json"]);
    assert_eq!(line, serde_json::from_str::<Value>(&stream).unwrap());
    assert_eq!(line["skills"].as_array().unwrap().len(), 2);
    let export = |out: &str, force: &[&str]| {
        shell.run(&[&["skills", "export", "--format", "json", "--agent", "mailer", "--out", out], force].concat())
    };
    assert!(export("./skills.json", &[]).stdout.contains("unchanged"));
    shell.write("skills.json", stream.replace("Email", "Mail"));
    assert_eq!(export("./skills.json", &[]).code, 1);
    assert!(export("./skills.json", &["--force"]).stdout.contains("replaced"));
    shell.write("other.json", "{}");
    assert_eq!(export("./other.json", &["--force"]).code, 1);
    assert_eq!(std::fs::read_to_string(shell.path("other.json")).unwrap(), "{}");
}

#[test]
fn a_folder_format_needs_a_folder() {
    let shell = Shell::taught();
    for args in [&["skills", "export"][..], &["skills", "export", "--format", "deepagents"]] {
        let ran = shell.run(args);
        assert!(ran.code == 2 && ran.stderr.contains("--out"), "{ran:?}");
    }
    shell.write("a-file", "x");
    let ran = shell.run(&["skills", "export", "--out", "a-file"]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (1, 1), "{ran:?}");
}

#[test]
fn one_bad_folder_is_named_and_the_rest_is_imported() {
    let shell = Shell::new();
    shell.write("in/pdf-forms/SKILL.md", FOREIGN);
    shell.write("in/pdf-forms/scripts/fill.sh", "pdftk");
    shell.write("in/group/Other Name/SKILL.md", "---\nname: Other_Name\ndescription: Say hello\n---\nWave.\n");
    shell.write("in/a-bad-yaml/SKILL.md", "---\ndescription: Deploy: prod\n---\n");
    shell.write("in/b-no-description/SKILL.md", "---\nname: b-no-description\n---\nText\n");
    shell.write("in/c-no-front/SKILL.md", "# Just text\n");
    shell.write("in/d-bytes/SKILL.md", [0xff, 0xfe, 0x00]);
    shell.write("in/e-no-words/SKILL.md", "---\nname: e-no-words\ndescription: \"…\"\n---\n");
    shell.write("in/f-no-skill/README.md", "x");
    shell.run(&["skills", "import", "in", "./missing"]).matches("skills_import");
    let again = shell.run(&["skills", "import", "in", "--json"]);
    let report = again.last_object();
    assert_eq!((again.code, &report["total"]), (0, &json!({ "stored": 0, "known": 2, "failed": 5 })), "{report}");
}

#[test]
fn importing_twice_changes_nothing_and_a_known_skill_stays_as_it_is() {
    let shell = Shell::new();
    shell.write("pdf-forms/SKILL.md", FOREIGN);
    let import = || shell.json(&["skills", "import", "pdf-forms"])["skills"][0].clone();
    let first = import();
    let id = first["id"].as_str().unwrap();
    assert_eq!(first["outcome"], "stored");
    shell.run(&["records", "show", id]).matches("skills_imported");
    let before = shell.json(&["records", "show", id]);
    assert_eq!((&before["status"], &before["trust"]), (&json!("probation"), &json!("unverified")));
    assert_eq!(before["provenance"]["author"], "import");
    assert!(before["content"]["procedure"].is_null() && before["task"].is_null(), "{before}");
    assert_eq!(
        import(),
        json!({ "outcome": "known", "id": id, "name": "pdf-forms", "path": first["path"], "notes": first["notes"] })
    );
    assert_eq!(shell.json(&["records", "show", id]), before);
    let other = shell.json(&["skills", "import", "pdf-forms", "--agent", "clerk"]);
    assert_eq!(other["total"]["stored"], 1, "another agent's own");
    assert_eq!(shell.json(&["inspect", "Fill in the PDF form", "--agent", "clerk"])["mode"], "guide");
}

#[test]
fn what_was_exported_comes_back_as_prose_that_never_replays() {
    let shell = Shell::taught();
    let task = ["inspect", "Email the weekly report", "--agent", "mailer"];
    assert_eq!(shell.json(&task)["mode"], "replay");
    shell.ok(&["skills", "export", "--out", "./out"]);
    shell.ok(&["skills", "export", "--format", "json", "--out", "./skills.json"]);
    let mut elsewhere = shell;
    elsewhere.database = "elsewhere.db";
    let folders = elsewhere.json(&["skills", "import", "out", "--agent", "mailer"]);
    assert_eq!(outcomes(&folders), ["stored", "stored"]);
    let document = elsewhere.json(&["skills", "import", "skills.json", "--agent", "mailer"]);
    assert_eq!(outcomes(&document), ["known", "known"], "both formats say the same");
    let stream = std::fs::read_to_string(elsewhere.path("skills.json")).unwrap();
    let piped = elsewhere.run_with(&["skills", "import", "-", "--agent", "mailer", "--json"], stream).last_object();
    assert_eq!(outcomes(&piped), ["known", "known"]);
    let inspected = elsewhere.json(&task);
    assert_eq!((&inspected["mode"], &inspected["plan"]), (&json!("guide"), &json!([])), "{inspected}");
    let playbook = inspected["playbook"]["text"].as_str().unwrap();
    assert!(playbook.contains("take `/id` anew from the result of step 1"), "{playbook}");
}

#[test]
fn an_exported_file_that_somebody_edited_is_read_as_it_stands() {
    let shell = Shell::taught();
    shell.ok(&["skills", "export", "--out", "./out"]);
    let name = weekly(&shell, "out");
    let path = format!("out/{name}/SKILL.md");
    let text = std::fs::read_to_string(shell.path(&path)).unwrap();
    let (steps, rest) = text.split_once("\n## Tools that are not allowed").unwrap();
    let text = format!("{steps}3. Tell the boss.\n\n## Tools that are not allowed{rest}");
    shell.write(&path, text + "\n## Watch out\n\n- Not on Sundays\n\n## Notes\n\nAsk Ann.\n");
    let id = shell.json(&["skills", "import", &path])["skills"][0]["id"].clone();
    let content = shell.json(&["records", "show", id.as_str().unwrap()])["content"].clone();
    assert_eq!(content["trigger"], "Email the weekly report");
    let steps = content["steps"].as_array().unwrap();
    assert_eq!(steps[2..], [json!("Tell the boss."), json!("Notes: Ask Ann.")], "{content}");
    assert_eq!(content["pitfalls"], json!(["Not on Sundays"]));
}

#[test]
fn nothing_to_import_is_a_failure_and_makes_no_store() {
    let shell = Shell::new();
    shell.write("empty/x.txt", "");
    shell.write("newer.json", r#"{"format": "learnkit-skills", "version": 9, "skills": []}"#);
    shell.write("foreign.json", "{}");
    shell.write("big/SKILL.md", format!("---\ndescription: x\n---\n{}", "x".repeat(2 << 20)));
    for path in ["./missing", "empty", "newer.json", "foreign.json", "big"] {
        let ran = shell.run(&["skills", "import", path, "--json"]);
        assert_eq!((ran.code, ran.stdout.lines().count()), (1, 1), "{path}: {ran:?}");
        assert_eq!(ran.last_object()["total"]["failed"], 1, "{path}: {ran:?}");
        assert!(!shell.has_database(), "{path}");
    }
    shell.run(&["skills", "import", "newer.json"]).matches("skills_import_newer");
}

#[test]
fn a_secret_in_a_skill_file_is_not_stored() {
    let shell = Shell::new();
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let text = format!(
        "---\nname: s\ndescription: Sign in with {secret}\n---\n- Use {secret}\n\n## Pitfalls\n- Not {secret}\n"
    );
    shell.write("s/SKILL.md", text);
    shell.ok(&["skills", "import", "s"]);
    let bytes = std::fs::read(shell.path(shell.database)).unwrap();
    assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
}
