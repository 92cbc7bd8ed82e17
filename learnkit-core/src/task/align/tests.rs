use proptest::prelude::*;

use super::*;

fn of(texts: &[&str]) -> Skeleton {
    Skeleton::of(texts).unwrap_or_else(|| panic!("no skeleton of {texts:?}"))
}

fn kinds(texts: &[&str]) -> Vec<SlotKind> {
    of(texts).kinds().collect()
}

#[test]
fn names_that_change_places_each_bind_to_their_own_slot() {
    for (a, b, first, second) in [
        (
            "Transfer 100 EUR from alice to bob",
            "Transfer 100 EUR from bob to alice",
            ["alice", "bob"],
            ["bob", "alice"],
        ),
        (
            "Please transfer 100 EUR from Ann Lee to Jo Park",
            "Please transfer 100 EUR from Jo Park to Ann Lee",
            ["Ann Lee", "Jo Park"],
            ["Jo Park", "Ann Lee"],
        ),
        ("Convert 5 invoices json to yaml", "Convert 5 invoices yaml to json", ["json", "yaml"], ["yaml", "json"]),
        ("Move item 12 from box 7 to 9", "Move item 7 from box 12 to 9", ["12", "7"], ["7", "12"]),
        (
            "Deploy the web app from staging to prod",
            "Deploy the web app from prod to staging",
            ["staging", "prod"],
            ["prod", "staging"],
        ),
    ] {
        let skeleton = of(&[a, b]);
        assert_eq!(skeleton.read(a).unwrap(), first);
        assert_eq!(skeleton.read(b).unwrap(), second);
    }
}

#[test]
fn every_kind_of_value_has_its_slot() {
    use SlotKind::{Date, Identifier, Name, Number, Quoted, Word, Words};
    let one = "Please send the 'a b' report of table users with 5 rows about order W123 for Ann Lee, due 2024-10-13, as the office chair note";
    let two = "Please send the 'c' report of table orders with -7 rows about order W9 for Bob, due 2025-01-02, as the lamp note";
    assert_eq!(kinds(&[one, two]), [Quoted, Word, Number, Identifier, Name, Date, Words]);
    assert_eq!(of(&[one, two]).read(two).unwrap(), ["c", "orders", "-7", "W9", "Bob", "2025-01-02", "lamp"]);
}

#[test]
fn what_matters_is_never_a_slot() {
    for (a, b) in [
        ("Please delete the table users now", "Please create the table users now"),
        ("Do delete the old log files of Ann", "Do not delete the old log files of Ann"),
        ("List all the users and admins of Ann", "List all the users or admins of Ann"),
        ("Find me the cheapest flight to Rome", "Find me the fastest flight to Rome"),
        ("Set the limit of the disk to 10 MB", "Set the limit of the disk to 10 GB"),
        ("Turn the light of room 5 on now", "Turn the light of room 5 off now"),
        ("Book the flight of May before the trip", "Book the flight of May after the trip"),
        ("Удали этот файл из папки отчётов", "Открой этот файл из папки отчётов"),
        ("Lösche die Datei in dem Ordner", "Öffne die Datei in dem Ordner"),
        ("Read the mail of Ann. Archive it then", "Read the mail of Ann. Burn it then"),
        ("请 现在 马上 删除 用户 张三", "请 现在 马上 删除 用户 李四"),
        ("Send the report of sales to Ann", "Send the report of sales to Ann, Bob"),
        ("Send the report of sales to 5", "Send the report of sales to Ann"),
        ("Send the report of sales to Ann", "Send the report of sales to"),
        ("删除用户张三", "删除用户李四"),
        ("delete alice", "delete bob"),
    ] {
        assert_eq!(Skeleton::of(&[a, b]), None, "{a} / {b}");
    }
}

#[test]
fn a_text_is_read_only_where_it_is_the_skeleton_to_the_byte() {
    let skeleton = of(&["Send 5 coins from Ann to Bob today", "Send 7 coins from Eve to Dan today"]);
    assert_eq!(skeleton.read("Send 9 coins from Jo Park to Al today").unwrap(), ["9", "Jo Park", "Al"]);
    for text in [
        "send 9 coins from Al to Jo today",
        "Send 9 coins from Al to Jo",
        "Send 9 coins from Al to Jo today!",
        "Send 9 coins  from Al to Jo today",
        "Send 9 coins from Al to Jo and Ed today",
        "Send 9 coins from Al to Jo Not today",
        "Send W9 coins from Al to Jo today",
        "Send 9 coins from al to Jo today",
        "Send 9 coins from to Jo today",
        "Send 9 coins from 'Al' to Jo today",
        "Send 9 coins from 张三 to Jo today",
    ] {
        assert_eq!(skeleton.read(text), None, "{text}");
    }
}

