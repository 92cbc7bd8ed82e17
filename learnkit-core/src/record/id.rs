//! Ids of records and runs.

use crate::hash::Fingerprint;
use crate::name::name_type;

name_type! {
    /// The id of a record, unique in its tenant.
    ///
    /// Where content has an identity (a procedure of a task, a failure of a task) the id is derived
    /// from it, so learning the same thing twice meets the same record.
    RecordId, "record id"
}

name_type! {
    /// The id of a run, unique in its tenant; the caller may choose it. A run id is learned once.
    RunId, "run id"
}

name_type! {
    /// The declared name of an agent; memory of one agent does not replay for another.
    AgentName, "agent name"
}

name_type! {
    /// The hard isolation boundary above scope: no call ever returns another tenant's record.
    Tenant, "tenant"
}

impl RecordId {
    /// Derives an id from content: the same parts always give the same id.
    pub(crate) fn derived(prefix: &str, parts: &[&str]) -> Self {
        let hash = parts.iter().fold(Fingerprint::new(prefix), |hash, part| hash.part(part));
        Self(format!("{prefix}_{}", hash.short()))
    }

    /// A fresh id for content without an identity of its own.
    pub fn fresh(prefix: &str) -> Self {
        Self(format!("{prefix}_{}", uuid::Uuid::now_v7().simple()))
    }
}

impl RunId {
    /// A fresh id, ordered by time.
    pub fn fresh() -> Self {
        Self(format!("run_{}", uuid::Uuid::now_v7().simple()))
    }

    /// Derives an id from content, so that the same recording is learned once.
    pub fn derived(parts: &[&str]) -> Self {
        let hash = parts.iter().fold(Fingerprint::new("run"), |hash, part| hash.part(part));
        Self(format!("run_{}", hash.short()))
    }
}

impl Default for AgentName {
    /// The agent of callers that name none: `default`.
    fn default() -> Self {
        Self("default".to_owned())
    }
}

impl Default for Tenant {
    /// The tenant of single-tenant stores: `default`.
    fn default() -> Self {
        Self("default".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f53_one_grammar_on_write_and_read() {
        assert_eq!(Tenant::new("team-a/b").unwrap().as_str(), "team-a/b");
        assert!(Tenant::new("").is_err());
        assert!(Tenant::new("a\nb").is_err());
        assert!(serde_json::from_str::<Tenant>("\" a\"").is_err());
    }

    #[test]
    fn derived_ids_do_not_run_parts_together() {
        assert_ne!(RecordId::derived("skl", &["ab", "c"]), RecordId::derived("skl", &["a", "bc"]));
    }
}
