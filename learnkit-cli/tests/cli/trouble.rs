//! What goes wrong: wrong command lines, missing stores, unknown ids, readers that leave.

use std::io::ErrorKind;

use learnkit_cli::Terminal;

use crate::support::{Failing, Shell};

#[test]
fn d20_only_learning_and_adding_make_a_database() {
    let shell = Shell::new();
    shell.run(&["inspect", "Email the report"]).matches("inspect_missing");
    for args in [
        &["inspect", "x"][..],
        &["records", "list"],
        &["records", "show", "a"],
        &["records", "delete", "a"],
        &["records", "pin", "a"],
        &["runs", "list"],
        &["runs", "show", "a"],
        &["runs", "report", "success", "a"],
        &["runs", "delete", "a"],
        &["runs", "prune", "--older-than", "30d"],
        &["records", "purge", "--older-than", "30d"],
        &["maintain"],
        &["vacuum"],
        &["doctor"],
        &["learn", "./missing.json"],
        &["skills", "export", "--out", "./out"],
        &["skills", "import", "./missing"],
        &["export", "./missing.jsonl"],
        &["import", "./missing.jsonl"],
    ] {
        let ran = shell.run(&[args, &["--json"]].concat());
        assert_eq!(ran.code, 1, "{args:?}: {ran:?}");
        assert_eq!(ran.stdout.lines().count(), 1, "{args:?}: {ran:?}");
        assert!(!shell.has_database(), "{args:?}");
    }
}

#[test]
fn d20_an_unknown_id_names_the_way_out() {
    let shell = Shell::taught();
    shell.run(&["records", "show", "skill_x"]).matches("records_unknown");
    shell.run(&["runs", "show", "run_x", "--json"]).matches("runs_unknown_json");
    for args in [&["records", "pin"][..], &["records", "delete"], &["runs", "report", "failure"], &["runs", "delete"]] {
        let ran = shell.run(&[args, &["unknown"]].concat());
        assert_eq!(ran.code, 1, "{args:?}: {ran:?}");
        assert!(ran.stderr.contains("learnkit r") && ran.stderr.contains(" list"), "{ran:?}");
    }
}

#[test]
fn a_wrong_command_line_is_one_line_and_exit_code_2() {
    let shell = Shell::new();
    for args in [
        &["--bogus"][..],
        &["lern", "x"],
        &["inspect"],
        &["inspect", " "],
        &["inspect", "x", "--scope", "everyone"],
        &["inspect", "x", "--agent", ""],
        &["inspect", "x", "--backend", "learnkit.db"],
        &["inspect", "x", "--param", "t"],
        &["inspect", "x", "--param", "t=1"],
        &["inspect", "{t} {u}", "--param", "t=1"],
        &["inspect", "{t}", "--param", "t=1", "--param", "t=2"],
        &["key", "--param", "{t}=1"],
        &["learn"],
        &["records", "list", "--kind", "skil"],
        &["records", "list", "--status", "quarantine"],
        &["records", "list", "--limit", "-1"],
        &["records", "list", "--limit", "1", "--all"],
        &["records", "show", "a\u{7}b"],
        &["records", "add", "fact"],
        &["records", "add", "fact", " "],
        &["records", "add", "fact", "…"],
        &["records", "add", "skill", "x"],
        &["records", "add", "preference", "key"],
        &["records", "add", "strategy", "goal"],
        &["records", "add", "fact", "x", "--param", "t=1"],
        &["runs", "report", "maybe", "run_x"],
        &["runs", "delete"],
        &["export"],
        &["export", "./x", "--kind", "skil"],
        &["import"],
    ] {
        let ran = shell.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}: {ran:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{args:?}: {ran:?}");
        assert!(ran.stderr.starts_with("learnkit: "), "{ran:?}");
        let object = shell.run(&[args, &["--json"]].concat()).last_object();
        assert_eq!(object["error"]["kind"], "invalid_input", "{args:?}");
    }
    assert!(!shell.has_database());
}

#[test]
fn a_secret_parameter_is_a_wrong_command_line() {
    let shell = Shell::taught();
    for (name, value) in [("password", "x-1"), ("key", "ghp_16C7e42F292c6912E7710c838347Ae178B4a")] {
        let (template, parameter) = (format!("Log in with {{{name}}}"), format!("{name}={value}"));
        for args in [&["inspect", &template][..], &["learn", "seed.jsonl"], &["records", "list"], &["key"]] {
            let ran = shell.run(&[args, &["--param", &parameter]].concat());
            assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}: {ran:?}");
            assert!(ran.stderr.contains(name) && !ran.stderr.contains(value), "{ran:?}");
        }
    }
}

