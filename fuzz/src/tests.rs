use std::path::Path;

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

#[test]
#[should_panic(expected = "which no result gives now")]
fn a_value_that_no_result_gives_now_is_seen() {
    let text = "task Refund it\ncall find {}\ngives {\"id\":\"order_1001\"}\ncall refund {\"id\":\"order_1001\"}\n\
                gives ok\nnow {\"id\":\"order_2002\"}";
    let script = Script::parse(text);
    let Distilled::Procedure(mut procedure) = script.distil() else { unreachable!("two calls were made") };
    for step in &mut procedure.steps {
        step.guards.clear();
        step.slots.clear();
    }
    replayed::check(&script, *procedure);
}
