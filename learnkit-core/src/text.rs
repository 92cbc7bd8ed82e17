//! Search terms of a text, for every script; one function for records and queries.

use unicode_normalization::UnicodeNormalization as _;

/// A query looks at so many distinct terms; a pasted book costs no more.
pub const MAX_QUERY_TERMS: usize = 64;

/// Words that say nothing about a task.
const STOP_WORDS: [&str; 48] = [
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "do", "for", "from", "has", "have",
    "i", "in", "into", "is", "it", "its", "me", "my", "of", "on", "or", "please", "should", "so", "than", "that",
    "the", "their", "then", "these", "this", "those", "to", "was", "we", "were", "will", "with", "would", "you",
    "your",
];

/// The terms of a text, in order, with repeats.
///
/// Case is folded and compatibility forms are unified (NFKC). A word gives itself; a compound such
/// as `foo-bar`, `C++` or `user@a.example` gives itself and its parts. A run of Han, Kana, Hangul or
/// Thai gives each character and each pair of neighbours, because those scripts write words without
/// spaces.
///
/// ```
/// use learnkit_core::text::terms;
/// assert_eq!(terms("Use C++ in foo-bar"), ["use", "c++", "c", "in", "foo-bar", "foo", "bar"]);
/// assert_eq!(terms("用户API"), ["用", "户", "用户", "api"]);
/// ```
pub fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    each_term(text, &mut |term| terms.push(term.to_owned()));
    terms
}

/// The [`terms`] of a text joined by spaces, as an index takes them: no term holds a space.
pub fn joined_terms(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    each_term(text, &mut |term| {
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(term);
    });
    joined
}

fn each_term(text: &str, visit: &mut impl FnMut(&str)) {
    for chunk in folded(text).split(|char: char| char.is_whitespace() || char.is_control()) {
        visit_chunk(chunk, visit);
    }
}

/// The distinct terms of a query without stop-words, at most [`MAX_QUERY_TERMS`]; a query of
/// stop-words alone asks for nothing.
pub fn query_terms(text: &str) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    let telling = terms(text).into_iter().filter(|term| !is_stop_word(term) && seen.insert(term.clone()));
    telling.take(MAX_QUERY_TERMS).collect()
}

/// Whether a term negates, or insists on the contrary.
pub fn is_negation(term: &str) -> bool {
    matches!(
        term,
        "not"
            | "no"
            | "never"
            | "always"
            | "none"
            | "without"
            | "don't"
            | "dont"
            | "doesn't"
            | "cannot"
            | "can't"
            | "不"
            | "别"
            | "没"
            | "не"
            | "нет"
            | "без"
            | "لا"
            | "nicht"
            | "kein"
            | "keine"
            | "ne"
            | "pas"
            | "sin"
    )
}

/// Whether two texts differ in how often they negate: one may ask for the contrary of the other.
pub fn is_contrary(a: &str, b: &str) -> bool {
    let negations = |text: &str| terms(text).iter().filter(|term| is_negation(term) && *term != "always").count();
    negations(a) % 2 != negations(b) % 2
}

/// Whether a term says nothing about a task.
pub fn is_stop_word(term: &str) -> bool {
    STOP_WORDS.contains(&term)
}

/// The text with case folded and compatibility forms unified, which for ASCII is only the case.
fn folded(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { text.nfkc().flat_map(char::to_lowercase).collect() }
}

/// A chunk without spaces: split at script borders, then into compounds and their parts.
fn visit_chunk(chunk: &str, visit: &mut impl FnMut(&str)) {
    let mut rest = chunk;
    while let Some(first) = rest.chars().next() {
        let unspaced = is_unspaced(first);
        let end = rest.find(|char| is_unspaced(char) != unspaced).unwrap_or(rest.len());
        let (run, tail) = rest.split_at(end);
        if unspaced {
            visit_unspaced(run, visit);
        } else {
            visit_compound(run, visit);
        }
        rest = tail;
    }
}

