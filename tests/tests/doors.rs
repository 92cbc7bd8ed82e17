//! The doors to the engine: agent functions, prepared runs, adapters found by name.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use learnkit::adapter::BaseAdapterExt as _;
use learnkit::engine::{Outcome, SessionOptions};
use learnkit::run::{AnswerSource, Mode};
use learnkit::{BoxError, ErrorKind, Task, available_adapters, get_adapter, get_backend};
use learnkit_example_custom_adapter as _;
use learnkit_tests::{Reply, World, memory, nobody, run, stored_runs};
use serde_json::json;

/// An agent that follows the plan where there is one and else calls `list` and `sum`.
async fn follow_or_plan(run: learnkit::engine::Run, world: World) -> Result<String, BoxError> {
    let tools = world.tools();
    while let Some(step) = run.next_step().await {
        let tool = tools.find(&step.tool)?.clone();
        let arguments = step.arguments.clone();
        let context = learnkit::tool::ToolContext::default();
        // A failing tool ends the plan, not the agent.
        let _ = run.call(step.tool, step.arguments, async { tool.call(&arguments, &context).await }).await;
    }
    if run.mode() != Mode::Replay {
        for (name, arguments) in [("list", json!({})), ("sum", json!({"of": [1, 2]}))] {
            let done = run.calls().iter().any(|call| call.tool == name && call.status.is_ok());
            if !done {
                run.planning_call();
                let tool = tools.find(name)?.clone();
                let context = learnkit::tool::ToolContext::default();
                let arguments = learnkit::run::Arguments::from(arguments);
                run.call(name, arguments.clone(), async { tool.call(&arguments, &context).await }).await?;
            }
        }
    }
    Ok("3".to_owned())
}

fn sums() -> World {
    World::new([("list", json!([1, 2])), ("sum", json!(3))])
}

#[tokio::test]
async fn an_agent_function_gets_the_plan_and_each_call_is_checked() {
    let (memory, _) = memory().await;
    let world = sums();
    let inner = world.clone();
    let agent = memory.agent_learn("sums").wrap(move |run| follow_or_plan(run, inner.clone()));
    let cold = agent.call("Add them up").await.unwrap();
    assert_eq!((cold.mode, cold.planning_calls, cold.tool_calls), (Mode::Cold, Some(2), 2));
    let warm = agent.call("Add them up").await.unwrap();
    assert!(warm.replayed, "{}", warm.reason);
    assert_eq!((warm.mode, warm.planning_calls, warm.tool_calls), (Mode::Replay, None, 2));
    assert_eq!(world.calls().len(), 4);
}

#[tokio::test]
async fn f14_a_function_that_follows_the_plan_takes_over_without_repeating() {
    let (memory, _) = memory().await;
    let world = sums();
    let inner = world.clone();
    let agent = memory.agent_learn("sums").wrap(move |run| follow_or_plan(run, inner.clone()));
    agent.call("Add them up").await.unwrap();
    world.calls();
    world.set("sum", Reply::Error("busy".into()));
    let report = agent.call("Add them up").await;
    assert_eq!(report.unwrap_err().kind(), ErrorKind::Agent);
    let calls = world.calls();
    assert_eq!(calls.iter().filter(|call| call.starts_with("list")).count(), 1, "{calls:?}");
}

#[tokio::test]
async fn with_tools_a_repeat_never_calls_the_agent_function() {
    let (memory, _) = memory().await;
    let world = sums();
    let asked = Arc::new(AtomicU32::new(0));
    let (inner, count) = (world.clone(), asked.clone());
    let agent = memory.agent_learn("sums").tools(world.tools()).wrap(move |run| {
        count.fetch_add(1, Ordering::SeqCst);
        follow_or_plan(run, inner.clone())
    });
    agent.call("Add them up").await.unwrap();
    let warm = agent.call("Add them up").await.unwrap();
    assert!(warm.replayed);
    assert_eq!((asked.load(Ordering::SeqCst), warm.answer.as_deref()), (1, Some("3")));
    assert_eq!(warm.answer_source, Some(AnswerSource::Recorded));
    // Results changed and nobody can word an answer: the last result stands for it.
    world.set("sum", json!(4));
    let changed = agent.call("Add them up").await.unwrap();
    assert_eq!((changed.answer.as_deref(), changed.answer_source), (Some("4"), Some(AnswerSource::LastResult)));
    assert_eq!(changed.synthesis_calls, 0);
}

#[tokio::test]
async fn a_synthesizer_words_a_changed_answer_once() {
    let (memory, _) = memory().await;
    let world = sums();
    let inner = world.clone();
    let agent = memory
        .agent_learn("sums")
        .tools(world.tools())
        .synthesizer(|_, done| async move { Ok(format!("worded from {} calls", done.len())) })
        .wrap(move |run| follow_or_plan(run, inner.clone()));
    agent.call("Add them up").await.unwrap();
    world.set("sum", json!(4));
    let report = agent.call("Add them up").await.unwrap();
    assert_eq!((report.answer.as_deref(), report.synthesis_calls), (Some("worded from 2 calls"), 1));
}

#[tokio::test]
async fn a7_the_quick_start_replays_on_the_second_call() {
    let (memory, _) = memory().await;
    let agent = memory.agent_learn("pipeline").wrap(|run| async move {
        let rows =
            run.call("query", json!({"table": "users"}), async { Ok::<_, BoxError>("ann,cleo".to_owned()) }).await?;
        run.record("format", json!({"fmt": "csv"}), rows);
        Ok::<_, BoxError>("report ready".to_owned())
    });
    assert!(!agent.call("Build an active-user CSV report").await.unwrap().replayed);
    let again = agent.call("Build an active-user CSV report").await.unwrap();
    assert!(again.replayed, "{}", again.reason);
}

