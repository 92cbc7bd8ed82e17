//! Seams for dense retrieval: whoever has a model implements these.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::Result;

/// Turns texts into vectors.
///
/// Implemented by `learnkit-embed` and by applications; called by the hybrid retriever. Vectors of
/// one embedder have one length and are comparable by cosine.
#[async_trait]
pub trait Embedder: Debug + Send + Sync + 'static {
    /// The model's id; vectors of two models are never compared.
    fn model(&self) -> &str;

    /// The length of its vectors.
    fn dimensions(&self) -> usize;

    /// One vector for each text, in order.
    ///
    /// # Errors
    /// `Unavailable` when the model cannot be reached or loaded.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>>;
}

/// The cosine of two vectors, -1 to 1; 0 when one has no length or the lengths differ.
pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    if a.len() != b.len() {
        return 0.0;
    }
    let dot: f32 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    let norm = |vector: &[f32]| vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    let norms = norm(a) * norm(b);
    if norms > 0.0 { dot / norms } else { 0.0 }
}
