//! F67: every text of `tests/data/secrets.jsonl` goes through the doors of LearnKit, and then a byte search over
//! everything that it wrote, told or shows finds none of the secrets, in any form.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use learnkit::backend::{RunFilter, ScanRequest, Store};
use learnkit::backends::sqlite::SqliteStore;
use learnkit::engine::{Decision, GoldenSelection, Outcome, Session, SessionOptions, SkillSelection, View};
use learnkit::portable::{ExportSelection, Import, ImportOptions};
use learnkit::run::{CallDraft, ToolOutput};
use learnkit::{LearnKit, MemoryStore, Task, mask_text};
use learnkit_cli::{Io, Terminal};
use learnkit_tests::fact;
use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// A case: a text, and the secret in it.
struct Case {
    text: String,
    secret: Option<String>,
}

fn cases() -> Vec<Case> {
    let lines = include_str!("../data/secrets.jsonl").lines();
    let cases = lines.map(|line| serde_json::from_str::<Value>(line).unwrap()).map(|case| Case {
        text: case["text"].as_str().unwrap().to_owned(),
        secret: case["secret"].as_str().map(str::to_owned),
    });
    cases.collect()
}

/// Every form that a secret may be written in.
fn forms(secret: &str) -> Vec<(String, &'static str)> {
    let quoted = Value::from(secret).to_string();
    let quoted = quoted[1..quoted.len() - 1].to_owned();
    let encoded = secret.bytes().fold(String::new(), |mut all, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            all.push(char::from(byte));
        } else {
            let _ = write!(all, "%{byte:02X}");
        }
        all
    });
    let twice = Value::from(quoted.as_str()).to_string();
    let mut forms = vec![
        (secret.to_owned(), "raw"),
        (quoted, "JSON"),
        (twice[1..twice.len() - 1].to_owned(), "JSON twice"),
        (encoded, "URL"),
    ];
    // In base64 a text stands in one of three ways, by what is before it; its ends depend on what is beside it.
    for offset in 0..3 {
        let text = base64(&[&vec![b' '; offset], secret.as_bytes()].concat());
        let text = text.trim_end_matches('=');
        forms.push((text[(offset * 8).div_ceil(6)..text.len() - 1].to_owned(), "base64"));
    }
    forms
}

fn base64(bytes: &[u8]) -> String {
    let alphabet: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            text.push(if place <= chunk.len() { alphabet[bits >> (18 - 6 * place) & 63] } else { '=' });
        }
    }
    text
}

/// What was found where.
fn search(cases: &[Case], place: &str, bytes: &[u8], found: &mut Vec<String>) {
    // Bytes of no text become marks of their own, which no secret has.
    let text = String::from_utf8_lossy(bytes);
    for secret in cases.iter().filter_map(|case| case.secret.as_deref()) {
        for (form, name) in forms(secret) {
            if text.contains(&form) {
                let at = text.find(&form).unwrap_or_default();
                let start = text.floor_char_boundary(at.saturating_sub(200));
                println!("{place}: …{}", &text[start..at + form.len()]);
                found.push(format!("{place}: {secret} ({name})"));
            }
        }
    }
}

/// Collects everything that is traced, at every level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = writeln!(self.0.lock().unwrap(), "{field}={value:?}");
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut self.clone());
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Everything that was told or shown.
#[derive(Default)]
struct Told(String);

impl Told {
    fn tell(&mut self, text: impl AsRef<str>) {
        self.0.push_str(text.as_ref());
        self.0.push('\n');
    }

    fn debug(&mut self, value: &impl std::fmt::Debug) {
        self.tell(format!("{value:?}"));
    }
}

fn arguments(text: &str) -> Value {
    match serde_json::from_str::<Value>(text) {
        Ok(object @ Value::Object(_)) => object,
        _ => json!({"text": text, "nested": [{"body": json!({"text": text}).to_string()}]}),
    }
}

fn session(memory: &LearnKit, task: &str) -> Session {
    memory.session(Task::new(task), SessionOptions::default()).unwrap()
}

