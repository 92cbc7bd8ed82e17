//! `config`, `completions`, `man`, `backends` and `adapters`: what sets the program up.

use serde_json::{Value, json};

use crate::support::Shell;

/// The row of a setting.
fn setting(shown: &Value, key: &str) -> Value {
    let rows = shown["settings"].as_array().unwrap();
    rows.iter().find(|row| row["key"] == key).unwrap().clone()
}

#[test]
fn settings_are_shown_with_the_place_that_each_came_from() {
    let mut shell = Shell::new();
    let variables = [("LEARNKIT_BACKEND", "memory:"), ("LEARNKIT_AGENT", "mailer"), ("LEARNKIT_SCOPE", "user:ann")];
    shell.variables = variables.map(|(name, value)| (name, value.to_owned())).to_vec();
    shell.run(&["config", "show"]).matches("config_show");
    shell.run(&["config", "show", "--origin", "--scope", "public"]).matches("config_show_origin");
    shell.write("learnkit.toml", "tenant = 'acme'\nagent = 'clerk'\nteam = 'ops'\n[budget]\ntokens = 800\n");
    let shown = shell.json(&["config", "show", "--tenant", "other"]);
    let file = shell.path("learnkit.toml").display().to_string();
    for (key, value, origin) in [
        ("tenant", "other", "--tenant"),
        ("agent", "mailer", "LEARNKIT_AGENT"),
        ("scope", "user:ann", "LEARNKIT_SCOPE"),
        ("team", "ops", file.as_str()),
        ("budget.tokens", "800", file.as_str()),
        ("budget.records", "8", "default"),
    ] {
        let row = setting(&shown, key);
        assert_eq!((&row["value"], &row["origin"]), (&json!(value), &json!(origin)), "{key}");
    }
    assert_eq!(shown["file"], json!(file));
}

#[test]
fn no_secret_of_a_backend_is_shown() {
    let mut shell = Shell::new();
    shell.write("learnkit.toml", "backend = 'qdrant://me:hunter2@host:6334/c?api_key=topsecret'\n");
    shell.variables = vec![("LEARNKIT_BACKEND", String::new())];
    for args in [&["config", "show", "--origin"][..], &["config", "show", "--json"], &["doctor"], &["records", "list"]]
    {
        let ran = shell.run(args);
        assert!(!ran.shown().contains("hunter2") && !ran.shown().contains("topsecret"), "{ran:?}");
        assert!(ran.shown().contains("qdrant"), "{ran:?}");
    }
}

#[test]
fn what_is_configured_holds_for_every_command() {
    let mut shell = Shell::new();
    let key = |shell: &Shell| shell.run_with(&["key"], "Email the weekly report\n").stdout;
    let plain = key(&shell);
    shell.write("learnkit.toml", "tenant = 'acme'\nscope = 'team:ops'\nagent = 'clerk'\n");
    let configured = key(&shell);
    assert_ne!(configured, plain);
    let flags = ["key", "--tenant", "acme", "--scope", "team:ops", "--agent", "clerk"];
    shell.write("seed.jsonl", crate::support::SEED);
    shell.ok(&["learn", "seed.jsonl"]);
    let record = shell.json(&["records", "show", &shell.record("skill")]);
    assert_eq!(
        (&record["tenant"], &record["scope"], &record["agent"]),
        (&json!("acme"), &json!("team:ops"), &json!("clerk"))
    );
    assert_eq!(shell.json(&["inspect", "Email the weekly report"])["mode"], "replay");
    assert_eq!(shell.json(&["doctor"])["tenant"], "acme");
    std::fs::remove_file(shell.path("learnkit.toml")).unwrap();
    assert_eq!(shell.run_with(&flags, "Email the weekly report\n").stdout, configured);
    shell.write("other.toml", "tenant = 'acme'\n");
    assert_eq!(shell.json(&["records", "list"])["total"], 0);
    assert_eq!(shell.json(&["records", "list", "--config", "other.toml"])["total"], 4);
    shell.variables = vec![("LEARNKIT_CONFIG", shell.path("other.toml").display().to_string())];
    assert_eq!(shell.json(&["records", "list"])["total"], 4);
}

#[test]
fn a_budget_for_more_records_than_there_can_be_takes_every_one() {
    let mut shell = Shell::taught();
    shell.variables = vec![("LEARNKIT_BUDGET_RECORDS", usize::MAX.to_string())];
    let inspected = shell.json(&["inspect", "Please email the weekly report", "--agent", "mailer"]);
    assert_eq!(inspected["mode"], "guide", "{inspected}");
}

