//! Ranked search: the text is data, in every script.

use super::{found, found_by, put_all};
use crate::Result;
use crate::backend::{RecordFilter, Store};
use crate::record::{Confidence, Tenant};
use crate::testing::fixtures;

const NONE: [&str; 0] = [];

/// Stores one fact per text, `fct_0`, `fct_1` and so on.
async fn facts(store: &Store, texts: &[&str]) -> Result<()> {
    for (number, text) in texts.iter().enumerate() {
        put_all(store, [fixtures::fact(&format!("fct_{number}"), text)?]).await?;
    }
    Ok(())
}

/// A word of the text finds it, in scripts with and without spaces, of one or two characters too.
pub async fn c6_b7_f43_f45_every_script_is_found_by_a_part(store: Store) -> Result<()> {
    facts(&store, &["删除用户张三", "Удалить заказ клиента", "احذف الطلب القديم", "주문을 삭제하다", "ลบผู้ใช้", "x y9"])
        .await?;
    let asked =
        [("用户", 0), ("张三", 0), ("张", 0), ("ЗАКАЗ", 1), ("الطلب", 2), ("삭제", 3), ("ผู้ใช้", 4), ("x", 5), ("Y9", 5)];
    for (text, number) in asked {
        assert_eq!(found(&store, text).await?, [format!("fct_{number}")], "{text}");
    }
    assert_eq!(found(&store, "李四").await?, NONE);
    Ok(())
}

/// ASCII glued to CJK is a word of its own.
pub async fn f44_ascii_beside_cjk_is_found(store: Store) -> Result<()> {
    facts(&store, &["部署API服务", "部署网站"]).await?;
    assert_eq!(found(&store, "API").await?, ["fct_0"]);
    assert_eq!(found(&store, "服务").await?, ["fct_0"]);
    Ok(())
}

/// Operators, quotes, wildcards, versions and apostrophes are words to find, never syntax.
pub async fn f39_f40_f41_f42_query_syntax_is_data(store: Store) -> Result<()> {
    let texts = [
        "port the parser to C++ today",
        "set foo-bar: \"x\" aside",
        "don't delete Bob's file",
        "upgrade to 20.04",
        "mail user@a.example about title:secret",
    ];
    facts(&store, &texts).await?;
    let asked = [
        ("C++", 0),
        ("foo-bar: \"x\" AND (NOT", 1),
        ("don't delete Bob's file", 2),
        ("bob", 2),
        ("20.04", 3),
        ("\"20.04\"", 3),
        ("user@a.example", 4),
        ("title:secret", 4),
        ("{title body}: secret", 4),
    ];
    for (text, number) in asked {
        let best = found(&store, text).await?.into_iter().next();
        assert_eq!(best, Some(format!("fct_{number}")), "{text}");
    }
    for text in ["absent*", "^absent", "NEAR(absent missing, 2)", "NOT absent", "absent OR", "\"absent", "absent)"] {
        assert_eq!(found(&store, text).await?, NONE, "{text}");
    }
    Ok(())
}

/// Injected SQL finds nothing and harms nothing.
pub async fn sql_in_the_query_is_data(store: Store) -> Result<()> {
    facts(&store, &["kept"]).await?;
    for text in ["'; DROP TABLE records; --", "' OR '1'='1", "\") OR 1=1 --"] {
        assert_eq!(found(&store, text).await?, NONE, "{text}");
    }
    assert_eq!(found(&store, "kept").await?, ["fct_0"]);
    Ok(())
}

/// A NUL ends no text.
pub async fn a_nul_character_is_data(store: Store) -> Result<()> {
    facts(&store, &["before\0behind"]).await?;
    for text in ["behind", "nothing\0before"] {
        assert_eq!(found(&store, text).await?, ["fct_0"], "{text:?}");
    }
    Ok(())
}

/// Words such as `the` and `in` do not make two texts alike.
pub async fn b4_shared_stop_words_do_not_match(store: Store) -> Result<()> {
    facts(&store, &["the sourdough is in the oven", "rotate the certificate in staging"]).await?;
    assert_eq!(found(&store, "renew the certificate in the cluster").await?, ["fct_1"]);
    assert_eq!(found(&store, "what is it for in the end").await?, NONE);
    Ok(())
}

/// Empty text and bare punctuation find nothing, not everything.
pub async fn b5_text_without_a_term_finds_nothing(store: Store) -> Result<()> {
    facts(&store, &["100 % sure", "a (b) c"]).await?;
    for text in ["", " ", "%", "*", "()", "\"\"", "。。", "\0", "''", "--"] {
        assert_eq!(found(&store, text).await?, NONE, "{text:?}");
    }
    Ok(())
}

