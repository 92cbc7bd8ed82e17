//! What a user's run says is written to the records of that user, also where a wider record replayed.

use learnkit::LearnKit;
use learnkit::Task;
use learnkit::config::TemplateReplay;
use learnkit::engine::{Outcome, SessionOptions};
use learnkit::record::Scope;
use learnkit::run::Mode;
use learnkit_tests::bank::clock;
use learnkit_tests::{Script, World, begin, builder, nobody, run, skills};
use serde_json::json;

/// A team, and one of its users.
async fn team_and_ann() -> (LearnKit, LearnKit) {
    let on = TemplateReplay::Confirmed { min_distinct: 3 };
    let team = builder(&clock()).template_replay(on).build().await.unwrap();
    let ann = builder(&clock()).template_replay(on).store(team.store().clone());
    (team, ann.scope(Scope::user("ann").unwrap()).build().await.unwrap())
}

async fn of_team(memory: &LearnKit) -> String {
    let mut all = skills(memory).await;
    all.retain(|record| record.scope == memory.reader().scope);
    serde_json::to_string(&all).unwrap()
}

#[tokio::test]
async fn a_record_of_the_team_does_not_move_on_with_the_run_of_a_user() {
    let (team, ann) = team_and_ann().await;
    let world = World::new([("read", json!({"plan": "gold"})), ("note", json!("noted"))]);
    let plan = |plan: &str| Script::new([("read", json!({})), ("note", json!({"plan": plan}))], "ok");
    run(&team, "Note my plan", &world, &plan("gold")).await.unwrap();
    world.set("read", json!({"plan": "private"}));
    let report =
        run(&ann, "Note my plan", &world, &Script::new([("note", json!({"plan": "private"}))], "ok")).await.unwrap();
    assert_eq!(report.mode, Mode::Guide, "{}", report.reason);
    let all = of_team(&team).await;
    assert!(!all.contains("private"), "{all}");
    assert!(run(&ann, "Note my plan", &world, &nobody()).await.unwrap().replayed);
}

#[tokio::test]
async fn a_template_of_the_team_keeps_nothing_of_the_run_of_a_user() {
    let (team, ann) = team_and_ann().await;
    let send = async |memory: &LearnKit, coins: u32, from: &str, to: &str| {
        let task = Task::new(format!("Please send {coins} coins from {from} to {to}"));
        let session = memory.session(task, SessionOptions::default()).unwrap();
        session.tracker().record("send", json!({"coins": coins, "from": from, "to": to}), json!({"sent": true}));
        session.finish(&Outcome::answered("sent")).await
    };
    for (coins, from, to) in [(5, "alice", "bob"), (7, "bob", "carol"), (9, "dan", "alice")] {
        send(&team, coins, from, to).await;
    }
    send(&ann, 11, "ann", "mallory").await;
    let all = of_team(&team).await;
    assert!(all.contains("skeleton") && !all.contains("mallory"), "{all}");
    let session = begin(&ann, "Please send 3 coins from eve to bob").await;
    assert_eq!(session.mode(), Mode::Replay, "{}", session.reason());
}

#[tokio::test]
async fn what_failed_for_a_user_does_not_replay_for_them_from_the_team() {
    let (team, ann) = team_and_ann().await;
    let mut runs = Vec::new();
    for memory in [&ann, &team] {
        let session = memory.session(Task::new("Note my plan"), SessionOptions::default()).unwrap();
        session.tracker().record("note", json!({"plan": "gold"}), "noted");
        runs.push(session.finish(&Outcome::answered("noted")).await.run_id);
    }
    assert_eq!(ann.inspect("Note my plan").await.unwrap().mode, Mode::Replay);
    ann.report_failure(&runs[0]).await.unwrap();
    let inspection = ann.inspect("Note my plan").await.unwrap();
    assert!(inspection.mode != Mode::Replay, "{inspection:?}");
    assert_eq!(team.inspect("Note my plan").await.unwrap().mode, Mode::Replay, "the team's own is not touched");
    team.report_success(&runs[1]).await.unwrap();
    assert_eq!(ann.inspect("Note my plan").await.unwrap().mode, Mode::Replay, "a success that was reported decides");
}
