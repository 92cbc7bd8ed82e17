//! Runs that are cut off and retried by their id: nothing is done twice, nothing is repeated while it is in doubt.

mod trouble;

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::SignedDuration;
use learnkit::backend::{TakeFrom, TakeJournal, Taken};
use learnkit::config::Settings;
use learnkit::engine::{Builder, Outcome, PlannerReply, ReactOptions, SessionOptions};
use learnkit::hook::{DoubtfulCall, FinishedRun, Settlement, Verifier};
use learnkit::portable::ExportSelection;
use learnkit::record::{Kind, RunId, Tenant};
use learnkit::run::{Arguments, Mode, StepState, ToolOutput, Verdict};
use learnkit::tool::{Tool, ToolAnnotations, ToolContext, ToolSet};
use learnkit::{BoxError, Error, ErrorKind, LearnKit, RunReport, Task, async_trait, run_react_agent};
use learnkit_core::testing::ManualClock;
use learnkit_tests::{Script, nobody, of_kind, skills, stored_runs};
use serde_json::json;
use tokio::sync::Notify;

const TASK: &str = "Charge the newest order and mail the receipt";

/// A database that several memories open, as several processes do.
struct Place {
    folder: tempfile::TempDir,
    clock: Arc<ManualClock>,
}

impl Place {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new("2026-01-05T08:00:00Z".parse().unwrap()));
        Self { folder: tempfile::tempdir().unwrap(), clock }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("learnkit.db")
    }

    fn builder(&self) -> Builder {
        LearnKit::builder().backend(format!("sqlite:{}", self.path().display())).clock(self.clock.clone())
    }

    /// A memory as a process that starts anew has it.
    async fn process(&self) -> LearnKit {
        self.builder().build().await.unwrap()
    }

    /// The lease of a process that died runs out.
    fn wait(&self) {
        self.clock.advance(SignedDuration::from_secs(31));
    }
}

/// Where a call gets stuck for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stuck {
    BeforeItActs,
    AfterItActed,
}

/// A service whose calls can get stuck; it notes what it did, with the keys it was given.
#[derive(Clone, Default)]
struct Service {
    done: Arc<Mutex<Vec<(String, String, String)>>>,
    asked: Arc<Mutex<Vec<String>>>,
    stuck: Arc<Mutex<Option<(String, Stuck)>>>,
    reached: Arc<Notify>,
    results: Arc<Mutex<BTreeMap<String, String>>>,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Service")
    }
}

impl Service {
    fn gets_stuck(&self, tool: &str, at: Stuck) {
        *self.stuck.lock().unwrap() = Some((tool.to_owned(), at));
    }

    fn works(&self) {
        *self.stuck.lock().unwrap() = None;
    }

    fn gives(&self, tool: &str, result: &str) {
        self.results.lock().unwrap().insert(tool.to_owned(), result.to_owned());
    }

    /// The tools that acted since the last look.
    fn done(&self) -> Vec<String> {
        self.done.lock().unwrap().drain(..).map(|(tool, ..)| tool).collect()
    }

    fn keys(&self, tool: &str) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter_map(|line| line.strip_prefix(&format!("{tool} "))).map(str::to_owned).collect()
    }

    fn tool(&self, name: &'static str, annotations: ToolAnnotations) -> OfService {
        OfService { name, annotations, service: self.clone() }
    }

    fn tools(&self) -> ToolSet {
        let read_only = ToolAnnotations { read_only: Some(true), ..ToolAnnotations::default() };
        let idempotent = ToolAnnotations { idempotent: Some(true), ..ToolAnnotations::default() };
        let unknown = ToolAnnotations::default();
        ToolSet::new()
            .with(self.tool("newest", read_only))
            .with(self.tool("mark", idempotent))
            .with(self.tool("charge", unknown))
            .with(self.tool("mail", unknown))
    }
}

struct OfService {
    name: &'static str,
    annotations: ToolAnnotations,
    service: Service,
}

#[async_trait]
impl Tool for OfService {
    fn name(&self) -> &str {
        self.name
    }

    fn annotations(&self) -> ToolAnnotations {
        self.annotations
    }

    async fn call(&self, arguments: &Arguments, context: &ToolContext) -> Result<ToolOutput, BoxError> {
        let Service { done, asked, stuck, reached, results } = &self.service;
        asked.lock().unwrap().push(format!("{} {}", self.name, context.idempotency_key));
        let at = stuck.lock().unwrap().clone().filter(|(tool, _)| tool == self.name).map(|(_, at)| at);
        if at != Some(Stuck::BeforeItActs) {
            let key = context.idempotency_key.clone();
            done.lock().unwrap().push((self.name.to_owned(), arguments.raw().to_owned(), key));
        }
        if at.is_some() {
            reached.notify_one();
            std::future::pending::<()>().await;
        }
        let result = results.lock().unwrap().get(self.name).cloned();
        Ok(result.unwrap_or_else(|| json!({ "receipt": format!("{}_77123", self.name) }).to_string()).into())
    }
}

