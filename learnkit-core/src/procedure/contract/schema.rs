//! Comparing two schemas: structurally where it is clear what a difference means, else it blocks.
//!
//! A schema is entered only through keywords under which a wider schema takes more (`properties`, `items`,
//! `anyOf`, `allOf`, `$defs`, …). Under `oneOf`, `not` or `if` it may take less, so there every difference
//! blocks, and in `$defs` too where such a keyword stands anywhere.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::{ChangeKind, ContractChange};
use crate::json::Json;

/// Keywords under which a wider schema may take less.
const CONTRARY: [&str; 9] = [
    "oneOf",
    "not",
    "if",
    "contains",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
    "unevaluatedItems",
    "propertyNames",
];
/// Limits that take more when they are higher.
const UPPER: [&str; 5] = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
/// Limits that take more when they are lower.
const LOWER: [&str; 5] = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];

type Fields = BTreeMap<String, Json>;

/// Adds every difference between two schemas.
pub(super) fn compare(old: &Json, now: &Json, changes: &mut Vec<ContractChange>) {
    let is_contrary = holds_contrary(old) || holds_contrary(now);
    Comparison { is_contrary, changes }.schema("", old, now);
}

fn holds_contrary(json: &Json) -> bool {
    match json {
        Json::Object(fields) => {
            fields.iter().any(|(key, value)| CONTRARY.contains(&key.as_str()) || holds_contrary(value))
        }
        Json::List(items) => items.iter().any(holds_contrary),
        _ => false,
    }
}

struct Comparison<'c> {
    /// Whether a keyword under which wider may mean less stands anywhere.
    is_contrary: bool,
    changes: &'c mut Vec<ContractChange>,
}

