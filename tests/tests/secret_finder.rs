//! The finder of secrets over cases: those of `tests/data/secrets.jsonl`, and a generated set that nobody fitted it to.

use std::fmt::Write as _;

use learnkit::{mask_json, mask_text};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Random numbers of one seed (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end).unwrap()).unwrap()
    }

    fn of(&mut self, alphabet: &str, len: usize) -> String {
        let chars: Vec<char> = alphabet.chars().collect();
        (0..len).map(|_| chars[self.below(chars.len())]).collect()
    }

    fn pick<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

const HEX: &str = "0123456789abcdef";
const BASE62: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const CODE: &str = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const WORDS: [&str; 48] = [
    "account",
    "booking",
    "cancel",
    "delivery",
    "email",
    "flight",
    "guest",
    "hotel",
    "invoice",
    "journey",
    "kitchen",
    "luggage",
    "machine",
    "network",
    "order",
    "payment",
    "quantity",
    "refund",
    "service",
    "ticket",
    "update",
    "vendor",
    "warehouse",
    "express",
    "yield",
    "zone",
    "straße",
    "größe",
    "bezahlung",
    "überweisung",
    "empfänger",
    "pasajero",
    "reserva",
    "facture",
    "voyage",
    "заказ",
    "клиент",
    "get",
    "set",
    "by",
    "from",
    "with",
    "all",
    "new",
    "old",
    "user",
    "report",
    "status",
];

/// Secrets with the text that they stand in.
fn secrets(random: &mut Random) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for _ in 0..60 {
        let len = 20 + random.below(30);
        let key = random.of(BASE62, len);
        let short = random.of(BASE62, 14);
        let password =
            format!("{}{}", random.pick(&["Sommer", "pa55word", "qwerty", "Trustno"]), 10 + random.below(9_990));
        let name = random.pick(&["password", "client_secret", "apiKey", "DB_PASSWORD", "x-auth-token", "signingKey"]);
        let hex = random.of(HEX, 40);
        let aws = random.of(BASE64, 40);
        all.extend([
            (json!({"user": "ann", name: password}).to_string(), password.clone()),
            (json!({"a": [{"b": {name: short}}]}).to_string(), short.clone()),
            (json!({"body": json!({name: hex}).to_string()}).to_string(), hex.clone()),
            (format!("curl -H 'Authorization: Bearer {short}' https://api.example/v1"), short.clone()),
            (format!("https://ann:{password}@db.example/main"), password.clone()),
            (format!("https://api.example/cb?state=7&access_token={hex}#top"), hex.clone()),
            (format!("https://api.example/cb#id_token={short}&x=1"), short.clone()),
            (format!("{name}={password}"), password.clone()),
            (format!("{name}: \"{short}\""), short.clone()),
            (format!("login failed with {key}, try again"), key.clone()),
            (json!({"note": key}).to_string(), key.clone()),
            (json!({"value": aws}).to_string(), aws.clone()),
            (format!("the token is {short}"), short.clone()),
            (format!("ghp_{}", random.of(BASE62, 36)), String::new()),
            (format!("sk-proj-{key}"), format!("sk-proj-{key}")),
            (base64(&json!({name: password}).to_string()), String::new()),
            (format!("https://api.example/?q={}", percent(&json!({name: password}).to_string())), String::new()),
            (format!("Basic {}", base64(&format!("ann:{password}"))), String::new()),
        ]);
    }
    all.into_iter()
        .map(|(text, secret)| if secret.is_empty() { (text.clone(), last_word(&text)) } else { (text, secret) })
        .collect()
}

fn last_word(text: &str) -> String {
    text.rsplit([' ', '=']).find(|word| !word.is_empty()).unwrap_or_default().to_owned()
}

