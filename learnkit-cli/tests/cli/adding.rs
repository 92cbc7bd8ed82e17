//! `records add`: what people write themselves, for whom, and what becomes of it.

use serde_json::{Value, json};

use crate::support::Shell;

fn added(shell: &Shell, args: &[&str]) -> Value {
    shell.json(&[&["records", "add"], args].concat())
}

#[test]
fn adding_says_what_became_of_it_and_makes_the_store() {
    let shell = Shell::new();
    shell.run(&["records", "add", "fact", "The API allows 100 requests a minute"]).matches("add_fact");
    shell.run(&["records", "add", "fact", "The API allows 100 requests a minute"]).matches("add_known");
    shell.run(&["records", "add", "fact", "The API allows 200 requests a minute"]).matches("add_supersedes");
    let fact = shell.record("fact");
    let again = added(&shell, &["fact", "The API allows 300 requests a minute", "--source", "handbook"]);
    assert_eq!(
        (&again["outcome"], &again["old"], &again["kind"]),
        (&json!("supersedes"), &json!(fact), &json!("fact"))
    );
    let shown = shell.json(&["records", "show", again["id"].as_str().unwrap()]);
    assert_eq!(shown["content"]["source"], "handbook");
    assert_eq!(shown["content"]["superseded"].as_array().unwrap().len(), 2);
    assert_eq!((&shown["provenance"]["author"], &shown["status"]), (&json!("caller"), &json!("probation")));
}

#[test]
fn every_kind_that_people_write_can_be_added_and_guides() {
    let shell = Shell::new();
    for args in [
        &["preference", "date format of reports", "2026-01-31"][..],
        &["heuristic", "Look reports up by name", "--exception", "No name is given"],
        &["strategy", "Send reports", "--phase", "Find them", "--phase", "Mail them", "--why", "Both can fail"],
    ] {
        let object = added(&shell, args);
        assert_eq!((&object["outcome"], &object["kind"]), (&json!("stored"), &json!(args[0])), "{object}");
        shell.run(&["records", "show", object["id"].as_str().unwrap()]).matches(&format!("add_{}", args[0]));
    }
    let task = shell.json(&["inspect", "Send the reports by name, with date"]);
    assert_eq!((&task["mode"], task["playbook"]["records"].as_array().unwrap().len()), (&json!("guide"), 3), "{task}");
}

#[test]
fn what_is_added_belongs_to_its_tenant_scope_and_agent() {
    let shell = Shell::new();
    let whose = ["--tenant", "acme", "--scope", "user:ann", "--agent", "clerk"];
    let id = added(&shell, &[&["fact", "Refunds take 5 days"][..], &whose].concat())["id"].clone();
    let id = id.as_str().unwrap();
    let shown = shell.json(&["records", "show", id, "--tenant", "acme"]);
    assert_eq!((&shown["scope"], &shown["agent"]), (&json!("user:ann"), &json!("clerk")));
    assert_eq!(shell.run(&["records", "show", id]).code, 1, "another tenant does not see it");
    let task = |args: &[&str]| shell.json(&[&["inspect", "How long do refunds take?"], args].concat());
    assert_eq!(task(&whose)["mode"], "guide");
    assert_eq!(task(&["--tenant", "acme", "--scope", "user:bob", "--agent", "clerk"])["mode"], "cold");
    assert_eq!(task(&["--tenant", "acme", "--scope", "user:ann"])["mode"], "cold");
}

#[test]
fn a_secret_in_what_is_added_is_not_stored() {
    let shell = Shell::new();
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let words = format!("The bot signs in with {secret}");
    added(&shell, &["fact", &words, "--source", &words]);
    added(&shell, &["preference", "sign in", &words]);
    added(&shell, &["heuristic", &words, "--exception", &words]);
    added(&shell, &["strategy", "Sign in", "--phase", &words, "--why", &words]);
    assert_eq!(shell.json(&["records", "list"])["total"], 4);
    let bytes = std::fs::read(shell.path(shell.database)).unwrap();
    assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
}