/// Knows what the service did, by key.
#[derive(Debug)]
struct Looking(Service);

#[async_trait]
impl Verifier for Looking {
    async fn verify(&self, _: &FinishedRun<'_>) -> Result<Option<Verdict>, BoxError> {
        Ok(None)
    }

    async fn settle(&self, call: &DoubtfulCall<'_>) -> Result<Settlement, BoxError> {
        let done = self.0.done.lock().unwrap();
        let was_done = done.iter().any(|(_, _, key)| *key == call.step.idempotency_key);
        let result = json!({ "receipt": format!("{}_77123", call.step.call.tool) }).to_string();
        Ok(if was_done { Settlement::Done(Some(result.into())) } else { Settlement::NotDone })
    }
}

fn id() -> RunId {
    RunId::new("order-1001").unwrap()
}

fn named() -> SessionOptions {
    SessionOptions { run_id: Some(id()) }
}

fn script() -> Script {
    let charge = json!({ "order": "order_1001" });
    Script::new([("newest", json!({})), ("charge", charge), ("mail", json!({ "receipt": "charge_77123" }))], "done")
}

async fn run_named(memory: &LearnKit, service: &Service, script: &Script) -> Result<RunReport, Error> {
    let options = ReactOptions { run_id: Some(id()), ..ReactOptions::default() };
    run_react_agent(memory, TASK, &service.tools(), script, options).await
}

/// Learns the task, so that it replays.
async fn learned(place: &Place, service: &Service) {
    let memory = place.process().await;
    run_react_agent(&memory, TASK, &service.tools(), &script(), ReactOptions::default()).await.unwrap();
    service.done();
    service.asked.lock().unwrap().clear();
}

/// A process that dies once a call is stuck: nothing of it is dropped, so nothing is tidied up.
async fn dies(work: impl Future<Output: std::fmt::Debug>, service: &Service) {
    let mut work = Box::pin(work);
    tokio::select! {
        ended = &mut work => panic!("it ended: {ended:?}"),
        () = service.reached.notified() => {}
    }
    std::mem::forget(work);
}

/// A run by this id that dies while a call is stuck.
async fn dies_at(place: &Place, service: &Service, tool: &str, at: Stuck, script: Script) {
    service.gets_stuck(tool, at);
    let (memory, calls) = (place.process().await, service.clone());
    dies(async move { run_named(&memory, &calls, &script).await }, service).await;
    service.works();
}

#[tokio::test]
async fn a_replay_that_was_cut_off_goes_on_after_what_is_done() {
    let (place, service) = (Place::new(), Service::default());
    learned(&place, &service).await;
    dies_at(&place, &service, "mail", Stuck::BeforeItActs, nobody()).await;
    assert_eq!(service.done(), ["newest", "charge"]);
    place.wait();
    let memory = place.process().await;
    memory.settle(&id(), 3, Settlement::NotDone).await.unwrap();
    let report = run_named(&memory, &service, &nobody()).await.unwrap();
    assert!(report.replayed, "{}", report.reason);
    assert_eq!((report.planning_calls, report.tool_calls, report.answer.as_deref()), (Some(0), 3, Some("done")));
    assert_eq!(service.done(), ["mail"]);
    assert_eq!(memory.open_runs(None, 9).await.unwrap().items, []);
}

#[tokio::test]
async fn f15_a_call_that_was_made_before_a_crash_is_found_by_its_key_and_not_made_again() {
    let (place, service) = (Place::new(), Service::default());
    learned(&place, &service).await;
    dies_at(&place, &service, "charge", Stuck::AfterItActed, nobody()).await;
    place.wait();
    let memory = place.builder().verifier(Arc::new(Looking(service.clone()))).build().await.unwrap();
    let report = run_named(&memory, &service, &nobody()).await.unwrap();
    assert!(report.replayed, "{}", report.reason);
    assert_eq!(service.done(), ["newest", "charge", "mail"], "once each, over both processes");
    assert_eq!(service.keys("charge").len(), 1, "no second call");
}

