//! `backends` and `adapters`: what is linked into this program.

use learnkit::{available_adapters, available_backends};
use serde_json::{Value, json};

use super::capable;
use crate::failure::{Ending, Outcome};
use crate::output::Output;

pub(super) fn backends(out: &mut Output<'_>) -> Outcome {
    let entries = available_backends().into_iter();
    if out.is_json() {
        let entries = entries.map(|entry| {
            json!({
                "scheme": entry.scheme, "summary": entry.summary, "package": entry.package,
                "capabilities": entry.capabilities,
            })
        });
        out.json(&json!({ "backends": entries.collect::<Vec<Value>>() }))?;
        return Ok(Ending::Good);
    }
    let rows = entries.map(|entry| {
        let can = entry.capabilities.map_or_else(|| "known when it is open".to_owned(), capable);
        [format!("{}:", entry.scheme), entry.package.to_owned(), entry.summary.to_owned(), can]
    });
    out.table(["SCHEME", "PACKAGE", "WHAT", "CAPABILITIES"], rows.collect())?;
    Ok(Ending::Good)
}

pub(super) fn adapters(out: &mut Output<'_>) -> Outcome {
    let entries = available_adapters().into_iter();
    if out.is_json() {
        let entries =
            entries.map(|entry| json!({ "name": entry.name, "summary": entry.summary, "package": entry.package }));
        out.json(&json!({ "adapters": entries.collect::<Vec<Value>>() }))?;
        return Ok(Ending::Good);
    }
    let rows = entries.map(|entry| [entry.name, entry.package, entry.summary].map(str::to_owned));
    out.table(["NAME", "PACKAGE", "WHAT"], rows.collect())?;
    Ok(Ending::Good)
}
