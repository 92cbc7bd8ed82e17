//! Targets: where an effect goes, such as a payee, an address or a file.
//!
//! An argument is a target by its name, a value by its shape. Both lists are documented in ADR 0019.

use std::sync::LazyLock;

use regex::Regex;

/// Arguments with one of these words in their names are targets.
const NAMES: [&str; 107] = [
    "account",
    "accounts",
    "address",
    "addresses",
    "airline",
    "assignee",
    "attachment",
    "attachments",
    "attendee",
    "attendees",
    "bcc",
    "beneficiary",
    "bic",
    "branch",
    "bucket",
    "callback",
    "card",
    "cc",
    "channel",
    "channels",
    "cmd",
    "command",
    "company",
    "contact",
    "contacts",
    "destination",
    "dir",
    "directory",
    "domain",
    "email",
    "emails",
    "endpoint",
    "file",
    "filename",
    "filenames",
    "files",
    "folder",
    "folders",
    "group",
    "groups",
    "guest",
    "guests",
    "host",
    "hostname",
    "hotel",
    "href",
    "iban",
    "id",
    "ids",
    "invitee",
    "invitees",
    "ip",
    "key",
    "link",
    "links",
    "mail",
    "member",
    "members",
    "merchant",
    "mobile",
    "owner",
    "package",
    "participant",
    "participants",
    "passwd",
    "password",
    "path",
    "paths",
    "payee",
    "phone",
    "pin",
    "provider",
    "receiver",
    "recipient",
    "recipients",
    "remote",
    "repo",
    "repository",
    "restaurant",
    "room",
    "script",
    "seller",
    "server",
    "shop",
    "site",
    "sites",
    "store",
    "supplier",
    "swift",
    "team",
    "to",
    "token",
    "uid",
    "uri",
    "url",
    "urls",
    "user",
    "username",
    "usernames",
    "users",
    "uuid",
    "vendor",
    "wallet",
    "webhook",
    "website",
    "websites",
    "workspace",
];

/// Names that say nothing of their own, so that the name of the object around them counts.
const GENERIC: [&str; 5] = ["name", "number", "text", "uid", "value"];

/// Whether the argument at a pattern is a target by its name.
pub(super) fn is_named(pattern: &str) -> bool {
    let mut keys = pattern.rsplit('/').filter(|key| !matches!(*key, "" | "*" | "#"));
    let Some(last) = keys.next() else { return false };
    has_target_word(last) || (GENERIC.contains(&last) && keys.next().is_some_and(has_target_word))
}

fn has_target_word(name: &str) -> bool {
    name_words(name).iter().any(|word| NAMES.binary_search(&word.as_str()).is_ok())
}

/// The words of a name such as `user_email`, `userEmail` or `IBANOfPayee`, in lowercase.
pub(super) fn name_words(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, char) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| chars.get(at));
        let is_hump = char.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || (before.is_uppercase() && chars.get(at + 1).is_some_and(|next| next.is_lowercase()))
            });
        if is_hump || !char.is_alphabetic() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| char.is_alphabetic()) {
            word.extend(char.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The addresses in a text in lowercase: e-mail, URL, domain, IP, account and wallet numbers, phone numbers.
pub(super) fn addresses(text: &str) -> Vec<&str> {
    static SHAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(concat!(
            r#"[a-z][a-z0-9+.-]*://[^\s'"<>()\[\]{}|\\^`]+|"#,
            r"[\w.%+-]+@[\w-]+(?:\.[\w-]+)+|",
            r#"www\.[^\s'"<>()\[\]{}|\\^`]+|"#,
            r"\b(?:[\w-]+\.)+(?:com|org|net|io|dev|app|info|biz|co|me|ai|edu|gov|ru|cn|uk|de|fr|xyz|site|online|top|ly|link)\b",
            r#"(?:[:/?#][^\s'"<>()\[\]{}|\\^`]*)?|"#,
            r"\b\d{1,3}(?:\.\d{1,3}){3}\b|",
            r"\b[a-z]{2}\d{2}(?:[a-z0-9]{10,30}|(?: [a-z0-9]{2,4}){3,8})\b|",
            r"\b0x[0-9a-f]{40}\b|\bbc1[a-z0-9]{25,60}\b|",
            r"\+\d[\d ()-]{7,}\d",
        ))
        .ok()
    });
    let found = SHAPES.as_ref().into_iter().flat_map(|shapes| shapes.find_iter(text));
    found.map(|found| found.as_str().trim_end_matches(['.', ',', ';', ':', '!', '?', '/'])).collect()
}

