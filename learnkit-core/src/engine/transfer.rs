//! Export and import: a tenant's memory as a file, on any store.

use std::io::Write;
use std::sync::{Arc, Mutex};

use super::library::PAGE;
use super::{LearnKit, Settled, lock};
use crate::backend::{
    AgentFilter, LoadItem, LoadItems, Loaded, OnExisting, RecordFilter, RunFilter, ScanRequest, Stored, same_record,
};
use crate::portable::{
    Entries, Entry, ExportSelection, ExportWriter, Exported, Import, ImportOptions, Imported, LeftOut, OtherTenant,
};
use crate::record::RecordId;
use crate::{Error, ErrorKind, Result};

/// Runs hold whole results, so fewer are in memory at once.
const RUN_PAGE: usize = 50;

impl LearnKit {
    /// Writes this tenant's records and runs as JSON lines, page by page; see [`crate::portable`].
    ///
    /// Rows that cannot be read are left out and named. What changes meanwhile may or may not be in it.
    /// The writer is called from the task that polls this future, so give it memory or a local file. A
    /// future that is dropped leaves an export without a last line, which no import accepts.
    ///
    /// ```
    /// # async fn example() -> Result<(), learnkit_core::BoxError> {
    /// use learnkit_core::LearnKit;
    /// use learnkit_core::portable::{ExportSelection, Import, ImportOptions};
    ///
    /// let memory = LearnKit::builder().backend("memory:").build().await?;
    /// let mut backup = Vec::new();
    /// memory.export(&mut backup, &ExportSelection::default()).await?;
    ///
    /// let other = LearnKit::builder().backend("memory:").build().await?;
    /// other.import(Import::read(std::io::Cursor::new(backup))?, ImportOptions::default()).await?;
    /// # Ok(()) }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example()).unwrap();
    /// ```
    ///
    /// # Errors
    /// `Unavailable` when the store cannot be read or the writer fails.
    pub async fn export(&self, out: impl Write, selection: &ExportSelection) -> Result<Exported> {
        let tenant = self.inner.tenant.clone();
        let mut exported =
            Exported { tenant, records: 0, runs: 0, skipped_records: Vec::new(), skipped_runs: Vec::new() };
        let mut writer = ExportWriter::begin(out, &self.inner.tenant, self.now())?;
        self.export_records(&mut writer, selection, &mut exported).await?;
        if !selection.without_runs {
            self.export_runs(&mut writer, selection, &mut exported).await?;
        }
        let counts = writer.end()?;
        (exported.records, exported.runs) = (counts.records, counts.runs);
        Ok(exported)
    }

    async fn export_records<W: Write>(
        &self,
        writer: &mut ExportWriter<W>,
        selection: &ExportSelection,
        exported: &mut Exported,
    ) -> Result<()> {
        let filter = RecordFilter {
            scopes: selection.scopes.clone(),
            agents: selection.agent.clone().map_or(AgentFilter::Any, AgentFilter::Only),
            kinds: selection.kinds.clone(),
            ..self.every_record()
        };
        let mut after = None;
        loop {
            let page = self.scan(&ScanRequest { filter: filter.clone(), after, limit: PAGE }).await?;
            for record in page.items {
                writer.record(record)?;
            }
            exported.skipped_records.extend(page.skipped);
            let Some(next) = page.next else { return Ok(()) };
            after = Some(RecordId::new(next)?);
        }
    }

    async fn export_runs<W: Write>(
        &self,
        writer: &mut ExportWriter<W>,
        selection: &ExportSelection,
        exported: &mut Exported,
    ) -> Result<()> {
        let newest = RunFilter::newest(self.inner.tenant.clone(), RUN_PAGE);
        let mut filter = RunFilter { agent: selection.agent.clone(), ..newest };
        loop {
            let page = self.runs(&filter).await?;
            for run in &page.items {
                if selection.scopes.is_empty() || selection.scopes.contains(&run.scope) {
                    writer.run(run)?;
                }
            }
            exported.skipped_runs.extend(page.skipped);
            let Some(next) = page.next else { return Ok(()) };
            filter.after = Some(next);
        }
    }