#[tokio::test]
async fn f16_a_run_id_of_another_task_is_refused_and_never_a_success() {
    let (place, service) = (Place::new(), Service::default());
    learned(&place, &service).await;
    let memory = place.process().await;
    let table = |value: &str| Task::template("Count {table}").with("table", value).build().unwrap();
    for (first, second) in [
        (Task::new(TASK), Task::new("Charge the oldest order")),
        (table("users"), table("orders")),
        (Task::new("Ping").with_environment("blue"), Task::new("Ping").with_environment("green")),
    ] {
        let options = |id: &str| ReactOptions { run_id: Some(RunId::new(id).unwrap()), ..ReactOptions::default() };
        run_react_agent(&memory, first.clone(), &service.tools(), &script(), options("finished")).await.unwrap();
        service.gets_stuck("charge", Stuck::BeforeItActs);
        let (other, calls) = (place.process().await, service.clone());
        let asked = Script::new([("charge", json!({ "order": "other" }))], "x");
        let work = async move { run_react_agent(&other, first, &calls.tools(), &asked, options("open")).await };
        dies(work, &service).await;
        service.works();
        place.wait();
        service.done();
        for known in ["finished", "open"] {
            let refused = run_react_agent(&memory, second.clone(), &service.tools(), &script(), options(known)).await;
            let error = refused.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict, "{known}: {error}");
            assert!(error.message().contains("replay mismatch"), "{known}: {error}");
        }
        assert_eq!(service.done(), [""; 0], "nothing was called");
        memory.forget_run(&RunId::new("finished").unwrap()).await.unwrap();
        memory.forget_run(&RunId::new("open").unwrap()).await.unwrap();
    }
}

#[tokio::test]
async fn f17_an_intent_is_no_receipt_and_a_step_in_doubt_is_never_repeated_blindly() {
    for (at, settlement, expected) in [
        (Stuck::BeforeItActs, Settlement::NotDone, vec!["charge", "mail"]),
        (Stuck::AfterItActed, Settlement::Done(Some("{\"receipt\":\"charge_77123\"}".into())), vec!["mail"]),
    ] {
        let (place, service) = (Place::new(), Service::default());
        learned(&place, &service).await;
        dies_at(&place, &service, "charge", at, nobody()).await;
        place.wait();
        service.done();
        let memory = place.process().await;
        for _ in 0..2 {
            let error = run_named(&memory, &service, &nobody()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InDoubt, "{error}");
            for part in ["step 2", "`charge`", "order-1001", "learnkit runs recover order-1001 --step 2 --done"] {
                assert!(error.to_string().contains(part), "{error}");
            }
        }
        assert_eq!(service.done(), [""; 0], "nothing is done while it is in doubt");
        let journal = memory.open_run(&id()).await.unwrap();
        assert_eq!(journal.doubtful().map(|step| step.number).collect::<Vec<_>>(), [2]);
        memory.settle(&id(), 2, settlement).await.unwrap();
        let report = run_named(&memory, &service, &nobody()).await.unwrap();
        assert!(report.replayed, "{}", report.reason);
        assert_eq!(service.done(), expected);
    }
}

#[tokio::test]
async fn f18_a_call_whose_end_nobody_saw_is_in_doubt_and_not_sent_again() {
    let (place, service) = (Place::new(), Service::default());
    let memory = place.process().await;
    service.gets_stuck("charge", Stuck::AfterItActed);
    let tools = service.clone();
    let agent = memory.agent_learn("clerk").wrap(move |run| {
        let charge = tools.tool("charge", ToolAnnotations::default());
        async move {
            let call = async { charge.call(&json!({}).into(), &ToolContext::default()).await };
            run.call("charge", json!({}), call).await?;
            Ok::<_, BoxError>("charged".to_owned())
        }
    });
    let timed_out = tokio::time::timeout(Duration::from_millis(50), agent.call_with(TASK, named())).await;
    assert!(timed_out.is_err());
    service.works();
    // The same process retries at once: the dropped run gives its id back.
    let error = agent.call_with(TASK, named()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InDoubt, "{error}");
    assert_eq!(service.done(), ["charge"]);
    memory.settle(&id(), 1, Settlement::Done(None)).await.unwrap();
    let report = agent.call_with(TASK, named()).await.unwrap();
    assert_eq!((report.answer.as_deref(), service.done()), (Some("charged"), Vec::new()));
}