#[tokio::test]
async fn a_prepared_run_is_finalized_once() {
    let (memory, _) = memory().await;
    let run = memory.prepare_run("Ping", SessionOptions::default()).await.unwrap();
    assert_eq!((run.mode(), run.playbook().as_str(), run.plan_steps().len()), (Mode::Cold, "", 0));
    run.record("ping", json!({}), "pong");
    let report = memory.finalize_run(&run, &Outcome::answered("up")).await;
    assert_eq!(memory.finalize_run(&run, &Outcome::failed("x")).await, report);
    let run = memory.prepare_run("Ping", SessionOptions::default()).await.unwrap();
    assert_eq!((run.mode(), run.plan_steps().len()), (Mode::Replay, 1));
}

#[tokio::test]
async fn adapters_are_found_by_name_and_an_unknown_name_says_what_to_do() {
    let names: Vec<&str> = available_adapters().iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["journal", "react"]);
    let (memory, _) = memory().await;
    for name in names {
        let adapter = get_adapter(name).unwrap().build(&memory).unwrap();
        assert_eq!(adapter.name(), name);
    }
    let error = get_adapter("crewai").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(
        error.to_string().contains("journal, react") && error.to_string().contains("use my_crate as _;"),
        "{error}"
    );
    let uri = "mongodb://host/x".parse().unwrap();
    assert_eq!(get_backend(&uri).unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn an_adapter_session_learns_and_its_tools_are_tracked() {
    let (memory, _) = memory().await;
    let world = sums();
    let adapter = get_adapter("react").unwrap().build(&memory).unwrap();
    for round in 0..2 {
        let tools = world.tools();
        let inner = adapter.clone();
        let body = move |run: learnkit::engine::Run| async move {
            let tools = inner.wrap_tools(&run, &tools);
            for name in ["list", "sum"] {
                let tool = tools.find(name)?;
                tool.call(&json!({}).into(), &learnkit::tool::ToolContext::default()).await?;
            }
            Ok::<_, BoxError>("3".to_owned())
        };
        let report = adapter.session(Task::new("Add up"), body).await.unwrap();
        assert_eq!((report.replayed, report.tool_calls), (round == 1, 2));
    }
}

#[tokio::test]
async fn a7_what_an_adapter_session_learned_replays_with_the_same_arguments() {
    let (memory, _) = memory().await;
    let world = World::new([("query", json!([1, 2])), ("mail", json!("sent"))]);
    let adapter = get_adapter("react").unwrap().build(&memory).unwrap();
    let calls = [
        ("query", json!({"table": "users", "where": {"id": 9_007_199_254_740_993_u64}})),
        ("mail", json!({"to": "ann@example.com", "subject": "Отчёт", "urgent": false})),
    ];
    let (tools, inner, made) = (world.tools(), adapter.clone(), calls.clone());
    let body = move |run: learnkit::engine::Run| async move {
        let tools = inner.wrap_tools(&run, &tools);
        for (name, arguments) in made {
            tools.find(name)?.call(&arguments.into(), &learnkit::tool::ToolContext::default()).await?;
        }
        Ok::<_, BoxError>("sent".to_owned())
    };
    adapter.session(Task::new("Mail the users"), body).await.unwrap();
    let learned = world.calls();
    assert_eq!(learned, calls.map(|(name, arguments)| format!("{name} {arguments}")));
    let report = run(&memory, "Mail the users", &world, &nobody()).await.unwrap();
    assert!(report.replayed, "{}", report.reason);
    assert_eq!(world.calls(), learned);
}

#[tokio::test]
async fn an_adapter_session_completes_a_failing_and_a_panicking_body() {
    let (memory, _) = memory().await;
    let adapter = get_adapter("react").unwrap().build(&memory).unwrap();
    let failing = adapter.session(Task::new("a"), |run| async move {
        run.record("ping", json!({}), "pong");
        Err::<String, BoxError>("no".into())
    });
    assert_eq!(failing.await.unwrap_err().kind(), ErrorKind::Agent);
    let panicking = adapter.session(Task::new("b"), |run| async move {
        run.record("ping", json!({}), "pong");
        assert!(run.id().as_str().is_empty(), "the test wants a panic");
        Ok::<String, BoxError>(String::new())
    });
    assert_eq!(panicking.await.unwrap_err().kind(), ErrorKind::Agent);
    assert_eq!(stored_runs(&memory).await.len(), 2);
}

#[tokio::test]
async fn d15_agents_are_async_and_d16_nothing_is_held_after_a_run() {
    let (memory, _) = memory().await;
    let agent = memory.agent_learn("ops").wrap(|run| async move {
        tokio::task::yield_now().await;
        run.record("ping", json!({}), "pong");
        Ok::<_, BoxError>("up".to_owned())
    });
    let reports = futures(&agent, 600).await;
    assert_eq!(reports, 600);
    assert_eq!(stored_runs(&memory).await.len(), 600);
    memory.shutdown().await.unwrap();
}

async fn futures<F, Fut>(agent: &learnkit::engine::LearningAgent<F>, count: usize) -> usize
where
    F: Fn(learnkit::engine::Run) -> Fut + Send + Sync,
    Fut: Future<Output = Result<String, BoxError>> + Send,
{
    let mut done = 0;
    for n in 0..count {
        agent.call(format!("Ping {n}")).await.unwrap();
        done += 1;
    }
    done
}
