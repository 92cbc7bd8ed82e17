//! `learn`: recorded conversations, read one after the other and learned from.

use std::collections::BTreeMap;
use std::io::BufRead;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use learnkit::adapters::wire::{Entry, Reader, Timestamp};
use learnkit::conversation::RecordedRun;
use learnkit::registry::OpenMode;
use learnkit::{Error, ErrorKind, LearnKit, Task};
use serde_json::{Value, json};

use super::tally::{NotLearned, Tally};
use crate::args::LearnArgs;
use crate::failure::{Ending, Failure, Outcome};
use crate::output::{Output, with_error};
use crate::source::{Listed, Source, expand, open, unpacked};
use crate::{Context, memory};

pub(super) async fn run(args: &LearnArgs, context: &mut Context<'_>) -> Outcome {
    let parameters = args.identity.parameters().map_err(|error| Failure::usage(&error))?;
    let inputs = expand(&args.paths);
    let progress = progress(&inputs, &context.out);
    let is_several = inputs.len() > 1;
    let mut lessons = Lessons { args, parameters, memory: None, progress, report: Report::default() };
    let done = lessons.learn_inputs(inputs, context).await;
    lessons.progress.finish_and_clear();
    done?;
    lessons.report.finish(is_several, &mut context.out)
}

/// What became of all inputs.
#[derive(Default)]
struct Report {
    total: Tally,
    files: Vec<Value>,
    /// The first input that could not be read.
    failed: Option<Error>,
}

impl Report {
    /// Says what is left to say once every input was read.
    fn finish(mut self, is_several: bool, out: &mut Output<'_>) -> Outcome {
        if is_several {
            self.total.print_total(out)?;
        }
        if self.failed.is_none() && self.total.runs == 0 {
            let message = "not a single run was found; `learnkit learn --help` says what is read";
            out.error(message);
            self.failed = Some(Error::invalid(message));
        }
        if out.is_json() {
            let mut result = json!({ "files": self.files, "total": self.total.counts() });
            if let Some(error) = &self.failed {
                with_error(&mut result, error);
            }
            out.json(&result)?;
        }
        Ok(if self.failed.is_some() { Ending::Bad } else { Ending::Good })
    }
}

/// Why an input was not read to its end.
enum Stop {
    /// It cannot be read; others may be.
    Input(Error),
    /// The store cannot be opened or written; what follows would fail the same way.
    Store(Failure),
}

/// Learning from one input after the other.
struct Lessons<'a> {
    args: &'a LearnArgs,
    parameters: BTreeMap<String, String>,
    /// Opened for the first run, so that an input without any makes no store.
    memory: Option<LearnKit>,
    progress: ProgressBar,
    report: Report,
}

impl Lessons<'_> {
    async fn learn_inputs(&mut self, inputs: Vec<Listed>, context: &mut Context<'_>) -> Outcome<()> {
        for Listed { name, source } in inputs {
            let mut tally = Tally::default();
            self.progress.set_message(name.clone());
            let done = match source {
                Ok(source) => self.learn_input(&name, &source, &mut tally, context).await,
                Err(error) => Err(Stop::Input(error)),
            };
            let mut file = tally.as_json(&name);
            if done.is_ok() || !tally.is_empty() {
                self.progress.suspend(|| tally.print(&name, &mut context.out))?;
            }
            self.report.total.add(tally);
            match done {
                Ok(()) => {}
                Err(Stop::Store(failure)) => return Err(failure),
                Err(Stop::Input(error)) => {
                    self.progress.suspend(|| context.out.error(&error.chain()));
                    with_error(&mut file, &error);
                    self.report.failed.get_or_insert(error);
                }
            }
            self.report.files.push(file);
        }
        Ok(())
    }

    async fn learn_input(
        &mut self,
        name: &str,
        source: &Source,
        tally: &mut Tally,
        context: &mut Context<'_>,
    ) -> Result<(), Stop> {
        match source {
            Source::File(path) => {
                let file = self.progress.wrap_read(open(path).map_err(Stop::Input)?);
                let input = unpacked(file, name).map_err(Stop::Input)?;
                self.learn_runs(name, input, tally, context).await
            }
            Source::Stdin => {
                // Taken out, because the context is needed while it is read.
                let mut stdin = std::mem::replace(&mut context.stdin, Box::new(std::io::empty()));
                let input = unpacked(self.progress.wrap_read(&mut stdin), name).map_err(Stop::Input)?;
                self.learn_runs(name, input, tally, context).await
            }
        }
    }

    async fn learn_runs(
        &mut self,
        name: &str,
        input: impl BufRead,
        tally: &mut Tally,
        context: &Context<'_>,
    ) -> Result<(), Stop> {
        for Entry { place, outcome } in Reader::new(input, name, Timestamp::now()) {
            let run = match outcome.and_then(|run| self.as_declared(run)) {
                Ok(run) => run,
                Err(error) if is_input_failure(error.kind()) => {
                    return Err(Stop::Input(error.with_context("path", name)));
                }
                Err(error) => {
                    tally.not_learned(NotLearned::because_of(&error), error.chain(), place);
                    continue;
                }
            };
            let memory = self.memory(context).await.map_err(Stop::Store)?;
            match memory.learn_recorded(run).await {
                Ok(Some(report)) => tally.learned(&report, place),
                Ok(None) => tally.known(),
                Err(error) => return Err(Stop::Store(error.into())),
            }
        }
        Ok(())
    }

    /// The run as the command line declares it: in its environment, and its task, where that contains every
    /// declared placeholder, as a template of them.
    fn as_declared(&self, run: RecordedRun) -> Result<RecordedRun, Error> {
        let run = RecordedRun { task: self.args.world.of(run.task), ..run };
        let is_template = |task: &Task| self.parameters.keys().all(|name| task.text().contains(&format!("{{{name}}}")));
        if self.parameters.is_empty() || !is_template(&run.task) {
            return Ok(run);
        }
        Ok(RecordedRun { task: run.task.clone().with_parameters(self.parameters.clone())?, ..run })
    }

    async fn memory(&mut self, context: &Context<'_>) -> Outcome<&LearnKit> {
        let memory = match self.memory.take() {
            Some(memory) => memory,
            None => memory::open(context, Some(&self.args.identity), OpenMode::CreateIfMissing).await?,
        };
        Ok(self.memory.insert(memory))
    }
}

/// Whether the input itself failed, not a row of it.
fn is_input_failure(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Corrupt | ErrorKind::Permission | ErrorKind::Unavailable)
}

/// Progress by bytes read; drawn only on a terminal.
fn progress(inputs: &[Listed], out: &Output<'_>) -> ProgressBar {
    let sources = inputs.iter().filter_map(|listed| listed.source.as_ref().ok());
    let total: Option<u64> = sources.map(Source::size).sum();
    let target = if out.shows_progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let template = match total {
        Some(_) => "{bar:30} {percent:>3}% {bytes} of {total_bytes} {wide_msg}",
        None => "{spinner} {bytes} {wide_msg}",
    };
    let bar = ProgressBar::with_draw_target(total, target);
    bar.with_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()))
}
