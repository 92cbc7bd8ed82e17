//! The offline classifier: whole words of the task, deterministic, no network.

use async_trait::async_trait;

use super::{Classification, Classifier};
use crate::text::terms;
use crate::{Result, Task};

/// A domain with the words that point to it, in several languages where the words are plain.
const DOMAINS: [(&str, &[&str]); 8] = [
    (
        "coding",
        &[
            "code",
            "function",
            "compile",
            "bug",
            "refactor",
            "python",
            "rust",
            "javascript",
            "repo",
            "repository",
            "branch",
            "commit",
            "test",
            "tests",
            "deploy",
            "api",
            "script",
            "代码",
            "部署",
            "код",
        ],
    ),
    (
        "database",
        &[
            "sql",
            "query",
            "table",
            "tables",
            "database",
            "schema",
            "index",
            "join",
            "rows",
            "postgres",
            "sqlite",
            "数据库",
            "база",
        ],
    ),
    (
        "data_analysis",
        &[
            "csv",
            "report",
            "chart",
            "plot",
            "average",
            "mean",
            "median",
            "statistics",
            "dataset",
            "dashboard",
            "metrics",
            "spreadsheet",
            "报告",
            "отчёт",
            "отчет",
        ],
    ),
    (
        "writing",
        &["write", "draft", "email", "mail", "letter", "summary", "summarize", "essay", "translate", "翻译", "письмо"],
    ),
    ("math", &["calculate", "equation", "integral", "sum", "solve", "probability", "计算"]),
    ("research", &["research", "paper", "papers", "cite", "survey", "literature"]),
    (
        "operations",
        &[
            "server",
            "restart",
            "cluster",
            "kubernetes",
            "logs",
            "incident",
            "backup",
            "monitor",
            "replicas",
            "дб",
            "сервер",
        ],
    ),
    (
        "customer_service",
        &[
            "refund",
            "order",
            "orders",
            "cancel",
            "booking",
            "book",
            "reservation",
            "flight",
            "ticket",
            "invoice",
            "return",
            "exchange",
            "订单",
            "заказ",
        ],
    ),
];

/// Classifies by whole words; the label is `general` when no word is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeuristicClassifier;

impl HeuristicClassifier {
    /// Classifies without waiting.
    pub fn classify_text(self, text: &str) -> Classification {
        let terms = terms(text);
        let mut best: Option<(&str, usize)> = None;
        let mut domains = crate::record::DomainVector::new();
        for (label, words) in DOMAINS {
            let hits = terms.iter().filter(|term| words.contains(&term.as_str())).count();
            if hits > 0 {
                #[expect(clippy::cast_precision_loss, reason = "hits stay far below 2^52")]
                domains.insert(label.to_owned(), (0.5 + 0.15 * hits as f64).min(1.0));
            }
            if hits > best.map_or(0, |(_, most)| most) {
                best = Some((label, hits));
            }
        }
        if domains.is_empty() {
            domains.insert("general".to_owned(), 0.5);
        }
        Classification { task_type: best.map(|(label, _)| label.to_owned()), domains }
    }
}

#[async_trait]
impl Classifier for HeuristicClassifier {
    async fn classify(&self, task: &Task) -> Result<Classification> {
        Ok(self.classify_text(task.text()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c14_only_whole_words_count() {
        let general = |text: &str| HeuristicClassifier.classify_text(text).domains.contains_key("general");
        assert!(general("keep it stable"));
        assert!(general("the meaning of life"));
        assert!(!general("query the table"));
    }

    #[test]
    fn c14_every_call_gives_a_fresh_and_equal_answer() {
        let once = HeuristicClassifier.classify_text("Удалить заказ 5 as csv");
        assert_eq!(once, HeuristicClassifier.classify_text("Удалить заказ 5 as csv"));
        assert!(once.domains.contains_key("customer_service") && once.domains.contains_key("data_analysis"));
    }
}