/// What nobody asks for is not in the index: ids, hashes, recorded results, field names, counters.
pub async fn b6_ids_hashes_and_results_are_not_searchable(store: Store) -> Result<()> {
    let record = fixtures::skill("skl_findme", "build a report", "query", r#"{"table": "users"}"#)?;
    let hash = record.procedure().and_then(|found| found.steps.first()).map(|step| step.result.sha256.clone());
    let key = record.task.as_ref().map(|task| task.key.to_string()).unwrap_or_default();
    put_all(&store, [record]).await?;
    let hash = hash.unwrap_or_default();
    assert!(!hash.is_empty(), "the fixture holds a hash");
    for text in ["skl_findme", "recordedresultword", "sha256", "confidence", "default", "0.5", &hash, &key] {
        assert_eq!(found(&store, text).await?, NONE, "{text}");
    }
    Ok(())
}

/// A record is found by the tools it calls and by what they are called with.
pub async fn tool_names_and_argument_words_are_searchable(store: Store) -> Result<()> {
    put_all(&store, [fixtures::skill("skl_1", "build a report", "run_query", r#"{"table": "invoices"}"#)?]).await?;
    for text in ["run_query", "query", "invoices", "report"] {
        assert_eq!(found(&store, text).await?, ["skl_1"], "{text}");
    }
    Ok(())
}

/// What a record is about weighs more than what it mentions.
pub async fn a_title_outranks_a_mention(store: Store) -> Result<()> {
    let mention = fixtures::skill("skl_a", "send a letter", "post", r#"{"about": "certificate"}"#)?;
    let title = fixtures::skill("skl_b", "renew certificate", "post", r#"{"about": "letter"}"#)?;
    put_all(&store, [mention, title]).await?;
    facts(&store, &["one", "two", "three", "four", "five"]).await?;
    assert_eq!(found(&store, "certificate").await?, ["skl_b", "skl_a"]);
    Ok(())
}

/// Relevance comes first: a confident record about something else stays behind.
pub async fn b1_confidence_does_not_change_the_order(store: Store) -> Result<()> {
    let mut about = fixtures::fact("fct_z", "renew the tls certificate of the gateway")?;
    let mut beside = fixtures::fact("fct_a", "a gateway drug is a sourdough recipe with a long story about bread")?;
    let noise = ["one", "two", "three", "four"].map(|text| fixtures::fact(text, text));
    put_all(&store, noise.into_iter().collect::<Result<Vec<_>>>()?).await?;
    let mut orders = Vec::new();
    for (low, high) in [(0.31, 0.94), (0.94, 0.31)] {
        about.confidence = Confidence::new(low)?;
        beside.confidence = Confidence::new(high)?;
        put_all(&store, [about.clone(), beside.clone()]).await?;
        orders.push(found(&store, "renew gateway tls certificate").await?);
    }
    assert_eq!(orders, [["fct_z", "fct_a"], ["fct_z", "fct_a"]]);
    Ok(())
}

/// Records that are equally relevant come in the order of ids, whatever order they were put in.
pub async fn equal_relevance_is_ordered_by_id(store: Store) -> Result<()> {
    for id in ["c", "a", "d", "b"] {
        put_all(&store, [fixtures::fact(id, "the same words")?]).await?;
    }
    assert_eq!(found(&store, "same words").await?, ["a", "b", "c", "d"]);
    let three = found_by(&store, "same words", RecordFilter::all_of(fixtures::tenant()), 3).await?;
    assert_eq!(three, ["a", "b", "c"]);
    Ok(())
}

/// A pasted book is answered from its first distinct words.
pub async fn b15_a_long_query_is_answered(store: Store) -> Result<()> {
    facts(&store, &["the needle"]).await?;
    let book: String = std::iter::once("needle ".to_owned()).chain((0..50_000).map(|n| format!("w{n} "))).collect();
    assert_eq!(found(&store, &book).await?, ["fct_0"]);
    assert_eq!(found(&store, &"a".repeat(1_000_000)).await?, NONE);
    Ok(())
}

/// The limit holds, down to nothing.
pub async fn search_returns_at_most_the_limit(store: Store) -> Result<()> {
    facts(&store, &["word", "word", "word"]).await?;
    for limit in [0, 1, 2, 3, 4] {
        let found = found_by(&store, "word", RecordFilter::all_of(fixtures::tenant()), limit).await?;
        assert_eq!(found.len(), limit.min(3));
    }
    Ok(())
}

/// The old words of a replaced record find nothing, the new ones find it once.
pub async fn putting_again_replaces_the_search_text(store: Store) -> Result<()> {
    put_all(&store, [fixtures::fact("fct_1", "old words")?, fixtures::fact("fct_1", "new words")?]).await?;
    assert_eq!(found(&store, "old").await?, NONE);
    assert_eq!(found(&store, "new words").await?, ["fct_1"]);
    Ok(())
}

/// A deleted record is out of the text index too.
pub async fn f69_a_deleted_record_is_not_searchable(store: Store) -> Result<()> {
    facts(&store, &["same words", "same words"]).await?;
    store.records.delete(&fixtures::tenant(), &crate::record::RecordId::new("fct_0")?).await?;
    assert_eq!(found(&store, "same words").await?, ["fct_1"]);
    Ok(())
}

/// Another tenant's words are not found, in either direction.
pub async fn f53_f70_search_never_sees_another_tenant(store: Store) -> Result<()> {
    let mut record = fixtures::fact("fct_b", "shared words")?;
    record.tenant = Tenant::new("team-a/b")?;
    put_all(&store, [record, fixtures::fact("fct_a", "shared words")?]).await?;
    assert_eq!(found(&store, "shared").await?, ["fct_a"]);
    let other = RecordFilter::all_of(Tenant::new("team-a/b")?);
    assert_eq!(found_by(&store, "shared", other, 9).await?, ["fct_b"]);
    Ok(())
}
