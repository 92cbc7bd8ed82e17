//! Ranked search: which terms are asked for, which rows they rank, which of those are visible.
//!
//! What a search costs is the rows it ranks, and most rows share only common terms with the query. So
//! the rarest terms are asked for first, and commoner ones only where they leave room in the answer.

use std::sync::LazyLock;

use learnkit_core::backend::{Scored, SearchQuery};
use learnkit_core::record::Record;
use learnkit_core::text::query_terms;
use rusqlite::{Connection, params};

use crate::error::Outcome;
use crate::fts;
use crate::records::{FILTER, by_row, filter_values};
use crate::row::{Params, encode};

/// About so many rows are ranked at first; the rows of the rarest term always.
const RANKED_ROWS: i64 = 1_000;
/// So many times more where that does not fill the answer.
const WIDER: i64 = 8;
/// A term is counted so far; how common it is beyond is estimated.
const COUNTED_ROWS: i64 = 256;
/// So many of the best rows are looked at first, and more where the filter leaves too few.
const CANDIDATES: usize = 32;

/// How many rows hold a term, up to a limit, and the last of them.
const COUNT: &str =
    "SELECT count(*), max(rowid) FROM (SELECT rowid FROM records_fts WHERE records_fts MATCH ?1 LIMIT ?2)";

/// Only row numbers are sorted: the rows themselves are read for the best alone.
const RANK: &str = "SELECT rowid, -bm25(records_fts, 2.0, 3.0, 1.0) AS score FROM records_fts
     WHERE records_fts MATCH ?1 ORDER BY score DESC, rowid";

/// The cross join keeps the order: each row by its number, never through the index of tenants.
static VISIBLE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT records.row, records.id FROM json_each(:rows) AS wanted CROSS JOIN records ON records.row = wanted.value
         WHERE {FILTER}"
    )
});

/// The most relevant records, best first; ties break by id.
pub(crate) fn search(connection: &Connection, query: &SearchQuery) -> Outcome<Vec<Scored<Record>>> {
    let terms = by_rarity(connection, query_terms(&query.text))?;
    let mut budget = RANKED_ROWS;
    loop {
        let asked = within(&terms, budget);
        let found = match fts::any_of(asked.iter().map(|term| term.text.as_str())) {
            Some(text) => best(connection, &text, query)?,
            None => Vec::new(),
        };
        if found.len() >= query.limit || asked.len() == terms.len() {
            return Ok(found);
        }
        budget = wider(&terms, budget);
    }
}

/// The next budget that lets more terms in: the same terms would only find the same rows again.
fn wider(terms: &[Term], budget: i64) -> i64 {
    let asked = within(terms, budget).len();
    let mut wider = budget;
    while wider < i64::MAX && within(terms, wider).len() == asked {
        wider = wider.saturating_mul(WIDER);
    }
    wider
}

/// A term of the query and about how many rows hold it.
#[derive(Debug, PartialEq, Eq)]
struct Term {
    text: String,
    rows: i64,
}

/// The terms, rarest first.
fn by_rarity(connection: &Connection, terms: Vec<String>) -> Outcome<Vec<Term>> {
    let last: Option<i64> =
        connection.prepare_cached("SELECT max(row) FROM records")?.query_row([], |row| row.get(0))?;
    let last = last.unwrap_or_default();
    let count = |text: String| Ok(Term { rows: rows_of(connection, &text, last)?, text });
    let mut terms = terms.into_iter().map(count).collect::<Outcome<Vec<Term>>>()?;
    terms.sort_by_key(|term| term.rows);
    Ok(terms)
}

