//! A toy service: every effect is a line at the end of a file, and nothing checks whether it was there before.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use learnkit_core::hook::{DoubtfulCall, FinishedRun, Settlement, Verifier};
use learnkit_core::run::{Arguments, ToolOutput, Verdict};
use learnkit_core::tool::{Tool, ToolAnnotations, ToolContext};
use learnkit_core::{BoxError, async_trait};
use rustix::process::{Signal, getpid, kill_process};
use serde_json::json;

/// Points at which a process may die, counted as it comes to them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Points {
    passed: Arc<AtomicU32>,
    die_at: u32,
    labels: bool,
}

impl Points {
    /// Dies at the point of this number; at none for 0, and then says the name of each.
    pub(crate) fn new(die_at: u32) -> Self {
        Self { passed: Arc::default(), die_at, labels: die_at == 0 }
    }

    /// Comes to a point.
    #[expect(clippy::print_stdout, reason = "the process that started this one reads it")]
    pub(crate) fn pass(&self, label: &str) {
        let number = self.passed.fetch_add(1, Ordering::SeqCst) + 1;
        if self.labels {
            println!("\npoint: {label}");
        }
        if number == self.die_at {
            kill_process(getpid(), Signal::KILL).unwrap();
            // The signal is on its way; nothing more may happen here.
            loop {
                std::thread::park();
            }
        }
    }
}

/// One effect that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Effect {
    pub(crate) key: String,
    pub(crate) tool: String,
    pub(crate) arguments: String,
    pub(crate) result: String,
}

/// The service and the other files of a case.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    folder: PathBuf,
}

impl Files {
    pub(crate) fn beside(database: &Path) -> Self {
        Self { folder: database.parent().unwrap().to_owned() }
    }

    fn append(&self, name: &str, line: &str) {
        let mut file: File = OpenOptions::new().append(true).create(true).open(self.folder.join(name)).unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Everything that happened, in order.
    pub(crate) fn effects(&self) -> Vec<Effect> {
        let parse = |line: String| {
            let mut parts = line.split('\t').map(str::to_owned);
            let mut next = || parts.next().unwrap();
            Effect { key: next(), tool: next(), arguments: next(), result: next() }
        };
        self.lines("service").into_iter().map(parse).collect()
    }

    /// What an effect gave, looked up by its idempotency key.
    pub(crate) fn result_of(&self, key: &str) -> Option<String> {
        self.effects().into_iter().find(|effect| effect.key == key).map(|effect| effect.result)
    }

    /// Notes that the journal has acknowledged the outcome of a step.
    pub(crate) fn acknowledge(&self, key: &str) {
        self.append("acknowledged", key);
    }

    /// Acts: the id in the result is another one in each run.
    pub(crate) fn act(&self, tool: &str, key: &str, arguments: &str) -> String {
        let id: String = key.chars().take(8).collect();
        let result = json!({ "receipt": format!("{tool}_{id}9") }).to_string();
        self.append("service", &format!("{key}\t{tool}\t{arguments}\t{result}"));
        result
    }
}

/// A tool of the service.
pub(crate) struct Acting {
    pub(crate) name: &'static str,
    pub(crate) annotations: ToolAnnotations,
    pub(crate) files: Files,
    pub(crate) points: Points,
}

#[async_trait]
impl Tool for Acting {
    fn name(&self) -> &str {
        self.name
    }

    fn annotations(&self) -> ToolAnnotations {
        self.annotations
    }

    async fn call(&self, arguments: &Arguments, context: &ToolContext) -> Result<ToolOutput, BoxError> {
        self.points.pass("in the effect, before the service acts");
        let result = self.files.act(self.name, &context.idempotency_key, arguments.raw());
        self.points.pass("in the effect, after the service acted");
        Ok(result.into())
    }
}

/// Looks doubtful calls up at the service.
#[derive(Debug)]
pub(crate) struct Looking(pub(crate) Files);

#[async_trait]
impl Verifier for Looking {
    async fn verify(&self, _: &FinishedRun<'_>) -> Result<Option<Verdict>, BoxError> {
        Ok(None)
    }

    async fn settle(&self, call: &DoubtfulCall<'_>) -> Result<Settlement, BoxError> {
        self.0.append("asked", &call.step.idempotency_key);
        Ok(look_up(&self.0, &call.step.idempotency_key))
    }
}

/// What the service knows of a doubtful call.
pub(crate) fn look_up(files: &Files, key: &str) -> Settlement {
    match files.result_of(key) {
        Some(result) => Settlement::Done(Some(result.into())),
        None => Settlement::NotDone,
    }
}
