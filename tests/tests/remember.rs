//! Facts that people write: what supersedes what, and what forgetting leaves.

use jiff::SignedDuration;
use learnkit::LearnKit;
use learnkit::backend::PutMode;
use learnkit::engine::{Remembered, Settled};
use learnkit::portable::{ExportSelection, Import, ImportOptions};
use learnkit::record::{AgentName, Content, Heuristic, Kind, Record, RecordId, Scope, Status, Tenant, Trust};
use learnkit_core::Clock as _;
use learnkit_tests::{builder, fact, memory, of_kind, record, stored_text};

async fn remember(memory: &LearnKit, id: &str, statement: &str) -> Remembered {
    memory.remember(fact(memory, id, statement)).await.unwrap()
}

fn stored(id: &str) -> Remembered {
    Remembered::Stored(RecordId::new(id).unwrap())
}

#[tokio::test]
async fn a_fact_about_another_subject_supersedes_nothing() {
    let pairs = [
        ("Alice lives in Paris, France", "Bob lives in Paris, France"),
        ("Customer C1001 prefers email", "Customer C2002 prefers email"),
        ("The staging API allows 100 requests per minute", "The production API allows 500 requests per minute"),
    ];
    for (first, second) in pairs {
        let (memory, _) = memory().await;
        assert_eq!(remember(&memory, "f1", first).await, stored("f1"));
        assert_eq!(remember(&memory, "f2", second).await, stored("f2"), "{second}");
        assert!(of_kind(&memory, Kind::Fact).await.iter().all(|fact| fact.status != Status::Retired));
    }
}

#[tokio::test]
async fn c13_facts_that_contradict_each_other_in_two_scopes_both_stay() {
    let (team, clock) = memory().await;
    let ann = builder(&clock).store(team.store().clone()).scope(Scope::user("ann").unwrap()).build().await.unwrap();
    assert_eq!(remember(&team, "f1", "The API allows 100 requests per minute").await, stored("f1"));
    assert_eq!(remember(&ann, "f2", "The API allows 500 requests per minute").await, stored("f2"));
    let facts = of_kind(&team, Kind::Fact).await;
    assert_eq!(facts.len(), 2);
    assert!(facts.iter().all(|fact| fact.status != Status::Retired), "{facts:?}");
}

#[tokio::test]
async fn d13_forgetting_a_superseded_fact_takes_it_out_of_the_history_too() {
    let (memory, _) = memory().await;
    remember(&memory, "f1", "The API allows 100 requests per minute").await;
    remember(&memory, "f2", "The API allows 500 requests per minute").await;
    remember(&memory, "f3", "The API allows 900 requests per minute").await;
    assert!(stored_text(&memory).await.contains("allows 100 requests"));
    memory.forget(&RecordId::new("f1").unwrap()).await.unwrap();
    assert!(!stored_text(&memory).await.contains("allows 100 requests"));
    let Content::Fact(newest) = memory.record(&RecordId::new("f3").unwrap()).await.unwrap().content else { panic!() };
    assert_eq!(newest.superseded, ["The API allows 500 requests per minute"]);
}

/// Stores facts as they are, as an older LearnKit or an import may have done, each a minute after the one before.
async fn put(memory: &LearnKit, facts: &[(&str, &str)]) {
    for (minute, (id, statement)) in facts.iter().enumerate() {
        let mut record = fact(memory, id, statement);
        record.created = record.created.checked_add(SignedDuration::from_mins(minute.try_into().unwrap())).unwrap();
        memory.store().records.put(&record, PutMode::Create).await.unwrap();
    }
}

async fn get(memory: &LearnKit, id: &str) -> Record {
    memory.record(&RecordId::new(id).unwrap()).await.unwrap()
}

