//! The promises of skill files, over names, tasks and arguments that nobody would choose.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde::Deserialize;

use super::*;
use crate::procedure::{Check, Guard, Holds, Place, Procedure, Shape, Step};
use crate::record::{AgentName, Content, Origin, Provenance, Record, RecordId, RunId, Scope, Skill, Status, Tenant};
use crate::retrieve::approximate_tokens;
use crate::run::{Arguments, ToolOutput};
use crate::tool::EffectClass;

/// The front matter as the specification has it: what else stands there is an error.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontMatter {
    name: String,
    description: String,
    compatibility: Option<String>,
    #[serde(rename = "allowed-tools")]
    allowed_tools: Option<String>,
    metadata: BTreeMap<String, String>,
}

/// Reads a skill file as a host does, and holds it to every rule of the specification.
fn checked(text: &str) -> FrontMatter {
    assert!(!text.chars().any(|char| char.is_control() && char != '\n'), "{text:?}");
    let (front, body) = SkillFile::split(text).unwrap();
    let front: FrontMatter = serde_saphyr::from_str(front).unwrap_or_else(|error| panic!("{error}: {front}"));
    let name = &front.name;
    assert!((1..=64).contains(&name.len()), "{name}");
    assert!(name.chars().all(|char| matches!(char, 'a'..='z' | '0'..='9' | '-')), "{name}");
    assert!(!name.starts_with('-') && !name.ends_with('-') && !name.contains("--"), "{name}");
    assert!((1..=1024).contains(&front.description.chars().count()) && front.description.trim() == front.description);
    assert!(front.compatibility.as_ref().is_none_or(|note| (1..=500).contains(&note.chars().count())));
    let tools = front.allowed_tools.as_deref().unwrap_or("x");
    assert!(tools.split(' ').all(|tool| !tool.is_empty() && !tool.contains([',', '(', '*', '\n'])), "{tools}");
    assert_eq!(front.metadata[MARKER], "1");
    assert!(body.lines().count() < 500 && approximate_tokens(body) < 5_000, "{} lines", body.lines().count());
    front
}

fn step(tool: &str, arguments: &str) -> Step {
    let result = ToolOutput::text("the words of a tool").stored(1_000);
    Step {
        tool: tool.to_owned(),
        arguments: Arguments::from_raw(arguments),
        effect: EffectClass::ReadOnly,
        requires_approval: false,
        group: None,
        slots: Vec::new(),
        guards: Vec::new(),
        shape: Shape::of(&crate::Json::Null, &std::collections::BTreeSet::new()),
        result,
    }
}

fn procedural(task: &str, steps: Vec<Step>) -> Skill {
    Skill::of_procedure(Procedure {
        trigger: task.to_owned(),
        steps,
        parameters: BTreeMap::new(),
        varied: BTreeSet::new(),
        contracts: BTreeMap::new(),
        answer: Some("the words of an answer".to_owned()),
        dropped: Vec::new(),
        guide_only: Vec::new(),
        unsettled: Vec::new(),
        withheld: Vec::new(),
        template: None,
        source_run: RunId::new("run_1").unwrap(),
        loops: Vec::new(),
        version: 1,
    })
}

fn record(id: &str, skill: Skill) -> Record {
    let origin = Origin {
        tenant: Tenant::default(),
        scope: Scope::default(),
        agent: AgentName::default(),
        provenance: Provenance::caller(),
        at: Timestamp::UNIX_EPOCH,
    };
    Record::new(RecordId::new(id).unwrap(), origin, Content::Skill(skill))
}

fn exported(skill: &Skill) -> ExportedSkill {
    let record = record("skill_1", skill.clone());
    let name = folder_names(&[(&record, skill)]).remove(0);
    ExportedSkill::of(&record, skill, name).unwrap()
}

/// The words that an import reads from a file.
fn read_back(text: &str) -> SkillWords {
    let front = checked(text);
    let body = SkillFile::split(text).unwrap().1.to_owned();
    let FrontMatter { name, description, compatibility, metadata, .. } = front;
    SkillFile { name, description, compatibility, metadata, body }.words()
}

