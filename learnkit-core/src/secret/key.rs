//! Names of fields: which ones say that their value is a secret, and which that it is an id.

/// Names whose values are secret, as words in lowercase; also as the last words of a longer name.
const SECRET_NAMES: [&[&str]; 26] = [
    &["password"],
    &["passwd"],
    &["pwd"],
    &["passphrase"],
    &["passcode"],
    &["secret"],
    &["token"],
    &["authorization"],
    &["bearer"],
    &["jwt"],
    &["cookie"],
    &["credential"],
    &["credentials"],
    &["apikey"],
    &["api", "key"],
    &["secret", "key"],
    &["access", "key"],
    &["private", "key"],
    &["signing", "key"],
    &["encryption", "key"],
    &["master", "key"],
    &["account", "key"],
    &["auth", "key"],
    &["session", "key"],
    &["connection", "string"],
    &["authtoken"],
];

/// The same written as one word, as people do.
const RUN_TOGETHER: [&str; 17] = [
    "clientsecret",
    "secretkey",
    "accesstoken",
    "refreshtoken",
    "idtoken",
    "bearertoken",
    "apitoken",
    "sessiontoken",
    "securitytoken",
    "xapikey",
    "accesskey",
    "privatekey",
    "sessionkey",
    "secretaccesskey",
    "setcookie",
    "userpassword",
    "dbpassword",
];

/// The ends of all of them.
const ENDS: [[u8; 2]; 14] =
    [*b"rd", *b"wd", *b"se", *b"de", *b"et", *b"en", *b"on", *b"er", *b"wt", *b"ie", *b"al", *b"ls", *b"ey", *b"ng"];

/// A token by one of these names only says where to go on, or counts.
const HARMLESS_TOKENS: [&str; 34] = [
    "page",
    "next",
    "prev",
    "previous",
    "continuation",
    "cursor",
    "sync",
    "resume",
    "skip",
    "max",
    "min",
    "total",
    "num",
    "per",
    "pad",
    "eos",
    "bos",
    "unk",
    "mask",
    "stop",
    "start",
    "end",
    "special",
    "input",
    "output",
    "cancel",
    "offer",
    "search",
    "result",
    "listing",
    "item",
    "query",
    "filter",
    "scroll",
];

/// Names whose values tell things apart; random ones are no secrets.
const ID_NAMES: [&str; 44] = [
    "id",
    "ids",
    "uuid",
    "guid",
    "uid",
    "ulid",
    "hash",
    "sha",
    "sha1",
    "sha256",
    "sha512",
    "md5",
    "digest",
    "checksum",
    "integrity",
    "etag",
    "commit",
    "revision",
    "rev",
    "oid",
    "cursor",
    "ref",
    "reference",
    "number",
    "code",
    "sku",
    "slug",
    "handle",
    "fingerprint",
    "version",
    "image",
    "thumbnail",
    "photo",
    "avatar",
    "icon",
    "url",
    "uri",
    "href",
    "link",
    "path",
    "file",
    "filename",
    "name",
    "address",
];

/// Whether a field's value is secret. Numbers in such a field count too, so counters are named apart.
pub(crate) fn is_secret_key(key: &str) -> bool {
    if !may_be_secret(key) {
        return false;
    }
    let words = words(key);
    let [.., last] = words.as_slice() else { return false };
    if RUN_TOGETHER.contains(&last.as_str()) {
        return true;
    }
    let is_named = SECRET_NAMES.iter().any(|name| {
        words.len() >= name.len() && words.iter().rev().zip(name.iter().rev()).all(|(word, name)| word == name)
    });
    let before = words.len().checked_sub(2).and_then(|at| words.get(at));
    let leads_on = last == "token" && before.is_some_and(|word| HARMLESS_TOKENS.contains(&word.as_str()));
    is_named && !leads_on
}

/// Whether a field names something, so that a random value of it is no secret.
pub(super) fn is_id_key(key: &str) -> bool {
    let words = words(key);
    let [.., last] = words.as_slice() else { return false };
    let before = words.len().checked_sub(2).and_then(|at| words.get(at));
    let leads_on = last == "token" && before.is_some_and(|word| HARMLESS_TOKENS.contains(&word.as_str()));
    leads_on || ID_NAMES.contains(&last.as_str())
}

/// A quick look at the last two letters: most fields have nothing in common with a secret name.
fn may_be_secret(key: &str) -> bool {
    let mut last = key.bytes().rev().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase());
    let (Some(last), Some(before)) = (last.next(), last.next()) else { return false };
    ENDS.contains(&[before, last])
}

/// The words of a name in lowercase: `AWS_SECRET_ACCESS_KEY`, `refreshToken`, `x-api-key`.
fn words(key: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut chars = key.chars().peekable();
    let (mut before, mut open) = (' ', false);
    while let Some(char) = chars.next() {
        if char.is_alphanumeric() {
            let next_is_lower = chars.peek().is_some_and(|next| next.is_lowercase());
            // `apiKey`, and the last capital of `APIKey`.
            let is_start = char.is_uppercase() && (before.is_lowercase() || (before.is_uppercase() && next_is_lower));
            if !open || is_start {
                words.push(String::new());
            }
            open = true;
            if let Some(word) = words.last_mut() {
                word.extend(char.to_lowercase());
            }
        } else {
            open = false;
        }
        before = char;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_secret_by_its_last_words() {
        for key in [
            "password",
            "db_password",
            "AWS_SECRET_ACCESS_KEY",
            "webhook_secret",
            "GH_TOKEN",
            "X-Api-Key",
            "apiKey",
            "APIKey",
            "refreshToken",
            "_authToken",
            "clientSecret",
            "client_secret",
            "private-key",
            "Set-Cookie",
            "Authorization",
            "csrfToken",
            "accesskey",
            "Proxy-Authorization",
            "Access-Token",
            "pwd",
        ] {
            assert!(is_secret_key(key), "{key}");
        }
        for key in [
            "tokens",
            "max_tokens",
            "next_page_token",
            "nextPageToken",
            "primary_key",
            "key",
            "keys",
            "author",
            "authorizations",
            "public_key_count",
            "secretary",
            "tokenizer",
            "passenger",
            "cookie_banner",
            "keyboard",
            "password_hint_shown",
            "token_count",
            "idempotency_key",
            "id",
            "k",
        ] {
            assert!(!is_secret_key(key), "{key}");
        }
    }

    #[test]
    fn the_quick_look_passes_over_no_secret_name() {
        let ends = SECRET_NAMES.iter().filter_map(|name| name.last()).chain(&RUN_TOGETHER);
        assert!(ends.clone().all(|name| may_be_secret(name)), "{:?}", ends.collect::<Vec<_>>());
    }

    #[test]
    fn an_id_is_named_by_its_last_word() {
        for key in ["id", "reservation_id", "orderId", "sha256", "next_page_token", "thumbnailUrl", "commit"] {
            assert!(is_id_key(key), "{key}");
        }
        for key in ["paid", "note", "value", "session", "identity"] {
            assert!(!is_id_key(key), "{key}");
        }
    }
}