#[tokio::test]
async fn a_fact_that_differs_in_one_value_or_negation_supersedes_and_a_label_does_not() {
    let pairs = [
        ("Uploads are limited to 5 MB", "Uploads are limited to 5 GB", true),
        ("The contract ends on 2024-01-02", "The contract ends on 2024-02-01", true),
        ("The API supports batches", "The API does not support batches", true),
        ("退款需要5天", "退款需要7天", true),
        ("Server 1 has 4 GB", "Server 2 has 8 GB", false),
        ("In 2023 the revenue was 5 million", "In 2024 the revenue was 7 million", false),
        ("Room 12 seats 8", "Room 14 seats 8", false),
    ];
    for (first, second, supersedes) in pairs {
        let (memory, _) = memory().await;
        remember(&memory, "f1", first).await;
        let second_is = remember(&memory, "f2", second).await;
        assert_eq!(matches!(second_is, Remembered::Supersedes { .. }), supersedes, "{first} / {second}: {second_is:?}");
        let old = get(&memory, "f1").await;
        assert_eq!(old.status == Status::Retired, supersedes, "{}", old.status_reason);
        if supersedes {
            assert_eq!(old.status_reason, "superseded by f2");
            let Content::Fact(newer) = get(&memory, "f2").await.content else { panic!() };
            assert_eq!(newer.superseded, [first]);
        }
    }
}

#[tokio::test]
async fn what_says_the_same_in_other_letters_reinforces_what_is_known() {
    let (memory, _) = memory().await;
    remember(&memory, "f1", "The API allows 100 requests per minute").await;
    let again = remember(&memory, "f2", "the API  allows 100 requests per minute.").await;
    assert_eq!(again, Remembered::Known(RecordId::new("f1").unwrap()));
    assert_eq!(get(&memory, "f1").await.usage.help, 1);
    let rule = |id: &str, rule: &str| {
        record(&memory, id, Content::Heuristic(Heuristic { rule: rule.into(), exception: None }))
    };
    memory.remember(rule("h1", "Count before you delete")).await.unwrap();
    let known = memory.remember(rule("h2", "count before you delete!")).await.unwrap();
    assert_eq!(known, Remembered::Known(RecordId::new("h1").unwrap()));
    let others = ["Never count before you delete", "Count 2 before you delete", "Count before you 'delete'"];
    for (at, other) in others.into_iter().enumerate() {
        let id = format!("other{at}");
        let stored = memory.remember(rule(&id, other)).await.unwrap();
        assert_eq!(stored, Remembered::Stored(RecordId::new(&id).unwrap()), "{other}");
    }
}

#[tokio::test]
async fn maintenance_merges_what_says_the_same_adds_the_counts_and_does_nothing_the_second_time() {
    let (memory, _) = memory().await;
    put(&memory, &[("f1", "Refunds take 5 days"), ("f2", "refunds take 5 days."), ("f3", "Exchanges take 5 days")])
        .await;
    let mut second = get(&memory, "f2").await;
    second.trust = Trust::Verified;
    second.usage.help = 4;
    second.usage.harm = 1;
    memory.store().records.put(&second, PutMode::Upsert).await.unwrap();
    let mut first = get(&memory, "f1").await;
    first.usage.help = 2;
    first.pinned = true;
    memory.store().records.put(&first, PutMode::Upsert).await.unwrap();
    let report = memory.maintain_memory(1, 0.02, 24.0).await.unwrap();
    assert_eq!((report.merged, report.superseded), (1, 0));
    // The one that was verified keeps its words: the trust was earned by them.
    let kept = get(&memory, "f2").await;
    assert_eq!((kept.trust, kept.usage.help, kept.usage.harm, kept.pinned), (Trust::Verified, 6, 1, true));
    assert_eq!(kept.success_rate, Some(6.0 / 7.0));
    let gone = get(&memory, "f1").await;
    assert_eq!((gone.status, &*gone.status_reason), (Status::Retired, "merged into f2, which says the same"));
    assert_eq!(get(&memory, "f3").await.status, Status::Probation);
    let again = memory.maintain_memory(1, 0.02, 24.0).await.unwrap();
    assert_eq!((again.merged, again.superseded), (0, 0));
}

