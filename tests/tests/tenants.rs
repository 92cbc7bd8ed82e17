//! Tenants: whatever happens at once on one store, nobody reads, changes or deletes what is another tenant's.

use std::io::Cursor;
use std::sync::Arc;

use learnkit::backend::{RecordFilter, RunFilter, ScanRequest, SearchQuery, Store};
use learnkit::backends::sqlite::SqliteStore;
use learnkit::config::TemplateReplay;
use learnkit::engine::{Decision, Outcome, Session, SessionOptions, SkillSelection, View};
use learnkit::portable::{ExportSelection, Import, ImportOptions};
use learnkit::record::{AgentName, Kind, Owner, RecordId, RunId, Scope, Tenant};
use learnkit::run::{CallDraft, Mode};
use learnkit::{ErrorKind, LearnKit, MemoryStore, Task};
use learnkit_cli::{Io, Terminal};
use learnkit_tests::{fact, stored_runs};
use serde_json::json;

const TENANTS: usize = 50;

async fn of(store: &Store, tenant: &str) -> LearnKit {
    let on = TemplateReplay::Confirmed { min_distinct: 3 };
    let builder = LearnKit::builder().store(store.clone()).tenant(Tenant::new(tenant).unwrap()).template_replay(on);
    builder.agent(AgentName::new("clerk").unwrap()).build().await.unwrap()
}

/// The mark that stands in everything of one tenant, and in nothing of another one.
fn mark(tenant: usize) -> String {
    format!("mark{tenant:02}x")
}

fn session(memory: &LearnKit, task: &str, run: &str) -> Session {
    let run_id = Some(RunId::new(run).unwrap());
    // One process has one run of an id under way, whatever its tenant: each memory is a process of its own here.
    memory.session(Task::new(task), SessionOptions { run_id }).unwrap()
}

/// Plans a run by hand, or follows the replay to its end.
async fn work(memory: &LearnKit, task: &str, run: &str, mark: &str, told: &mut String) -> Mode {
    let session = session(memory, task, run);
    loop {
        match session.decide(&View::default()).await {
            Decision::Replay(calls) => {
                for call in calls {
                    told.push_str(call.arguments.raw());
                    session.observe(CallDraft::new(call.tool, call.arguments), Ok(json!({"note": mark}).into()));
                }
            }
            Decision::Answer { text, .. } => {
                told.push_str(&text);
                break;
            }
            Decision::Forward { playbook, .. } => {
                told.push_str(&playbook);
                let coins = task.split(' ').nth(2).unwrap_or("1").to_owned();
                session.observe(
                    CallDraft::new("note", json!({"whose": mark, "coins": coins})),
                    Ok(json!({"note": mark}).into()),
                );
                break;
            }
            Decision::Synthesize { .. } => session.synthesized(format!("noted {mark}")),
        }
    }
    let report = session.finish(&Outcome::answered(format!("noted for {mark}"))).await;
    told.push_str(&serde_json::to_string(&report).unwrap());
    report.mode
}

/// Everything that a tenant can read, as one text.
async fn read_all(memory: &LearnKit) -> String {
    let mut all = String::new();
    let scan = ScanRequest { filter: memory.every_record(), after: None, limit: 10_000 };
    all.push_str(&serde_json::to_string(&memory.scan(&scan).await.unwrap().items).unwrap());
    all.push_str(&serde_json::to_string(&stored_runs(memory).await).unwrap());
    for text in ["Note this for me", "Send 3 coins", "mark"] {
        let query = SearchQuery { text: text.to_owned(), filter: memory.every_record(), limit: 1_000 };
        let found = memory.store().records.search(&query).await.unwrap();
        all.push_str(&serde_json::to_string(&found.iter().map(|scored| &scored.item).collect::<Vec<_>>()).unwrap());
        all.push_str(&serde_json::to_string(&memory.inspect(text).await.unwrap()).unwrap());
    }
    let mut export = Vec::new();
    memory.export(&mut export, &ExportSelection::default()).await.unwrap();
    all.push_str(&String::from_utf8(export).unwrap());
    all.push_str(&format!("{:?}", memory.export_skills(&SkillSelection::default()).await.unwrap().skills));
    all
}

