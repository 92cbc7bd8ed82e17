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
