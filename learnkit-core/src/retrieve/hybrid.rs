//! Lexical candidates reranked by vectors, fused by reciprocal rank.

use std::sync::Arc;

use async_trait::async_trait;

use super::{LexicalRetriever, RetrievalRequest, Retriever, sort_best_first};
use crate::Result;
use crate::backend::{MemoryBackend, Scored};
use crate::embed::{Embedder, cosine};
use crate::record::Record;

/// The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009).
const RRF_K: f64 = 60.0;
/// So many lexical candidates are reranked for each record asked for.
const CANDIDATES_PER_RECORD: usize = 4;

/// Reranks the lexical candidates by cosine and fuses both orders.
#[derive(Debug, Clone)]
pub struct HybridRetriever {
    lexical: LexicalRetriever,
    embedder: Arc<dyn Embedder>,
}

impl HybridRetriever {
    /// Retrieves from a store with an embedder.
    pub fn new(store: Arc<dyn MemoryBackend>, embedder: Arc<dyn Embedder>) -> Self {
        Self { lexical: LexicalRetriever::new(store), embedder }
    }
}

#[async_trait]
impl Retriever for HybridRetriever {
    async fn retrieve(&self, request: &RetrievalRequest) -> Result<Vec<Scored<Record>>> {
        let wide = RetrievalRequest { limit: request.limit.saturating_mul(CANDIDATES_PER_RECORD), ..request.clone() };
        let candidates = self.lexical.retrieve(&wide).await?;
        let titles: Vec<String> = candidates.iter().map(|scored| scored.item.headline()).collect();
        let texts: Vec<&str> =
            std::iter::once(request.text.as_str()).chain(titles.iter().map(String::as_str)).collect();
        let vectors = self.embedder.embed(&texts).await?;
        let Some((query, vectors)) = vectors.split_first() else { return Ok(candidates) };
        let similarities: Vec<f32> = vectors.iter().map(|vector| cosine(query, vector)).collect();
        let mut fused = fuse(candidates, &similarities);
        fused.truncate(request.limit);
        Ok(fused)
    }
}

/// Fuses the order of the candidates with the order of their similarities.
#[expect(clippy::cast_precision_loss, reason = "ranks stay far below 2^52")]
fn fuse(candidates: Vec<Scored<Record>>, similarities: &[f32]) -> Vec<Scored<Record>> {
    let rank_of = |own: f32| similarities.iter().filter(|other| **other > own).count();
    let scored = candidates.into_iter().enumerate().map(|(lexical, candidate)| {
        let dense = similarities.get(lexical).map_or(similarities.len(), |own| rank_of(*own));
        let score = 1.0 / (RRF_K + 1.0 + lexical as f64) + 1.0 / (RRF_K + 1.0 + dense as f64);
        Scored { item: candidate.item, score }
    });
    let mut fused: Vec<Scored<Record>> = scored.collect();
    sort_best_first(&mut fused);
    fused
}
