//! A deterministic embedder without a model: hashed character trigrams and terms.
//!
//! It is **not semantic**: it measures shared spelling, so that typing errors and word forms come
//! out near each other, and synonyms do not.

use async_trait::async_trait;
use learnkit_core::embed::Embedder;
use learnkit_core::text::terms;
use learnkit_core::{Error, Result};
use sha2::{Digest as _, Sha256};

/// Vectors of this length keep collisions rare for task texts.
const DEFAULT_DIMENSIONS: usize = 512;
/// A whole term weighs as much as so many of its trigrams.
const TERM_WEIGHT: f32 = 2.0;

/// Hashes terms and their character trigrams into a unit vector. The same text gives the same
/// vector on every machine.
///
/// ```
/// use learnkit_embed::HashingEmbedder;
/// let embedder = HashingEmbedder::default();
/// assert_eq!(embedder.vector("cancel order"), embedder.vector("Cancel  order"));
/// ```
#[derive(Debug, Clone)]
pub struct HashingEmbedder {
    dimensions: usize,
    model: String,
}

impl HashingEmbedder {
    /// An embedder with vectors of a length.
    ///
    /// # Errors
    /// `InvalidInput` for a length of 0.
    pub fn new(dimensions: usize) -> Result<Self> {
        if dimensions == 0 {
            return Err(Error::invalid("an embedder needs at least 1 dimension"));
        }
        Ok(Self { dimensions, model: format!("learnkit-hashing-{dimensions}") })
    }

    /// The unit vector of a text; all zeros for a text without a term.
    pub fn vector(&self, text: &str) -> Vec<f32> {
        let mut vector = vec![0.0; self.dimensions];
        for term in terms(text) {
            self.add(&mut vector, &term, TERM_WEIGHT);
            let framed: Vec<char> = std::iter::once('^').chain(term.chars()).chain(std::iter::once('$')).collect();
            for gram in framed.windows(3) {
                self.add(&mut vector, &gram.iter().collect::<String>(), 1.0);
            }
        }
        normalize(&mut vector);
        vector
    }

    fn add(&self, vector: &mut [f32], feature: &str, weight: f32) {
        let hash = Sha256::digest(feature.as_bytes());
        let bytes: [u8; 8] = hash.first_chunk().copied().unwrap_or_default();
        let number = u64::from_le_bytes(bytes);
        let place = usize::try_from(number % self.dimensions as u64).unwrap_or_default();
        // A sign bit of its own lets collisions cancel out instead of adding up.
        let sign = if number >> 63 == 0 { 1.0 } else { -1.0 };
        if let Some(value) = vector.get_mut(place) {
            *value += sign * weight;
        }
    }
}

impl Default for HashingEmbedder {
    fn default() -> Self {
        Self { dimensions: DEFAULT_DIMENSIONS, model: format!("learnkit-hashing-{DEFAULT_DIMENSIONS}") }
    }
}

#[async_trait]
impl Embedder for HashingEmbedder {
    fn model(&self) -> &str {
        &self.model
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }
}

fn normalize(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use learnkit_core::embed::cosine;

    #[tokio::test]
    async fn word_forms_are_nearer_than_other_words() {
        let embedder = HashingEmbedder::default();
        let texts = ["cancel the reservation", "cancelling reservations", "restart web server"];
        let vectors = embedder.embed(&texts).await.unwrap();
        assert!(cosine(&vectors[0], &vectors[1]) > cosine(&vectors[0], &vectors[2]) + 0.2);
        assert!((cosine(&vectors[0], &vectors[0]) - 1.0).abs() < 1e-5);
        assert_eq!(vectors[0].len(), embedder.dimensions());
    }

    #[test]
    fn a_text_without_a_term_is_all_zeros_and_no_dimension_is_refused() {
        assert!(HashingEmbedder::default().vector("***").iter().all(|value| *value == 0.0));
        assert!(HashingEmbedder::new(0).is_err());
    }
}