#[tokio::test]
async fn f18_the_same_call_has_the_same_key_in_every_process() {
    let (place, service) = (Place::new(), Service::default());
    for _ in 0..3 {
        let script = Script::new([("mark", json!({})), ("charge", json!({})), ("charge", json!({}))], "x");
        dies_at(&place, &service, "mark", Stuck::AfterItActed, script).await;
        place.wait();
    }
    let memory = place.process().await;
    let twice = || Script::new([("mark", json!({})), ("charge", json!({})), ("charge", json!({}))], "x");
    run_named(&memory, &service, &twice()).await.unwrap();
    let keys = service.keys("mark");
    assert!(keys.len() == 4 && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    let charged = service.keys("charge");
    assert!(charged.len() == 2 && charged[0] != charged[1], "two calls that are both meant: {charged:?}");
}

#[tokio::test]
async fn f18_a_call_that_failed_may_have_acted_so_it_is_tried_again_under_its_key() {
    let (place, service) = (Place::new(), Service::default());
    service.gives("charge", "Error: the line broke");
    let script = || Script::new([("charge", json!({})), ("mail", json!({}))], "x");
    dies_at(&place, &service, "mail", Stuck::BeforeItActs, script()).await;
    place.wait();
    service.gives("charge", "charged");
    let memory = place.process().await;
    memory.settle(&id(), 2, Settlement::NotDone).await.unwrap();
    run_named(&memory, &service, &script()).await.unwrap();
    let keys = service.keys("charge");
    assert!(keys.len() == 2 && keys[0] == keys[1], "{keys:?}");
}

#[tokio::test]
async fn a_run_of_the_hold_out_arm_stays_there_when_it_goes_on() {
    let (place, service) = (Place::new(), Service::default());
    learned(&place, &service).await;
    let settings = || Settings { holdout_rate: 1.0, ..Settings::default() };
    service.gets_stuck("mail", Stuck::BeforeItActs);
    let (memory, calls) = (place.builder().settings(settings()).build().await.unwrap(), service.clone());
    dies(async move { run_named(&memory, &calls, &script()).await }, &service).await;
    service.works();
    place.wait();
    service.done();
    let memory = place.builder().settings(settings()).build().await.unwrap();
    memory.settle(&id(), 3, Settlement::NotDone).await.unwrap();
    let planner = script();
    let report = run_named(&memory, &service, &planner).await.unwrap();
    assert_eq!((report.mode, service.done()), (Mode::Cold, vec!["newest".to_owned(), "mail".to_owned()]));
    assert!(!planner.playbooks()[0].contains("<learnkit-memory"), "{:?}", planner.playbooks());
}

#[tokio::test]
async fn a_planner_that_starts_from_scratch_gets_what_is_done_and_makes_only_the_rest() {
    let (place, service) = (Place::new(), Service::default());
    dies_at(&place, &service, "mail", Stuck::BeforeItActs, script()).await;
    place.wait();
    let memory = place.process().await;
    memory.settle(&id(), 3, Settlement::NotDone).await.unwrap();
    let planner = script();
    let report = run_named(&memory, &service, &planner).await.unwrap();
    assert_eq!(service.done(), ["newest", "charge", "newest", "mail"], "only the read is made again");
    assert!(planner.playbooks()[0].contains("<learnkit-done>"), "{:?}", planner.playbooks());
    assert_eq!(report.planning_calls, Some(3 + 4), "those of before the crash count");
    assert!(report.reason.contains("goes on after 2 calls"), "{}", report.reason);
}

#[tokio::test]
async fn an_agent_function_gets_what_is_done_before_and_confirms_nothing_twice() {
    let (place, service) = (Place::new(), Service::default());
    let bill = |service: Service, memory: LearnKit| async move {
        let agent = memory.agent_learn("clerk").wrap(move |run| {
            let service = service.clone();
            async move {
                let mut receipts = Vec::new();
                for name in ["charge", "mail"] {
                    let tool = service.tool(name, ToolAnnotations::default());
                    let call = async { tool.call(&json!({}).into(), &ToolContext::default()).await };
                    let result: ToolOutput = run.call(name, json!({}), call).await?;
                    receipts.push(result.as_text().to_owned());
                }
                Ok::<_, BoxError>(receipts.join(" "))
            }
        });
        agent.call_with(TASK, named()).await
    };
    service.gets_stuck("mail", Stuck::AfterItActed);
    dies(bill(service.clone(), place.process().await), &service).await;
    service.works();
    place.wait();
    let memory = place.process().await;
    memory.settle(&id(), 2, Settlement::Done(Some("sent".into()))).await.unwrap();
    let report = bill(service.clone(), memory.clone()).await.unwrap();
    assert_eq!(report.answer.as_deref(), Some("{\"receipt\":\"charge_77123\"} sent"));
    assert_eq!(service.done(), ["charge", "mail"]);
    assert_eq!(stored_runs(&memory).await[0].calls.len(), 2);
}

#[tokio::test]
async fn a_finished_run_id_gives_its_report_again_and_does_nothing() {
    let (place, service) = (Place::new(), Service::default());
    let memory = place.process().await;
    let first = run_named(&memory, &service, &script()).await.unwrap();
    service.done();
    let again = run_named(&memory, &service, &nobody()).await.unwrap();
    assert_eq!((again.answer, again.gate, service.done()), (first.answer, first.gate, Vec::new()));
    assert!(again.warnings.iter().any(|warning| warning.contains("nothing was done")), "{:?}", again.warnings);
    let prepared = memory.prepare_run(TASK, named()).await.unwrap_err();
    assert_eq!(prepared.kind(), ErrorKind::Conflict);
    assert_eq!(stored_runs(&memory).await.len(), 1);
    let failing = memory.agent_learn("clerk").wrap(|run| async move {
        run.call("charge", json!({}), async { Ok::<_, BoxError>("ok".to_owned()) }).await?;
        Err::<String, BoxError>("lost the thread".into())
    });
    let other = || SessionOptions { run_id: RunId::new("failed").ok() };
    assert_eq!(failing.call_with("Fail", other()).await.unwrap_err().kind(), ErrorKind::Agent);
    let error = failing.call_with("Fail", other()).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Conflict && error.message().contains("another id"), "{error}");
}