#[test]
fn complaints_name_what_is_wrong_and_the_way_out() {
    let shell = Shell::new();
    shell.run(&["inspect", "x", "--scope", "everyone"]).matches("bad_scope");
    shell.run(&["records", "list", "--jsno"]).matches("unknown_flag");
    shell.run_with(&["key", "--param", "t=1"], "{t}\nno placeholder\n").matches("key_bad_template");
    let mut shell = shell;
    shell.terminal = Terminal { stdout: false, stderr: true, width: None };
    assert!(shell.run(&["--bogus"]).stderr.starts_with("\u{1b}[1;31mlearnkit:\u{1b}[0m unexpected"));
}

/// Every command of the program, found in its help.
pub(crate) fn commands(shell: &Shell) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = vec![Vec::new()];
    let mut at = 0;
    while let Some(command) = found.get(at).cloned() {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let help = shell.ok(&[&words[..], &["--help"]].concat());
        let list = help.split_once("Commands:\n").map_or("", |(_, list)| list.split("\n\n").next().unwrap());
        // Later lines of a description are indented further.
        let names = list.lines().filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')));
        let names = names.filter_map(|line| line.split(' ').next()).filter(|name| *name != "help");
        found.extend(names.map(|name| [command.clone(), vec![name.to_owned()]].concat()));
        at += 1;
    }
    found.remove(0);
    found
}

#[test]
fn help_has_an_example_and_a_short_first_line_for_every_command() {
    let shell = Shell::new();
    shell.run(&["--help"]).matches("help");
    let commands = commands(&shell);
    assert!(commands.len() > 25 && commands.contains(&vec!["skills".to_owned(), "export".to_owned()]), "{commands:?}");
    for command in commands {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let help = shell.run(&[&words[..], &["--help"]].concat());
        help.matches(&format!("help_{}", command.join("_")));
        assert!(help.stdout.contains("Example: "), "{command:?}: {help:?}");
        let first = help.stdout.lines().next().unwrap();
        assert!(first.chars().count() <= 100 && !first.ends_with('.'), "{command:?}: {first}");
    }
    assert_eq!(shell.ok(&["--version"]), concat!("learnkit ", env!("CARGO_PKG_VERSION"), "\n"));
    let bare = shell.run(&[]);
    assert_eq!((bare.code, bare.stdout.as_str()), (2, ""));
    assert!(bare.stderr.contains("Usage:") && bare.stderr.ends_with("learnkit: name a command\n"), "{bare:?}");
}

#[test]
fn global_flags_stand_before_or_after_the_command() {
    let shell = Shell::taught();
    let after = shell.ok(&["records", "list", "--json", "--tenant", "default"]);
    assert_eq!(shell.ok(&["--tenant", "default", "--json", "records", "list"]), after);
    let elsewhere = format!("sqlite:{}", shell.path("elsewhere.db").display());
    let ran = shell.run(&["--backend", &elsewhere, "records", "list"]);
    assert!(ran.code == 1 && ran.stderr.contains("elsewhere.db"), "the flag wins over the environment: {ran:?}");
}

#[test]
fn a_backend_that_is_not_linked_is_named_with_those_that_are() {
    let shell = Shell::new();
    shell.write("a.jsonl", crate::support::SEED);
    for args in [&["records", "list"][..], &["learn", "a.jsonl"], &["doctor"]] {
        let ran = shell.run(&[args, &["--backend", "qdrant://host/c"]].concat());
        assert_eq!(ran.code, 1, "{args:?}: {ran:?}");
        assert!(ran.stderr.contains("this build has no backend `qdrant`, only memory and sqlite"), "{ran:?}");
        assert!(!ran.stderr.contains("Cargo.toml"), "{ran:?}");
    }
}

#[test]
fn a_store_that_cannot_be_made_is_not_said_to_be_made_by_learning() {
    let shell = Shell::new();
    shell.write("a.jsonl", crate::support::SEED);
    let backend = format!("sqlite:{}", shell.path("nowhere").join("x.db").display());
    let ran = shell.run(&["learn", "a.jsonl", "--backend", &backend]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("the folder of the database does not exist; make it first"), "{ran:?}");
    assert!(!ran.stderr.contains("no memory to open"), "{ran:?}");
    let looked = shell.run(&["records", "list", "--backend", &backend]);
    assert!(looked.code == 1 && looked.stderr.contains("no memory to open"), "{looked:?}");
}

