//! The program itself, as a process.

use std::io::Read as _;
use std::process::{Command, Stdio};

fn learnkit() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_learnkit"));
    command.env_clear();
    command
}

#[test]
fn the_program_learns_from_a_pipe_and_inspects_with_the_backend_of_its_environment() {
    let folder = tempfile::tempdir().unwrap();
    let backend = format!("sqlite:{}", folder.path().join("p.db").display());
    let input = folder.path().join("in.jsonl");
    let row = r#"{"task": "Say hi", "calls": [{"tool": "say", "arguments": {"to": "Bo"}, "result": "hi"}], "answer": "Said."}"#;
    std::fs::write(&input, row).unwrap();
    let mut learn = learnkit();
    learn.args(["learn", "-"]).env("LEARNKIT_BACKEND", &backend).stdin(std::fs::File::open(&input).unwrap());
    let learned = learn.output().unwrap();
    assert_eq!(learned.status.code(), Some(0), "{learned:?}");
    assert_eq!(String::from_utf8_lossy(&learned.stdout), "-: 1 learned\n");
    let inspected = learnkit().args(["inspect", "Say hi.", "--json", "--backend", &backend]).output().unwrap();
    let object: serde_json::Value = serde_json::from_slice(&inspected.stdout).unwrap();
    assert_eq!(object["mode"], "replay", "{object}");
    assert_eq!(learnkit().arg("--bogus").output().unwrap().status.code(), Some(2));
}

#[test]
fn the_program_ends_quietly_when_the_pipe_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("tasks");
    std::fs::write(&input, "a task\n".repeat(20_000)).unwrap();
    let mut command = learnkit();
    command.arg("key").stdin(std::fs::File::open(&input).unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Reads a little and hangs up, as `head` does.
    child.stdout.take().unwrap().read_exact(&mut [0; 10]).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn every_command_ends_quietly_when_nobody_reads() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("p.db");
    let input = folder.path().join("in.jsonl");
    std::fs::write(&input, crate::support::SEED).unwrap();
    let run = |args: &[&str]| {
        let mut command = learnkit();
        command.args(args).env("LEARNKIT_BACKEND", format!("sqlite:{}", database.display()));
        command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    assert!(run(&["learn", "in.jsonl"]).wait().unwrap().success());
    for args in [
        &["--help"][..],
        &["records", "list"],
        &["skills", "export", "--format", "json"],
        &["config", "show"],
        &["completions", "zsh"],
        &["man"],
        &["doctor", "--json"],
    ] {
        let mut child = run(args);
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{args:?}");
    }
}

#[cfg(unix)]
mod ordinary {
    //! What an ordinary user may not do; the superuser runs the program as `nobody`.

    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;
    use std::path::Path;
    use std::process::{Command, Output};

    /// The user id of `nobody` wherever there is one.
    const NOBODY: u32 = 65_534;

    fn allow(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Runs a copy of the program in a folder that everybody may read and only its owner may write.
    fn run_in(folder: &Path, args: &[&str]) -> Output {
        let program = folder.join("program/learnkit");
        if !program.exists() {
            std::fs::create_dir(folder.join("program")).unwrap();
            std::fs::copy(env!("CARGO_BIN_EXE_learnkit"), &program).unwrap();
            allow(&folder.join("program"), 0o755);
        }
        let mut command = Command::new(&program);
        command.env_clear().args(args).current_dir(folder);
        if std::fs::metadata(&program).unwrap().uid() == 0 {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.output().unwrap()
    }

    fn refused(output: &Output, part: &str) {
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), stderr.lines().count()), (Some(1), 1), "{output:?}");
        assert!(stderr.contains(part), "{stderr}");
    }

    #[test]
    fn a_folder_or_file_that_may_not_be_written_is_told_in_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        std::fs::write(path.join("in.jsonl"), crate::support::SEED).unwrap();
        std::fs::write(path.join("secret.toml"), "tenant = 'a'\n").unwrap();
        std::fs::create_dir(path.join("closed")).unwrap();
        std::fs::create_dir(path.join("open")).unwrap();
        let store = format!("sqlite:{}", path.join("open/store.db").display());
        assert!(
            super::learnkit()
                .args(["learn", "in.jsonl", "--backend", &store])
                .current_dir(path)
                .status()
                .unwrap()
                .success()
        );
        run_in(path, &["--version"]);
        for file in std::fs::read_dir(path.join("open")).unwrap() {
            allow(&file.unwrap().path(), 0o666);
        }
        for (name, mode) in
            [("in.jsonl", 0o644), ("secret.toml", 0o000), ("open", 0o777), ("closed", 0o555), ("", 0o555)]
        {
            allow(&path.join(name), mode);
        }
        let made = run_in(path, &["learn", "in.jsonl", "--backend", "sqlite:closed/new.db"]);
        refused(&made, "closed/new.db");
        refused(&run_in(path, &["man", "--out", "closed/man"]), "closed/man");
        refused(&run_in(path, &["config", "show", "--config", "secret.toml"]), "check its permissions");
        let export = ["skills", "export", "--backend", &store, "--out"];
        refused(&run_in(path, &[&export[..], &["closed/skills"]].concat()), "(path: closed/skills)");
        assert!(run_in(path, &[&export[..], &["open/skills"]].concat()).status.success());
        allow(&path.join("open/store.db"), 0o444);
        refused(&run_in(path, &["records", "add", "fact", "It is closed", "--backend", &store]), "read-only");
        // The folder goes away with its owner's rights.
        allow(path, 0o755);
        allow(&path.join("closed"), 0o755);
    }
}

#[test]
fn f58_the_default_store_is_one_file_where_the_program_is_started_and_the_library_opens_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = learnkit();
    let added =
        command.current_dir(folder.path()).args(["records", "add", "fact", "Refunds take 5 days"]).output().unwrap();
    assert_eq!(added.status.code(), Some(0), "{added:?}");
    let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files, ["learnkit.db"]);
    // Elsewhere nothing is found and nothing is made; the message says where it looked.
    let elsewhere = tempfile::tempdir().unwrap();
    let listed = learnkit().current_dir(elsewhere.path()).args(["records", "list"]).output().unwrap();
    assert_eq!(listed.status.code(), Some(1), "{listed:?}");
    let told = String::from_utf8_lossy(&listed.stderr).into_owned();
    assert!(told.contains("learnkit.db") && told.contains("--backend names another"), "{told}");
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}
