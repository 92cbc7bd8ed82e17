//! Deleting by id, of records and of runs: what is there goes, and what is not is named.

use std::fmt::Display;

use learnkit::Error;
use learnkit::engine::Forgotten;
use serde::Serialize;
use serde_json::json;

use super::{as_count, counted};
use crate::failure::{Ending, Outcome};
use crate::output::{Output, with_error};

/// Deletes each id and says what went with it.
pub(super) async fn each<Id: Display + Serialize>(
    ids: &[Id],
    out: &mut Output<'_>,
    forget: impl AsyncFn(&Id) -> Result<Forgotten, Error>,
) -> Outcome {
    let mut deleted = Vec::new();
    let mut failed: Option<Error> = None;
    for id in ids {
        match forget(id).await {
            Ok(forgotten) => {
                let (records, runs) = (as_count(forgotten.records), as_count(forgotten.runs));
                if !out.is_json() {
                    let (records, runs) = (counted(records, "record", "records"), counted(runs, "run", "runs"));
                    out.line(format_args!("deleted {id}: {records}, {runs}"))?;
                }
                deleted.push(json!({ "id": id, "records": records, "runs": runs }));
            }
            Err(error) => {
                out.error(&error.chain());
                failed.get_or_insert(error);
            }
        }
    }
    if out.is_json() {
        let mut result = json!({ "deleted": deleted });
        if let Some(error) = &failed {
            with_error(&mut result, error);
        }
        out.json(&result)?;
    }
    Ok(if failed.is_some() { Ending::Bad } else { Ending::Good })
}
