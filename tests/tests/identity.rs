//! Exact means exact, on the cases and the real runs that are vendored in `tests/data`.

use std::io::Read as _;
use std::path::PathBuf;

use learnkit::adapters::wire;
use learnkit::conversation::RecordedRun;
use learnkit::engine::{Decision, Outcome, RunReport, SessionOptions, View};
use learnkit::record::{AgentName, Status};
use learnkit::run::{AnswerSource, CallDraft, Mode, Verdict};
use learnkit::task::canonical;
use learnkit::{Json, Task};
use learnkit_tests::{memory, skills, stored_runs};

fn data(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data").join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    if name.ends_with(".gz") {
        flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8(bytes).unwrap();
    }
    text
}

fn rows(name: &str) -> Vec<serde_json::Value> {
    data(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a1_a2_a3_f01_no_near_miss_is_exact() {
    let (memory, _) = memory().await;
    let rows = rows("near_miss.jsonl");
    assert_eq!(rows.len(), 181);
    for row in rows {
        let [a, b] = ["a", "b"].map(|side| memory.key(&Task::new(row[side].as_str().unwrap())));
        assert_ne!(a, b, "{row}");
    }
}

#[tokio::test]
async fn f01_near_misses_that_no_file_of_cases_has_are_not_exact() {
    let (memory, _) = memory().await;
    for (a, b) in [
        ("write to a@b.com", "write to b@a.com"),
        ("a@b.com", "b@a.com"),
        ("./x", "/x"),
        ("delete ./x", "delete /x"),
        ("删除 file.txt", "翻译 file.txt"),
        ("удалить файл 42", "создать файл 42"),
    ] {
        assert_ne!(memory.key(&Task::new(a)), memory.key(&Task::new(b)), "{a} / {b}");
    }
}

#[test]
fn a_text_of_many_open_code_spans_has_a_canonical_form() {
    let spans = |last: usize| (1..500).chain([last]).map(|ticks| "`".repeat(ticks) + " ").collect::<String>();
    let once = canonical(&spans(500));
    assert_eq!(canonical(&once), once);
    assert_ne!(canonical(&spans(501)), once);
}

#[tokio::test]
async fn every_true_repeat_is_exact() {
    let (memory, _) = memory().await;
    let rows = rows("true_repeat.jsonl");
    assert_eq!(rows.len(), 32);
    for row in rows {
        let [a, b] = ["a", "b"].map(|side| Task::new(row[side].as_str().unwrap()));
        assert_eq!(memory.key(&a), memory.key(&b), "{row}");
        assert_eq!(a.canonical(), b.canonical());
        assert_eq!(canonical(&a.canonical()), a.canonical());
    }
}

/// Every recorded run of a file.
fn recorded(name: &str) -> Vec<RecordedRun> {
    let entries = wire::read(&data(name), name, "2026-01-05T08:00:00Z".parse().unwrap());
    entries.into_iter().map(|entry| entry.outcome.unwrap()).collect()
}

#[tokio::test]
async fn every_repeat_of_a_real_success_plans_the_distilled_calls_of_one_recorded_success() {
    let (memory, _) = memory().await;
    let mut learned: Vec<(RecordedRun, RunReport)> = Vec::new();
    for run in recorded("tau_airline_runs.jsonl.gz") {
        let report = memory.learn_recorded(run.clone()).await.unwrap().unwrap();
        learned.push((run, report));
    }
    assert_eq!(learned.len(), 12);
    let mut replays = 0;
    for (run, report) in learned.iter().filter(|(_, report)| report.gate.score == Some(5.0)) {
        let inspection = memory.inspect(run.task.clone()).await.unwrap();
        if run.calls.iter().all(|call| !call.status.is_ok()) {
            assert!(report.warnings.iter().any(|warning| warning.contains("nothing captured")));
            continue;
        }
        assert_eq!(inspection.mode, Mode::Replay, "{}", inspection.reason);
        replays += 1;
        let planned: Vec<(String, Json)> =
            inspection.plan.iter().map(|line| (line.tool.clone(), line.arguments.json().unwrap())).collect();
        let same_task =
            learned.iter().filter(|(other, report)| other.task == run.task && report.gate.score == Some(5.0));
        let mut recorded = same_task.map(|(other, _)| cleaned(other));
        assert!(recorded.any(|calls| calls == planned), "{planned:?}");
    }
    // One of the ten successes made no call.
    assert_eq!(replays, 9);
}

/// The calls that worked: written here anew, so that the distiller is checked against something else
/// than itself. Repeats stay, because nothing is known of what these tools do.
fn cleaned(run: &RecordedRun) -> Vec<(String, Json)> {
    let mut calls: Vec<(String, Json)> = Vec::new();
    for call in run.calls.iter().filter(|call| call.status.is_ok()) {
        calls.push((call.tool.clone(), call.arguments.json().unwrap()));
    }
    calls
}

#[tokio::test]
async fn f01_no_adversarial_pair_with_different_text_replays() {
    let (memory, _) = memory().await;
    let rows = rows("adversarial_pairs.jsonl.gz");
    assert_eq!(rows.len(), 140);
    for (n, row) in rows.iter().enumerate() {
        // Each pair has an agent of its own, so that only its own text could match.
        let memory = memory.with_agent(AgentName::new(format!("pair-{n}")).unwrap());
        let a = row["a"]["text"].as_str().unwrap();
        let session = memory.session(Task::new(a), learnkit::engine::SessionOptions::default()).unwrap();
        session.tracker().record("procedure_of_a", serde_json::json!({"pair": n}), "done");
        session.finish(&learnkit::engine::Outcome::answered("done")).await;
        assert_eq!(memory.inspect(a).await.unwrap().mode, Mode::Replay, "{a}");
        let b = memory.inspect(row["b"]["text"].as_str().unwrap()).await.unwrap();
        assert_ne!(b.mode, Mode::Replay, "{row}");
    }
}

#[tokio::test]
async fn f23_learning_the_same_recording_twice_changes_nothing() {
    let (memory, _) = memory().await;
    for run in recorded("tau_airline_runs.jsonl.gz") {
        assert!(memory.learn_recorded(run).await.unwrap().is_some());
    }
    let all = learnkit::backend::ScanRequest { filter: memory.every_record(), after: None, limit: 10_000 };
    let before = memory.scan(&all).await.unwrap().items;
    for run in recorded("tau_airline_runs.jsonl.gz") {
        assert_eq!(memory.learn_recorded(run).await.unwrap(), None);
    }
    assert_eq!(memory.scan(&all).await.unwrap().items, before);
}

#[tokio::test]
async fn a_recording_with_another_verdict_is_reported_and_not_learned_again() {
    let (memory, _) = memory().await;
    let run = recorded("tau_airline_runs.jsonl.gz")
        .into_iter()
        .find(|run| run.verdict == Some(Verdict::Success) && run.calls.iter().any(|call| call.status.is_ok()));
    let run = run.unwrap();
    let report = memory.learn_recorded(run.clone()).await.unwrap().unwrap();
    assert_eq!(memory.inspect(run.task.clone()).await.unwrap().mode, Mode::Replay);
    let wrong = RecordedRun { verdict: Some(Verdict::Failure), ..run.clone() };
    assert_eq!(memory.learn_recorded(wrong.clone()).await.unwrap(), None);
    assert_eq!(memory.run(&report.run_id).await.unwrap().reports, [Verdict::Failure]);
    assert_eq!(skills(&memory).await[0].status, Status::Retired);
    assert_ne!(memory.inspect(run.task.clone()).await.unwrap().mode, Mode::Replay);
    // Said again, nothing changes; taken back, it replays as before.
    assert_eq!(memory.learn_recorded(wrong).await.unwrap(), None);
    assert_eq!(memory.run(&report.run_id).await.unwrap().reports, [Verdict::Failure]);
    assert_eq!(memory.learn_recorded(run.clone()).await.unwrap(), None);
    assert_eq!(memory.run(&report.run_id).await.unwrap().reports, [Verdict::Failure, Verdict::Success]);
    assert_eq!(memory.inspect(run.task).await.unwrap().mode, Mode::Replay);
    assert_eq!((skills(&memory).await.len(), stored_runs(&memory).await.len()), (1, 1));
}

#[tokio::test]
async fn a_repeat_in_an_unchanged_world_replays_to_the_end() {
    let (memory, _) = memory().await;
    let mut replayed = 0;
    for (n, run) in recorded("tau_airline_runs.jsonl.gz").into_iter().enumerate() {
        // Each run has an agent of its own, so that its own procedure is the one that replays.
        let memory = memory.with_agent(AgentName::new(format!("run-{n}")).unwrap());
        let report = memory.learn_recorded(run.clone()).await.unwrap().unwrap();
        if report.gate.score != Some(5.0) || report.learned.is_empty() {
            continue;
        }
        let session = memory.session(run.task.clone(), SessionOptions::default()).unwrap();
        let mut world = run.calls.iter().filter(|call| call.status.is_ok());
        let answer = loop {
            match session.decide(&View::default()).await {
                Decision::Replay(calls) => {
                    for planned in calls {
                        let call = world.next().unwrap();
                        assert_eq!((&planned.tool, &planned.arguments), (&call.tool, &call.arguments));
                        session.observe(CallDraft::new(planned.tool, planned.arguments), Ok(call.output.clone()));
                    }
                }
                Decision::Answer { text, source } => break (text, source),
                other => panic!("{}: {other:?}", run.origin),
            }
        };
        // Where the recording ends with a call there is no answer to give again.
        let expected = run.answer.map_or(AnswerSource::LastResult, |_| AnswerSource::Recorded);
        assert_eq!(answer.1, expected, "{}", run.origin);
        assert!(session.finish(&Outcome::answered(answer.0)).await.replayed);
        replayed += 1;
    }
    assert_eq!(replayed, 9);
}
