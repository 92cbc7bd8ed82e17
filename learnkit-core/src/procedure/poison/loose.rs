//! Reading results that are no JSON, only to tell records from prose: literals as Python prints them,
//! also cut off at any point, and lists by lines.
//!
//! Nothing that is read here is ever bound or sent; a text that is not surely a record stays prose.

/// Deeper literals are prose.
const MAX_DEPTH: usize = 64;
/// A line of a list is at most so long, in bytes.
const MAX_LINE_BYTES: usize = 80;
/// A line of a list has at most so many words.
const MAX_LINE_WORDS: usize = 8;

/// What a text says.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Read {
    /// Values and keys that stand by themselves.
    pub(super) values: Vec<String>,
    /// What was cut off in the middle.
    pub(super) prose: Vec<String>,
}

/// Reads a literal such as `[{'id': 7, 'note': "it's"}]`; the end may be cut off.
pub(super) fn literal(text: &str) -> Option<Read> {
    let text = text.trim();
    text.starts_with(['[', '{', '(']).then_some(())?;
    let mut reader = Reader { rest: text, read: Read::default() };
    reader.value(0)?;
    reader.rest.trim().is_empty().then_some(reader.read)
}

struct Reader<'t> {
    rest: &'t str,
    read: Read,
}

impl Reader<'_> {
    /// Takes one value; nothing where the text is no literal.
    fn value(&mut self, depth: usize) -> Option<()> {
        self.rest = self.rest.trim_start();
        match self.rest.chars().next() {
            None => Some(()),
            Some('[') => self.items(']', depth),
            Some('{') => self.items('}', depth),
            Some('(') => self.items(')', depth),
            Some(quote @ ('\'' | '"')) => {
                self.quoted(quote);
                Some(())
            }
            Some(_) => self.word(),
        }
    }

    fn items(&mut self, close: char, depth: usize) -> Option<()> {
        (depth < MAX_DEPTH).then_some(())?;
        self.take(1);
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.is_empty() {
                return Some(());
            }
            if self.rest.starts_with(close) {
                self.take(1);
                return Some(());
            }
            self.value(depth + 1)?;
            self.rest = self.rest.trim_start();
            // `datetime(…)` and `<Color.RED: 'red'>` go on without a comma.
            let goes_on = self.rest.is_empty() || self.rest.starts_with([close, '(']);
            if !goes_on {
                self.rest = self.rest.strip_prefix([',', ':', '>'])?.trim_start_matches([',', '>']);
            }
        }
    }

    fn quoted(&mut self, quote: char) {
        let mut value = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, char)) = chars.next() {
            match char {
                '\\' => match chars.next() {
                    Some((_, 'n' | 'r' | 't')) => value.push(' '),
                    Some((_, escaped)) => value.push(escaped),
                    None => {}
                },
                end if end == quote => {
                    self.read.values.push(value);
                    return self.take(at + 1);
                }
                char => value.push(char),
            }
        }
        self.read.prose.push(value);
        self.rest = "";
    }

    /// A number or a name. A name without quotes, such as `True`, is no value: a sentence in brackets has many.
    fn word(&mut self) -> Option<()> {
        const ENDS: [char; 11] = [',', ':', '[', ']', '{', '}', '(', ')', '\'', '"', '>'];
        let ends = |char: char| char.is_whitespace() || ENDS.contains(&char);
        let length = self.rest.find(ends).unwrap_or(self.rest.len());
        let word = self.rest.get(..length).filter(|word| !word.is_empty())?;
        if word.parse::<f64>().is_ok() {
            self.read.values.push(word.to_owned());
        }
        self.take(length);
        Some(())
    }

    fn take(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }
}

/// Reads a list by lines: each has short names, as in `name (note), name`, or `key: value` pairs. One line of prose makes all of it prose.
pub(super) fn lines(text: &str) -> Option<Read> {
    let mut read = Read::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let line = line.trim_start_matches(['-', '*', '•', ' ']);
        let parts: Vec<&str> = line.split(", ").collect();
        if !parts.iter().all(|part| is_short(part)) {
            return None;
        }
        read.values.push(line.to_owned());
        for part in parts {
            read.values.push(part.to_owned());
            if let Some((name, _)) = part.split_once(" (") {
                read.values.push(name.to_owned());
            }
            if let Some((key, value)) = part.split_once(": ") {
                read.values.extend([key.trim().to_owned(), value.trim().to_owned()]);
            }
        }
    }
    (!read.values.is_empty()).then_some(read)
}

fn is_short(line: &str) -> bool {
    let ends_inside = [". ", "! ", "? ", "; "].iter().any(|end| line.contains(end));
    let ends = line.ends_with(['.', '!', '?', ';']);
    line.len() <= MAX_LINE_BYTES && line.split_whitespace().count() <= MAX_LINE_WORDS && !ends && !ends_inside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(read: Option<Read>) -> Vec<String> {
        read.unwrap().values
    }

    #[test]
    fn a_python_literal_gives_its_values() {
        let text = r#"[{'id_': '25', 'title': "Emma's \"day\"", 'n': 7, 'ok': True, 'at': datetime(2024, 5), 'color': <Color.RED: 'red'>}, ('a',)]"#;
        let expected = ["id_", "25", "title", "Emma's \"day\"", "n", "7", "ok", "at", "2024", "5", "color", "red", "a"];
        assert_eq!(values(literal(text)), expected);
    }

    #[test]
    fn what_is_cut_off_inside_a_value_is_prose() {
        let read = literal(r"[{'id': '3', 'content': 'write to eve@evil.com an").unwrap();
        assert_eq!(read.values, ["id", "3", "content"]);
        assert_eq!(read.prose, ["write to eve@evil.com an"]);
    }

    #[test]
    fn what_is_no_literal_is_not_read() {
        let deep = "[".repeat(1_000);
        for text in [
            "plain",
            "[Reset](https://a) and more",
            "{'a': 1} trailing",
            "[1)",
            "[send it to 'eve']",
            deep.as_str(),
            "",
        ] {
            assert_eq!(literal(text), None, "{text}");
        }
    }

    #[test]
    fn a_list_by_lines_gives_names_and_fields() {
        assert_eq!(
            values(lines("Hotel Names: Cozy Stay\n- Mom's Home\n\nusers (new), orders")),
            [
                "Hotel Names: Cozy Stay",
                "Hotel Names: Cozy Stay",
                "Hotel Names",
                "Cozy Stay",
                "Mom's Home",
                "Mom's Home",
                "users (new), orders",
                "users (new)",
                "users",
                "orders"
            ]
        );
    }

    #[test]
    fn one_sentence_makes_all_lines_prose() {
        assert_eq!(lines("Total: 98.70\nPlease pay the amount to the account that is given below"), None);
        assert_eq!(lines("Bill\nThank you for your business!"), None);
        assert_eq!(lines(" \n"), None);
    }
}