#[tokio::test]
async fn of_two_processes_with_one_run_id_one_works_and_the_other_is_refused() {
    let (place, service) = (Place::new(), Service::default());
    learned(&place, &service).await;
    service.gets_stuck("charge", Stuck::AfterItActed);
    let (first, calls) = (place.process().await, service.clone());
    let release = Arc::new(Notify::new());
    let (gate, opened) = (release.clone(), service.clone());
    let work = tokio::spawn(async move {
        let charge = opened.clone();
        let tools = calls.tools().with_fn("charge", ToolAnnotations::default(), move |_| {
            let (gate, charge) = (gate.clone(), charge.clone());
            async move {
                charge.done.lock().unwrap().push(("charge".to_owned(), String::new(), String::new()));
                charge.reached.notify_one();
                gate.notified().await;
                Ok(json!({ "receipt": "charge_77123" }).to_string().into())
            }
        });
        let options = ReactOptions { run_id: Some(id()), ..ReactOptions::default() };
        run_react_agent(&first, TASK, &tools, &nobody(), options).await
    });
    service.reached.notified().await;
    service.works();
    let second = place.process().await;
    let error = run_named(&second, &service, &nobody()).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Conflict, true), "{error}");
    assert!(error.message().contains("2026-01-05T08:00:30Z") && error.message().contains("--take"), "{error}");
    // Whoever says that the first is dead takes the run; where it lives after all, its next effect is refused.
    second.release_run(&id()).await.unwrap();
    second.settle(&id(), 2, Settlement::Done(Some("{\"receipt\":\"charge_77123\"}".into()))).await.unwrap();
    let report = run_named(&second, &service, &nobody()).await.unwrap();
    assert!(report.replayed, "{}", report.reason);
    release.notify_one();
    let error = work.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert_eq!(service.done(), ["newest", "charge", "mail"], "no effect of the first one after it lost the run");
    assert_eq!(stored_runs(&second).await.len(), 2, "the run is stored once");
}

#[tokio::test]
async fn a_call_that_takes_long_keeps_its_run() {
    let (place, service) = (Place::new(), Service::default());
    let settings = Settings { run_lease: Duration::from_millis(60), ..Settings::default() };
    let memory = place.builder().settings(settings).build().await.unwrap();
    service.gets_stuck("charge", Stuck::BeforeItActs);
    let (worker, calls) = (memory.clone(), service.clone());
    let work = tokio::spawn(async move { run_named(&worker, &calls, &script()).await });
    service.reached.notified().await;
    let first = memory.open_run(&id()).await.unwrap().lease;
    place.clock.advance(SignedDuration::from_secs(5));
    let renewed = async {
        while memory.open_run(&id()).await.unwrap().lease.until <= first.until {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), renewed).await.expect("the lease is renewed while a call is made");
    assert_eq!(memory.open_run(&id()).await.unwrap().lease.owner, first.owner);
    work.abort();
}

#[tokio::test]
async fn a_result_that_was_not_kept_whole_feeds_no_replay_and_its_call_is_not_repeated() {
    let (place, service) = (Place::new(), Service::default());
    learned(&place, &service).await;
    service.gives("charge", &json!({ "receipt": "charge_77123", "log": "x".repeat(100_000) }).to_string());
    dies_at(&place, &service, "mail", Stuck::BeforeItActs, nobody()).await;
    place.wait();
    service.done();
    let memory = place.process().await;
    memory.settle(&id(), 3, Settlement::NotDone).await.unwrap();
    let planner = script();
    let report = run_named(&memory, &service, &planner).await.unwrap();
    assert_eq!((report.replayed, report.mode), (false, Mode::Guide), "{}", report.reason);
    assert!(report.reason.contains("the result of step 2 was not kept whole"), "{}", report.reason);
    assert_eq!(service.done(), ["newest", "mail"]);
    assert_eq!(skills(&memory).await[0].usage.suspended, None, "the procedure is not to blame");
}

