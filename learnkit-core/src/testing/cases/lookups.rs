//! Exact lookup.

use super::{ids, looked_up, put_all};
use crate::Result;
use crate::backend::{ExactQuery, Store};
use crate::record::{Scope, Status, Tenant};
use crate::task::TaskKey;
use crate::testing::fixtures;

async fn by_keys(store: &Store, keys: Vec<TaskKey>, canonical: &str) -> Result<Vec<String>> {
    let query = ExactQuery { tenant: fixtures::tenant(), keys, canonical: canonical.to_owned() };
    Ok(ids(store.records.lookup(&query).await?))
}

/// The order of the keys comes first, then the order of ids; the status does not matter.
pub async fn lookup_orders_by_key_then_id_in_any_status(store: Store) -> Result<()> {
    let scopes = [Scope::user("ann")?, Scope::team("ops")?, Scope::Public];
    let mut records = Vec::new();
    for (scope, id) in [(1, "c"), (2, "a"), (0, "z"), (1, "b"), (0, "y")] {
        let Some(scope) = scopes.get(scope) else { continue };
        let mut record = fixtures::skill(id, "do it", "query", "{}")?;
        record.task = Some(fixtures::link_of("do it", &record.tenant, scope));
        record.scope = scope.clone();
        records.push(record);
    }
    for (record, status) in records.iter_mut().zip(Status::ALL) {
        record.status = status;
    }
    put_all(&store, records).await?;
    let key = |scope: &Scope| fixtures::link_of("do it", &fixtures::tenant(), scope).key;
    let mut keys: Vec<TaskKey> = scopes.iter().map(key).collect();
    assert_eq!(by_keys(&store, keys.clone(), "do it").await?, ["y", "z", "b", "c", "a"]);
    keys.reverse();
    assert_eq!(by_keys(&store, keys, "do it").await?, ["a", "b", "c", "y", "z"]);
    Ok(())
}

/// The same key with another canonical text is another task.
pub async fn lookup_compares_the_canonical_text(store: Store) -> Result<()> {
    put_all(&store, [fixtures::skill("skl_1", "Delete A.txt", "delete", "{}")?]).await?;
    let key = fixtures::link("Delete A.txt").key;
    assert_eq!(by_keys(&store, vec![key.clone()], "Delete A.txt").await?, ["skl_1"]);
    for other in ["delete a.txt", "Delete A.txt ", "Delete A_txt", "%", ""] {
        assert_eq!(by_keys(&store, vec![key.clone()], other).await?, [""; 0], "{other}");
    }
    Ok(())
}

/// Among hundreds of records with near texts each task finds its own, whatever the confidences.
pub async fn a23_lookup_finds_its_record_among_hundreds(store: Store) -> Result<()> {
    let text = |number: u32| format!("refund order {number} of customer {}", number % 7);
    let mut puts = Vec::new();
    for number in 0..400 {
        let mut record = fixtures::skill(&format!("skl_{number:03}"), &text(number), "refund", "{}")?;
        record.confidence = crate::record::Confidence::new(f64::from(number % 50) / 100.0 + 0.45)?;
        puts.push(crate::backend::Put { record, mode: crate::backend::PutMode::Create });
    }
    store.records.commit(&crate::backend::Batch { puts, run: None }).await?;
    for number in 0..400 {
        let found = looked_up(&store, &fixtures::link(&text(number))).await?;
        assert_eq!(found, [format!("skl_{number:03}")]);
    }
    assert_eq!(looked_up(&store, &fixtures::link(&text(400))).await?, [""; 0]);
    Ok(())
}

/// One task may have several good procedures; one never overwrites another.
pub async fn c7_one_key_holds_several_instances(store: Store) -> Result<()> {
    let first = fixtures::skill("skl_1", "book a flight", "book", r#"{"to": "AMS"}"#)?;
    let second = fixtures::skill("skl_2", "book a flight", "book", r#"{"to": "BER"}"#)?;
    put_all(&store, [second, first.clone(), first]).await?;
    assert_eq!(looked_up(&store, &fixtures::link("book a flight")).await?, ["skl_1", "skl_2"]);
    Ok(())
}

/// Another tenant's record is not found even by its own key.
pub async fn f70_lookup_never_sees_another_tenant(store: Store) -> Result<()> {
    let other = Tenant::new("b")?;
    let mut record = fixtures::skill("skl_1", "do it", "query", "{}")?;
    record.tenant = other.clone();
    let link = fixtures::link_of("do it", &other, &record.scope);
    record.task = Some(link.clone());
    put_all(&store, [record]).await?;
    assert_eq!(by_keys(&store, vec![link.key.clone()], &link.canonical).await?, [""; 0]);
    let query = ExactQuery { tenant: other, keys: vec![link.key], canonical: link.canonical };
    assert_eq!(ids(store.records.lookup(&query).await?), ["skl_1"]);
    Ok(())
}

/// No key, no record; not every record.
pub async fn lookup_without_keys_finds_nothing(store: Store) -> Result<()> {
    put_all(&store, [fixtures::skill("skl_1", "do it", "query", "{}")?, fixtures::fact("fct_1", "do it")?]).await?;
    assert_eq!(by_keys(&store, Vec::new(), "do it").await?, [""; 0]);
    Ok(())
}

/// A key that is asked for twice does not double the answer.
pub async fn lookup_of_a_repeated_key_answers_once(store: Store) -> Result<()> {
    put_all(&store, [fixtures::skill("skl_1", "do it", "query", "{}")?]).await?;
    let key = fixtures::link("do it").key;
    assert_eq!(by_keys(&store, vec![key.clone(), key], "do it").await?, ["skl_1"]);
    Ok(())
}

/// A record that moved to another task is not found by the old one.
pub async fn lookup_forgets_the_key_of_a_replaced_record(store: Store) -> Result<()> {
    let mut record = fixtures::skill("skl_1", "old task", "query", "{}")?;
    put_all(&store, [record.clone()]).await?;
    record.task = Some(fixtures::link("new task"));
    put_all(&store, [record.clone()]).await?;
    assert_eq!(looked_up(&store, &fixtures::link("old task")).await?, [""; 0]);
    assert_eq!(looked_up(&store, &fixtures::link("new task")).await?, ["skl_1"]);
    record.task = None;
    put_all(&store, [record]).await?;
    assert_eq!(looked_up(&store, &fixtures::link("new task")).await?, [""; 0]);
    Ok(())
}
