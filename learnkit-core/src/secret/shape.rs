//! Tokens that their providers document by their shape.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// Word boundaries are those of ASCII: Unicode's cost ten times as much in a text that is not English.
static SHAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?:",
        r"(?-u:\b)sk-[A-Za-z0-9_-]{16,}",
        r"|(?-u:\b)(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{30,}|(?-u:\b)github_pat_[A-Za-z0-9_]{22,}",
        r"|(?-u:\b)glpat-[A-Za-z0-9_-]{20,}",
        r"|(?-u:\b)xox[abeoprs]-[A-Za-z0-9-]{10,}|(?-u:\b)xapp-[A-Za-z0-9-]{10,}",
        r"|(?-u:\b)(?:AKIA|ASIA)[0-9A-Z]{16}(?-u:\b)",
        r"|(?-u:\b)AIza[0-9A-Za-z_-]{35}|(?-u:\b)ya29\.[0-9A-Za-z_-]{20,}|(?-u:\b)GOCSPX-[0-9A-Za-z_-]{20,}",
        r"|(?-u:\b)hf_[A-Za-z0-9]{30,}",
        r"|(?-u:\b)(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}|(?-u:\b)[a-z]{2,6}_[A-Za-z0-9]{14,}_secret_[A-Za-z0-9]{14,}",
        r"|(?-u:\b)whsec_[A-Za-z0-9+/=]{20,}",
        r"|(?-u:\b)SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{20,}",
        r"|(?-u:\b)npm_[A-Za-z0-9]{36}(?-u:\b)|(?-u:\b)pypi-[A-Za-z0-9_-]{16,}",
        r"|(?-u:\b)(?:shpat|shpss|shpca|shppa)_[a-fA-F0-9]{32}|(?-u:\b)do[opr]_v1_[a-f0-9]{64}",
        r"|(?-u:\b)dapi[a-f0-9]{32}|(?-u:\b)(?:lin_api|figd|ntn|secret)_[A-Za-z0-9_-]{30,}",
        r"|(?-u:\b)[0-9]{8,10}:[A-Za-z0-9_-]{35}(?-u:\b)",
        r"|hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9+/]{30,}|discord(?:app)?\.com/api/webhooks/[0-9]+/[A-Za-z0-9_-]{30,}",
        r"|(?-u:\b)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
        r"|-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\z)",
        r")"
    ))
    .ok()
});

/// Where tokens of a known shape stand.
pub(super) fn find(text: &str, found: &mut Vec<Range<usize>>) {
    if let Some(shapes) = SHAPES.as_ref() {
        found.extend(shapes.find_iter(text).map(|shape| shape.range()));
    }
}
