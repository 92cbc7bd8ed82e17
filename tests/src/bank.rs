//! A bank that pays invoices: one task with an effect, with or without a read before it.

use std::sync::Arc;

use learnkit::engine::{Outcome, SessionOptions};
use learnkit::record::{Record, Trust};
use learnkit::run::CallDraft;
use learnkit::tool::ToolAnnotations;
use learnkit::{LearnKit, RunReport, Task};
use learnkit_core::testing::ManualClock;
use serde_json::{Value, json};

use crate::{Script, World};

/// The task.
pub const PAY: &str = "Pay invoice 7";

/// A bank: `find` and `peek` read, `pay` changes, `ping` says nothing of itself.
pub fn bank() -> World {
    let tools = [
        ("find", json!({"due": true})),
        ("peek", json!("ok")),
        ("pay", json!({"paid": true})),
        ("ping", json!("pong")),
    ];
    let world = World::new(tools);
    world.annotate("find", read());
    world.annotate("peek", read());
    world.annotate("pay", effect());
    world
}

/// Looks the invoice up, then pays it.
pub fn find_and_pay() -> Script {
    Script::new([("find", json!({"invoice": 7})), ("pay", json!({"invoice": 7}))], "paid")
}

/// Pays without a look.
pub fn pay_only() -> Script {
    Script::new([("pay", json!({"invoice": 7}))], "paid")
}

/// A run of [`PAY`] that makes these calls whatever memory would replay.
pub async fn plan_by_hand(memory: &LearnKit, calls: &[(&str, Value, ToolAnnotations)], outcome: &Outcome) -> RunReport {
    let session = memory.session(Task::new(PAY), SessionOptions::default()).unwrap();
    for (tool, arguments, annotations) in calls {
        let call = CallDraft::new(*tool, arguments.clone()).with_annotations(*annotations);
        session.observe(call, Ok("done".into()));
    }
    session.finish(outcome).await
}

/// It is stated to only read.
pub fn read() -> ToolAnnotations {
    ToolAnnotations { read_only: Some(true), ..ToolAnnotations::default() }
}

/// It is stated to change something.
pub fn effect() -> ToolAnnotations {
    ToolAnnotations { idempotent: Some(true), ..ToolAnnotations::default() }
}

/// The calls that pay after one read.
pub fn paid_after(reading: &'static str) -> [(&'static str, Value, ToolAnnotations); 2] {
    [(reading, json!({"invoice": 7}), read()), ("pay", json!({"invoice": 7}), effect())]
}

/// The trust of each record.
pub fn trusts(records: &[Record]) -> Vec<Trust> {
    records.iter().map(|record| record.trust).collect()
}

/// A clock that stands still.
pub fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new("2026-01-05T08:00:00Z".parse().unwrap()))
}
