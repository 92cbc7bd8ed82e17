//! The full-text index: text becomes terms, and a query becomes quoted terms, here and nowhere else.

use learnkit_core::record::SearchText;
use learnkit_core::text::joined_terms;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::error::Outcome;

/// A query in FTS5's language that finds any of the terms; absent without a term.
///
/// FTS5 reads `-`, `:`, `*`, `^`, `NOT` and the like as syntax, so every term is quoted.
pub(crate) fn any_of<'a>(terms: impl Iterator<Item = &'a str>) -> Option<String> {
    let quoted: Vec<String> = terms.map(quote).collect();
    if quoted.is_empty() { None } else { Some(quoted.join(" OR ")) }
}

/// A query that finds one term.
pub(crate) fn quote(term: &str) -> String {
    format!("\"{}\"", term.replace('"', "\"\""))
}

/// What is indexed under a row.
const INDEXED: &str = "SELECT title, tools, body FROM records_fts WHERE rowid = ?1";
const INSERT: &str = "INSERT INTO records_fts (rowid, title, tools, body) VALUES (?1, ?2, ?3, ?4)";
const DELETE: &str = "DELETE FROM records_fts WHERE rowid = ?1";

/// The three columns of a record in the index.
#[derive(Debug, PartialEq, Eq)]
struct Columns {
    title: String,
    tools: String,
    body: String,
}

impl Columns {
    fn of(text: &SearchText) -> Self {
        Self { title: joined_terms(&text.title), tools: joined_terms(&text.tools), body: joined_terms(&text.body) }
    }
}

/// Indexes a record under its row, in place of what was there; `false` when it was indexed just so.
///
/// Most puts only change counters: an unchanged text costs one read and no write.
pub(crate) fn index(connection: &Connection, row: i64, text: &SearchText) -> Outcome<bool> {
    let columns = Columns::of(text);
    let mut indexed = connection.prepare_cached(INDEXED)?;
    let indexed =
        indexed.query_row([row], |row| Ok(Columns { title: row.get(0)?, tools: row.get(1)?, body: row.get(2)? }));
    match indexed.optional()? {
        Some(before) if before == columns => return Ok(false),
        Some(_) => remove(connection, row)?,
        None => {}
    }
    insert(connection, row, &columns)?;
    Ok(true)
}

/// Indexes a record under a row that was just made, so that nothing is indexed under it yet.
pub(crate) fn add(connection: &Connection, row: i64, text: &SearchText) -> Outcome<()> {
    insert(connection, row, &Columns::of(text))
}

fn insert(connection: &Connection, row: i64, columns: &Columns) -> Outcome<()> {
    let values = params![row, columns.title, columns.tools, columns.body];
    connection.prepare_cached(INSERT)?.execute(values)?;
    Ok(())
}

/// Takes a record out of the index.
pub(crate) fn remove(connection: &Connection, row: i64) -> Outcome<()> {
    connection.prepare_cached(DELETE)?.execute([row])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use learnkit_core::text::query_terms;
    use proptest::prelude::*;

    use super::*;
    use crate::migrate::plan;

    fn match_any(text: &str) -> Option<String> {
        any_of(query_terms(text).iter().map(String::as_str))
    }

    fn database() -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        crate::migrate::migrate(&mut connection).unwrap();
        connection
    }

    fn indexed(connection: &Connection, row: i64, title: &str) {
        let text = SearchText { title: title.to_owned(), ..SearchText::default() };
        index(connection, row, &text).unwrap();
    }

    fn rows(connection: &Connection, query: &str) -> rusqlite::Result<Vec<i64>> {
        let mut statement =
            connection.prepare_cached("SELECT rowid FROM records_fts WHERE records_fts MATCH ?1 ORDER BY rowid")?;
        statement.query_map([query], |row| row.get(0))?.collect()
    }

    #[test]
    fn f40_our_terms_stay_whole_in_the_index() {
        let connection = database();
        for (row, title) in [(1, "c++"), (2, "foo-bar"), (3, "20.04"), (4, "user@a.example"), (5, "a\u{301}b→c☃d")]
        {
            indexed(&connection, row, title);
        }
        connection.execute_batch("CREATE VIRTUAL TABLE words USING fts5vocab('records_fts', 'row')").unwrap();
        let mut words = connection.prepare("SELECT term FROM words").unwrap();
        let words: Vec<String> = words.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
        for whole in ["c++", "foo-bar", "20.04", "user@a.example", "áb→c☃d"] {
            assert!(words.contains(&whole.to_owned()), "{whole} in {words:?}");
        }
    }

    #[test]
    fn d5_a_row_of_the_index_is_read_written_and_deleted_without_a_full_scan() {
        // FTS5 names a lookup by row number `=`; a full scan has nothing after the colon.
        let scan = "SCAN records_fts VIRTUAL TABLE INDEX 0:";
        assert_eq!(plan("SELECT title FROM records_fts"), scan);
        for statement in [INDEXED, DELETE] {
            assert_eq!(plan(statement), format!("{scan}="), "{statement}");
        }
        assert_eq!(plan(INSERT), "");
    }

    #[test]
    fn a_quote_inside_a_term_is_doubled() {
        assert_eq!(quote("a\"b"), "\"a\"\"b\"");
        assert_eq!(match_any("foo-bar: \"x\" AND (NOT").unwrap(), r#""foo-bar" OR "foo" OR "bar" OR "x" OR "not""#);
        assert_eq!(match_any("%"), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn f39_any_text_is_a_query_and_finds_itself(text in r#"[\PC"'*^:(){}+\-&|~ \x00AND OR NOT NEAR]{0,40}"#) {
            let connection = database();
            indexed(&connection, 1, &text);
            if let Some(query) = match_any(&text) {
                prop_assert_eq!(rows(&connection, &query).unwrap(), [1], "{}", query);
            }
        }

        #[test]
        fn f39_unrelated_text_never_finds_by_syntax(text in r#"["'*^:(){}+\-&|~ x]{0,40}"#) {
            let connection = database();
            indexed(&connection, 1, "needle");
            if let Some(query) = match_any(&text) {
                prop_assert_eq!(rows(&connection, &query).unwrap(), Vec::<i64>::new(), "{}", query);
            }
        }
    }
}
