//! What the environment does to a run is held against nobody.

use learnkit::engine::Outcome;
use learnkit::record::Kind;
use learnkit_tests::{Reply, Script, World, begin, memory, nobody, of_kind, run, skills};
use serde_json::json;

/// What networks, name services and overloaded services say.
const OUTAGES: [&str; 8] = [
    "connect ECONNREFUSED 10.0.0.7:443",
    "HTTPSConnectionPool: Max retries exceeded (Caused by NewConnectionError: [Errno 111] Connection refused)",
    "The read operation timed out",
    "getaddrinfo ENOTFOUND api.example.invalid",
    "Temporary failure in name resolution",
    "Error code: 429 - rate limit",
    "HTTP/1.1 503 Service Unavailable",
    "overloaded_error: Overloaded",
];

#[tokio::test]
async fn f32_a_tool_that_an_outage_kept_from_working_is_no_dead_end() {
    for outage in OUTAGES {
        let (memory, _) = memory().await;
        let session = begin(&memory, "Read the page").await;
        session.tracker().record_failure("browse", json!({"page": 7}), outage);
        let report = session.finish(&Outcome::answered("I could not read it")).await;
        assert_eq!(report.gate.score, None, "{outage}: {:?}", report.gate);
        let session = begin(&memory, "Read the page").await;
        session.tracker().record("browse", json!({"page": 7}), json!({"error": outage}));
        session.finish(&Outcome::failed("gave up")).await;
        let session = begin(&memory, "Read the page").await;
        session.finish(&Outcome::of_error(&outage.into())).await;
        assert!(of_kind(&memory, Kind::Failure).await.is_empty(), "{outage}");
        assert!(skills(&memory).await.is_empty(), "{outage}");
        let session = begin(&memory, "Read the page").await;
        assert_eq!(session.playbook(), "", "{outage}");
    }
}

#[tokio::test]
async fn f32_an_outage_harms_no_record_that_was_used() {
    for outage in OUTAGES {
        let (memory, _) = memory().await;
        let world = World::new([("look", json!({"id": 1})), ("pay", json!("paid"))]);
        let script = || Script::new([("look", json!({})), ("pay", json!({"order": "a"}))], "paid");
        run(&memory, "Look and pay", &world, &script()).await.unwrap();
        let before = skills(&memory).await;
        world.set("pay", Reply::Error(outage.into()));
        let report = run(&memory, "Look and pay", &world, &Script::new([], "later")).await.unwrap();
        assert!(!report.replayed);
        assert!(report.warnings.iter().any(|warning| warning.contains("not held against")), "{:?}", report.warnings);
        assert_eq!(skills(&memory).await, before, "{outage}");
        assert!(of_kind(&memory, Kind::Failure).await.is_empty(), "{outage}");
        // The service is back, and nothing has to be planned anew.
        world.set("pay", json!("paid"));
        assert!(run(&memory, "Look and pay", &world, &nobody()).await.unwrap().replayed, "{outage}");
        // A guided run of another task that followed it.
        let session = begin(&memory, "Look and pay for Ann").await;
        session.tracker().record("look", json!({}), json!({"id": 1}));
        session.tracker().record_failure("pay", json!({"order": "b"}), outage);
        session.finish(&Outcome::answered("later")).await;
        assert_eq!(skills(&memory).await[0].usage.harm, 0, "{outage}");
    }
}

#[tokio::test]
async fn a_real_error_beside_an_outage_still_fails_the_run() {
    let (memory, _) = memory().await;
    let session = begin(&memory, "Pay the order").await;
    session.tracker().record_failure("pay", json!({"order": 1}), "no such order");
    session.tracker().record_failure("mail", json!({}), OUTAGES[0]);
    session.finish(&Outcome::answered("sorry")).await;
    let failures = of_kind(&memory, Kind::Failure).await;
    assert_eq!(failures.len(), 1);
    let text = serde_json::to_string(&failures[0].content).unwrap();
    assert!(text.contains("`pay` failed") && !text.contains("ECONNREFUSED"), "{text}");
}

#[tokio::test]
async fn an_outage_that_somebody_reports_as_a_failure_is_one() {
    let (memory, _) = memory().await;
    let session = begin(&memory, "Read the page").await;
    session.tracker().record_failure("browse", json!({"page": 7}), OUTAGES[0]);
    let outcome = Outcome::answered("no").with_verdict(Some(learnkit::run::Verdict::Failure));
    session.finish(&outcome).await;
    assert_eq!(of_kind(&memory, Kind::Failure).await.len(), 1);
}