/// A run of a task that makes two calls, with a text in the arguments, the results, an error and the answer.
async fn learn(memory: &LearnKit, told: &mut Told, task: &str, text: &str) {
    let session = session(memory, task);
    told.debug(&session.decide(&View::default()).await);
    let tracker = session.tracker();
    tracker.record_failure("fetch", arguments(text), format!("refused: {text}"));
    tracker.record("fetch", arguments(text), text);
    tracker.record("fetch", json!({"wrapped": base64(text.as_bytes())}), json!({"said": text, "list": [[text]]}));
    tracker.record("note", json!({"to": "ann"}), "noted");
    told.debug(&tracker.calls());
    told.debug(&CallDraft::new("fetch", arguments(text)));
    told.debug(session.task());
    told.debug(&session);
    let outcome = Outcome::answered(format!("It says {text}"));
    told.debug(&outcome);
    told.debug(&session.finish(&outcome).await);
}

/// The same task again: a replay where there is one, which stops half-way and hands over.
async fn replay(memory: &LearnKit, told: &mut Told, task: &str, text: &str) {
    let session = session(memory, task);
    for _ in 0..3 {
        let decision = session.decide(&View::default()).await;
        told.debug(&decision);
        match decision {
            Decision::Replay(calls) => {
                for call in calls {
                    told.debug(&call);
                    let output = ToolOutput::error(format!("this time it says {text}"));
                    session.observe(CallDraft::new(call.tool, call.arguments), Ok(output));
                }
            }
            Decision::Forward { playbook, reason, done } => {
                told.tell(playbook);
                told.tell(reason);
                told.debug(&done);
            }
            _ => {}
        }
    }
    told.tell(session.playbook());
    told.tell(session.reason());
    told.debug(&session.plan_steps());
    told.debug(&session.finish(&Outcome::failed(format!("gave up at {text}"))).await);
}

async fn through_all_doors(memory: &LearnKit, told: &mut Told, cases: &[Case]) {
    for (number, Case { text, .. }) in cases.iter().enumerate() {
        let (named, plain) = (format!("Fetch page {number}: {text}"), format!("Fetch page {number}"));
        for task in [&named, &plain] {
            learn(memory, told, task, text).await;
            replay(memory, told, task, text).await;
        }
        memory.remember(fact(memory, &format!("fact-{number}"), &format!("Page {number} says {text}"))).await.unwrap();
        told.debug(&memory.inspect(named.as_str()).await.unwrap());
        told.tell(memory.inspect(format!("Fetch another page {number}")).await.unwrap().playbook.text);
        drop(session(memory, &named));
    }
    let interrupted = session(memory, "Fetch and stop");
    interrupted.tracker().record("fetch", json!({"text": cases[0].text}), cases[0].text.as_str());
    drop(interrupted);
    memory.shutdown().await.unwrap();
    memory.maintain_memory(1, 0.02, 48.0).await.unwrap();
    memory.vacuum().await.unwrap();

    let mut export = Vec::new();
    memory.export(&mut export, &ExportSelection::default()).await.unwrap();
    told.tell(String::from_utf8(export.clone()).unwrap());
    let other = LearnKit::builder().store(Store::of(MemoryStore::new())).build().await.unwrap();
    let imported = other.import(Import::read(io::Cursor::new(export)).unwrap(), ImportOptions::default()).await;
    told.debug(&imported.unwrap());
    for skill in memory.export_skills(&SkillSelection::default()).await.unwrap().skills {
        told.debug(&skill);
    }
    let all = ScanRequest { filter: memory.every_record(), after: None, limit: 10_000 };
    let records = memory.scan(&all).await.unwrap().items;
    let ids = records.iter().filter(|record| record.procedure().is_some()).map(|record| record.id.clone()).collect();
    let goldens = memory.golden(&GoldenSelection { records: ids, ..GoldenSelection::default() }).await.unwrap().goldens;
    assert!(!goldens.is_empty());
    goldens.iter().for_each(|golden| told.tell(golden.to_text()));
    told.debug(&records);
    told.debug(&memory.runs(&RunFilter::newest(memory.tenant().clone(), 10_000)).await.unwrap().items);
    told.debug(memory);
}

