//! Learned templates: which texts share a skeleton, on the near misses and the adversarial pairs of `tests/data`.

use std::io::Read as _;
use std::path::PathBuf;

use learnkit_core::task::{Skeleton, canonical};
use serde_json::Value;

/// The pairs of a file: kind, one text, the other.
fn pairs(name: &str) -> Vec<[String; 3]> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data").join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    if name.ends_with(".gz") {
        flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8(bytes).unwrap();
    }
    text.lines().map(|line| pair(&serde_json::from_str(line).unwrap())).collect()
}

fn pair(row: &Value) -> [String; 3] {
    let text = |side: &str| {
        let side = &row[side];
        match side.as_str().or_else(|| side["text"].as_str()) {
            Some(text) => text.to_owned(),
            // The turns of a conversation.
            None => side["text"].as_array().unwrap().iter().map(Value::to_string).collect::<Vec<_>>().join("\n"),
        }
    };
    [row["kind"].as_str().unwrap().to_owned(), canonical(&text("a")), canonical(&text("b"))]
}

/// The pairs that share a skeleton; each text has to read back as its own values, and those differ.
fn aligned(pairs: &[[String; 3]]) -> Vec<&str> {
    let mut kinds = Vec::new();
    for [kind, a, b] in pairs {
        let Some(skeleton) = Skeleton::of(&[a, b]) else { continue };
        assert_eq!(Skeleton::of(&[b, a]).as_ref(), Some(&skeleton), "{a} / {b}");
        let [first, second] =
            [a, b].map(|text| skeleton.read(text).unwrap_or_else(|| panic!("{text} is not read back")));
        assert_ne!(first, second, "{a} / {b}");
        assert_eq!([skeleton.fill(&first), skeleton.fill(&second)], [Some(a.clone()), Some(b.clone())]);
        kinds.push(kind.as_str());
    }
    kinds
}

#[test]
fn near_misses_share_a_skeleton_only_where_they_differ_in_data() {
    let pairs = pairs("near_miss.jsonl");
    assert_eq!(pairs.len(), 181);
    let aligned = aligned(&pairs);
    for kind in ["polarity", "logic", "punctuation", "lookalike", "extra"] {
        assert!(!aligned.contains(&kind), "{kind}");
    }
    let count = |kind: &str| aligned.iter().filter(|own| **own == kind).count();
    assert!(count("swap") >= 20, "{} of 29 swaps", count("swap"));
    assert!(count("number") >= 17, "{} of 23 numbers", count("number"));
}

#[test]
fn adversarial_pairs_that_share_a_skeleton_differ_in_its_values() {
    let pairs = pairs("adversarial_pairs.jsonl.gz");
    let texts_differ = pairs.iter().filter(|[_, a, b]| a != b).count();
    let aligned = aligned(&pairs);
    assert!(!aligned.contains(&"negation, quantifier or comparative"), "{aligned:?}");
    assert!(aligned.len() >= 40 && aligned.len() < texts_differ, "{} of {texts_differ}", aligned.len());
}