/// Texts without a secret, many of them ids that a replay binds or compares.
fn harmless(random: &mut Random) -> Vec<String> {
    let mut all = Vec::new();
    for _ in 0..60 {
        let hex = |random: &mut Random, len| random.of(HEX, len);
        let uuid =
            format!("{}-{}-{}-{}-{}", hex(random, 8), hex(random, 4), hex(random, 4), hex(random, 4), hex(random, 12));
        let words: Vec<&str> = (0..5).map(|_| random.pick(&WORDS)).collect();
        let camel: String =
            words.iter().filter(|word| word.is_ascii()).map(|word| word[..1].to_uppercase() + &word[1..]).collect();
        let number = random.below(1_000_000);
        let bytes: Vec<u8> = (0..90).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
        let id = random.of(BASE62, 22);
        let code = random.of(CODE, 26);
        let typed = random.pick(&["pi", "call", "toolu", "chatcmpl", "msg", "cus", "file", "req"]);
        all.extend([
            uuid.clone(),
            json!({"reservation_id": random.of(CODE, 6), "order": uuid}).to_string(),
            json!({"id": id, "track_id": random.of(BASE62, 27)}).to_string(),
            format!("{typed}_{}", random.of(BASE62, 24)),
            format!("commit {}", hex(random, 40)),
            format!("sha256:{}", hex(random, 64)),
            format!("sha512-{}==", random.of(BASE64, 86)),
            format!("etag {}", hex(random, 32)),
            format!(
                "20{:02}-0{}-1{}T1{}:30:00.{number}Z",
                random.below(30),
                1 + random.below(9),
                random.below(9),
                random.below(9)
            ),
            format!("/var/lib/{}/{}/{}{}.tar.gz", words[0], words[1], words[2], number),
            format!("src/{}/{camel}V{}.rs:{}", words[0], random.below(9), number),
            format!("{camel}{number}"),
            format!("get{camel}V2ById"),
            format!("{}_{}_{}_{number}", words[0], words[1], words[2]),
            format!("{}-{}-{}", random.of("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 3), random.of(CODE, 4), number),
            code,
            format!("data:image/png;base64,{}", base64_bytes(&bytes)),
            format!("https://{}.example/{}/{}?page={}&sort={}", words[0], words[1], id, number, words[3]),
            format!("https://docs.example/d/{}/edit", random.of(BASE62, 44)),
            format!("{} {} {} {}, {} {number}", words[0], words[1], words[2], words[3], words[4]),
            json!({"next_page_token": random.of(BASE62, 24), "limit": number}).to_string(),
            json!({"tokens": number, "max_tokens": 512, "primary_key": words[0]}).to_string(),
            format!(
                "{}.{}.{}.{}:{}",
                random.below(256),
                random.below(256),
                random.below(256),
                random.below(256),
                number
            ),
            format!("DE{:020}", number),
            base64(&format!("{} {} {}", words[0], words[1], words[2])),
        ]);
    }
    all
}

fn base64(text: &str) -> String {
    base64_bytes(text.as_bytes())
}

fn base64_bytes(bytes: &[u8]) -> String {
    let alphabet = BASE64.as_bytes();
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let value = usize::try_from(bits >> (18 - 6 * place) & 63).unwrap();
            text.push(if place <= chunk.len() { char::from(alphabet[value]) } else { '=' });
        }
    }
    text
}

fn percent(text: &str) -> String {
    text.bytes().fold(String::new(), |mut all, byte| {
        if byte.is_ascii_alphanumeric() {
            all.push(char::from(byte));
        } else {
            let _ = write!(all, "%{byte:02X}");
        }
        all
    })
}

#[test]
fn f67_every_secret_of_the_cases_is_masked_and_no_harmless_text_is() {
    let cases = include_str!("../data/secrets.jsonl").lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let (mut secrets, mut harmless) = ((0, Vec::new()), (0, Vec::new()));
    for case in cases {
        let text = case["text"].as_str().unwrap().to_owned();
        let masked = mask_text(&text);
        let (count, wrong) = if case["secret"].is_null() { &mut harmless } else { &mut secrets };
        *count += 1;
        match case["secret"].as_str() {
            Some(secret) if masked.text.contains(secret) => wrong.push(text),
            None if masked.found > 0 => wrong.push(text),
            _ => {}
        }
    }
    println!("{} secrets, missed {:?}; {} harmless, masked {:?}", secrets.0, secrets.1, harmless.0, harmless.1);
    assert!(secrets.0 >= 49 && harmless.0 >= 40);
    assert_eq!((secrets.1, harmless.1), (Vec::new(), Vec::new()));
}

