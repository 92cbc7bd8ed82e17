//! Walking through a value: every leaf, object and list with its place, without a copy of either.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Json, MAX_DEPTH};

/// What a walk comes to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Seen<'j> {
    /// A scalar, or an empty list or object.
    Leaf(&'j Json),
    /// An object with its fields; they come next.
    Object(&'j BTreeMap<String, Json>),
    /// A list with its items; they come next.
    List(&'j [Json]),
}

/// A JSON pointer (RFC 6901) in both forms. `#` steps into JSON inside a string; keys that read
/// like `*` or `#` are escaped as `~2` and `~3`.
#[derive(Debug, Default)]
pub(crate) struct Place {
    pointer: String,
    pattern: String,
    strings: usize,
}

impl Place {
    /// The place with list positions.
    pub(crate) fn pointer(&self) -> &str {
        &self.pointer
    }

    /// The place with `*` for every list position.
    pub(crate) fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Whether it lies in JSON inside a string.
    pub(crate) fn is_in_string(&self) -> bool {
        self.strings > 0
    }

    pub(super) fn key(&mut self, key: &str) {
        let step = match key {
            "*" => "~2",
            "#" => "~3",
            plain if !plain.contains(['~', '/']) => plain,
            odd => return self.step(&odd.replace('~', "~0").replace('/', "~1")),
        };
        self.step(step);
    }

    pub(super) fn step(&mut self, step: &str) {
        for path in [&mut self.pointer, &mut self.pattern] {
            path.push('/');
            path.push_str(step);
        }
    }

    /// How long both forms are, to come back to.
    pub(super) fn lengths(&self) -> [usize; 2] {
        [self.pointer.len(), self.pattern.len()]
    }

    /// Goes back to where it was so long.
    pub(super) fn truncate(&mut self, [pointer, pattern]: [usize; 2]) {
        self.pointer.truncate(pointer);
        self.pattern.truncate(pattern);
    }

    pub(super) fn item(&mut self, index: usize) {
        // Writing to a string cannot fail.
        let _ = write!(self.pointer, "/{index}");
        self.pattern.push_str("/*");
    }
}

/// Visits everything in a value that lies on the way to a pattern, or everything there is.
pub(super) fn walk(json: &Json, towards: Option<&str>, visit: &mut impl FnMut(&Place, Seen<'_>)) {
    Walk { place: Place::default(), towards, visit }.value(json, 0);
}

struct Walk<'w, V> {
    place: Place,
    towards: Option<&'w str>,
    visit: &'w mut V,
}

impl<V: FnMut(&Place, Seen<'_>)> Walk<'_, V> {
    fn value(&mut self, json: &Json, depth: usize) {
        if depth > MAX_DEPTH || self.towards.is_some_and(|pattern| !pattern.starts_with(self.place.pattern())) {
            return;
        }
        match json {
            Json::List(items) => {
                self.see(Seen::List(items));
                for (index, item) in items.iter().enumerate() {
                    self.inner(item, depth, |place| place.item(index));
                }
            }
            Json::Object(fields) => {
                self.see(Seen::Object(fields));
                for (key, value) in fields {
                    self.inner(value, depth, |place| place.key(key));
                }
            }
            Json::Text(text) => {
                if let Some(opened) = Json::opened(text) {
                    self.place.strings += 1;
                    self.inner(&opened, depth, |place| place.step("#"));
                    self.place.strings -= 1;
                    return;
                }
            }
            _ => {}
        }
        if matches!(json, Json::List(items) if !items.is_empty())
            || matches!(json, Json::Object(all) if !all.is_empty())
        {
            return;
        }
        self.see(Seen::Leaf(json));
    }

    fn see(&mut self, seen: Seen<'_>) {
        (self.visit)(&self.place, seen);
    }

    fn inner(&mut self, json: &Json, depth: usize, step: impl FnOnce(&mut Place)) {
        let before = self.place.lengths();
        step(&mut self.place);
        self.value(json, depth + 1);
        self.place.truncate(before);
    }
}
