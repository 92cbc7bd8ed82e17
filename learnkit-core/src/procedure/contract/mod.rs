//! Contracts: what the tools of a procedure said about themselves when it was captured, and what of it
//! differs now.
//!
//! A change that is not in the table of compatible ones ([`ChangeKind::blocks`]) keeps a procedure from
//! being replayed. Not here: when that is checked ([`crate::replay`]).

mod change;
mod masked;
mod schema;

pub use change::{ChangeKind, ContractChange};
use serde::{Deserialize, Serialize};

use crate::hash::{Fingerprint, sha256};
use crate::json::Json;
use crate::secret::mask_text;
use crate::tool::{ManifestForm, Schema, ToolAnnotations, ToolSpec};

/// What a tool said about itself when its calls were captured, secrets masked.
///
/// Whether a tool is declared exploration is no part of it: that is the caller's word and changes nothing
/// about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// The hash of name, schema, description, annotations and version: equal for equal contracts.
    pub fingerprint: String,
    /// The schema of its arguments, in canonical form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Schema>,
    /// The hash of its description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description_sha256: Option<String>,
    /// Its hints.
    #[serde(default, skip_serializing_if = "is_default")]
    pub annotations: ToolAnnotations,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_default(annotations: &ToolAnnotations) -> bool {
    *annotations == ToolAnnotations::default()
}

impl Contract {
    /// The contract of a tool as it is now.
    pub fn of(tool: &str, spec: &ToolSpec) -> Self {
        let input_schema = spec.input_schema.as_ref().map(masked::masked);
        let description_sha256 = spec.description.as_deref().map(description_hash);
        let annotations = ToolAnnotations { exploration: false, ..spec.annotations };
        let version = spec.version.as_deref().map(|version| mask_text(version).text);
        let hints = [annotations.read_only, annotations.destructive, annotations.idempotent];
        let fingerprint = Fingerprint::new("contract")
            .part(tool)
            .optional(input_schema.as_ref().map(Schema::as_str))
            .optional(description_sha256.as_deref())
            .part(&format!("{hints:?} {}", annotations.requires_approval))
            .optional(version.as_deref())
            .hex();
        Self { fingerprint, input_schema, description_sha256, annotations, version }
    }

    /// Everything that differs from what the tool says now; a key order or whitespace is no difference.
    pub fn changes(&self, now: &ToolSpec) -> Vec<ContractChange> {
        let mut changes = Vec::new();
        self.version_change(now, &mut changes);
        self.annotation_changes(now.annotations, &mut changes);
        if now.description.as_deref().map(description_hash) != self.description_sha256 {
            changes.push(ContractChange::whole(ChangeKind::DescriptionChanged, ""));
        }
        self.schema_changes(now.input_schema.as_ref(), &mut changes);
        changes
    }

    /// Everything that differs from what a tool list of this form says: what the form has no words for is
    /// no difference.
    pub(crate) fn changes_in(&self, form: ManifestForm, now: &ToolSpec) -> Vec<ContractChange> {
        let mut now = now.clone();
        match form {
            ManifestForm::Own => return self.changes(&now),
            ManifestForm::Mcp => now.annotations.requires_approval = self.annotations.requires_approval,
            ManifestForm::OpenAiChat | ManifestForm::OpenAiResponses | ManifestForm::Anthropic => {
                now.annotations = self.annotations;
            }
        }
        // Masked already, and masking it again changes nothing.
        now.version.clone_from(&self.version);
        self.changes(&now)
    }

    fn version_change(&self, now: &ToolSpec, changes: &mut Vec<ContractChange>) {
        let version = now.version.as_deref().map(|version| mask_text(version).text);
        if version != self.version {
            let said = |version: Option<&str>| version.unwrap_or("not stated").to_owned();
            let detail = format!("{} → {}", said(self.version.as_deref()), said(version.as_deref()));
            changes.push(ContractChange::whole(ChangeKind::VersionChanged, detail));
        }
    }

    fn annotation_changes(&self, now: ToolAnnotations, changes: &mut Vec<ContractChange>) {
        let old = self.annotations;
        let hints = [
            ("read_only", old.read_only, now.read_only),
            ("destructive", old.destructive, now.destructive),
            ("idempotent", old.idempotent, now.idempotent),
            ("requires_approval", Some(old.requires_approval), Some(now.requires_approval)),
        ];
        let said = |hint: Option<bool>| hint.map_or_else(|| "not stated".to_owned(), |hint| hint.to_string());
        let flipped = hints.into_iter().filter(|(_, old, now)| old != now);
        changes.extend(flipped.map(|(name, old, now)| {
            ContractChange::whole(ChangeKind::AnnotationChanged, format!("`{name}` {} → {}", said(old), said(now)))
        }));
    }

    fn schema_changes(&self, now: Option<&Schema>, changes: &mut Vec<ContractChange>) {
        let whole = |detail: &str| ContractChange::whole(ChangeKind::SchemaChanged, detail);
        match (&self.input_schema, now) {
            (None, None) => {}
            (Some(old), Some(now)) if old == now => {}
            (Some(old), Some(now)) => {
                let now = masked::masked(now);
                if *old != now {
                    schema::compare(&old.json(), &now.json(), changes);
                }
            }
            (None, Some(_)) => changes.push(whole("it states its arguments now, and did not before")),
            (Some(_), None) => changes.push(whole("it does not state its arguments any more")),
        }
    }

    /// Visits every free text of it.
    pub(crate) fn each_text(&mut self, visit: &impl Fn(&mut String)) {
        self.version.iter_mut().for_each(visit);
        if let Some(schema) = &mut self.input_schema {
            let mut json = schema.json();
            each_text_of(&mut json, visit);
            // What was no schema stays as it is, and matches none.
            if let Ok(visited) = Schema::of_json(&json) {
                *schema = visited;
            }
        }
    }
}

fn description_hash(description: &str) -> String {
    sha256(mask_text(description).text.as_bytes())
}

fn each_text_of(json: &mut Json, visit: &impl Fn(&mut String)) {
    match json {
        Json::Text(text) => visit(text),
        Json::List(items) => items.iter_mut().for_each(|item| each_text_of(item, visit)),
        Json::Object(fields) => fields.values_mut().for_each(|value| each_text_of(value, visit)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

#[cfg(test)]
mod tests;
