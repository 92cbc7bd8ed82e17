//! A shell that runs commands inside the test's own process, and snapshots of what they print.

use std::cell::RefCell;
use std::io::{self, BufReader, Cursor, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use learnkit_cli::{Io, Terminal, run};
use regex::Regex;
use serde_json::Value;
use tempfile::TempDir;

/// A folder with a store in it.
pub(crate) struct Shell {
    folder: TempDir,
    pub(crate) terminal: Terminal,
    pub(crate) variables: Vec<(&'static str, String)>,
    /// The file name of the store.
    pub(crate) database: &'static str,
}

/// What a command left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: u8,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    folder: String,
}

impl Shell {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder, terminal: Terminal::default(), variables: Vec::new(), database: "memory.db" }
    }

    /// A shell whose store learned two runs of one agent and a failure of another.
    pub(crate) fn taught() -> Self {
        let shell = Self::new();
        shell.write("seed.jsonl", SEED);
        shell.ok(&["learn", "seed.jsonl", "--agent", "mailer"]);
        shell.write("other.jsonl", OTHER);
        shell.ok(&["learn", "other.jsonl", "--agent", "clerk"]);
        shell
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn has_database(&self) -> bool {
        self.path(self.database).exists()
    }

    /// Runs a command; words that name a file of the folder become its path.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, "")
    }

    /// Runs a command with an input.
    pub(crate) fn run_with(&self, args: &[&str], input: impl AsRef<[u8]>) -> Ran {
        let stdout = Sink::default();
        let mut ran = self.run_into(args, input.as_ref(), Box::new(stdout.clone()));
        ran.stdout = stdout.text();
        ran
    }

    /// Runs a command whose standard output goes elsewhere.
    pub(crate) fn run_into(&self, args: &[&str], input: &[u8], stdout: Box<dyn Write>) -> Ran {
        let stderr = Sink::default();
        let args = args.iter().map(|arg| self.resolved(arg));
        let backend = format!("sqlite:{}", self.path(self.database).display());
        let variable = move |name: &str| {
            let set = self.variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
            set.or_else(|| (name == "LEARNKIT_BACKEND").then(|| backend.clone()))
        };
        let io = Io {
            stdin: Box::new(BufReader::new(Cursor::new(input.to_vec()))),
            stdout,
            stderr: Box::new(stderr.clone()),
            terminal: self.terminal,
            variable: Box::new(variable),
            folder: self.folder.path().to_owned(),
        };
        let code = run(std::iter::once("learnkit".to_owned()).chain(args), io);
        // An exit code shows its number only to `Debug` and to the system.
        let code = format!("{code:?}").chars().filter(char::is_ascii_digit).collect::<String>();
        Ran {
            code: code.parse().unwrap(),
            stdout: String::new(),
            stderr: stderr.text(),
            folder: self.folder.path().display().to_string(),
        }
    }

    /// Runs a command that has to work and gives its standard output.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        ran.stdout
    }

    /// Runs a command with `--json` and gives the object on its last line.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let ran = self.run(&[args, &["--json"]].concat());
        ran.last_object()
    }

    /// The id of the newest record of a kind.
    pub(crate) fn record(&self, kind: &str) -> String {
        let list = self.json(&["records", "list", "--kind", kind]);
        list.pointer("/records/0/id").unwrap().as_str().unwrap().to_owned()
    }

    fn resolved(&self, arg: &str) -> String {
        let path = self.path(arg);
        let is_file = !arg.is_empty() && !arg.starts_with('-') && path.exists();
        if is_file || arg.starts_with("./") { path.display().to_string() } else { arg.to_owned() }
    }
}

impl Ran {
    /// The object on the last line of the standard output.
    pub(crate) fn last_object(&self) -> Value {
        serde_json::from_str(self.stdout.lines().last().unwrap_or_default()).unwrap_or_else(|error| {
            panic!("{error}: {self:?}");
        })
    }

    /// Everything, with what changes from run to run masked.
    pub(crate) fn shown(&self) -> String {
        let mut shown = self.stdout.clone();
        if !self.stderr.is_empty() {
            shown.push_str("--- stderr\n");
            shown.push_str(&self.stderr);
        }
        let shown = format!("{shown}--- exit {}\n", self.code);
        let mut shown = shown.replace(&self.folder, "<folder>");
        for (pattern, mask) in [
            (r"\b(skill|fact|fail|strategy|preference|trace|heuristic|run)_[0-9a-f]{32}", "${1}_<id>"),
            (r"lk1:[0-9a-f]{64}", "lk1:<key>"),
            (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
            (r"\d{4}-\d\d-\d\d \d\d:\d\d", "<time>"),
            (r#""sha256":"[0-9a-f]{64}""#, r#""sha256":"<hash>""#),
            (r"\b\d{4,} bytes", "<n> bytes"),
            (r"\bfree bytes \d+", "free bytes <n>"),
        ] {
            shown = Regex::new(pattern).unwrap().replace_all(&shown, mask).into_owned();
        }
        shown
    }

    /// Compares with the snapshot of a name; `LEARNKIT_SNAPSHOTS=write` writes it instead.
    pub(crate) fn matches(&self, name: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/snapshots").join(format!("{name}.txt"));
        let shown = self.shown();
        if std::env::var("LEARNKIT_SNAPSHOTS").is_ok_and(|value| value == "write") {
            std::fs::write(&path, &shown).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(shown, expected, "{name} changed; LEARNKIT_SNAPSHOTS=write cargo test accepts it");
    }
}

/// A vendored recording.
pub(crate) fn data(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(name).display().to_string()
}

/// A buffer that a command writes into.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sink(Rc<RefCell<Vec<u8>>>);

impl Sink {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.borrow().clone()).unwrap()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A standard output that fails after so many bytes.
#[derive(Debug)]
pub(crate) struct Failing {
    pub(crate) after: usize,
    pub(crate) kind: io::ErrorKind,
}

impl Write for Failing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.after == 0 {
            return Err(self.kind.into());
        }
        let taken = bytes.len().min(self.after);
        self.after -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Two successes of one agent; the second call of the first takes its argument from the first result.
pub(crate) const SEED: &str = r#"{"task": "Email the weekly report", "calls": [{"tool": "find_report", "arguments": {"name": "weekly"}, "result": {"report_id": "rep_20417"}}, {"tool": "send", "arguments": {"id": "rep_20417", "to": "boss"}, "result": {"sent": true}}], "answer": "Sent.", "success": true}
{"task": "Restart the mail server", "calls": [{"tool": "restart", "arguments": {"host": "mail"}, "result": "ok"}], "answer": "Restarted."}
"#;

/// A failure of another agent, and a near task.
pub(crate) const OTHER: &str = r#"{"task": "Email the monthly report", "calls": [{"tool": "send", "arguments": {"id": "monthly"}, "error": "no such report"}], "answer": "It failed.", "success": false}
"#;
