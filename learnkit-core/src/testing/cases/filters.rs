//! Filters inside the store: they hold before the limit, in search and scan alike.

use jiff::Timestamp;

use super::{found_by, ids, put_all};
use crate::Result;
use crate::backend::{AgentFilter, RecordFilter, ScanRequest, Store, Visibility};
use crate::record::{AgentName, Confidence, Kind, Record, Scope, Status};
use crate::testing::fixtures;

const NONE: [&str; 0] = [];

fn all() -> RecordFilter {
    RecordFilter::all_of(fixtures::tenant())
}

/// The ids that a filter allows in the order of ids; search and scan must agree.
async fn allowed(store: &Store, filter: RecordFilter) -> Result<Vec<String>> {
    let mut found = found_by(store, "word", filter.clone(), 50).await?;
    found.sort();
    let scanned = ids(store.records.scan(&ScanRequest { filter, after: None, limit: 50 }).await?.items);
    assert_eq!(found, scanned, "search and scan allow the same records");
    Ok(scanned)
}

fn words(id: &str, change: impl FnOnce(&mut Record)) -> Result<Record> {
    let mut record = fixtures::fact(id, "word")?;
    change(&mut record);
    Ok(record)
}

/// No wildcard, no case folding, no prefix; quotes and other scripts match themselves.
pub async fn b8_scopes_compare_exactly(store: Store) -> Result<()> {
    let names = ["a_b", "axb", "A_B", "a%", "a'b", "команда", "a_b/c"];
    for name in names {
        let scope = Scope::team(name)?;
        put_all(&store, [words(name, |record| record.scope = scope)?]).await?;
    }
    put_all(&store, [words("user", |record| record.scope = Scope::Public)?]).await?;
    for name in names {
        let filter = RecordFilter { scopes: vec![Scope::team(name)?], ..all() };
        assert_eq!(allowed(&store, filter).await?, [name]);
    }
    assert_eq!(allowed(&store, RecordFilter { scopes: vec![Scope::user("a_b")?], ..all() }).await?, NONE);
    let two = RecordFilter { scopes: vec![Scope::Public, Scope::team("a%")?], ..all() };
    assert_eq!(allowed(&store, two).await?, ["a%", "user"]);
    Ok(())
}

/// One agent's records, or every other agent's.
pub async fn b8_agents_compare_exactly(store: Store) -> Result<()> {
    for name in ["sales_1", "salesx1", "Sales_1"] {
        let agent = AgentName::new(name)?;
        put_all(&store, [words(name, |record| record.agent = agent)?]).await?;
    }
    let agent = AgentName::new("sales_1")?;
    let only = RecordFilter { agents: AgentFilter::Only(agent.clone()), ..all() };
    assert_eq!(allowed(&store, only).await?, ["sales_1"]);
    let except = RecordFilter { agents: AgentFilter::Except(agent), ..all() };
    assert_eq!(allowed(&store, except).await?, ["Sales_1", "salesx1"]);
    Ok(())
}

/// Many expired records do not push the live one out of a small limit.
pub async fn b10_the_limit_counts_after_the_expiry_filter(store: Store) -> Result<()> {
    for number in 0..12 {
        put_all(&store, [words(&format!("a{number:02}"), |record| record.expires = Some(fixtures::after(1)))?]).await?;
    }
    put_all(&store, [words("z", |record| record.expires = None)?]).await?;
    let filter = RecordFilter { valid_at: Some(fixtures::after(2)), ..all() };
    assert_eq!(found_by(&store, "word", filter.clone(), 1).await?, ["z"]);
    assert_eq!(allowed(&store, filter).await?, ["z"]);
    Ok(())
}