#[test]
fn a_text_that_splits_two_ways_is_not_read() {
    let segments = |middle: &str| {
        let words = || Segment::Slot { kind: SlotKind::Words };
        vec![Segment::Literal("say ".into()), words(), Segment::Literal(middle.into()), words()]
    };
    let skeleton = Skeleton::try_from(segments(" - ")).unwrap();
    assert_eq!(skeleton.read("say alpha beta - gamma").unwrap(), ["alpha beta", "gamma"]);
    assert_eq!(skeleton.read("say alpha - beta - gamma"), None);
    assert!(Skeleton::try_from(segments(" ")).is_err());
}

#[test]
fn a_skeleton_is_readable_json_and_wrong_ones_are_refused() {
    let skeleton = of(&["Send 5 coins to Ann", "Send 7 coins to Bob"]);
    let json = r#"[{"literal":"Send "},{"slot":{"kind":"number"}},{"literal":" coins to "},{"slot":{"kind":"name"}}]"#;
    assert_eq!(serde_json::to_string(&skeleton).unwrap(), json);
    assert_eq!(serde_json::from_str::<Skeleton>(json).unwrap(), skeleton);
    let slot = r#"{"slot":{"kind":"word"}}"#;
    for wrong in
        ["[]", r#"[{"literal":"x"}]"#, &format!("[{slot},{slot}]"), &format!(r#"[{slot},{{"literal":" "}},{slot}]"#)]
    {
        assert!(serde_json::from_str::<Skeleton>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_long_hostile_text_is_refused_in_time() {
    let long = |word: &str| format!("{word} ").repeat(MAX_WORDS + 1);
    assert_eq!(Skeleton::of(&[&canonical(&long("a")), &canonical(&long("b"))]), None);
    let numbers = |step: usize| (0..MAX_WORDS).map(|at| (at * step % 401).to_string()).collect::<Vec<_>>().join(" ");
    let texts: Vec<String> = (1..=MAX_TEXTS).map(numbers).collect();
    assert_eq!(Skeleton::of(&texts.iter().map(String::as_str).collect::<Vec<_>>()), None);
}

/// Values that a slot may have, and the kind.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?[1-9][0-9]{0,5}",
        "[A-Z][a-z]{3,7}x( [A-Z][a-z]{3,7}x){0,2}",
        "[a-z]{3,7}zq",
        "[A-Z][0-9]{3,5}",
        "'[a-z .]{0,12}'",
        "20[0-9]{2}-0[1-9]-1[0-9]",
        "[א-ת]{2,8}",
    ]
}

proptest! {
    #[test]
    fn what_was_aligned_reads_back_and_fills_to_the_byte(
        rows in prop::collection::vec(prop::collection::vec(value(), 3), 2..5),
    ) {
        let texts: Vec<String> = rows
            .iter()
            .map(|row| canonical(&format!("Please send {} of the report to {} while room ({}) stays open", row[0], row[1], row[2])))
            .collect();
        let mut borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
        let skeleton = Skeleton::of(&borrowed);
        prop_assert_eq!(&Skeleton::of(&borrowed), &skeleton);
        borrowed.reverse();
        borrowed.push(borrowed[0]);
        prop_assert_eq!(&Skeleton::of(&borrowed), &skeleton);
        if let Some(skeleton) = skeleton {
            for (text, row) in texts.iter().zip(&rows) {
                let values = skeleton.read(text).unwrap();
                prop_assert_eq!(skeleton.fill(&values), Some(text.clone()));
                // A value that all texts share became a literal, a part that all share too.
                prop_assert!(values.iter().all(|own| row.iter().any(|value| value.contains(own.as_str()))), "{:?}", values);
            }
        }
    }

    #[test]
    fn texts_of_one_frame_with_other_values_of_one_kind_always_align(
        numbers in prop::collection::btree_set(1_u32..1_000_000, 4),
        names in prop::collection::btree_set("[A-Z][a-z]{3,7}x( [A-Z][a-z]{3,7}x)?", 4),
    ) {
        let (numbers, names): (Vec<u32>, Vec<String>) = (numbers.into_iter().collect(), names.into_iter().collect());
        let text = |at: usize| format!("Pay {} coins of the budget to {}, please", numbers[at], names[at]);
        prop_assume!(!names.iter().any(|name| name.split(' ').any(|word| names.iter().filter(|own| own.split(' ').any(|own| own == word)).count() > 1)));
        let skeleton = of(&[&text(0), &text(1), &text(2)]);
        prop_assert_eq!(skeleton.read(&text(3)).unwrap(), [numbers[3].to_string(), names[3].clone()]);
    }

    #[test]
    fn any_texts_of_any_script_align_safely_or_not_at_all(
        frame in "\\PC{0,40}", a in "\\PC{0,12}", b in "\\PC{0,12}", tail in "\\PC{0,20}",
    ) {
        let [a, b] = [a, b].map(|value| canonical(&format!("one two three four {frame} {value} {tail}")));
        if let Some(skeleton) = Skeleton::of(&[&a, &b]) {
            for text in [&a, &b] {
                let values = skeleton.read(text).unwrap();
                prop_assert_eq!(skeleton.fill(&values), Some(text.clone()));
            }
        }
    }
}