#[tokio::test]
async fn a_procedure_that_changed_meanwhile_is_not_gone_on_with() {
    let (place, service) = (Place::new(), Service::default());
    learned(&place, &service).await;
    dies_at(&place, &service, "mail", Stuck::BeforeItActs, nobody()).await;
    place.wait();
    service.done();
    let memory = place.process().await;
    memory.settle(&id(), 3, Settlement::NotDone).await.unwrap();
    let known = skills(&memory).await.remove(0);
    let mut changed = known.clone();
    if let learnkit::record::Content::Skill(skill) = &mut changed.content {
        skill.procedure.as_mut().unwrap().version += 1;
    }
    memory.store().records.put(&changed, learnkit::backend::PutMode::Upsert).await.unwrap();
    let report = run_named(&memory, &service, &script()).await.unwrap();
    assert!(!report.replayed && report.reason.contains("has changed since"), "{}", report.reason);
    assert_eq!(service.done(), ["newest", "mail"]);
}

#[tokio::test]
async fn a_replay_that_goes_on_after_midnight_stays_in_the_day_it_began() {
    let (place, service) = (Place::new(), Service::default());
    let task = "Charge what is due today";
    let due = |date: &str| Script::new([("charge", json!({ "due": date })), ("mail", json!({ "day": date }))], "done");
    let memory = place.process().await;
    let tools = service.tools();
    run_react_agent(&memory, task, &tools, &due("2026-01-05"), ReactOptions::default()).await.unwrap();
    place.clock.set("2026-01-06T23:59:50Z".parse().unwrap());
    service.done.lock().unwrap().clear();
    service.gets_stuck("mail", Stuck::BeforeItActs);
    let options = || ReactOptions { run_id: Some(id()), ..ReactOptions::default() };
    let (first, calls) = (place.process().await, tools.clone());
    dies(async move { run_react_agent(&first, task, &calls, &nobody(), options()).await }, &service).await;
    service.works();
    place.wait();
    memory.settle(&id(), 2, Settlement::NotDone).await.unwrap();
    let report = run_react_agent(&memory, task, &tools, &nobody(), options()).await.unwrap();
    assert!(report.replayed, "{}", report.reason);
    let sent: Vec<String> = service.done.lock().unwrap().iter().map(|(_, arguments, _)| arguments.clone()).collect();
    assert_eq!(sent, [r#"{"due":"2026-01-06"}"#, r#"{"day":"2026-01-06"}"#]);
}

#[tokio::test]
async fn a_secret_stays_out_of_the_journal_and_its_call_is_still_known() {
    let (place, service) = (Place::new(), Service::default());
    let token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let script = || {
        let charge = json!({ "order": "order_1001", "token": token });
        Script::new([("charge", charge), ("mail", json!({ "text": format!("paid with {token}") }))], "done")
    };
    service.gives("charge", &json!({ "receipt": "charge_77123", "note": format!("by {token}") }).to_string());
    dies_at(&place, &service, "mail", Stuck::BeforeItActs, script()).await;
    place.wait();
    service.done();
    let memory = place.process().await;
    let journal = memory.settle(&id(), 2, Settlement::NotDone).await.unwrap();
    assert!(!serde_json::to_string(&journal).unwrap().contains(token));
    for file in std::fs::read_dir(place.folder.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(token.len()).any(|window| window == token.as_bytes()), "a file holds the secret");
    }
    run_named(&memory, &service, &script()).await.unwrap();
    assert_eq!(service.done(), ["mail"]);
}

#[tokio::test]
async fn an_interrupted_run_of_the_callers_id_stays_open_and_any_other_is_stored() {
    let (place, service) = (Place::new(), Service::default());
    let memory = place.process().await;
    let broken = Script::of([PlannerReply::call("charge", json!({})), PlannerReply::default()]);
    struct Failing(Script, AtomicUsize);
    #[async_trait]
    impl learnkit::engine::Planner for Failing {
        async fn plan(&self, turn: &learnkit::engine::PlanningTurn<'_>) -> Result<PlannerReply, BoxError> {
            if self.1.fetch_add(1, Ordering::SeqCst) == 1 { Err("overloaded".into()) } else { self.0.plan(turn).await }
        }
    }
    let planner = Failing(broken, AtomicUsize::new(0));
    let options = ReactOptions { run_id: Some(id()), ..ReactOptions::default() };
    let error = run_react_agent(&memory, TASK, &service.tools(), &planner, options).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Agent);
    assert_eq!((stored_runs(&memory).await.len(), memory.open_runs(None, 9).await.unwrap().items.len()), (0, 1));
    let again = Script::new([("charge", json!({}))], "charged");
    run_named(&memory, &service, &again).await.unwrap();
    assert_eq!(service.done(), ["charge"]);
    assert_eq!((stored_runs(&memory).await.len(), memory.open_runs(None, 9).await.unwrap().items.len()), (1, 0));
    let planner = Failing(Script::new([("charge", json!({}))], "x"), AtomicUsize::new(0));
    let unnamed = run_react_agent(&memory, "Other", &service.tools(), &planner, ReactOptions::default()).await;
    assert_eq!(unnamed.unwrap_err().kind(), ErrorKind::Agent);
    assert_eq!((stored_runs(&memory).await.len(), memory.open_runs(None, 9).await.unwrap().items.len()), (2, 0));
}

