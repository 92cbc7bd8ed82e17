//! `drift`: what changed about tools and for whom, and golden procedures in a repository.

use learnkit::engine::{Outcome, SessionOptions, View};
use learnkit::record::AgentName;
use learnkit::tool::ToolManifest;
use learnkit::{LearnKit, Task};
use serde_json::{Value, json};

use crate::support::Shell;

/// The tools that the store of [`taught`] was learned with, as OpenAI has them.
fn tools() -> Value {
    let tool = |name: &str, description: &str, properties: Value, required: Value| {
        let parameters = json!({"type": "object", "properties": properties, "required": required});
        json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
    };
    let to = json!({"type": "string", "enum": ["boss", "team"]});
    json!([
        tool("find_report", "Finds a report.", json!({"name": {"type": "string"}}), json!(["name"])),
        tool("send", "Sends a report.", json!({"id": {"type": "string"}, "to": to}), json!(["id", "to"])),
    ])
}

/// A shell whose store learned two tasks of two agents while these tools were at hand, and one without.
fn taught() -> Shell {
    let shell = Shell::new();
    let manifest = ToolManifest::parse(&tools().to_string()).unwrap().tools;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let uri = format!("sqlite:{}", shell.path(shell.database).display());
        let memory = LearnKit::builder().backend(&*uri).build().await.unwrap();
        for (agent, task, to) in [("mailer", "Mail the weekly report", "boss"), ("clerk", "Mail the team", "team")] {
            let memory = memory.with_agent(AgentName::new(agent).unwrap());
            let session = memory.session(Task::new(task), SessionOptions::default()).unwrap();
            session.decide(&View { tools: Some(&manifest), can_synthesize: false }).await;
            session.tracker().record("find_report", json!({"name": "weekly"}), json!({"id": "rep_20417"}).to_string());
            session.tracker().record("send", json!({"id": "rep_20417", "to": to}), json!({"sent": true}).to_string());
            session.finish(&Outcome::answered("Sent.")).await;
        }
        memory.shutdown().await.unwrap();
    });
    shell.write(
        "bare.jsonl",
        r#"{"task": "Find it", "calls": [{"tool": "find_report", "arguments": {}, "result": 1}], "success": true}"#,
    );
    shell.ok(&["learn", "bare.jsonl", "--agent", "finder"]);
    shell
}

/// The tools with parts exchanged or added, by their places.
fn changed<const N: usize>(parts: [(&str, Value); N]) -> String {
    let mut tools = tools();
    for (place, value) in parts {
        let (parent, name) = place.rsplit_once('/').unwrap();
        tools.pointer_mut(parent).unwrap().as_object_mut().unwrap().insert(name.to_owned(), value);
    }
    tools.to_string()
}

/// A list in which one change blocks and another does not.
fn drifted() -> String {
    changed([
        ("/0/function/parameters/properties/year", json!({"type": "integer"})),
        ("/1/function/parameters/properties/to/enum", json!(["boss"])),
        ("/1/function/description", json!("Sends a report to everybody.")),
    ])
}

/// The id of the procedure of an agent.
fn skill_of(shell: &Shell, agent: &str) -> String {
    let list = shell.json(&["records", "list", "--kind", "skill", "--agent", agent]);
    list.pointer("/records/0/id").unwrap().as_str().unwrap().to_owned()
}

