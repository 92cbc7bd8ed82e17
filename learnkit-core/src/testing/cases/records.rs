//! Putting, getting and deleting.

use super::{found, ids, looked_up, put_all};
use crate::Result;
use crate::backend::{Batch, Committed, PutMode, RecordFilter, ScanRequest, Store};
use crate::record::{Kind, RecordId, Revision, Tenant};
use crate::run::Arguments;
use crate::testing::fixtures;

/// Every kind reads back equal, whatever field is set.
pub async fn every_kind_reads_back_with_all_fields(store: Store) -> Result<()> {
    let records = fixtures::one_of_each_kind()?;
    assert_eq!(records.iter().map(crate::record::Record::kind).collect::<Vec<_>>(), Kind::ALL);
    for mut record in records {
        record.revision = store.records.put(&record, PutMode::Create).await?;
        assert_eq!(record.revision, Revision(1));
        assert_eq!(store.records.get(&record.tenant, &record.id).await?, Some(record));
    }
    Ok(())
}

/// Numbers beyond 2^53 and every script read back to the last digit and letter.
pub async fn f64_big_integers_and_unicode_read_back_exactly(store: Store) -> Result<()> {
    let raw = r#"{"b": 90071992547409930000000001, "a": 1.10, "name": "张三 𝒳 é e\u0301 \u0000"}"#;
    let mut record = fixtures::skill("skl_é_1", "удали «заказ» 5 👩‍👩‍👧", "delete_order", raw)?;
    record.revision = store.records.put(&record, PutMode::Upsert).await?;
    let read = store.records.get(&record.tenant, &record.id).await?;
    let step = read.as_ref().and_then(|read| read.procedure()?.steps.first());
    assert_eq!(step.map(|step| step.arguments.raw()), Some(Arguments::from_raw(raw).raw()));
    assert_eq!(read, Some(record));
    Ok(())
}

/// A record that never expires does not get a date.
pub async fn d11_a_record_without_expiry_stays_without(store: Store) -> Result<()> {
    let mut record = fixtures::fact("fct_1", "kept for good")?;
    record.expires = None;
    store.records.put(&record, PutMode::Upsert).await?;
    let read = store.records.get(&record.tenant, &record.id).await?;
    assert_eq!(read.map(|read| read.expires), Some(None));
    Ok(())
}

/// The time of the last reinforcement is stored.
pub async fn d12_last_reinforced_is_kept(store: Store) -> Result<()> {
    let mut record = fixtures::fact("fct_1", "it helped")?;
    store.records.put(&record, PutMode::Upsert).await?;
    record.last_reinforced = Some(fixtures::after(90));
    store.records.put(&record, PutMode::Upsert).await?;
    let read = store.records.get(&record.tenant, &record.id).await?;
    assert_eq!(read.map(|read| read.last_reinforced), Some(Some(fixtures::after(90))));
    Ok(())
}

/// Each put raises the revision by one; the caller's own revision is ignored.
pub async fn upsert_raises_the_revision(store: Store) -> Result<()> {
    let mut record = fixtures::fact("fct_1", "one")?;
    record.revision = Revision(77);
    assert_eq!(store.records.put(&record, PutMode::Upsert).await?, Revision(1));
    assert_eq!(store.records.put(&record, PutMode::Upsert).await?, Revision(2));
    let read = store.records.get(&record.tenant, &record.id).await?;
    assert_eq!(read.map(|read| read.revision), Some(Revision(2)));
    Ok(())
}

/// An unknown id is absent, not an error.
pub async fn get_finds_nothing_under_an_unknown_id(store: Store) -> Result<()> {
    assert_eq!(store.records.get(&fixtures::tenant(), &RecordId::new("nothing")?).await?, None);
    Ok(())
}

/// An empty batch is stored without effect.
pub async fn d6_an_empty_batch_stores_nothing(store: Store) -> Result<()> {
    assert_eq!(store.records.commit(&Batch::default()).await?, Committed::Stored(Vec::new()));
    let all = ScanRequest { filter: RecordFilter::all_of(fixtures::tenant()), after: None, limit: 9 };
    assert_eq!(store.records.scan(&all).await?.items, []);
    Ok(())
}

/// After a delete no door leads to the record, and a second delete says that there was none.
pub async fn f69_a_deleted_record_is_gone_and_deleting_again_says_so(store: Store) -> Result<()> {
    let record = fixtures::skill("skl_1", "build a report", "query", "{}")?;
    put_all(&store, [record.clone(), fixtures::fact("fct_1", "stays")?]).await?;
    assert!(store.records.delete(&record.tenant, &record.id).await?);
    assert!(!store.records.delete(&record.tenant, &record.id).await?);
    assert_eq!(store.records.get(&record.tenant, &record.id).await?, None);
    assert_eq!(looked_up(&store, &fixtures::link("build a report")).await?, [""; 0]);
    assert_eq!(store.records.put(&record, PutMode::Create).await?, Revision(1));
    Ok(())
}

/// Tenants whose names look like paths, patterns or syntax keep their own records under one id.
pub async fn f53_f70_tenants_with_odd_names_never_meet(store: Store) -> Result<()> {
    let tenants = ["team-a/b", "team-a", "team-a/%", "team-a_b", "Team-A/b", "команда", "'; --"];
    for name in tenants {
        let mut record = fixtures::fact("fct_1", &format!("word of {name}"))?;
        record.tenant = Tenant::new(name)?;
        assert_eq!(store.records.put(&record, PutMode::Create).await?, Revision(1), "{name}");
    }
    for name in tenants {
        let tenant = Tenant::new(name)?;
        let read = store.records.get(&tenant, &RecordId::new("fct_1")?).await?;
        assert_eq!(read.map(|read| read.headline()), Some(format!("word of {name}")));
        let request = ScanRequest { filter: RecordFilter::all_of(tenant), after: None, limit: 99 };
        assert_eq!(ids(store.records.scan(&request).await?.items), ["fct_1"]);
    }
    assert!(store.records.delete(&Tenant::new("team-a")?, &RecordId::new("fct_1")?).await?);
    assert!(store.records.get(&Tenant::new("team-a/b")?, &RecordId::new("fct_1")?).await?.is_some());
    if store.records.capabilities().full_text {
        assert_eq!(found(&store, "word").await?, [""; 0], "the default tenant holds nothing");
    }
    Ok(())
}