    /// Stores what an export or an older format holds: all of it, or nothing when anything in it is wrong.
    ///
    /// Then what people wrote is put in order as maintenance does it: of two records that say the same one counts
    /// for both, and a newer fact supersedes an older one that it contradicts. A failure of that is no failure of
    /// the import.
    ///
    /// Ids that are stored already stay as they are unless the options say otherwise. Records of older
    /// formats, which name no agent, become this memory's agent's. Where runs are kept in a second store
    /// see [`Store::load`]. There is no deadline: a large import takes its time, and other writers of the
    /// store may have to wait for it. A future that is dropped may still store everything, never a part.
    ///
    /// # Errors
    /// `InvalidInput`, `Corrupt` or `Unsupported` for what cannot be read, with its line; `Conflict` when
    /// the export is of another tenant and the options refuse that; `Unavailable` when the store cannot
    /// be written.
    ///
    /// [`Store::load`]: crate::backend::Store::load
    pub async fn import(&self, import: Import, options: ImportOptions) -> Result<Imported> {
        let (mut imported, entries) = self.begin_import(import, options)?;
        let left_out = Arc::new(Mutex::new(Vec::new()));
        let items = items(entries, Arc::clone(&left_out));
        imported.loaded = self.inner.store.load(items, options.existing).await?;
        imported.left_out = std::mem::take(&mut *lock(&left_out));
        // Everything is stored by now; what is not settled here, maintenance settles.
        match self.settle_statements().await {
            Ok(settled) => imported.settled = settled,
            Err(error) => tracing::warn!(%error, "what was imported could not be compared with what is known"),
        }
        Ok(imported)
    }

    /// Reads an import to its end and says what [`Self::import`] would do, without storing anything.
    ///
    /// # Errors
    /// As for [`Self::import`].
    pub async fn check_import(&self, import: Import, options: ImportOptions) -> Result<Imported> {
        let (mut imported, entries) = self.begin_import(import, options)?;
        for entry in entries {
            match entry? {
                Entry::LeftOut(left_out) => imported.left_out.push(left_out),
                Entry::Item(item) => self.check_item(item, options.existing, &mut imported.loaded).await?,
            }
        }
        Ok(imported)
    }

    async fn check_item(&self, item: LoadItem, existing: OnExisting, loaded: &mut Loaded) -> Result<()> {
        let store = &self.inner.store;
        match item {
            LoadItem::Record(mut record) => {
                let stored = self.within("get", store.records.get(&record.tenant, &record.id)).await;
                let fate = Stored::of(stored)?.fate(existing, |stored| same_record(stored, &mut record));
                loaded.count_record(fate, &record.id);
            }
            LoadItem::Run(run) => {
                let stored = self.within("get run", store.runs.get_run(&run.tenant, &run.id)).await;
                loaded.count_run(Stored::of(stored)?.fate(existing, |stored| *stored == *run), &run.id);
            }
        }
        Ok(())
    }

    /// Checks the tenant and gives the report to fill.
    fn begin_import(&self, import: Import, options: ImportOptions) -> Result<(Imported, Entries)> {
        let tenant = &self.inner.tenant;
        let from = import.tenant().cloned();
        if let Some(from) = from.as_ref().filter(|from| *from != tenant)
            && options.other_tenant == OtherTenant::Refuse
        {
            let message = format!(
                "the export is of tenant `{from}` and this memory of `{tenant}`; use that tenant, or ask for the move"
            );
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        let imported = Imported {
            format: import.format().clone(),
            from,
            tenant: tenant.clone(),
            loaded: Loaded::default(),
            left_out: Vec::new(),
            settled: Settled::default(),
        };
        Ok((imported, import.entries(tenant, &self.agent)))
    }
}

/// The items for the store; what is left out is kept for the report.
fn items(entries: Entries, left_out: Arc<Mutex<Vec<LeftOut>>>) -> LoadItems {
    Box::new(entries.filter_map(move |entry| match entry {
        Ok(Entry::Item(item)) => Some(Ok(item)),
        Ok(Entry::LeftOut(one)) => {
            lock(&left_out).push(one);
            None
        }
        Err(error) => Some(Err(error)),
    }))
}
