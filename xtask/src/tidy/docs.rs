//! Checks of the documents: diagrams, decision pages, links.

use super::Finding;
use crate::checkout::{Checkout, TextFile};

/// The first words of the Mermaid diagrams that are used here.
const DIAGRAMS: [&str; 4] = ["flowchart", "sequenceDiagram", "stateDiagram-v2", "classDiagram"];
const DIAGRAM_INDEX: &str = "architecture/README.md";
const DECISION_INDEX: &str = "docs/adr/README.md";

/// Diagram files that hold no diagram.
pub fn broken_diagrams(checkout: &Checkout) -> Vec<Finding> {
    let broken = diagrams(checkout).filter(|file| !is_diagram(&file.text));
    broken.map(|file| Finding::in_file(&file.path, "holds no Mermaid diagram")).collect()
}

/// Diagrams that their index does not name.
pub fn unlisted_diagrams(checkout: &Checkout) -> Vec<Finding> {
    unlisted(diagrams(checkout), DIAGRAM_INDEX, checkout)
}

/// Decision pages that their index does not name.
pub fn unlisted_decisions(checkout: &Checkout) -> Vec<Finding> {
    let pages = checkout.files().iter();
    let pages = pages.filter(|file| file.path.starts_with("docs/adr/") && file.path != DECISION_INDEX);
    unlisted(pages, DECISION_INDEX, checkout)
}

/// Relative links that lead nowhere.
pub fn dead_links(checkout: &Checkout) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in checkout.files().iter().filter(|file| file.has_extension("md")) {
        for (line, target) in links(&file.text) {
            let path = resolved(&file.path, target);
            if !path.as_deref().is_some_and(|path| path.is_empty() || checkout.has(path)) {
                findings.push(Finding::at_line(&file.path, line, format!("`{target}` leads nowhere")));
            }
        }
    }
    findings
}

fn diagrams(checkout: &Checkout) -> impl Iterator<Item = &TextFile> {
    checkout.files().iter().filter(|file| file.has_extension("mmd"))
}

/// Whether a text is a diagram with at least one line beside its kind.
fn is_diagram(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("%%"));
    let kind = lines.next().and_then(|line| line.split_whitespace().next());
    kind.is_some_and(|kind| DIAGRAMS.contains(&kind)) && lines.next().is_some()
}

fn unlisted<'a>(files: impl Iterator<Item = &'a TextFile>, index: &str, checkout: &Checkout) -> Vec<Finding> {
    let listed: Vec<String> =
        links(checkout.text(index)).into_iter().filter_map(|(_, target)| resolved(index, target)).collect();
    let missing = files.filter(|file| !listed.contains(&file.path));
    missing.map(|file| Finding::in_file(&file.path, format!("not linked from {index}"))).collect()
}

/// The relative targets of Markdown links with their lines; code blocks hold none.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut links = Vec::new();
    let mut in_code = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        links.extend(targets.filter(|target| is_relative(target)).map(|target| (index + 1, target)));
    }
    links
}

fn is_relative(target: &str) -> bool {
    !target.contains("://") && !target.starts_with("mailto:") && !target.starts_with('#')
}

/// The path from the root of a link in a file; nothing when it leaves the checkout.
fn resolved(from: &str, target: &str) -> Option<String> {
    let target = target.split('#').next().unwrap_or_default().trim_end_matches('/');
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_code_and_resolved() {
        let text = "[a](x/y.md#z) and [b](../c.md), [web](https://example.org)\n```text\n[n](gone)\n```\n[top](#top)";
        assert_eq!(links(text), [(1, "x/y.md#z"), (1, "../c.md")]);
        assert_eq!(resolved("docs/adr/README.md", "../a.md#b").as_deref(), Some("docs/a.md"));
        assert_eq!(resolved("README.md", "./docs/").as_deref(), Some("docs"));
        assert_eq!(resolved("README.md", "../outside.md"), None);
    }

    #[test]
    fn dead_links_are_named_with_their_line() {
        let checkout = Checkout::of(&[("README.md", "x\n[a](docs/a.md) [b](docs/b.md) [c](docs)"), ("docs/a.md", "")]);
        assert_eq!(dead_links(&checkout), [Finding::at_line("README.md", 2, "`docs/b.md` leads nowhere")]);
    }

    #[test]
    fn an_empty_diagram_is_broken() {
        assert!(is_diagram("%% title\nflowchart LR\n  a --> b\n"));
        assert!(!is_diagram(""));
        assert!(!is_diagram("flowchart LR\n%% nothing\n"));
        assert!(!is_diagram("graph of something\na --> b"));
    }

    #[test]
    fn pages_have_to_be_listed() {
        let index = (DECISION_INDEX, "| [1](0001-a.md) |");
        let checkout = Checkout::of(&[index, ("docs/adr/0001-a.md", "a"), ("docs/adr/0002-b.md", "b")]);
        let findings = unlisted_decisions(&checkout);
        assert_eq!(findings, [Finding::in_file("docs/adr/0002-b.md", format!("not linked from {DECISION_INDEX}"))]);
    }
}
