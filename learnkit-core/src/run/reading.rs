//! A finished call, read once: a result of megabytes is parsed, masked and hashed one time at the end of
//! its run, and not anew by everyone who looks at it.

use std::sync::Arc;

use super::{StoredCall, ToolCall};
use crate::json::Json;
use crate::secret::Secrets;

/// What the end of a run needs of a call.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    /// The result as JSON where it is JSON.
    pub(crate) result: Arc<Json>,
    /// The call as it is stored.
    pub(crate) stored: StoredCall,
}

impl Reading {
    /// Reads calls, of whose results so many bytes are stored each, and finds their secrets.
    pub(crate) fn of_calls(calls: &[ToolCall], limit: usize) -> (Vec<Self>, Secrets) {
        let mut secrets = Secrets::default();
        let readings = calls.iter().map(|call| Self::of(call, limit, &mut secrets)).collect();
        (readings, secrets)
    }

    /// Reads one call, and adds its secrets to those that are known.
    pub(crate) fn of(call: &ToolCall, limit: usize, secrets: &mut Secrets) -> Self {
        let result = call.output.to_json();
        secrets.collect(call.arguments.raw());
        match &result {
            Json::Object(_) | Json::List(_) => secrets.collect_in(&result),
            _ => secrets.collect(call.output.as_text()),
        }
        let stored = call.stored_with(call.output.stored_as(&result, limit));
        Self { result: Arc::new(result), stored }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::backend::Store;
    use crate::engine::{Outcome, SessionOptions, View};
    use crate::json::work;
    use crate::{LearnKit, MemoryStore, Task};

    /// How often a result is read when it is recorded, and when its run is finished.
    async fn reads(result: String) -> (usize, usize) {
        let store = Store::of(MemoryStore::new());
        let memory = LearnKit::builder().store(store).build().await.unwrap();
        let session = memory.session(Task::new("Load the page"), SessionOptions::default()).unwrap();
        session.decide(&View::default()).await;
        let bytes = result.len();
        work::take();
        session.tracker().record("load", json!({ "page": 7 }), result);
        let recorded = work::take() / bytes;
        session.tracker().record("use", json!({ "order": "order_77" }), "ok");
        let report = session.finish(&Outcome::answered("loaded")).await;
        assert_eq!(report.learned.len(), 1, "{:?}", report.warnings);
        (recorded, work::take() / bytes)
    }

    #[tokio::test]
    async fn a_long_result_is_read_once_when_recorded_and_once_at_the_end_of_its_run() {
        let rows: Vec<_> = (0..20_000).map(|row| json!({ "id": row, "order": format!("order_{row}") })).collect();
        let fields = (0..20_000).map(|row| (format!("key{row}"), json!("wert ü")));
        let object = serde_json::Value::Object(fields.collect());
        for result in [json!(rows).to_string(), object.to_string()] {
            assert!(result.len() > 300_000);
            assert_eq!(reads(result).await, (1, 1));
        }
    }
}
