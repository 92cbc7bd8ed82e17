use std::path::Path;

use learnkit_core::procedure::Part;
use learnkit_core::run::CallStatus;

use super::*;

/// The seeds of a target, by file name.
fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.map(|path| (path.display().to_string(), std::fs::read(path).unwrap())).collect()
}

#[test]
fn every_target_holds_on_its_seeds() {
    for (name, target) in TARGETS {
        let seeds = seeds(name);
        assert!(seeds.len() >= 2, "`{name}` has {} seeds", seeds.len());
        for (path, seed) in seeds {
            println!("{path}");
            run(target, &seed);
        }
    }
}

#[test]
fn every_target_has_a_program() {
    let manifest = include_str!("../Cargo.toml");
    for (name, _) in TARGETS {
        assert!(manifest.contains(&format!("name = \"fuzz_{name}\"")), "{name}");
    }
    assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len());
}

#[test]
fn a_script_says_what_was_called_and_what_the_world_says_now() {
    let script = Script::parse("task do\ncall a {}\nfails no\nside b [1]\ngives x y\nanswer ok\nnow z\nnoise");
    assert_eq!(
        (script.task.as_str(), script.answer.as_deref(), script.now.as_slice()),
        ("do", Some("ok"), &["z".into()][..])
    );
    assert_eq!(script.calls[0].status, CallStatus::Failed { reason: "no".into() });
    assert_eq!((script.calls[1].arguments.raw(), script.calls[1].output.as_text()), ("[1]", "x y"));
}

/// Checks a replay of what a script teaches after every guard and slot was taken away.
fn check_without_slots(text: &str) {
    let script = Script::parse(text);
    let Distilled::Procedure(mut procedure) = script.distil() else { unreachable!("a call was made") };
    for step in &mut procedure.steps {
        step.guards.clear();
        step.slots.clear();
    }
    replayed::check(&script, &script.task_again().expect("its parameters fit"), *procedure);
}

#[test]
#[should_panic(expected = "which no result gives now")]
fn a_value_that_no_result_gives_now_is_seen() {
    let text = "task Refund it\ncall find {}\ngives {\"id\":\"order_1001\"}\ncall refund {\"id\":\"order_1001\"}\n\
                gives ok\nnow {\"id\":\"order_2002\"}";
    check_without_slots(text);
}

#[test]
#[should_panic(expected = "the value that a parameter had")]
fn an_old_value_of_a_parameter_is_seen() {
    check_without_slots(
        "task Report of {table}\nwith table users_2024\ncall query {\"t\":\"users_2024\"}\ngives ok\n\
         then table orders_2025",
    );
}

#[test]
#[should_panic(expected = "which neither the run nor the task nor a result gives")]
fn a_value_from_nowhere_is_seen() {
    let text = "task Report\ncall query {\"t\":\"users_2024\"}\ngives ok";
    let script = Script::parse(text);
    let Distilled::Procedure(mut procedure) = script.distil() else { unreachable!("a call was made") };
    procedure.steps[0].arguments = Arguments::from_raw(r#"{"t":"orders_2025"}"#);
    replayed::check(&script, &script.task_again().expect("it has no parameters"), *procedure);
}

#[test]
fn seeds_of_replay_fill_slots_of_every_source() {
    let texts: Vec<String> = seeds("replay").into_iter().map(|(_, seed)| String::from_utf8(seed).unwrap()).collect();
    let stored = texts.iter().filter_map(|text| serde_json::from_str::<Procedure>(text.lines().next()?).ok());
    let learned = texts.iter().filter_map(|text| {
        let (script, mut procedure) = (Script::parse(text), None);
        if let Distilled::Procedure(own) = script.distil() {
            let task = script.task_again()?;
            procedure = (own.may_replay() && learnkit_core::testing::follows(&own, &task).is_ok()).then_some(*own);
        }
        procedure
    });
    for (source, procedures) in [("stored", stored.collect::<Vec<_>>()), ("learned", learned.collect())] {
        let parts = || procedures.iter().flat_map(|own| &own.steps).flat_map(|step| &step.slots).flat_map(|s| &s.parts);
        assert!(parts().any(|part| matches!(part, Part::Result { .. })), "{source}");
        assert!(parts().any(|part| matches!(part, Part::Parameter { .. })), "{source}");
        assert!(parts().any(|part| matches!(part, Part::Date { .. })), "{source}");
    }
}
