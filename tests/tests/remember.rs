//! Facts that people write: what supersedes what, and what forgetting leaves.

use learnkit::LearnKit;
use learnkit::engine::Remembered;
use learnkit::record::{Content, Kind, RecordId, Scope, Status};
use learnkit_tests::{builder, fact, memory, of_kind, stored_text};

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