#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a command of the command line prints.
fn printed(folder: &Path, args: &[&str]) -> Vec<u8> {
    let sink = Sink::default();
    let backend = format!("sqlite:{}", folder.join("memory.db").display());
    let io = Io {
        stdin: Box::new(io::empty()),
        stdout: Box::new(sink.clone()),
        stderr: Box::new(sink.clone()),
        terminal: Terminal::default(),
        variable: Box::new(move |name| (name == "LEARNKIT_BACKEND").then(|| backend.clone())),
        folder: folder.to_owned(),
    };
    learnkit_cli::run(std::iter::once("learnkit").chain(args.iter().copied()).map(str::to_owned), io);
    let bytes = sink.0.lock().unwrap().clone();
    assert!(!bytes.is_empty(), "{args:?} printed nothing");
    bytes
}

fn search_files(cases: &[Case], folder: &Path, found: &mut Vec<String>) -> (usize, usize) {
    let (mut files, mut bytes) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let inner = search_files(cases, &path, found);
            (files, bytes) = (files + inner.0, bytes + inner.1);
            continue;
        }
        let content = std::fs::read(&path).unwrap();
        search(cases, &path.display().to_string(), &content, found);
        (files, bytes) = (files + 1, bytes + content.len());
    }
    (files, bytes)
}

#[test]
fn f67_no_secret_is_in_any_byte_that_learnkit_wrote() {
    let cases = cases();
    let folder = tempfile::tempdir().unwrap();
    let log = Log::default();
    let mut told = Told::default();
    let mut found = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let traced = tracing::subscriber::set_default(log.clone());
    let store = runtime.block_on(async {
        let store = SqliteStore::open(&folder.path().join("memory.db")).await.unwrap();
        let memory = LearnKit::builder().store(Store::of(store)).build().await.unwrap();
        tokio::time::timeout(Duration::from_secs(300), through_all_doors(&memory, &mut told, &cases)).await.unwrap();
        memory
    });
    // The WAL is still there while the store is open.
    let (files, bytes) = search_files(&cases, folder.path(), &mut found);
    assert!(files >= 3 && bytes > 1_000_000, "{files} files of {bytes} bytes");
    for args in [
        &["records", "list", "--limit", "10000"][..],
        &["records", "list", "--limit", "10000", "--json"],
        &["runs", "list"],
        &["runs", "list", "--json"],
        &["doctor"],
        &["inspect", "Fetch page 0"],
        &["inspect", &format!("Fetch page 0: {}", cases[0].text), "--json"],
        &["export", folder.path().join("all.jsonl").to_str().unwrap()],
        &["skills", "export", folder.path().join("skills").to_str().unwrap()],
    ] {
        let printed = printed(folder.path(), args);
        let shown = args.iter().copied().filter(|arg| !arg.contains("Fetch page 0: ")).collect::<Vec<_>>().join(" ");
        search(&cases, &format!("learnkit {shown}"), &printed, &mut found);
    }
    let (files, bytes) = search_files(&cases, folder.path(), &mut found);
    search(&cases, "what was told or shown", told.0.as_bytes(), &mut found);
    search(&cases, "the traces", log.0.lock().unwrap().as_bytes(), &mut found);
    drop((store, traced));

    let masked = cases.iter().filter(|case| case.secret.is_none() && mask_text(&case.text).found > 0).count();
    let harmless = cases.iter().filter(|case| case.secret.is_none()).count();
    let secrets = cases.len() - harmless;
    println!(
        "{secrets} secrets searched in {files} files ({bytes} bytes) and {} bytes told or shown: {} found; {masked} of {harmless} harmless texts masked",
        told.0.len(),
        found.len(),
    );
    found.sort();
    found.dedup();
    assert_eq!(found, Vec::<String>::new());
    assert!(masked * 50 <= harmless, "{masked} of {harmless} harmless texts are masked");
}