/// A record is valid until its instant, to the nanosecond, also far outside of this century.
pub async fn f35_a_record_expires_at_its_instant(store: Store) -> Result<()> {
    let instant = Timestamp::constant(1_772_323_199, 999_999_999);
    put_all(&store, [words("a", |record| record.expires = Some(instant))?]).await?;
    put_all(&store, [words("far", |record| record.expires = Some(Timestamp::MAX))?]).await?;
    put_all(&store, [words("past", |record| record.expires = Some(Timestamp::MIN))?]).await?;
    let at = |now: Timestamp| RecordFilter { valid_at: Some(now), ..all() };
    assert_eq!(allowed(&store, at(Timestamp::constant(1_772_323_199, 999_999_998))).await?, ["a", "far"]);
    assert_eq!(allowed(&store, at(instant)).await?, ["far"]);
    assert_eq!(allowed(&store, all()).await?, ["a", "far", "past"]);
    Ok(())
}

/// A status that is not asked for is not seen; no status, no record.
pub async fn b11_retired_records_are_not_found(store: Store) -> Result<()> {
    for status in Status::ALL {
        put_all(&store, [words(status.as_str(), |record| record.status = status)?]).await?;
    }
    let seeing =
        |statuses: Vec<Status>| RecordFilter { visibility: Visibility { statuses, probation_in: None }, ..all() };
    assert_eq!(allowed(&store, seeing(vec![Status::Active])).await?, ["active"]);
    assert_eq!(allowed(&store, seeing(vec![Status::Active, Status::Stale])).await?, ["active", "stale"]);
    assert_eq!(allowed(&store, seeing(Vec::new())).await?, NONE);
    assert_eq!(allowed(&store, all()).await?.len(), 5);
    Ok(())
}

/// Many traces of a task do not push its skill out of the limit.
pub async fn b12_kinds_are_filtered_before_the_limit(store: Store) -> Result<()> {
    let template = fixtures::one_of_each_kind()?.into_iter().find(|record| record.kind() == Kind::Trace);
    for (number, trace) in std::iter::repeat_n(template, 21).flatten().enumerate() {
        let id = crate::record::RecordId::new(format!("a{number:02}"))?;
        put_all(&store, [Record { id, ..trace }]).await?;
    }
    put_all(&store, [fixtures::skill("skl_1", "a report at last", "query", "{}")?]).await?;
    let guiding = RecordFilter { kinds: Kind::GUIDING.to_vec(), ..all() };
    assert_eq!(found_by(&store, "build a report", guiding, 5).await?, ["skl_1"]);
    let traces = RecordFilter { kinds: vec![Kind::Trace], ..all() };
    assert_eq!(found_by(&store, "build a report", traces, 50).await?.len(), 21);
    Ok(())
}

/// A record on probation guides its own scope and no other.
pub async fn probation_is_seen_only_in_its_scope(store: Store) -> Result<()> {
    let own = Scope::user("ann")?;
    let cases = [
        ("own", own.clone(), Status::Probation),
        ("public", Scope::Public, Status::Probation),
        ("active", Scope::Public, Status::Active),
        ("harmful", own.clone(), Status::Harmful),
    ];
    for (id, scope, status) in cases {
        put_all(&store, [words(id, |record| (record.scope, record.status) = (scope, status))?]).await?;
    }
    let visibility = Visibility { statuses: vec![Status::Active], probation_in: Some(own) };
    assert_eq!(allowed(&store, RecordFilter { visibility, ..all() }).await?, ["active", "own"]);
    Ok(())
}

/// A record exactly at the floor is seen.
pub async fn least_confidence_is_inclusive(store: Store) -> Result<()> {
    for (id, value) in [("above", 0.31), ("at", 0.30), ("below", 0.299_999)] {
        let confidence = Confidence::new(value)?;
        put_all(&store, [words(id, |record| record.confidence = confidence)?]).await?;
    }
    let filter = RecordFilter { min_confidence: Some(Confidence::FLOOR), ..all() };
    assert_eq!(allowed(&store, filter).await?, ["above", "at"]);
    Ok(())
}