fn visit_unspaced(run: &str, visit: &mut impl FnMut(&str)) {
    let starts = || run.char_indices().map(|(start, _)| start);
    // Where the character after one ends; those after the last end where the run does.
    let ends = |after: usize| starts().skip(after).chain(std::iter::repeat(run.len()));
    starts().zip(ends(1)).filter_map(|(start, end)| run.get(start..end)).for_each(&mut *visit);
    let pairs = run.chars().count().saturating_sub(1);
    starts().zip(ends(2)).take(pairs).filter_map(|(start, end)| run.get(start..end)).for_each(visit);
}

fn visit_compound(run: &str, visit: &mut impl FnMut(&str)) {
    // Sentence marks and brackets around a word are not part of it; `+` and `#` are (`C++`, `C#`).
    let trimmed = run
        .trim_start_matches(|char: char| !is_word(char) && !matches!(char, '#' | '@' | '$' | '.' | '-'))
        .trim_end_matches(|char: char| !is_word(char) && !matches!(char, '+' | '#'));
    let parts = || trimmed.split(|char: char| !is_word(char)).filter(|part| !part.is_empty());
    match parts().next() {
        None => {}
        Some(only) if only == trimmed => visit(trimmed),
        Some(_) => {
            visit(trimmed);
            parts().for_each(visit);
        }
    }
}

pub(crate) fn is_word(char: char) -> bool {
    char.is_alphanumeric() || (!char.is_ascii() && is_mark(char))
}

/// Combining marks that stay inside words (Arabic vowel signs, Devanagari matras and the like).
fn is_mark(char: char) -> bool {
    unicode_normalization::char::is_combining_mark(char)
}

/// Scripts that write words without spaces.
pub(crate) fn is_unspaced(char: char) -> bool {
    // Most text is below all of them.
    char >= '\u{0E00}'
        && matches!(char,
        '\u{0E00}'..='\u{0EFF}'      // Thai, Lao
        | '\u{1000}'..='\u{109F}'    // Myanmar
        | '\u{1780}'..='\u{17FF}'    // Khmer
        | '\u{1100}'..='\u{11FF}'    // Hangul letters
        | '\u{3005}'..='\u{3007}'
        | '\u{3040}'..='\u{30FF}'    // Kana
        | '\u{3130}'..='\u{318F}'
        | '\u{3400}'..='\u{4DBF}'    // Han
        | '\u{4E00}'..='\u{9FFF}'
        | '\u{AC00}'..='\u{D7AF}'    // Hangul
        | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f43_f44_f45_cjk_is_found_by_parts_and_beside_ascii() {
        assert!(terms("删除用户张三").contains(&"用户".to_owned()));
        assert_eq!(query_terms("张三"), ["张", "三", "张三"]);
        assert!(terms("部署API服务").contains(&"api".to_owned()));
    }

    #[test]
    fn joined_terms_are_the_terms() {
        for text in ["Use C++ in foo-bar", "用户API 部署", "ลบผู้ใช้ ﬁne Ⅷ", "x", "", "删", "…", "user@a.example, «да»"]
        {
            assert_eq!(joined_terms(text), terms(text).join(" "), "{text}");
        }
        assert_eq!(terms("用户API、张三"), ["用", "户", "用户", "api", "张", "三", "张三"]);
    }

    #[test]
    fn c6_every_script_gives_terms() {
        for text in ["Удалить заказ", "احذف الطلب", "מחק", "사용자 삭제", "ลบผู้ใช้", "ελληνικά"]
        {
            assert!(!terms(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn b5_punctuation_alone_gives_no_term() {
        for text in ["%", "", "***", "()", "\" \"", "。。"] {
            assert_eq!(terms(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn f41_f42_apostrophes_and_versions_keep_their_parts() {
        assert!(terms("don't delete Bob's file").contains(&"bob".to_owned()));
        assert!(terms("upgrade to 20.04").contains(&"20.04".to_owned()));
    }

    #[test]
    fn b15_a_pasted_book_costs_64_terms() {
        let book = (0..200_000).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
        assert_eq!(query_terms(&book).len(), MAX_QUERY_TERMS);
    }
}
