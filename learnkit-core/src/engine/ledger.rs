//! The ledger of stored runs, read page by page.

use jiff::Timestamp;

use super::LearnKit;
use super::library::PAGE;
use crate::Result;
use crate::backend::RunFilter;
use crate::ledger::{Account, Ledger};
use crate::record::{AgentName, Scope};

/// Which runs a ledger is of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LedgerRequest {
    /// Only runs that finished at this time or later. What a task needs when it is planned is known from
    /// these runs alone.
    pub since: Option<Timestamp>,
    /// Only this agent's.
    pub agent: Option<AgentName>,
    /// Only runs of this scope.
    pub scope: Option<Scope>,
}

impl LearnKit {
    /// What memory saved and cost over the stored runs of this tenant, and which records are to thank or to
    /// blame. `progress` is told how many runs were read so far.
    ///
    /// Runs that were deleted or pruned are not in it, and what is saved is measured by runs that are.
    /// Runs that finish meanwhile may or may not be in it; runs that cannot be read are named and left out.
    /// A few numbers of each run are kept in memory, never whole runs but for one page of them.
    ///
    /// # Errors
    /// `Unavailable` when the store is out of reach, `Timeout` when a page takes longer than the settings allow.
    pub async fn ledger(&self, request: &LedgerRequest, mut progress: impl FnMut(u64) + Send) -> Result<Ledger> {
        let newest = RunFilter::newest(self.inner.tenant.clone(), PAGE);
        let mut filter = RunFilter { agent: request.agent.clone(), ..newest };
        let mut account = Account::new(self.inner.settings.quality_threshold);
        let (mut skipped, mut read) = (Vec::new(), 0);
        loop {
            let page = self.runs(&filter).await?;
            let is_old = |finished: Timestamp| request.since.is_some_and(|since| finished < since);
            let is_last = page.next.is_none() || page.items.last().is_some_and(|run| is_old(run.finished));
            for run in &page.items {
                let is_of_scope = request.scope.as_ref().is_none_or(|scope| run.scope == *scope);
                if is_of_scope && !is_old(run.finished) {
                    account.add(run);
                    read += 1;
                }
            }
            skipped.extend(page.skipped);
            progress(read);
            if is_last {
                return Ok(Ledger { skipped, ..account.ledger() });
            }
            filter.after = page.next;
        }
    }
}