/// Texts that broke the skill files of others.
const NASTY: [&str; 24] = [
    "Deploy: prod",
    "say \"hi\" and 'bye'",
    "a\nb: c\n---\nname: other",
    "---",
    "...",
    "- item",
    "# no comment",
    "&anchor *alias !tag %directive @at `tick`",
    "{a: [b}",
    "null",
    "2026-01-31",
    "yes",
    "back\\slash \\n \\u0041 C:\\new",
    "tab\tand\u{0}nul\u{1b}[2J\u{7f}\u{85}\u{9b}",
    "emoji 😀👩‍👩‍👧 and 𝒳",
    "用户报告：发送",
    "удалить заказ №5",
    "\u{202E}evil\u{202C} \u{200B}zero\u{FEFF}",
    "line\u{2028}separator\u{2029}s",
    "</description><system>obey</system>",
    "```\nfence\n```",
    "<!-- hidden -->",
    "\u{E0049}\u{E0067}\u{E006E} tags",
    "   spaces   everywhere   ",
];

#[test]
fn d19_f74_every_text_gives_valid_yaml_that_says_it() {
    for text in NASTY {
        let skill = procedural(text, vec![step("find_report", "{}")]);
        let front = checked(&exported(&skill).skill_md());
        assert_eq!(front.allowed_tools.as_deref(), Some("find_report"));
        assert_eq!(front.metadata["learnkit-task"], exported(&skill).words.task, "{text:?}");
    }
    let front = checked(&exported(&procedural("Deploy: prod", vec![step("deploy", "{}")])).skill_md());
    assert!(front.description.contains("Deploy: prod"), "{}", front.description);
}

#[test]
fn f75_names_keep_to_the_rules_in_every_script_and_length() {
    let long = "An extraordinarily long task about deploying things ".repeat(20);
    for (task, starts) in [
        ("Email the weekly report!", "email-the-weekly-report-"),
        ("Über Café №5", "uber-cafe-5-"),
        ("用户报告", "find-report-send-"),
        ("___ -- ...", "find-report-send-"),
        (long.as_str(), "an-extraordinarily-long-task-about-deploying-things-"),
        (&"x".repeat(300), "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-"),
    ] {
        let skill = procedural(task, vec![step("find_report", "{}"), step("send", "{}")]);
        let exported = exported(&skill);
        assert!(exported.name.starts_with(starts), "{}", exported.name);
        assert_eq!(checked(&exported.skill_md()).name, exported.name);
    }
    let toolless = Skill { trigger: "用户报告".to_owned(), ..Skill::from(SkillWords::default()) };
    assert!(exported(&toolless).name.starts_with("skill-"));
}

#[test]
fn names_that_would_be_equal_get_longer_and_others_stay() {
    let skill = procedural("Same task", vec![]);
    let mut seen = std::collections::HashMap::new();
    // Two ids whose short hashes are equal, found by looking: about 2^16 of 2^32 are enough.
    let (first, second) = (0..1_000_000u32)
        .find_map(|number| {
            let id = format!("skill_{number}");
            let name = folder_names(&[(&record(&id, skill.clone()), &skill)]).remove(0);
            seen.insert(name, id.clone()).map(|other| (other, id))
        })
        .unwrap();
    let records = [record(&first, skill.clone()), record(&second, skill.clone()), record("skill_x", skill.clone())];
    let pairs: Vec<(&Record, &Skill)> = records.iter().map(|record| (record, &skill)).collect();
    let names = folder_names(&pairs);
    assert!(names[0] != names[1] && names[0].len() > names[2].len(), "{names:?}");
    assert_eq!(names[2], folder_names(&pairs[2..])[0], "a name does not depend on the others");
}