/// What one tenant does, in an order of its own, over and over.
async fn live(memory: LearnKit, tenant: usize) -> String {
    let mark = mark(tenant);
    let mut told = String::new();
    for round in 0..4 {
        for step in 0..8 {
            match (step + tenant) % 8 {
                0 => drop(work(&memory, "Note this for me", &format!("run-{round}"), &mark, &mut told).await),
                1 => {
                    for coins in [3, 5, 8] {
                        let task = format!("Send the {} coins", coins + round);
                        work(&memory, &task, &format!("send-{round}-{coins}"), &mark, &mut told).await;
                    }
                }
                2 => {
                    let fact = fact(&memory, &format!("fact-{round}"), &format!("The note {round} is {mark}"));
                    memory.remember(fact).await.unwrap();
                }
                3 => drop(memory.maintain_memory(1, 0.02, 48.0).await.unwrap()),
                4 => told.push_str(&read_all(&memory).await),
                5 => {
                    let runs = memory.runs(&RunFilter::newest(memory.tenant().clone(), 3)).await.unwrap().items;
                    for run in runs {
                        let report = memory.report_success(&run.id).await.unwrap();
                        told.push_str(&serde_json::to_string(&report).unwrap());
                    }
                }
                6 => {
                    let id = RecordId::new(format!("fact-{}", round.max(1) - 1)).unwrap();
                    let missing = memory.forget(&id).await.err().map(|error| error.kind());
                    assert!(matches!(missing, None | Some(ErrorKind::NotFound)));
                }
                _ => {
                    let mut export = Vec::new();
                    memory.export(&mut export, &ExportSelection::default()).await.unwrap();
                    let text = String::from_utf8(export).unwrap();
                    let import = Import::read(Cursor::new(text.clone())).unwrap();
                    memory.import(import, ImportOptions::default()).await.unwrap();
                    told.push_str(&text);
                }
            }
            tokio::task::yield_now().await;
        }
    }
    told
}

