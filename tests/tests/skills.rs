//! Skills that leave a store, and skill files that become records.

use learnkit::LearnKit;
use learnkit::backend::{Batch, Put, PutMode};
use learnkit::config::{Config, RetrievalBudget, Settings};
use learnkit::engine::{ImportedSkill, SkillSelection};
use learnkit::record::{Confidence, Content, Kind, Origin, Provenance, Record, RecordId, Scope, Skill, Status};
use learnkit::skill_file::SkillWords;
use learnkit_tests::{builder, memory, of_kind};

fn words(task: &str) -> SkillWords {
    SkillWords { task: task.to_owned(), steps: vec!["Look first".to_owned()], ..SkillWords::default() }
}

fn skill(memory: &LearnKit, id: &str, change: impl Fn(&mut Record)) -> Put {
    let origin = Origin {
        tenant: memory.tenant().clone(),
        scope: memory.reader().scope.clone(),
        agent: memory.agent().clone(),
        provenance: Provenance::caller(),
        at: "2026-01-01T00:00:00Z".parse().unwrap(),
    };
    let content = Content::Skill(Skill::from(words(id)));
    let mut record = Record::new(RecordId::new(id).unwrap(), origin, content);
    (record.status, record.expires) = (Status::Active, None);
    change(&mut record);
    Put { record, mode: PutMode::Create }
}

#[tokio::test]
async fn only_what_may_guide_leaves_and_the_rest_is_counted_by_reason() {
    let (memory, _) = memory().await;
    let puts = vec![
        skill(&memory, "a", |_| {}),
        skill(&memory, "b", |record| record.status = Status::Probation),
        skill(&memory, "c", |record| record.status = Status::Stale),
        skill(&memory, "d", |record| record.status = Status::Harmful),
        skill(&memory, "e", |record| record.status = Status::Retired),
        skill(&memory, "f", |record| record.expires = Some(record.created)),
        skill(&memory, "g", |record| record.confidence = Confidence::new(0.29).unwrap()),
        skill(&memory, "h", |record| record.scope = Scope::user("ann").unwrap()),
        skill(&memory, "i", |record| record.scope = Scope::Public),
        skill(&memory, "j", |record| (record.scope, record.status) = (Scope::Public, Status::Probation)),
    ];
    memory.store().records.commit(&Batch { puts, run: None }).await.unwrap();
    let export = memory.export_skills(&SkillSelection::default()).await.unwrap();
    let ids: Vec<&str> = export.skills.iter().map(|skill| skill.record.as_str()).collect();
    assert_eq!(ids, ["a", "b", "i"]);
    let reasons = [
        "expired",
        "in a scope that is not read",
        "of confidence below 0.30",
        "on probation in a wider scope",
        "quarantined for harm",
        "retired",
        "stale",
    ];
    assert!(
        export.left_out.keys().eq(reasons.iter()) && export.left_out.values().all(|count| *count == 1),
        "{export:?}"
    );
    let active = SkillSelection { active_only: true, ..SkillSelection::default() };
    assert_eq!(memory.export_skills(&active).await.unwrap().left_out["on probation"], 2);
}

#[tokio::test]
async fn an_import_leaves_what_is_known_as_it_is_whatever_its_status() {
    let (memory, _) = memory().await;
    let ImportedSkill::Stored(id) = memory.import_skill(words("Send reports")).await.unwrap() else {
        panic!("it was not known");
    };
    let before = memory.record(&id).await.unwrap();
    assert_eq!((before.status, before.procedure(), &before.task), (Status::Probation, None, &None));
    assert_eq!(memory.import_skill(words("Send reports")).await.unwrap(), ImportedSkill::Known(id.clone()));
    assert_eq!(memory.record(&id).await.unwrap(), before);
    let mut retired = before.clone();
    retired.status = Status::Retired;
    memory.store().records.put(&retired, PutMode::Upsert).await.unwrap();
    assert_eq!(memory.import_skill(words("Send reports")).await.unwrap(), ImportedSkill::Known(id.clone()));
    assert_eq!(memory.record(&id).await.unwrap().status, Status::Retired);
    memory.forget(&id).await.unwrap();
    assert_eq!(memory.import_skill(words("Send reports")).await.unwrap(), ImportedSkill::Stored(id));
}

#[tokio::test]
async fn an_import_does_not_reinforce_a_skill_that_somebody_wrote() {
    let (memory, _) = memory().await;
    let put = skill(&memory, "own", |record| record.content = Content::Skill(Skill::from(words("Send reports"))));
    memory.store().records.commit(&Batch { puts: vec![put], run: None }).await.unwrap();
    let before = of_kind(&memory, Kind::Skill).await;
    let known = ImportedSkill::Known(RecordId::new("own").unwrap());
    assert_eq!(memory.import_skill(words("Send reports")).await.unwrap(), known);
    assert_eq!(of_kind(&memory, Kind::Skill).await, before);
}

#[tokio::test]
async fn the_builder_stands_over_its_configuration_in_any_order() {
    let (_, clock) = memory().await;
    let config =
        Config::parse("tenant = 'acme'\nagent = 'clerk'\nquality_threshold = 4.5\n[budget]\nrecords = 2\n").unwrap();
    let configured = builder(&clock).backend("memory:").config(config.clone()).build().await.unwrap();
    assert_eq!((configured.tenant().as_str(), configured.settings().budget.records), ("acme", 2));
    assert_eq!((configured.settings().quality_threshold, configured.agent().as_str()), (4.5, "clerk"));
    let budget = RetrievalBudget { records: 5, tokens: 100 };
    let before = builder(&clock).backend("memory:").budget(budget).agent("own".parse().unwrap()).config(config.clone());
    let before = before.build().await.unwrap();
    assert_eq!((before.settings().budget, before.agent().as_str()), (budget, "own"));
    assert_eq!(before.settings().quality_threshold, 4.5);
    let settings =
        builder(&clock).backend("memory:").config(config).settings(Settings::default()).build().await.unwrap();
    assert_eq!((settings.settings(), settings.tenant().as_str()), (&Settings::default(), "acme"));
}