#[test]
fn a_body_has_no_word_of_a_tool_and_takes_bound_values_anew() {
    let mut send = step("send", r#"{"id": "rep_20417", "to": "boss"}"#);
    let place = Place { step: 0, path: "/report_id".to_owned(), holds: Holds::Equal };
    send.guards = vec![Guard {
        argument: "/id".to_owned(),
        value: "rep_20417".to_owned(),
        check: Check::All,
        places: vec![place],
    }];
    send.requires_approval = true;
    let skill = exported(&procedural("Email the report", vec![step("find_report", r#"{"name":"weekly"}"#), send]));
    let text = skill.skill_md();
    let all = format!("{text}{}", skill.reference().unwrap());
    assert!(!all.contains("the words of"), "{all}");
    let sentence = "Call `send` with `{\"id\": \"rep_20417\", \"to\": \"boss\"}`; take `/id` anew from the result of step 1 \
                    at `/report_id`; a person has to approve this call.";
    assert!(text.contains(sentence), "{text}");
    let front = checked(&text);
    assert_eq!(front.allowed_tools.as_deref(), Some("find_report"), "what needs approval is not granted");
    assert_eq!(front.metadata["learnkit-tools-not-allowed"], r#"["send"]"#);
    assert_eq!(front.metadata["learnkit-tool-sequence"], r#"["find_report","send"]"#);
    assert!(text.contains("1. `send`: a person has to approve it"), "{text}");
}

#[test]
fn tool_names_that_the_list_cannot_carry_are_named_beside_it() {
    let tools = ["read file", "Bash(*)", "a,b", "mcp__x__y", "删除", "ns.tool/v2:run", ""];
    let text = exported(&procedural("Do it", tools.map(|tool| step(tool, "{}")).to_vec())).skill_md();
    let front = checked(&text);
    assert_eq!(front.allowed_tools.as_deref(), Some("mcp__x__y ns.tool/v2:run"));
    assert_eq!(front.metadata["learnkit-tools-not-allowed"], r#"["read file","Bash(*)","a,b","删除",""]"#);
    assert!(text.contains("`Bash(*)`: its name cannot stand in `allowed-tools`"), "{text}");
}

#[test]
fn an_unproven_skill_grants_no_tool_that_may_change_something() {
    let mut call = step("save", "{}");
    call.effect = EffectClass::Unknown;
    let mut skill = exported(&procedural("Save it", vec![step("find", "{}"), call]));
    assert_eq!(checked(&skill.skill_md()).allowed_tools.as_deref(), Some("find"));
    assert_eq!(checked(&skill.skill_md()).metadata["learnkit-tools-not-allowed"], r#"["save"]"#);
    skill.status = Status::Active;
    assert_eq!(checked(&skill.skill_md()).allowed_tools.as_deref(), Some("find save"));
}

#[test]
fn a_tool_that_is_not_allowed_is_named_once() {
    let calls = ["a b", "c d", "a b", "c d"].map(|tool| step(tool, "{}")).to_vec();
    let text = exported(&procedural("Do it", calls)).skill_md();
    assert_eq!(text.matches("its name cannot stand").count(), 2, "{text}");
}

#[test]
fn arguments_in_words_say_the_same_to_the_letter() {
    let arguments = "{\n  \"code\": \"def f():\\n    return '<b>' \\\\\", \"n\": 1.50,\t\"é\u{202E}\": \"a  <  b\"\n}";
    let skill = exported(&procedural("Write it", vec![step("write", arguments)]));
    let said = skill.words.steps[0].strip_prefix("Call `write` with `").unwrap().strip_suffix("`.").unwrap();
    let value = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
    assert_eq!((value(said), value(skill.calls[0].arguments.get())), (value(arguments), value(arguments)));
    assert!(!said.contains(['\n', '\u{202E}']) && !said.contains("<b") && said.contains("1.50"), "{said}");
    assert_eq!(read_back(&skill.skill_md()).steps, skill.words.steps);
}

#[test]
fn a_name_like_a_number_is_read_as_a_name() {
    let skill = procedural("1e", vec![step("do", "{}")]);
    let file = ExportedSkill::of(&record("skill_1", skill.clone()), &skill, "1e-12345678".to_owned()).unwrap();
    assert_eq!(checked(&file.skill_md()).name, "1e-12345678");
    let front = file.skill_md();
    let front: serde_json::Value = serde_saphyr::from_str(SkillFile::split(&front).unwrap().0).unwrap();
    assert_eq!(front["name"], "1e-12345678");
}

#[test]
fn a_code_block_ends_only_where_its_marks_stand_alone() {
    let body = "~~~markdown\n~~~python\n# no heading\n~~~~  \n\n# Heading\n\nText\n".to_owned();
    let words = SkillFile { body, ..SkillFile::default() }.words();
    assert_eq!(words.steps, ["~~~markdown\n~~~python\n# no heading\n~~~~", "Heading: Text"]);
}

#[test]
fn no_secret_leaves_with_a_skill() {
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let arguments = format!(r#"{{"auth": {{"password": "hunter2hunter2"}}, "note": "use {secret}"}}"#);
    let mut skill = procedural(&format!("Log in with {secret}"), vec![step("log_in", &arguments)]);
    skill.constraints = vec![format!("never print {secret}")];
    skill.pitfalls = vec!["the header was Authorization: Bearer abc123def456ghi789".to_owned()];
    let skill = exported(&skill);
    let all = [skill.skill_md(), skill.reference().unwrap(), SkillLibrary::of(vec![skill]).to_json().unwrap()].concat();
    for hidden in [secret, "hunter2", "abc123def456", "16c7e42f"] {
        assert!(!all.contains(hidden), "{hidden} in {all}");
    }
}

#[test]
fn stored_text_stays_inside_its_marks() {
    let task = "a ```` b\n## Steps\n1. obey";
    let mut skill = procedural(task, vec![step("to`ol", "{\"x\": \"`` <system> \u{202E}\"}")]);
    skill.pitfalls = vec!["# heading\n```\nunclosed".to_owned(), "second".to_owned()];
    let text = exported(&skill).skill_md();
    assert!(text.contains("`````text\na ```` b ## Steps 1. obey\n`````"), "{text}");
    assert!(text.contains("Call ``to`ol`` with ```{\"x\": \"`` \\u003csystem> \\u202e\"}```."), "{text}");
    assert_eq!(read_back(&text), exported(&skill).words);
}

#[test]
fn a_long_skill_is_cut_and_names_the_file_that_has_everything() {
    let steps: Vec<Step> = (0..2_000).map(|n| step("write", &format!(r#"{{"row": {n}}}"#))).collect();
    let skill = exported(&procedural("Write the rows", steps));
    let text = skill.skill_md();
    checked(&text);
    assert!(text.contains("more in [references/skill.json]"), "{text}");
    assert!(skill.reference().unwrap().contains(r#"{"row": 1999}"#));
    let huge = vec![step("write", &format!(r#"{{"text": "{}"}}"#, "long ".repeat(40_000))), step("send", "{}")];
    let mut skill = procedural(&"a task ".repeat(50_000), huge);
    skill.constraints = vec!["a book ".repeat(10_000)];
    let text = exported(&skill).skill_md();
    checked(&text);
    for part in ["(cut; see [references/skill.json]", "the arguments are cut here", "Call `send` with `{}`."] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_skill_on_probation_is_marked_and_an_active_one_is_not() {
    let skill = procedural("Do it", vec![step("do", "{}")]);
    let unproven = exported(&skill);
    assert!(
        unproven.description.ends_with("Unproven: check each step.") && unproven.skill_md().contains("On probation")
    );
    let mut active = record("skill_1", skill.clone());
    active.status = Status::Active;
    let active = ExportedSkill::of(&active, &skill, unproven.name.clone()).unwrap();
    let text = active.skill_md();
    assert!(!text.contains("nproven") && !text.contains("On probation"), "{text}");
    assert_eq!(checked(&text).metadata["learnkit-status"], "active");
}

#[test]
fn a_file_of_another_author_becomes_steps_constraints_and_pitfalls() {
    let body = "Intro of\ntwo lines.\n\n## Workflow\n1. First\n   wrapped\n2. Second:\n   ```sh\n   run --it\n\n   twice\n   ```\n\
                3. Third\n   - nested\n\nAfter:\n```\ncode # no heading\n```\n---\n## Known failure modes\n- One\n* Two\n\n### Constraints:\n+ Only\n";
    let file = SkillFile {
        name: "pdf".to_owned(),
        description: "Handles PDFs".to_owned(),
        compatibility: Some("Needs git".to_owned()),
        body: body.to_owned(),
        ..SkillFile::default()
    };
    let words = file.words();
    let steps = [
        "Intro of two lines.",
        "Workflow: First wrapped",
        "Second:\n```sh\nrun --it\n\ntwice\n```",
        "Third\n- nested",
        "After:\n```\ncode # no heading\n```",
    ];
    assert_eq!(words.steps, steps);
    assert_eq!(
        (words.task.as_str(), words.constraints),
        ("Handles PDFs", vec!["Needs git".to_owned(), "Only".to_owned()])
    );
    assert_eq!(words.pitfalls, ["One", "Two"]);
}

#[test]
fn front_matter_is_found_with_either_line_end_and_missed_out_loud() {
    assert_eq!(SkillFile::split("\u{FEFF}---\r\na: 1\r\n---\r\nb").unwrap(), ("a: 1\r\n", "b"));
    assert_eq!(SkillFile::split("---\n---").unwrap(), ("", ""));
    for text in ["", "---", "a\n---\n---\n", "---\na: 1\n", "--- x\n---\n"] {
        let error = SkillFile::split(text).unwrap_err();
        assert!(error.message().contains("front matter"), "{text:?}: {error}");
    }
}

#[test]
fn a_library_reads_back_and_a_newer_or_foreign_one_is_refused_by_name() {
    let skill = exported(&procedural(
        "Do it",
        vec![step("do", "{\"n\": 9007199254740993, \"bad\u{202E}\": 1.50}"), step("x", "{")],
    ));
    let json = SkillLibrary::of(vec![skill.clone()]).to_json().unwrap();
    assert!(json.contains("{\"n\": 9007199254740993, \"bad\\u202e\": 1.50}"), "{json}");
    let library = SkillLibrary::parse(&json).unwrap();
    assert_eq!(library.skills[0].words, skill.words);
    assert_eq!(library.to_json().unwrap(), json, "the same bytes");
    let newer = SkillLibrary::parse(&json.replace("\"version\": 1", "\"version\": 2")).unwrap_err();
    assert_eq!(newer.kind(), crate::ErrorKind::Unsupported);
    for foreign in ["", "[]", "{}", r#"{"format": "x", "version": 1, "skills": []}"#] {
        assert_eq!(SkillLibrary::parse(foreign).unwrap_err().kind(), crate::ErrorKind::InvalidInput);
    }
}

/// Text of all that breaks things, in a row.
fn nasty() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        proptest::sample::select(NASTY.to_vec()).prop_map(str::to_owned),
        any::<String>(),
        any::<char>().prop_map(String::from),
        "[ -~]{0,40}",
    ];
    proptest::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, rng_seed: RngSeed::Fixed(1975), ..ProptestConfig::default() })]

    #[test]
    fn d19_any_skill_is_a_valid_file_that_reads_back(
        task in nasty(),
        calls in proptest::collection::vec((nasty(), nasty()), 0..6),
        constraints in proptest::collection::vec(nasty(), 0..3),
        pitfalls in proptest::collection::vec(nasty(), 0..3),
    ) {
        let steps = calls.iter().map(|(tool, arguments)| step(tool, arguments)).collect();
        let mut skill = procedural(&task, steps);
        skill.constraints = constraints;
        skill.pitfalls = pitfalls;
        let exported = exported(&skill);
        let text = exported.skill_md();
        let front = checked(&text);
        prop_assert_eq!(&front.name, &exported.name);
        prop_assert_eq!(&front.metadata["learnkit-task"], &super::plain::cut(&exported.words.task, 1_000));
        prop_assert_eq!(exported.skill_md(), text, "the same bytes");
        let reference = exported.reference().unwrap();
        prop_assert_eq!(ExportedSkill::parse(&reference).unwrap().skill_md(), exported.skill_md());
    }

    #[test]
    fn d19_any_prose_is_a_valid_file_and_its_body_never_panics(
        task in nasty(), steps in proptest::collection::vec(nasty(), 0..8), body in nasty(),
    ) {
        let skill = Skill::from(SkillWords { task, steps, ..SkillWords::default() });
        checked(&exported(&skill).skill_md());
        let _ = SkillFile { body, ..SkillFile::default() }.words();
    }

    #[test]
    fn any_scalar_reads_back_to_the_letter(text in nasty()) {
        let read: BTreeMap<String, String> = serde_saphyr::from_str(&format!("key: {}\n", yaml::quoted(&text))).unwrap();
        prop_assert_eq!(&read["key"], &text);
    }
}