async fn mixed_load(store: Store) {
    let mut lives = Vec::new();
    for tenant in 0..TENANTS {
        let memory = of(&store, &format!("tenant-{tenant:02}")).await;
        lives.push((tenant, memory.clone(), tokio::spawn(live(memory, tenant))));
    }
    let (mut bytes, mut replays) = (0, 0);
    for (tenant, memory, life) in lives {
        let told = life.await.unwrap() + &read_all(&memory).await;
        bytes += told.len();
        assert!(told.contains(&mark(tenant)), "tenant {tenant} has nothing of its own");
        for other in (0..TENANTS).filter(|other| *other != tenant) {
            assert!(!told.contains(&mark(other)), "tenant {tenant} was told what is of tenant {other}");
            assert!(!told.contains(&format!("tenant-{other:02}")), "tenant {tenant} saw tenant {other}");
        }
        let runs = stored_runs(&memory).await;
        assert_eq!(runs.len(), 4 + 3 * 4, "tenant {tenant} has its own runs, under ids that all tenants use");
        replays += runs.iter().filter(|run| run.replayed).count();
    }
    println!("{TENANTS} tenants, {bytes} bytes read, {replays} replays, no crossing");
    assert!(replays >= TENANTS * 2, "{replays}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_tenants_at_once_on_one_sqlite_store_never_cross() {
    let folder = tempfile::tempdir().unwrap();
    mixed_load(Store::of(SqliteStore::open(&folder.path().join("memory.db")).await.unwrap())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn f71_fifty_tenants_at_once_on_one_client_in_memory_never_cross() {
    mixed_load(Store::of(MemoryStore::new())).await;
}

/// Every kind of store.
async fn stores() -> [Store; 2] {
    [Store::of(SqliteStore::open_in_memory().await.unwrap()), Store::of(MemoryStore::new())]
}

async fn taught(store: &Store, tenant: &str) -> LearnKit {
    let memory = of(store, tenant).await;
    work(&memory, "Note this for me", "run", tenant, &mut String::new()).await;
    memory.remember(fact(&memory, "fact", &format!("The note is {tenant}"))).await.unwrap();
    memory
}

async fn everything(memory: &LearnKit) -> usize {
    let scan = ScanRequest { filter: memory.every_record(), after: None, limit: 10_000 };
    memory.scan(&scan).await.unwrap().items.len()
}

#[tokio::test]
async fn f68_deleting_all_of_one_tenant_leaves_the_other_untouched() {
    for store in stores().await {
        let (a, b) = (taught(&store, "a").await, taught(&store, "b").await);
        let before = read_all(&b).await;
        let scan = ScanRequest { filter: a.every_record(), after: None, limit: 10_000 };
        for record in a.scan(&scan).await.unwrap().items {
            let gone = a.forget(&record.id).await;
            assert!(gone.is_ok() || gone.unwrap_err().kind() == ErrorKind::NotFound);
        }
        assert_eq!((everything(&a).await, stored_runs(&a).await.len()), (0, 0));
        // An export tells when it was written; all else is as it was.
        let without_time = |text: &str| text.replace(|char: char| char.is_ascii_digit(), "");
        assert_eq!(without_time(&read_all(&b).await), without_time(&before));
    }
}

#[tokio::test]
async fn f68_deleting_what_is_a_users_leaves_the_other_user() {
    for store in stores().await {
        let user = |name: &'static str| {
            let builder = LearnKit::builder().store(store.clone()).scope(Scope::user(name).unwrap());
            async move { builder.build().await.unwrap() }
        };
        let (ann, bob) = (user("ann").await, user("bob").await);
        for (memory, name) in [(&ann, "ann"), (&bob, "bob")] {
            memory.remember(fact(memory, name, &format!("The note is of {name}"))).await.unwrap();
        }
        let own =
            |memory: &LearnKit| RecordFilter { scopes: vec![memory.reader().scope.clone()], ..memory.every_record() };
        let scan = ScanRequest { filter: own(&ann), after: None, limit: 10 };
        for record in ann.scan(&scan).await.unwrap().items {
            ann.forget(&record.id).await.unwrap();
        }
        let scan = ScanRequest { filter: own(&bob), after: None, limit: 10 };
        assert_eq!(bob.scan(&scan).await.unwrap().items.len(), 1);
        assert_eq!(everything(&ann).await, 1, "nothing of ann is left");
    }
}

#[tokio::test]
async fn f69_what_is_deleted_is_gone_from_every_index_and_counted() {
    for store in stores().await {
        let memory = taught(&store, "a").await;
        let scan = |kind| {
            let mut filter = memory.every_record();
            filter.kinds = vec![kind];
            ScanRequest { filter, after: None, limit: 10 }
        };
        let skill = memory.scan(&scan(Kind::Skill)).await.unwrap().items.remove(0);
        let forgotten = memory.forget(&skill.id).await.unwrap();
        assert_eq!((forgotten.records, forgotten.runs), (2, 1), "the skill, the trace and the run");
        let inspection = memory.inspect("Note this for me").await.unwrap();
        assert!(inspection.candidates.iter().all(|candidate| candidate.id != skill.id), "{inspection:?}");
        let query = SearchQuery { text: "note this".to_owned(), filter: memory.every_record(), limit: 10 };
        let found = memory.store().records.search(&query).await.unwrap();
        assert!(found.iter().all(|scored| scored.item.id != skill.id));
        assert_eq!(memory.record(&skill.id).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(memory.forget(&skill.id).await.unwrap_err().kind(), ErrorKind::NotFound, "it says so");
        assert_eq!(memory.scan(&scan(Kind::Trace)).await.unwrap().items.len(), 0);
        assert_eq!(stored_runs(&memory).await.len(), 0);
    }
}

#[tokio::test]
async fn f70_f81_what_one_tenant_pinned_or_confirmed_is_not_served_to_another() {
    for store in stores().await {
        let a = taught(&store, "a").await;
        a.report_success(&RunId::new("run").unwrap()).await.unwrap();
        let scan = ScanRequest { filter: a.every_record(), after: None, limit: 10 };
        let records = a.scan(&scan).await.unwrap().items;
        for record in &records {
            a.pin(&record.id, true).await.unwrap();
        }
        let b = of(&store, "b").await;
        assert_eq!(b.inspect("Note this for me").await.unwrap().mode, Mode::Cold);
        for record in &records {
            // The check sits at the store, whoever asks, and whatever the id is bound to.
            assert_eq!(b.record(&record.id).await.unwrap_err().kind(), ErrorKind::NotFound);
            assert_eq!(b.pin(&record.id, false).await.unwrap_err().kind(), ErrorKind::NotFound);
            assert_eq!(b.forget(&record.id).await.unwrap_err().kind(), ErrorKind::NotFound);
            assert!(store.records.get(b.tenant(), &record.id).await.unwrap().is_none());
            assert!(b.remember(record.clone()).await.is_err(), "a record of another tenant is not written");
        }
        assert_eq!(b.report_success(&RunId::new("run").unwrap()).await.unwrap_err().kind(), ErrorKind::NotFound);
        // A narrower scope is no way round either: a procedure that is pinned for ann is not served to bob.
        let user = |name: &'static str| {
            let builder = LearnKit::builder().store(store.clone()).scope(Scope::user(name).unwrap());
            async move { builder.agent(AgentName::new("clerk").unwrap()).build().await.unwrap() }
        };
        let (ann, bob) = (user("ann").await, user("bob").await);
        work(&ann, "Note this for me", "anns", "ann", &mut String::new()).await;
        for record in ann.scan(&ScanRequest { filter: ann.every_record(), after: None, limit: 10 }).await.unwrap().items
        {
            ann.pin(&record.id, true).await.unwrap();
        }
        assert_eq!(ann.inspect("Note this for me").await.unwrap().mode, Mode::Replay);
        assert_eq!(bob.inspect("Note this for me").await.unwrap().mode, Mode::Cold);
    }
}

#[test]
fn f82_library_and_command_line_write_one_identity() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("memory.db");
    let recording = json!({
        "task": "Note that for me", "answer": "noted",
        "calls": [{"tool": "note", "arguments": {"whose": "x"}, "result": "ok"}],
    });
    std::fs::write(folder.path().join("runs.jsonl"), recording.to_string()).unwrap();
    let backend = format!("sqlite:{}", database.display());
    let io = Io {
        stdin: Box::new(std::io::empty()),
        stdout: Box::new(std::io::sink()),
        stderr: Box::new(std::io::stderr()),
        terminal: Terminal::default(),
        variable: Box::new(move |name| (name == "LEARNKIT_BACKEND").then(|| backend.clone())),
        folder: folder.path().to_owned(),
    };
    let path = folder.path().join("runs.jsonl");
    let args =
        ["learnkit", "learn", path.to_str().unwrap(), "--tenant", "acme", "--scope", "user:ann", "--agent", "clerk"];
    let code = learnkit_cli::run(args.map(str::to_owned), io);
    assert_eq!(format!("{code:?}"), format!("{:?}", std::process::ExitCode::SUCCESS));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::of(SqliteStore::open(&database).await.unwrap());
        let memory = LearnKit::builder().store(store).tenant(Tenant::new("acme").unwrap());
        let memory = memory.scope(Scope::User(Owner::new("ann").unwrap())).agent(AgentName::new("clerk").unwrap());
        let memory = Arc::new(memory.build().await.unwrap());
        work(&memory, "Note this for me", "own", "x", &mut String::new()).await;
        let runs = stored_runs(&memory).await;
        let identity: Vec<_> = runs.iter().map(|run| (&run.tenant, &run.scope, &run.agent)).collect();
        assert_eq!(identity.len(), 2);
        assert_eq!(identity[0], identity[1]);
        let scan = ScanRequest { filter: memory.every_record(), after: None, limit: 10 };
        let records = memory.scan(&scan).await.unwrap().items;
        assert!(records.iter().all(|record| (&record.tenant, &record.scope, &record.agent) == identity[0]));
        let report = memory.inspect("Note that for me").await.unwrap();
        assert_eq!(
            report.mode,
            Mode::Replay,
            "what the command line learned replays in the library: {}",
            report.reason
        );
    });
}