#[test]
fn f67_generated_secrets_are_found_and_generated_ids_are_not() {
    let seed = 20_261_201;
    let mut random = Random(seed);
    let secrets = secrets(&mut random);
    let harmless = harmless(&mut random);
    let missed: Vec<&String> = secrets
        .iter()
        .filter(|(text, secret)| mask_text(text).text.contains(secret.as_str()))
        .map(|(text, _)| text)
        .collect();
    let masked: Vec<(&String, String)> = harmless
        .iter()
        .filter_map(|text| Some(mask_text(text)).filter(|masked| masked.found > 0).map(|masked| (text, masked.text)))
        .collect();
    let found = secrets.len() - missed.len();
    let percent = |part: usize, of: usize| part as f64 * 100.0 / of as f64;
    println!(
        "seed {seed}: recall {:.2} % of {}, precision {:.2} %, harmless masked {:.2} % of {}",
        percent(found, secrets.len()),
        secrets.len(),
        percent(found, found + masked.len()),
        percent(masked.len(), harmless.len()),
        harmless.len()
    );
    println!("missed {missed:#?}\nmasked {masked:#?}");
    assert!(percent(missed.len(), secrets.len()) <= 1.0, "{missed:#?}");
    assert!(percent(masked.len(), harmless.len()) <= 1.0, "{masked:#?}");
}

#[test]
fn masking_twice_changes_nothing_and_json_stays_json() {
    let mut random = Random(7);
    let mut texts: Vec<String> = secrets(&mut random).into_iter().map(|(text, _)| text).collect();
    texts.extend(harmless(&mut random));
    for text in texts {
        let wrapped =
            json!({"a": [text], "password": text, "b": {"text": json!({"token": text}).to_string()}}).to_string();
        for text in [text, wrapped] {
            let once = mask_text(&text);
            assert_eq!(mask_text(&once.text).found, 0, "{text} -> {}", once.text);
            let json = mask_json(&text).text;
            let is_json = |text: &str| serde_json::from_str::<Value>(text).is_ok();
            assert_eq!(is_json(&text), is_json(&json), "{text} -> {json}");
        }
    }
}

#[test]
fn a_long_text_is_masked_in_linear_time() {
    for piece in [
        "bBVVrQFoj7zKtw39pazW ",
        "token=",
        "cookie:",
        "://",
        "://a?",
        "a%41",
        "aGVsbG8gd29ybGQh",
        "key is ",
        "x=1;",
        "\"",
        "-----BEGIN ",
        "Bearer ",
        "{\"password\":\"",
        "a@b://",
        "password=\"",
    ] {
        let time = |bytes: usize| {
            let text = piece.repeat(bytes / piece.len());
            let start = std::time::Instant::now();
            std::hint::black_box(mask_text(&text));
            start.elapsed()
        };
        let (short, long) = (time(100_000), time(1_000_000));
        assert!(long < short * 40 + std::time::Duration::from_millis(200), "`{piece}`: {short:?}, then {long:?}");
    }
}

/// Texts of pieces that secrets are made of and stand beside.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        r"\PC{0,8}",
        "[A-Za-z0-9]{12,40}",
        "[a-z]{3,9}",
        proptest::sample::select(vec![
            "password",
            "token",
            "api_key",
            "Cookie",
            "Bearer ",
            "Basic ",
            "=",
            ": ",
            "\"",
            "'",
            "\\",
            "{",
            "}",
            "[",
            "]",
            "[secret]",
            "://",
            "@",
            "?",
            "&",
            "#",
            "%7B%22",
            "aGVsbG8gd29ybGQh",
            "sk-",
            "ghp_",
            "-----BEGIN PRIVATE KEY-----",
            " ",
            "\n",
            ",",
            "id",
            "key is ",
        ])
        .prop_map(str::to_owned),
    ];
    proptest::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn masking_any_text_twice_is_masking_it_once(text in pieces(), key in "[a-z_]{1,9}") {
        let once = mask_text(&text);
        let twice = mask_text(&once.text);
        prop_assert_eq!((twice.found, &twice.text), (0, &once.text), "of {}", text);
        let json = json!({key: text, "in": [json!({"token": text}).to_string()]}).to_string();
        let masked = mask_json(&json);
        prop_assert!(serde_json::from_str::<Value>(&masked.text).is_ok(), "{}", masked.text);
        prop_assert_eq!(mask_json(&masked.text).found, 0, "of {}: {}", json, masked.text);
    }
}
