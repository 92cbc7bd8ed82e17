//! Running one case on one fresh store, or its negative twin.

use std::any::Any;
use std::fmt;
use std::future::Future;

use super::fixtures;
use crate::backend::{Batch, Capabilities, PutMode, RecordFilter, ScanRequest, SearchQuery, Store};
use crate::record::Scope;
use crate::{ErrorKind, Result};

/// A store under test, with what must outlive it, such as a temporary directory.
pub struct Subject {
    store: Store,
    _keep: Box<dyn Any + Send>,
}

impl Subject {
    /// A store that needs `keep` as long as the test runs.
    pub fn keeping(store: Store, keep: impl Any + Send) -> Self {
        Self { store, _keep: Box::new(keep) }
    }
}

impl From<Store> for Subject {
    fn from(store: Store) -> Self {
        Self::keeping(store, ())
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subject({:?})", self.store)
    }
}

/// What a case needs of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing that a backend may lack.
    Nothing,
    /// Conditional puts.
    Condition,
    /// Full-text search.
    Search,
    /// Full-text search with filters.
    Filter,
    /// Runs.
    Runs,
}

impl Need {
    fn is_met_by(self, can: Capabilities) -> bool {
        match self {
            Self::Nothing => true,
            Self::Condition => can.conditional_put,
            Self::Search => can.full_text,
            Self::Filter => can.full_text && can.metadata_filter,
            Self::Runs => can.runs,
        }
    }
}

/// Runs a case on a fresh store, or the negative twin where the backend lacks what the case needs.
///
/// # Panics
/// When the backend breaks a promise, declares other capabilities than expected, or fails.
pub fn check<S, C>(
    store: impl Future<Output = S>,
    capabilities: Capabilities,
    need: Need,
    case: impl FnOnce(Store) -> C,
) where
    S: Into<Subject>,
    C: Future<Output = Result<()>>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let outcome = runtime.map(|runtime| {
        runtime.block_on(async {
            let subject: Subject = store.await.into();
            assert_eq!(subject.store.records.capabilities(), capabilities, "the declared capabilities");
            if need.is_met_by(capabilities) {
                case(subject.store.clone()).await
            } else {
                refuses(&subject.store, need).await
            }
        })
    });
    assert!(matches!(outcome, Ok(Ok(()))), "{outcome:?}");
}

/// The negative twin: what is missing is refused, not half done.
async fn refuses(store: &Store, need: Need) -> Result<()> {
    let filter = RecordFilter { scopes: vec![Scope::Public], ..RecordFilter::all_of(fixtures::tenant()) };
    let record = fixtures::fact("fct_1", "the sky is blue")?;
    let refusal = match need {
        Need::Nothing => return Ok(()),
        Need::Condition => store.records.put(&record, PutMode::Create).await.map(drop),
        Need::Search => store.records.search(&SearchQuery { text: "sky".into(), filter, limit: 1 }).await.map(drop),
        Need::Filter => store.records.scan(&ScanRequest { filter, after: None, limit: 1 }).await.map(drop),
        Need::Runs => {
            let run = Some(fixtures::run("run_1", "do it")?);
            store.records.commit(&Batch { puts: Vec::new(), run }).await.map(drop)
        }
    };
    assert_eq!(refusal.map_err(|error| error.kind()), Err(ErrorKind::Unsupported));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryStore;

    #[test]
    #[should_panic(expected = "the declared capabilities")]
    fn a_backend_that_declares_more_than_it_can_fails_the_suite() {
        let declared = Capabilities { durable: true, ..MemoryStore::CAPABILITIES };
        check(async { Store::of(MemoryStore::new()) }, declared, Need::Nothing, |_| async { Ok(()) });
    }

    #[test]
    fn each_capability_that_is_missing_turns_its_cases_into_twins() {
        let can = MemoryStore::CAPABILITIES;
        let unmet = |can: Capabilities| {
            let needs = [Need::Nothing, Need::Condition, Need::Search, Need::Filter, Need::Runs];
            needs.into_iter().filter(|need| !need.is_met_by(can)).collect::<Vec<_>>()
        };
        assert_eq!(unmet(can), []);
        assert_eq!(unmet(Capabilities { conditional_put: false, ..can }), [Need::Condition]);
        assert_eq!(unmet(Capabilities { full_text: false, ..can }), [Need::Search, Need::Filter]);
        assert_eq!(unmet(Capabilities { metadata_filter: false, ..can }), [Need::Filter]);
        assert_eq!(unmet(Capabilities { runs: false, ..can }), [Need::Runs]);
    }

    #[tokio::test]
    #[should_panic(expected = "Unsupported")]
    async fn a_backend_that_does_what_it_does_not_declare_fails_the_twin() {
        refuses(&Store::of(MemoryStore::new()), Need::Search).await.unwrap();
    }
}