fn rows_of(connection: &Connection, term: &str, last: i64) -> Outcome<i64> {
    if last <= RANKED_ROWS {
        return Ok(0);
    }
    let mut statement = connection.prepare_cached(COUNT)?;
    let counted = statement.query_row(params![fts::quote(term), COUNTED_ROWS], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (counted, reached): (i64, Option<i64>) = counted;
    Ok(match reached {
        // They came that early, so the rest of the rows holds as many for its length.
        Some(reached) if counted == COUNTED_ROWS => counted.saturating_mul(last) / reached.max(1),
        _ => counted,
    })
}

/// The rarest terms that hold so many rows together, and at least the first.
fn within(terms: &[Term], budget: i64) -> &[Term] {
    let mut rows = 0_i64;
    let fitting = terms.iter().take_while(|term| {
        rows = rows.saturating_add(term.rows);
        rows <= budget
    });
    let count = fitting.count().max(1).min(terms.len());
    terms.get(..count).unwrap_or_default()
}

/// The best visible records of a full-text query.
fn best(connection: &Connection, text: &str, query: &SearchQuery) -> Outcome<Vec<Scored<Record>>> {
    let filter = filter_values(&query.filter)?;
    let mut statement = connection.prepare_cached(RANK)?;
    let mut ranked = statement.query_map([text], |row| Ok(Ranked { row: row.get(0)?, score: row.get(1)? }))?;
    let mut ranked = std::iter::from_fn(|| ranked.next()).peekable();
    let mut found = Vec::new();
    let mut size = CANDIDATES.max(query.limit.saturating_mul(2));
    while found.len() < query.limit && ranked.peek().is_some() {
        let mut batch: Vec<Ranked> = ranked.by_ref().take(size).collect::<rusqlite::Result<_>>()?;
        // Rows of one score stay together, so that their ids decide; a long tie is cut where the batch would double.
        let worst = batch.last().map(|last| last.score);
        let is_tie = |next: &rusqlite::Result<Ranked>| next.as_ref().is_ok_and(|next| Some(next.score) == worst);
        while batch.len() < size.saturating_mul(2)
            && let Some(tied) = ranked.next_if(is_tie)
        {
            batch.push(tied?);
        }
        for Ranked { row, score } in visible(connection, batch, &filter)? {
            if found.len() < query.limit
                && let Some(item) = by_row(connection, row)?
            {
                found.push(Scored { item, score });
            }
        }
        size = size.saturating_mul(4);
    }
    Ok(found)
}

/// A row of the index and its relevance.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ranked {
    row: i64,
    score: f64,
}

/// The rows that the filter allows, best first, ties by id.
fn visible(connection: &Connection, batch: Vec<Ranked>, filter: &Params) -> Outcome<Vec<Ranked>> {
    let rows = encode(&batch.iter().map(|ranked| ranked.row).collect::<Vec<_>>())?;
    let mut values: Vec<(&str, &dyn rusqlite::ToSql)> =
        filter.iter().map(|(name, value)| (*name, value as &dyn rusqlite::ToSql)).collect();
    values.push((":rows", &rows));
    let mut statement = connection.prepare_cached(&VISIBLE)?;
    let ids = statement.query_map(values.as_slice(), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let ids: std::collections::HashMap<i64, String> = ids.collect::<rusqlite::Result<_>>()?;
    let mut seen: Vec<(Ranked, &String)> =
        batch.into_iter().filter_map(|ranked| Some((ranked, ids.get(&ranked.row)?))).collect();
    seen.sort_by(|(a, a_id), (b, b_id)| b.score.total_cmp(&a.score).then_with(|| a_id.cmp(b_id)));
    Ok(seen.into_iter().map(|(ranked, _)| ranked).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migrate::plan;

    fn term(rows: i64) -> Term {
        Term { text: rows.to_string(), rows }
    }

    #[test]
    fn the_rarest_terms_are_asked_for_and_never_none() {
        let terms = [term(3), term(900), term(901), term(5_000)];
        assert_eq!(within(&terms, 1_000), &terms[..2]);
        assert_eq!(within(&terms, 8_000), &terms[..]);
        assert_eq!(within(&terms[3..], 1_000), &terms[3..]);
        assert_eq!(within(&[], 1_000), &[]);
    }

    #[test]
    fn a_wider_search_asks_for_more_terms() {
        let terms = [term(3), term(900), term(100_000), term(i64::MAX)];
        assert_eq!(within(&terms, wider(&terms, RANKED_ROWS)), &terms[..3]);
        assert_eq!(within(&terms, wider(&terms, 512_000)), &terms[..]);
    }

    #[test]
    fn ranking_goes_through_the_text_index_and_the_filter_through_row_numbers() {
        for statement in [RANK, COUNT] {
            let plan = plan(statement);
            assert!(plan.contains("SCAN records_fts VIRTUAL TABLE INDEX 0:M"), "{plan}");
            assert!(!plan.contains("SCAN records "), "{plan}");
        }
        let visible = plan(&VISIBLE);
        assert!(visible.contains("SEARCH records USING INTEGER PRIMARY KEY (rowid=?)"), "{visible}");
    }
}