#[tokio::test]
async fn maintenance_lets_the_newest_of_several_facts_stand_with_all_of_their_history() {
    let (memory, _) = memory().await;
    let facts = [("z", "Refunds take 5 days"), ("y", "Refunds take 7 days"), ("x", "Refunds take 9 days")];
    put(&memory, &facts).await;
    assert_eq!(memory.maintain_memory(1, 0.02, 24.0).await.unwrap().superseded, 2);
    let Content::Fact(newest) = get(&memory, "x").await.content else { panic!() };
    assert_eq!(newest.superseded, ["Refunds take 5 days", "Refunds take 7 days"]);
    assert!(
        get(&memory, "y").await.status_reason.ends_with("by x") && get(&memory, "z").await.status == Status::Retired
    );
    assert_eq!(memory.maintain_memory(1, 0.02, 24.0).await.unwrap().superseded, 0);
}

#[tokio::test]
async fn facts_of_one_moment_that_contradict_each_other_both_stay() {
    let (memory, _) = memory().await;
    put(&memory, &[("f1", "Refunds take 5 days")]).await;
    put(&memory, &[("f2", "Refunds take 7 days")]).await;
    assert_eq!(memory.maintain_memory(1, 0.02, 24.0).await.unwrap().superseded, 0);
}

#[tokio::test]
async fn nothing_is_merged_or_superseded_across_scopes_agents_or_tenants() {
    let (team, clock) = memory().await;
    let shared = |builder: learnkit::engine::Builder| builder.store(team.store().clone());
    let ann = shared(builder(&clock)).scope(Scope::user("ann").unwrap()).build().await.unwrap();
    let other = shared(builder(&clock)).tenant(Tenant::new("other").unwrap()).build().await.unwrap();
    let clerk = team.with_agent(AgentName::new("clerk").unwrap());
    for (at, memory) in [&team, &ann, &other, &clerk].into_iter().enumerate() {
        put(memory, &[(&format!("same{at}"), "Refunds take 5 days")]).await;
        let mut newer = fact(memory, &format!("more{at}"), "Exchanges take 5 days");
        newer.created = newer.created.checked_add(SignedDuration::from_hours(at.try_into().unwrap())).unwrap();
        if let Content::Fact(fact) = &mut newer.content {
            fact.statement = format!("Exchanges take {at} days");
        }
        memory.store().records.put(&newer, PutMode::Create).await.unwrap();
    }
    for memory in [&team, &other] {
        let report = memory.maintain_memory(1, 0.02, 24.0).await.unwrap();
        assert_eq!((report.merged, report.superseded), (0, 0));
    }
    assert!(of_kind(&team, Kind::Fact).await.iter().all(|fact| fact.status != Status::Retired));
}

#[tokio::test]
async fn an_import_supersedes_what_it_contradicts_and_merges_what_it_repeats() {
    let (old, _) = memory().await;
    put(&old, &[("a1", "Refunds take 5 days"), ("a2", "The shop opens at 10:30")]).await;
    let mut export = Vec::new();
    old.export(&mut export, &ExportSelection::default()).await.unwrap();
    let (memory, clock) = memory().await;
    put(&memory, &[("b2", "the shop opens at 10:30.")]).await;
    clock.advance(SignedDuration::from_hours(1));
    let mut newer = fact(&memory, "b1", "Refunds take 7 days");
    newer.created = clock.now();
    memory.store().records.put(&newer, PutMode::Create).await.unwrap();
    let import = Import::read(std::io::Cursor::new(export.clone())).unwrap();
    let imported = memory.import(import, ImportOptions::default()).await.unwrap();
    assert_eq!((imported.settled.merged, imported.settled.superseded), (1, 1));
    assert_eq!(get(&memory, "a1").await.status_reason, "superseded by b1");
    assert_eq!(get(&memory, "a2").await.status_reason, "merged into b2, which says the same");
    let again = memory.import(Import::read(std::io::Cursor::new(export)).unwrap(), ImportOptions::default()).await;
    assert_eq!((again.unwrap().settled, get(&memory, "a1").await.status), (Settled::default(), Status::Retired));
}