impl Comparison<'_> {
    fn push(&mut self, kind: ChangeKind, place: &str, detail: impl Into<String>) {
        self.changes.push(ContractChange { kind, place: place.to_owned(), detail: detail.into() });
    }

    fn schema(&mut self, place: &str, old: &Json, now: &Json) {
        let (Json::Object(old), Json::Object(now)) = (old, now) else {
            if old != now {
                self.push(ChangeKind::SchemaChanged, place, "");
            }
            return;
        };
        self.fields(place, old, now);
        let keywords: BTreeSet<&String> = old.keys().chain(now.keys()).collect();
        for keyword in keywords {
            // These were compared together.
            if !matches!(keyword.as_str(), "properties" | "required") {
                self.keyword(place, keyword, old.get(keyword), now.get(keyword));
            }
        }
    }

    fn keyword(&mut self, place: &str, keyword: &str, old: Option<&Json>, now: Option<&Json>) {
        if old == now {
            return;
        }
        let here = below(place, keyword);
        match (keyword, old, now) {
            ("type", ..) if types(old) == types(now) => {}
            ("type", ..) => self.push(ChangeKind::TypeChanged, place, arrow(old, now)),
            ("description", ..) => self.push(ChangeKind::DescriptionChanged, place, ""),
            ("enum", Some(Json::List(old)), Some(Json::List(now))) => self.choices(place, old, now),
            ("enum", None, _) => self.push(ChangeKind::EnumShrunk, place, "only certain values now"),
            ("items" | "additionalProperties", Some(old @ Json::Object(_)), Some(now @ Json::Object(_))) => {
                self.schema(&here, old, now);
            }
            ("additionalProperties", None | Some(Json::Bool(true)), None | Some(Json::Bool(true))) => {}
            ("additionalProperties", ..) if now != Some(&Json::Bool(true)) && now.is_some() => {
                self.push(ChangeKind::AdditionalRefused, place, "");
            }
            ("anyOf" | "allOf", Some(Json::List(old)), Some(Json::List(now))) if old.len() == now.len() => {
                for (at, (old, now)) in old.iter().zip(now).enumerate() {
                    self.schema(&below(&here, &at.to_string()), old, now);
                }
            }
            ("$defs" | "definitions", ..) if !self.is_contrary => self.definitions(&here, old, now),
            (limit, ..) if UPPER.contains(&limit) || LOWER.contains(&limit) => self.limit(place, limit, old, now),
            _ => self.push(ChangeKind::SchemaChanged, &here, ""),
        }
    }

    /// Fields and which of them have to be given.
    fn fields(&mut self, place: &str, old: &Fields, now: &Fields) {
        let (Some(old_fields), Some(now_fields)) = (map(old.get("properties")), map(now.get("properties"))) else {
            return self.keyword_pair(place, "properties", old, now);
        };
        let (Some(old_required), Some(now_required)) = (names(old), names(now)) else {
            return self.keyword_pair(place, "required", old, now);
        };
        for (name, schema) in &old_fields {
            let here = below(&below(place, "properties"), name);
            match now_fields.get(name) {
                Some(now) => self.schema(&here, schema, now),
                None => self.push(ChangeKind::FieldRemoved, &here, ""),
            }
        }
        let is_added = |name: &&&String| !old_fields.contains_key(**name) && !now_required.contains(**name);
        for name in now_fields.keys().filter(is_added) {
            self.push(ChangeKind::FieldAdded, &below(&below(place, "properties"), name), name.as_str());
        }
        for name in now_required.difference(&old_required) {
            let is_known = old_fields.contains_key(name);
            let kind = if is_known { ChangeKind::FieldRequired } else { ChangeKind::RequiredFieldAdded };
            self.push(kind, &below(&below(place, "properties"), name), "");
        }
        for name in old_required.difference(&now_required).filter(|name| now_fields.contains_key(*name)) {
            self.push(ChangeKind::FieldNotRequired, &below(&below(place, "properties"), name), "");
        }
    }

    /// What is written in a way that no schema is: any difference blocks.
    fn keyword_pair(&mut self, place: &str, keyword: &str, old: &Fields, now: &Fields) {
        if old.get("properties") != now.get("properties") || old.get("required") != now.get("required") {
            self.push(ChangeKind::SchemaChanged, &below(place, keyword), "");
        }
    }

    fn choices(&mut self, place: &str, old: &[Json], now: &[Json]) {
        let gone: Vec<String> = old.iter().filter(|value| !now.contains(value)).map(Json::to_text).collect();
        let new: Vec<String> = now.iter().filter(|value| !old.contains(value)).map(Json::to_text).collect();
        if !gone.is_empty() {
            self.push(ChangeKind::EnumShrunk, place, format!("without {}", gone.join(", ")));
        } else if !new.is_empty() {
            self.push(ChangeKind::EnumWidened, place, format!("also {}", new.join(", ")));
        }
    }

    /// Definitions count where they are used; a new one is used only by something that is new as well.
    fn definitions(&mut self, place: &str, old: Option<&Json>, now: Option<&Json>) {
        let (Some(old), Some(now)) = (map(old), map(now)) else {
            return self.push(ChangeKind::SchemaChanged, place, "");
        };
        for (name, schema) in old {
            let here = below(place, name);
            match now.get(name) {
                Some(now) => self.schema(&here, schema, now),
                None => self.push(ChangeKind::SchemaChanged, &here, "the definition is gone"),
            }
        }
    }

    fn limit(&mut self, place: &str, keyword: &str, old: Option<&Json>, now: Option<&Json>) {
        let number = |json: Option<&Json>| match json {
            Some(Json::Number(text)) => text.parse::<f64>().ok().filter(|number| number.is_finite()),
            _ => None,
        };
        let detail = format!("`{keyword}` {}", arrow(old, now));
        let wider = if UPPER.contains(&keyword) { Ordering::Less } else { Ordering::Greater };
        let kind = match (number(old), number(now)) {
            (Some(_), None) if now.is_none() => ChangeKind::LimitWidened,
            (None, Some(_)) if old.is_none() => ChangeKind::LimitNarrowed,
            (Some(old), Some(now)) => match old.partial_cmp(&now) {
                Some(order) if order == wider => ChangeKind::LimitWidened,
                Some(Ordering::Equal) | None => ChangeKind::SchemaChanged,
                Some(_) => ChangeKind::LimitNarrowed,
            },
            _ => ChangeKind::SchemaChanged,
        };
        self.push(kind, place, detail);
    }
}

/// A JSON pointer one step further.
fn below(place: &str, key: &str) -> String {
    format!("{place}/{}", key.replace('~', "~0").replace('/', "~1"))
}

fn arrow(old: Option<&Json>, now: Option<&Json>) -> String {
    let said = |json: Option<&Json>| json.map_or_else(|| "not stated".to_owned(), Json::to_text);
    format!("{} → {}", said(old), said(now))
}

/// The types of a value as a set; one type and a list of one are the same.
fn types(json: Option<&Json>) -> Option<BTreeSet<String>> {
    match json? {
        Json::List(items) => Some(items.iter().map(Json::to_text).collect()),
        one => Some(BTreeSet::from([one.to_text()])),
    }
}

/// A map of names to schemas; empty where there is none, absent where it is no map.
fn map(json: Option<&Json>) -> Option<BTreeMap<&String, &Json>> {
    match json {
        None => Some(BTreeMap::new()),
        Some(Json::Object(fields)) => Some(fields.iter().collect()),
        Some(_) => None,
    }
}

/// The fields that have to be given; absent where that is no list of names.
fn names(schema: &Fields) -> Option<BTreeSet<String>> {
    match schema.get("required") {
        None => Some(BTreeSet::new()),
        Some(Json::List(items)) => {
            let name = |item: &Json| if let Json::Text(name) = item { Some(name.clone()) } else { None };
            items.iter().map(name).collect()
        }
        Some(_) => None,
    }
}