#[tokio::test]
async fn what_nobody_will_go_on_with_is_closed_and_teaches_nothing() {
    let (place, service) = (Place::new(), Service::default());
    dies_at(&place, &service, "mail", Stuck::AfterItActed, script()).await;
    let memory = place.process().await;
    assert_eq!(memory.abandon_run(&id()).await.unwrap_err().kind(), ErrorKind::Conflict, "somebody may be at work");
    memory.release_run(&id()).await.unwrap();
    let report = memory.abandon_run(&id()).await.unwrap();
    assert!(report.warnings.iter().any(|warning| warning.contains("`mail`) was in doubt")), "{:?}", report.warnings);
    let stored = memory.run(&id()).await.unwrap();
    let worked: Vec<bool> = stored.calls.iter().map(|call| call.status.is_ok()).collect();
    assert_eq!((worked, stored.learned, stored.gate.score), (vec![true, true, false], Vec::new(), None));
    assert_eq!((skills(&memory).await, of_kind(&memory, Kind::Trace).await.len()), (Vec::new(), 1));
    assert_eq!(memory.abandon_run(&id()).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(run_named(&memory, &service, &nobody()).await.unwrap_err().kind(), ErrorKind::Conflict);
}

#[tokio::test]
async fn a_step_is_settled_once_and_only_where_it_is_in_doubt() {
    let (place, service) = (Place::new(), Service::default());
    dies_at(&place, &service, "mail", Stuck::AfterItActed, script()).await;
    let memory = place.process().await;
    let kind = |settled: Result<_, Error>| settled.map(drop).map_err(|error: Error| error.kind());
    let done = || Settlement::Done(None);
    assert_eq!(kind(memory.settle(&id(), 3, done()).await), Err(ErrorKind::Conflict), "it is held");
    place.wait();
    assert_eq!(kind(memory.settle(&id(), 3, Settlement::Unknown).await), Err(ErrorKind::InvalidInput));
    assert_eq!(kind(memory.settle(&id(), 9, done()).await), Err(ErrorKind::NotFound));
    assert_eq!(kind(memory.settle(&id(), 2, done()).await), Err(ErrorKind::Conflict), "it has ended");
    assert_eq!(kind(memory.settle(&id(), 3, done()).await), Ok(()));
    assert_eq!(kind(memory.settle(&id(), 3, done()).await), Ok(()), "the same again");
    assert_eq!(kind(memory.settle(&id(), 3, Settlement::NotDone).await), Err(ErrorKind::Conflict));
    let other = RunId::new("other").unwrap();
    assert_eq!(kind(memory.settle(&other, 1, done()).await), Err(ErrorKind::NotFound));
    let states: Vec<StepState> = memory.open_run(&id()).await.unwrap().steps.iter().map(|step| step.state).collect();
    assert_eq!(states, [StepState::Ended, StepState::Ended, StepState::SaidDone]);
}

#[tokio::test]
async fn a_verifier_that_fails_or_does_not_know_leaves_the_step_in_doubt() {
    #[derive(Debug)]
    struct Clueless(bool);
    #[async_trait]
    impl Verifier for Clueless {
        async fn verify(&self, _: &FinishedRun<'_>) -> Result<Option<Verdict>, BoxError> {
            Ok(None)
        }
        async fn settle(&self, _: &DoubtfulCall<'_>) -> Result<Settlement, BoxError> {
            if self.0 { Err("no line".into()) } else { Ok(Settlement::Unknown) }
        }
    }
    let (place, service) = (Place::new(), Service::default());
    dies_at(&place, &service, "mail", Stuck::AfterItActed, script()).await;
    place.wait();
    service.done();
    for fails in [true, false] {
        let memory = place.builder().verifier(Arc::new(Clueless(fails))).build().await.unwrap();
        assert_eq!(run_named(&memory, &service, &script()).await.unwrap_err().kind(), ErrorKind::InDoubt);
    }
    assert_eq!(service.done(), [""; 0]);
}

#[tokio::test]
async fn what_may_be_repeated_is_made_again_with_its_key() {
    let (place, service) = (Place::new(), Service::default());
    let script = || Script::new([("mark", json!({ "as": "paid" })), ("mail", json!({}))], "done");
    dies_at(&place, &service, "mark", Stuck::AfterItActed, script()).await;
    place.wait();
    let memory = place.process().await;
    run_named(&memory, &service, &script()).await.unwrap();
    assert_eq!(service.done(), ["mark", "mark", "mail"]);
    let keys = service.keys("mark");
    assert!(keys.len() == 2 && keys[0] == keys[1], "{keys:?}");
    assert_eq!(stored_runs(&memory).await[0].calls.len(), 2, "it is one call of the run");
}

#[tokio::test]
async fn f70_another_tenant_neither_sees_nor_settles_nor_takes_an_open_run() {
    let (place, service) = (Place::new(), Service::default());
    dies_at(&place, &service, "mail", Stuck::BeforeItActs, script()).await;
    place.wait();
    let other = place.builder().tenant(Tenant::new("other").unwrap()).build().await.unwrap();
    assert_eq!(other.open_runs(None, 9).await.unwrap().items, []);
    assert_eq!(other.open_run(&id()).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(other.settle(&id(), 3, Settlement::NotDone).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(other.release_run(&id()).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(other.forget_run(&id()).await.unwrap_err().kind(), ErrorKind::NotFound);
    service.done();
    run_named(&other, &service, &script()).await.unwrap();
    assert_eq!(service.done(), ["newest", "charge", "mail"], "its own run of the same id");
    assert_eq!(place.process().await.open_runs(None, 9).await.unwrap().items.len(), 1);
}

#[tokio::test]
async fn an_open_run_can_be_forgotten_and_is_never_exported() {
    let (place, service) = (Place::new(), Service::default());
    learned(&place, &service).await;
    let memory = place.process().await;
    for by_record in [false, true] {
        dies_at(&place, &service, "mail", Stuck::BeforeItActs, nobody()).await;
        let mut export = Vec::new();
        memory.export(&mut export, &ExportSelection::default()).await.unwrap();
        assert!(!String::from_utf8(export).unwrap().contains("order-1001"));
        let forgotten = if by_record {
            let skill = skills(&memory).await.remove(0);
            memory.forget(&skill.id).await.unwrap()
        } else {
            memory.forget_run(&id()).await.unwrap()
        };
        assert!(forgotten.runs >= 1);
        assert_eq!(memory.open_runs(None, 9).await.unwrap().items, []);
    }
}

#[tokio::test]
async fn a_host_that_makes_its_own_calls_writes_no_journal() {
    let (place, service) = (Place::new(), Service::default());
    let memory = place.process().await;
    let session = memory.session(Task::new(TASK), named()).unwrap();
    session.tracker().record("charge", json!({}), "ok");
    assert_eq!(memory.open_runs(None, 9).await.unwrap().items, []);
    session.finish(&Outcome::answered("ok")).await;
    let idle = memory.agent_learn("idle").wrap(|_| async { Ok::<_, BoxError>("nothing to do".to_owned()) });
    let report = idle.call_with("Idle", SessionOptions { run_id: RunId::new("idle").ok() }).await.unwrap();
    assert_eq!(report.tool_calls, 0);
    assert_eq!((memory.open_runs(None, 9).await.unwrap().items, service.done()), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn a_lease_that_ran_out_unnoticed_still_belongs_to_its_process() {
    let (place, service) = (Place::new(), Service::default());
    let memory = place.process().await;
    let clock = place.clock.clone();
    let agent = memory.agent_learn("clerk").wrap(move |run| {
        let clock = clock.clone();
        async move {
            for name in ["charge", "mail"] {
                run.call(name, json!({}), async { Ok::<_, BoxError>("ok".to_owned()) }).await?;
                clock.advance(SignedDuration::from_hours(1));
            }
            Ok::<_, BoxError>("billed".to_owned())
        }
    });
    let report = agent.call_with(TASK, named()).await.unwrap();
    assert_eq!((report.tool_calls, report.warnings, service.done()), (2, Vec::new(), Vec::new()));
    let store = &memory.store().runs;
    let lease = learnkit::run::Lease { owner: "x".to_owned(), until: jiff::Timestamp::MAX };
    let take = TakeJournal {
        tenant: memory.tenant().clone(),
        run: id(),
        lease,
        now: jiff::Timestamp::MAX,
        from: TakeFrom::Anybody,
    };
    assert_eq!(store.take_journal(&take).await.unwrap(), Taken::Finished);
}