#[test]
fn a_reader_that_closes_the_pipe_is_no_failure() {
    let shell = Shell::taught();
    for args in [
        &["--help"][..],
        &["key"],
        &["records", "list"],
        &["records", "list", "--json"],
        &["runs", "list"],
        &["inspect", "Email the weekly report"],
        &["doctor"],
        &["maintain"],
    ] {
        for after in [0, 10] {
            let stdout = Failing { after, kind: ErrorKind::BrokenPipe };
            let ran = shell.run_into(args, b"a\nb\nc\n", Box::new(stdout));
            assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?}");
        }
    }
}

#[test]
fn learning_goes_on_when_nobody_reads_what_is_said() {
    let shell = Shell::new();
    shell.write("a.jsonl", crate::support::SEED);
    shell.write("b.jsonl", crate::support::OTHER);
    let stdout = Failing { after: 0, kind: ErrorKind::BrokenPipe };
    assert_eq!(shell.run_into(&["learn", "a.jsonl", "b.jsonl"], b"", Box::new(stdout)).code, 0);
    assert_eq!(shell.json(&["doctor"])["runs"]["total"], 3);
}

#[test]
fn an_output_that_cannot_be_written_is_a_failure() {
    let shell = Shell::taught();
    let stdout = Failing { after: 10, kind: ErrorKind::StorageFull };
    let ran = shell.run_into(&["records", "list"], b"", Box::new(stdout));
    assert_eq!((ran.code, ran.stderr.lines().count()), (1, 1), "{ran:?}");
}

#[test]
fn a_file_that_is_no_store_is_told_in_one_line_and_left_as_it_is() {
    let shell = Shell::taught();
    let whole = std::fs::read(shell.path(shell.database)).unwrap();
    let torn = [&whole[..100], &vec![0xA5; whole.len() - 100][..]].concat();
    for (name, bytes) in
        [("corrupt_text", b"this is no database, but a text file of mine".to_vec()), ("corrupt_torn", torn)]
    {
        shell.write(shell.database, &bytes);
        shell.run(&["records", "list"]).matches(name);
        for args in
            [&["records", "list"][..], &["maintain"], &["learn", "seed.jsonl"], &["skills", "export", "--out", "./o"]]
        {
            let ran = shell.run(args);
            assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (1, "", 1), "{args:?}: {ran:?}");
        }
        assert_eq!(std::fs::read(shell.path(shell.database)).unwrap(), bytes, "{name}");
    }
}

#[test]
fn a_store_of_a_newer_learnkit_is_refused_by_name() {
    let shell = Shell::taught();
    let connection = rusqlite::Connection::open(shell.path(shell.database)).unwrap();
    connection.pragma_update(None, "user_version", 999).unwrap();
    drop(connection);
    shell.run(&["records", "list"]).matches("newer_schema");
    let ran = shell.run(&["learn", "seed.jsonl", "--json"]);
    assert_eq!((ran.code, &ran.last_object()["error"]["kind"]), (1, &serde_json::json!("unsupported")), "{ran:?}");
}

#[test]
fn a_missing_file_names_its_path() {
    let shell = Shell::new();
    shell.run(&["learn", "./missing.jsonl"]).matches("learn_missing");
    shell.run(&["skills", "import", "./missing"]).matches("skills_import_missing");
}

#[test]
fn colours_are_written_to_a_terminal_only_and_no_color_switches_them_off() {
    let mut shell = Shell::taught();
    let commands = [&["--help"][..], &["inspect", "Email the weekly report", "--agent", "mailer"], &["records", "lst"]];
    let has_colours = |shell: &Shell| commands.map(|args| shell.run(args).shown().contains('\u{1b}'));
    assert_eq!(has_colours(&shell), [false; 3]);
    shell.terminal = Terminal { stdout: true, stderr: true, width: Some(80) };
    assert_eq!(has_colours(&shell), [true; 3]);
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        shell.variables = vec![(name, value.to_owned())];
        assert_eq!(has_colours(&shell), [false; 3], "{name}");
    }
}