#[test]
fn the_numbers_of_maintenance_come_from_the_file_unless_a_flag_says_otherwise() {
    let shell = Shell::taught();
    shell.write("learnkit.toml", "[maintain]\nquarantine_hours = 0\n");
    assert_eq!(shell.json(&["maintain", "--quarantine-hours", "24"])["promoted"], 0);
    assert_eq!(shell.json(&["maintain"])["promoted"], 2);
}

#[test]
fn whether_the_network_is_used_is_said_by_the_file_too() {
    let mut shell = Shell::taught();
    shell.variables = vec![("OPENAI_API_KEY", "k".to_owned())];
    assert_eq!(shell.json(&["doctor"])["offline_reason"], "OPENAI_API_KEY is set");
    shell.write("learnkit.toml", "offline = true\n");
    let doctor = shell.json(&["doctor"]);
    let reason = doctor["offline_reason"].as_str().unwrap();
    assert!(
        doctor["offline"] == true && reason.starts_with("`offline` of ") && reason.ends_with("learnkit.toml says so")
    );
}

#[test]
fn a_wrong_file_is_told_with_its_line_and_the_key_that_was_meant() {
    let shell = Shell::taught();
    shell.write("learnkit.toml", "tenant = 'acme'\n\n[budget]\ntokns = 5\n");
    shell.run(&["config", "show"]).matches("config_unknown_key");
    shell.run(&["records", "list", "--json"]).matches("config_unknown_key_json");
    shell.write("learnkit.toml", "scope = 'everyone'\n");
    shell.run(&["records", "list"]).matches("config_wrong_value");
    shell.run(&["config", "show", "--config", "./missing.toml"]).matches("config_missing");
    for args in [&["completions", "bash"][..], &["man"], &["backends"], &["adapters"], &["--help"]] {
        assert_eq!(shell.run(args).code, 0, "{args:?} needs no settings");
    }
}

#[test]
fn a_wrong_variable_is_named_in_one_line() {
    let mut shell = Shell::taught();
    for (name, value) in
        [("LEARNKIT_SCOPE", "everyone"), ("LEARNKIT_BUDGET_TOKENS", "many"), ("LEARNKIT_BACKEND", "x.db")]
    {
        shell.variables = vec![(name, value.to_owned())];
        let ran = shell.run(&["records", "list"]);
        assert_eq!((ran.code, ran.stderr.lines().count()), (1, 1), "{ran:?}");
        assert!(ran.stderr.contains(name), "{ran:?}");
    }
}

#[test]
fn every_shell_gets_completions_of_every_command() {
    let shell = Shell::new();
    for name in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = shell.ok(&["completions", name]);
        for word in ["skills", "min-status", "completions", "learnkit"] {
            assert!(script.contains(word), "{name} lacks {word}");
        }
        assert_eq!(shell.json(&["completions", name])["shell"], name);
    }
    let ran = shell.run(&["completions", "tcsh"]);
    assert!(ran.code == 2 && ran.stderr.contains("powershell"), "{ran:?}");
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let shell = Shell::new();
    let page = shell.ok(&["man"]);
    assert!(page.contains(".TH learnkit 1") && page.contains("skills"), "{page}");
    let pages = shell.json(&["man", "--out", "./pages/man1"])["pages"].as_array().unwrap().len();
    let commands = crate::trouble::commands(&shell);
    assert_eq!(pages, commands.len() + 1, "one for the program itself");
    for command in commands {
        let name = format!("learnkit-{}", command.join("-"));
        let text = std::fs::read_to_string(shell.path(&format!("pages/man1/{name}.1"))).unwrap();
        assert!(text.contains(&format!(".TH {name} 1")) && text.contains("Example: "), "{name}: {text}");
    }
    shell.write("file", "x");
    assert_eq!(shell.run(&["man", "--out", "file"]).code, 1);
}

#[test]
fn what_is_linked_is_listed_without_opening_anything() {
    let shell = Shell::new();
    shell.run(&["backends"]).matches("backends");
    shell.run(&["adapters"]).matches("adapters");
    let backends = shell.json(&["backends"]);
    let sqlite =
        backends["backends"].as_array().unwrap().iter().find(|entry| entry["scheme"] == "sqlite").unwrap().clone();
    assert_eq!(
        (&sqlite["package"], &sqlite["capabilities"]["durable"]),
        (&json!("learnkit-backend-sqlite"), &json!(true))
    );
    assert_eq!(shell.json(&["adapters"])["adapters"][0]["name"], "react");
    assert!(!shell.has_database());
}