/// What an address is made of and could be recognised by: its host and the domains above it.
pub(super) fn domains(address: &str) -> Vec<&str> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    let is_number = host.split('.').all(|label| label.bytes().all(|byte| byte.is_ascii_digit()));
    if is_number || !host.contains('.') {
        return Vec::new();
    }
    let mut domains = vec![host];
    let above = host.match_indices('.').filter_map(|(at, _)| host.get(at + 1..));
    domains.extend(above.filter(|domain| domain.contains('.')));
    domains
}

/// Whether a whole value is the path or name of a file.
pub(super) fn is_path(value: &str) -> bool {
    static PATH: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"^(?:(?:~|\.{1,2})?/|[a-z]:[\\/])\S+$|^[\w.-]+(?:/[\w.-]+)+$|^[\w-]+(?:\.[\w-]+)*\.[a-z][a-z0-9]{0,4}$",
        )
        .ok()
    });
    PATH.as_ref().is_some_and(|path| path.is_match(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_names_are_sorted_for_the_search() {
        assert!(NAMES.is_sorted());
    }

    #[test]
    fn an_argument_is_a_target_by_a_word_of_its_name() {
        for pattern in
            ["/to", "/userEmail", "/IBANOfPayee", "/recipients/*", "/file_id", "/payee/name", "/a/#/webhook-url"]
        {
            assert!(is_named(pattern), "{pattern}");
        }
        for pattern in ["/body", "/total", "/tomorrow", "/filed", "/name", "/title/value", ""] {
            assert!(!is_named(pattern), "{pattern}");
        }
    }

    #[test]
    fn addresses_are_found_in_any_text() {
        let text = "write to eve@evil.example.com, or see www.evil.com/a?b=c. pay us133000000121212121212 \
                    (gb29 nwbk 6016 1331 9268 19) at https://u@pay.evil.com:8080/x or 10.0.0.1; call +41 44 123 45 67!";
        assert_eq!(
            addresses(text),
            [
                "eve@evil.example.com",
                "www.evil.com/a?b=c",
                "us133000000121212121212",
                "gb29 nwbk 6016 1331 9268 19",
                "https://u@pay.evil.com:8080/x",
                "10.0.0.1",
                "+41 44 123 45 67",
            ]
        );
        assert_eq!(addresses("see the report of 2024.05.01, version 1.2.3, e.g. notes.txt and a1b2"), [""; 0]);
    }

    #[test]
    fn an_address_is_recognised_by_its_host_and_the_domains_above() {
        assert_eq!(domains("https://u:p@a.b.evil.com:80/x?y=our.com"), ["a.b.evil.com", "b.evil.com", "evil.com"]);
        assert_eq!(domains("eve@evil.com"), ["evil.com"]);
        assert_eq!(domains("10.0.0.1"), [""; 0]);
        assert_eq!(domains("us133000000121212121212"), [""; 0]);
    }

    #[test]
    fn a_path_is_one_word_with_slashes_or_an_ending() {
        for path in ["/etc/passwd", "./a", "~/x", "c:\\temp", "docs/a.md", "bill-2023.txt", "a.tar.gz"] {
            assert!(is_path(path), "{path}");
        }
        for text in ["and/or maybe", "1.5", "done.", "word", "a sentence.txt of words"] {
            assert!(!is_path(text), "{text}");
        }
    }
}
