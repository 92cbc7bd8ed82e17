//! F67: a secret in an argument becomes a named slot, which the host fills at replay, and nobody else sees it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use learnkit::config::Settings;
use learnkit::engine::{Decision, SessionOptions, View};
use learnkit::hook::{EnvSecrets, SecretProvider, SecretRequest};
use learnkit::run::Mode;
use learnkit::{BoxError, LearnKit, Sensitive, Task, async_trait};
use learnkit_tests::bank::clock;
use learnkit_tests::{Reply, Script, World, builder, nobody, run, skills, stored_text};
use serde_json::{Value, json};

const KEY: &str = "Zx81qPl0vR7t";

/// What a provider does.
#[derive(Debug, Clone)]
enum Gives {
    Value(&'static str),
    Nothing,
    Error,
    Panic,
    Never,
}

struct Vault {
    gives: Gives,
    asked: Mutex<Vec<String>>,
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Vault")
    }
}

impl Vault {
    fn new(gives: Gives) -> Arc<Self> {
        Arc::new(Self { gives, asked: Mutex::default() })
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

#[async_trait]
impl SecretProvider for Vault {
    async fn secret(&self, request: &SecretRequest<'_>) -> Result<Option<Sensitive>, BoxError> {
        self.asked.lock().unwrap().push(format!("{} {} {}", request.name, request.tool, request.argument));
        match self.gives {
            Gives::Value(value) => Ok(Some(Sensitive::new(value))),
            Gives::Nothing => Ok(None),
            Gives::Error => Err("the vault is sealed".into()),
            Gives::Panic => panic!("the test wants a panic"),
            Gives::Never => std::future::pending().await,
        }
    }
}

async fn memory(gives: Gives) -> (LearnKit, Arc<Vault>) {
    let vault = Vault::new(gives);
    let settings = Settings { hook_deadline: Duration::from_millis(50), ..Settings::default() };
    let memory = builder(&clock()).settings(settings).secret_provider(vault.clone()).build().await.unwrap();
    (memory, vault)
}

async fn learn(memory: &LearnKit, world: &World, arguments: Value) {
    let report = run(memory, "Search it", world, &Script::new([("search", arguments)], "found")).await.unwrap();
    assert_eq!((report.warnings, report.learned.len()), (Vec::new(), 1));
    world.calls();
}

fn world() -> World {
    World::new([("search", json!({"hits": 3}))])
}

#[tokio::test]
async fn f67_a_secret_in_an_argument_is_a_named_slot_that_the_provider_fills() {
    for (arguments, name, argument, sent) in [
        (json!({"api_key": KEY, "q": "x"}), "search.api_key", "/api_key", json!({"api_key": "fresh-1", "q": "x"})),
        (
            json!({"headers": {"Authorization": format!("Bearer {KEY}")}}),
            "search.headers.Authorization",
            "/headers/Authorization",
            json!({"headers": {"Authorization": "Bearer fresh-1"}}),
        ),
        (
            json!({"url": format!("https://api.example/v1?access_token={KEY}&q=x")}),
            "search.url",
            "/url",
            json!({"url": "https://api.example/v1?access_token=fresh-1&q=x"}),
        ),
        (
            json!({"list": [{"body": json!({"password": "hunter2"}).to_string()}]}),
            "search.list.0.body.password",
            "/list/0/body/#/password",
            json!({"list": [{"body": json!({"password": "fresh-1"}).to_string()}]}),
        ),
        (json!({"note": "bBVVrQFoj7zKtw39pazW"}), "search.note", "/note", json!({"note": "fresh-1"})),
    ] {
        let (memory, vault) = memory(Gives::Value("fresh-1")).await;
        let world = world();
        learn(&memory, &world, arguments.clone()).await;
        let report = run(&memory, "Search it", &world, &nobody()).await.unwrap();
        assert!(report.replayed, "{arguments}: {}", report.reason);
        assert_eq!(vault.asked(), [format!("{name} search {argument}")]);
        assert_eq!(world.calls(), [format!("search {sent}")]);
        let stored = stored_text(&memory).await;
        for secret in ["fresh-1", KEY, "hunter2", "bBVVrQFoj7zKtw39pazW"] {
            assert!(!stored.contains(secret), "{secret} in {stored}");
        }
        let playbook = memory.inspect("Search it").await.unwrap().playbook.text;
        assert!(playbook.contains(&format!("from the secret `{name}`")), "{playbook}");
    }
}

#[tokio::test]
async fn f67_two_secrets_at_one_place_are_one_procedure() {
    let (memory, _) = memory(Gives::Value("fresh-1")).await;
    let world = world();
    for key in [KEY, "Qw92mNb6yU3e"] {
        let session = memory.session(Task::new("Search it"), SessionOptions::default()).unwrap();
        session.tracker().record("search", json!({"api_key": key}), json!({"hits": 3}));
        session.finish(&learnkit::engine::Outcome::answered("found")).await;
    }
    let skills = skills(&memory).await;
    assert_eq!((skills.len(), skills[0].procedure().unwrap().version), (1, 2));
    assert!(run(&memory, "Search it", &world, &nobody()).await.unwrap().replayed);
}

#[tokio::test]
async fn f67_without_a_value_the_run_is_guided_and_no_placeholder_is_sent() {
    let plain = builder(&clock()).build().await.unwrap();
    let mut cases = vec![(plain, "takes the secret `search.api_key`; supply it with `Builder::secret_provider`")];
    for (gives, reason) in [
        (Gives::Nothing, "no value for `search.api_key`"),
        (Gives::Value(""), "no value for `search.api_key`"),
        (Gives::Error, "the vault is sealed"),
        (Gives::Panic, "the secret provider panicked"),
        (Gives::Never, "did not answer within 50 ms"),
    ] {
        cases.push((memory(gives).await.0, reason));
    }
    for (memory, reason) in cases {
        let world = world();
        learn(&memory, &world, json!({"api_key": KEY})).await;
        let planner = Script::new([("search", json!({"api_key": KEY}))], "found");
        let report = run(&memory, "Search it", &world, &planner).await.unwrap();
        assert_eq!((report.mode, report.replayed), (Mode::Guide, false));
        assert!(report.reason.contains(reason), "{}", report.reason);
        assert!(!world.calls().concat().contains("[secret]"));
    }
}

#[tokio::test]
async fn f67_where_the_secret_is_not_certain_the_procedure_only_guides() {
    let wrapped = "eyJwYXNzd29yZCI6Imh1bnRlcjIifQ";
    for (task, arguments, reason) in [
        ("Search it", json!({"pin_token": 98_765_432_101_u64}), "a number"),
        ("Search it", json!({"body": wrapped}), "inside encoded text"),
        ("Search it", json!({"api_key": "[secret]"}), "stands for a secret"),
        ("Search it with password=hunter2hunter2", json!({"password": "hunter2hunter2"}), "that the task names"),
        ("Search it", json!({"auth_token": json!({"a": "b", "c": "d"}).to_string()}), "hold a secret"),
    ] {
        let (memory, vault) = memory(Gives::Value("fresh-1")).await;
        let world = world();
        run(&memory, task, &world, &Script::new([("search", arguments.clone())], "found")).await.unwrap();
        world.calls();
        let skill = skills(&memory).await.remove(0);
        assert!(skill.procedure().unwrap().guide_only.concat().contains(reason), "{arguments}: {skill:#?}");
        assert!(!run(&memory, task, &world, &nobody()).await.unwrap().replayed);
        assert_eq!((vault.asked(), world.calls()), (Vec::<String>::new(), Vec::<String>::new()));
    }
}

#[tokio::test]
async fn f67_a_token_that_an_earlier_result_gave_is_taken_anew_and_never_stored() {
    for prefix in ["", "Bearer "] {
        let (memory, vault) = memory(Gives::Nothing).await;
        let world = World::new([("login", json!({"token": "tok-4f9a-77aa"})), ("get", json!({"mails": 2}))]);
        let calls =
            [("login", json!({"user": "ann"})), ("get", json!({"authorization": format!("{prefix}tok-4f9a-77aa")}))];
        run(&memory, "Read it", &world, &Script::new(calls, "2 mails")).await.unwrap();
        world.calls();
        world.set("login", json!({"token": "tok-9b1c-42bb"}));
        let report = run(&memory, "Read it", &world, &nobody()).await.unwrap();
        assert!(report.replayed, "{prefix}: {}", report.reason);
        let sent = json!({"authorization": format!("{prefix}tok-9b1c-42bb")});
        assert_eq!(world.calls()[1], format!("get {sent}"));
        assert_eq!(vault.asked(), Vec::<String>::new());
        let stored = stored_text(&memory).await;
        assert!(!stored.contains("4f9a") && !stored.contains("9b1c"), "{stored}");
    }
}

#[tokio::test]
async fn f67_a_supplied_secret_is_in_no_log_hand_over_reason_or_debug() {
    let (memory, _) = memory(Gives::Value("swordfish")).await;
    let world = World::new([("search", json!({"hits": 3})), ("next", json!("ok"))]);
    let script = Script::new([("search", json!({"api_key": KEY})), ("next", json!({}))], "found");
    run(&memory, "Search it", &world, &script).await.unwrap();
    world.set("search", json!({"hits": 4, "echo": "sent swordfish"}));
    world.set("next", Reply::Error("swordfish was refused".to_owned()));
    world.calls();

    let session = memory.session(Task::new("Search it"), SessionOptions::default()).unwrap();
    let decision = session.decide(&View::default()).await;
    let Decision::Replay(calls) = &decision else { panic!("{decision:?}") };
    assert!(calls[0].arguments.raw().contains("swordfish"));
    assert_eq!(calls[0].arguments.masked(), r#"{"api_key":"[secret]"}"#);
    assert!(!serde_json::to_string(&calls[0].arguments).unwrap().contains("swordfish"));
    for shown in [format!("{decision:?}"), format!("{session:?}"), format!("{:?}", session.plan_steps())] {
        assert!(!shown.contains("swordfish"), "{shown}");
    }
    drop(session);

    let planner = nobody();
    let report = run(&memory, "Search it", &world, &planner).await.unwrap();
    assert_eq!(world.calls()[0], format!("search {}", json!({"api_key": "swordfish"})));
    assert!(!report.replayed && report.reason.contains("refused"), "{}", report.reason);
    let told = planner.playbooks().concat();
    assert!(told.contains("hits") && !told.contains("swordfish"), "{told}");
    let stored = stored_text(&memory).await;
    for shown in [stored, report.reason.clone(), format!("{report:?}"), format!("{memory:?}")] {
        assert!(!shown.contains("swordfish"), "{shown}");
    }
}

#[tokio::test]
async fn f67_secrets_come_from_the_environment() {
    let secrets = EnvSecrets::default().with("search.api_key", "CARGO_PKG_NAME").with("other", "NOBODY_SETS_THIS");
    let memory = builder(&clock()).secret_provider(Arc::new(secrets)).build().await.unwrap();
    let world = world();
    learn(&memory, &world, json!({"api_key": KEY})).await;
    assert!(run(&memory, "Search it", &world, &nobody()).await.unwrap().replayed);
    assert_eq!(world.calls(), [format!("search {}", json!({"api_key": "learnkit-tests"}))]);
}
