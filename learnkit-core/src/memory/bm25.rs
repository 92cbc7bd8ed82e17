//! Okapi BM25 over three weighted columns, with the constants of SQLite's FTS5.

use std::collections::HashMap;

use crate::record::SearchText;
use crate::text::terms;

/// How fast repeats of a term stop counting.
const K1: f64 = 1.2;
/// How far a long text is held against it.
const B: f64 = 0.75;

/// The terms of one record, each counted with the weight of its column.
#[derive(Debug, Default)]
pub(super) struct Document {
    weights: HashMap<String, f64>,
    length: f64,
}

impl Document {
    pub(super) fn of(text: &SearchText) -> Self {
        let mut document = Self::default();
        for (column, weight) in [(&text.title, 2.0), (&text.tools, 3.0), (&text.body, 1.0)] {
            for term in terms(column) {
                *document.weights.entry(term).or_default() += weight;
                document.length += 1.0;
            }
        }
        document
    }
}

/// What must be known of all documents to weigh the terms of one query.
#[derive(Debug)]
pub(super) struct Ranking<'q> {
    terms: Vec<(&'q str, f64)>,
    mean_length: f64,
}

impl<'q> Ranking<'q> {
    #[expect(clippy::cast_precision_loss, reason = "a store in memory holds far fewer than 2^52 records")]
    pub(super) fn of<'d>(query: &'q [String], documents: &(impl Iterator<Item = &'d Document> + Clone)) -> Self {
        let count = documents.clone().count() as f64;
        let length: f64 = documents.clone().map(|document| document.length).sum();
        let rarity = |term: &'q String| {
            let holding = documents.clone().filter(|document| document.weights.contains_key(term)).count() as f64;
            (term.as_str(), (1.0 + (count - holding + 0.5) / (holding + 0.5)).ln())
        };
        Self { terms: query.iter().map(rarity).collect(), mean_length: length / count.max(1.0) }
    }

    /// The relevance of a document; absent when it holds no term of the query.
    pub(super) fn score(&self, document: &Document) -> Option<f64> {
        let norm = K1 * (1.0 - B + B * document.length / self.mean_length);
        let scores = self.terms.iter().filter_map(|(term, rarity)| {
            let weight = document.weights.get(*term)?;
            Some(rarity * weight * (K1 + 1.0) / (weight + norm))
        });
        scores.fold(None, |sum, score| Some(sum.unwrap_or(0.0) + score))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(title: &str, body: &str) -> Document {
        Document::of(&SearchText { title: title.into(), tools: String::new(), body: body.into() })
    }

    #[test]
    fn rare_terms_and_titles_weigh_more_and_strangers_have_no_score() {
        let documents = [document("alpha", "beta"), document("beta", "alpha"), document("beta", "gamma")];
        let query = ["alpha".to_owned()];
        let ranking = Ranking::of(&query, &documents.iter());
        let scores: Vec<_> = documents.iter().map(|document| ranking.score(document)).collect();
        assert!(scores[0] > scores[1] && scores[1] > Some(0.0));
        assert_eq!(scores[2], None);
        let query = ["beta".to_owned(), "gamma".to_owned()];
        let ranking = Ranking::of(&query, &documents.iter());
        assert!(ranking.terms[1].1 > ranking.terms[0].1);
    }
}