#[test]
fn a_check_says_what_changed_and_for_whom() {
    let shell = taught();
    shell.write("tools.json", tools().to_string());
    shell.run(&["drift", "check", "--tools", "tools.json", "--exit-code"]).matches("drift_check_none");
    shell.write("tools.json", drifted());
    shell.run(&["drift", "check", "--tools", "tools.json"]).matches("drift_check");
    let ran = shell.run(&["drift", "check", "--tools", "tools.json", "--exit-code", "--agent", "mailer"]);
    ran.matches("drift_check_exit_code");
    let report = shell.run(&["drift", "check", "--tools", "tools.json", "--exit-code", "--json"]);
    let object = report.last_object();
    assert_eq!((report.code, &object["error"]["kind"]), (1, &json!("conflict")), "{report:?}");
    assert_eq!(
        (&object["procedures"], &object["blocked"], &object["without_contract"]),
        (&json!(3), &json!(2), &json!(1))
    );
    let send = &object["tools"][1];
    assert_eq!((&send["tool"], &send["blocks"]), (&json!("send"), &json!(true)));
    let kinds: Vec<&str> =
        send["changes"].as_array().unwrap().iter().map(|change| change["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["description_changed", "enum_shrunk"]);
    let mut affected = [skill_of(&shell, "mailer"), skill_of(&shell, "clerk")];
    affected.sort();
    let named: Vec<&str> =
        send["records"].as_array().unwrap().iter().map(|record| record["id"].as_str().unwrap()).collect();
    assert_eq!(named, affected);
    let find = &object["tools"][0];
    assert_eq!((&find["blocks"], &find["changes"][0]["kind"]), (&json!(false), &json!("field_added")));
}

#[test]
fn a_renamed_tool_is_named_and_blocks_those_without_a_contract_too() {
    let shell = taught();
    let renamed = changed([("/0/function/name", json!("look_up"))]);
    let ran = shell.run_with(&["drift", "check", "--tools", "-", "--json"], &renamed);
    let report = ran.last_object();
    assert_eq!((ran.code, &report["blocked"]), (0, &json!(3)), "without --exit-code it only tells: {ran:?}");
    let details: Vec<&str> =
        report["tools"].as_array().unwrap().iter().map(|tool| tool["changes"][0]["detail"].as_str().unwrap()).collect();
    assert_eq!(details, ["", "`look_up` says the same"]);
}

#[test]
fn retired_procedures_and_other_scopes_are_not_checked() {
    let shell = taught();
    shell.write("tools.json", drifted());
    let run = shell.json(&["runs", "list", "--agent", "clerk"])["runs"][0]["id"].as_str().unwrap().to_owned();
    shell.ok(&["runs", "report", "failure", &run]);
    let report = shell.json(&["drift", "check", "--tools", "tools.json"]);
    assert_eq!((&report["procedures"], &report["blocked"]), (&json!(2), &json!(1)));
    let report = shell.json(&["drift", "check", "--tools", "tools.json", "--scope", "team:other"]);
    assert_eq!(report["procedures"], json!(0));
}

#[test]
fn a_list_that_is_none_is_refused_by_name() {
    let shell = taught();
    shell.write("tools.json", r#"{"openapi": "3.1.0"}"#);
    shell.run(&["drift", "check", "--tools", "tools.json"]).matches("drift_check_no_list");
    shell.write("no.json", "tools: none");
    let broken = shell.run(&["drift", "check", "--tools", "no.json", "--json"]);
    let said = broken.last_object()["error"]["message"].as_str().unwrap().to_owned();
    assert!(broken.code == 1 && said.starts_with("the tool list is no JSON; check the file"), "{said}");
    let missing = shell.run(&["drift", "check", "--tools", "./missing.json", "--json"]);
    assert_eq!((missing.code, &missing.last_object()["error"]["kind"]), (1, &json!("not_found")));
    assert_eq!(shell.run(&["drift", "check"]).code, 2);
}

#[test]
fn golden_files_are_the_same_bytes_until_the_procedure_changes() {
    let shell = taught();
    let id = skill_of(&shell, "mailer");
    shell.run(&["drift", "golden", "export", "./kept", "--record", &id]).matches("drift_golden_export");
    let file = format!("kept/{id}.json");
    let first = std::fs::read_to_string(shell.path(&file)).unwrap();
    let golden: Value = serde_json::from_str(&first).unwrap();
    assert_eq!(golden["steps"][1]["arguments"], json!({"id": "rep_20417", "to": "boss"}));
    assert_eq!(golden["contracts"]["send"]["input_schema"]["required"], json!(["id", "to"]));
    assert!(!first.contains("\"version\"") && !first.contains("source_run") && first.ends_with("}\n"), "{first}");
    // Neither time nor use nor a pin changes it.
    shell.ok(&["records", "pin", &id]);
    shell.ok(&["maintain", "--quarantine-hours", "0"]);
    let again = shell.json(&["drift", "golden", "export", "./kept", "--pinned"]);
    assert_eq!(again["goldens"][0]["outcome"], json!("unchanged"), "{again}");
    shell.run(&["drift", "golden", "check", "./kept"]).matches("drift_golden_check");
    let unsaid = shell.run(&["drift", "golden", "export", "./kept"]);
    assert!(unsaid.code == 2 && unsaid.stderr.contains("<--record <ID>|--pinned|--verified>"), "{unsaid:?}");
    let verified = shell.json(&["drift", "golden", "export", "./verified", "--verified"]);
    assert_eq!(verified["goldens"].as_array().unwrap().len(), 1, "only what was learned with its outcome: {verified}");
    let none = shell.run(&["drift", "golden", "export", "./none", "--pinned", "--agent", "clerk"]);
    assert!(none.code == 0 && !shell.path("none").exists(), "nothing chosen makes no folder: {none:?}");
}

#[test]
fn a_golden_procedure_that_differs_is_gone_or_broken_fails_the_check() {
    let shell = taught();
    let (mailer, clerk) = (skill_of(&shell, "mailer"), skill_of(&shell, "clerk"));
    shell.ok(&["drift", "golden", "export", "./kept", "--record", &mailer, "--record", &clerk]);
    let file = format!("kept/{mailer}.json");
    let text = std::fs::read_to_string(shell.path(&file)).unwrap();
    shell.write(&file, text.replace("\"boss\"\n", "\"board\"\n"));
    assert_ne!(std::fs::read_to_string(shell.path(&file)).unwrap(), text);
    shell.ok(&["records", "delete", &clerk]);
    let ran = shell.run(&["drift", "golden", "check", "./kept"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("/steps/1/arguments/to: \"board\" → \"boss\""), "{ran:?}");
    assert!(
        ran.stdout.contains("the record is gone") && ran.stdout.ends_with("2 golden procedures checked, 2 wrong\n")
    );
    shell.write(&file, &text);
    shell.write("tools.json", drifted());
    shell.run(&["drift", "golden", "check", &file, "--tools", "tools.json"]).matches("drift_golden_check_tools");
    let report = shell.run(&["drift", "golden", "check", &format!("./{file}"), "--tools", "tools.json", "--json"]);
    assert_eq!((report.code, &report.last_object()["wrong"]), (1, &json!(1)), "{report:?}");
}

#[test]
fn a_golden_folder_without_files_or_with_a_broken_one_never_passes() {
    let shell = taught();
    std::fs::create_dir(shell.path("empty")).unwrap();
    let ran = shell.run(&["drift", "golden", "check", "./empty"]);
    assert!(ran.code == 1 && ran.stderr.contains("holds no golden procedure"), "{ran:?}");
    shell.write("empty/skill.json", "{}");
    let ran = shell.run(&["drift", "golden", "check", "./empty"]);
    assert!(ran.code == 1 && ran.stdout.contains("it is no golden procedure"), "{ran:?}");
}

#[test]
fn what_is_no_golden_file_is_never_replaced() {
    let shell = taught();
    let id = skill_of(&shell, "mailer");
    let file = format!("kept/{id}.json");
    shell.write(&file, "{}");
    for force in [&["--record", &id][..], &["--record", &id, "--force"]] {
        let ran = shell.run(&[&["drift", "golden", "export", "./kept"], force].concat());
        assert!(ran.code == 1 && ran.stdout.contains("LearnKit did not write what is there"), "{ran:?}");
    }
    assert_eq!(std::fs::read_to_string(shell.path(&file)).unwrap(), "{}");
    let none = shell.run(&["drift", "golden", "export", "./kept", "--record", "skill_none", "--json"]);
    assert_eq!(none.last_object()["error"]["kind"], json!("not_found"));
}
