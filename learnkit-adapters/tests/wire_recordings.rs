//! Real recordings of `tests/data`, read into exact runs.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::PathBuf;

use flate2::read::GzDecoder;
use learnkit_adapters::wire::{Entry, Reader, Timestamp, read};
use learnkit_core::ErrorKind;
use learnkit_core::conversation::RecordedRun;
use learnkit_core::run::Verdict;
use serde_json::Value;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(name)
}

fn fixture(name: &str) -> Vec<Entry> {
    let file = File::open(path("fixtures").join(name)).unwrap();
    Reader::new(BufReader::new(file), name, Timestamp::UNIX_EPOCH).collect()
}

fn run(entry: &Entry) -> &RecordedRun {
    entry.outcome.as_ref().unwrap()
}

/// The calls as `tool arguments -> result`, failed ones marked.
fn calls(run: &RecordedRun) -> Vec<String> {
    let line = |call: &learnkit_core::run::ToolCall| {
        let arrow = if call.status.is_ok() { "->" } else { "-x" };
        format!("{} {} {arrow} {}", call.tool, call.arguments.raw(), call.output.as_text())
    };
    run.calls.iter().map(line).collect()
}

/// The refusals as `place: kind: message`.
fn refusals(entries: &[Entry]) -> Vec<String> {
    let refused = entries.iter().filter_map(|entry| Some((&entry.place, entry.outcome.as_ref().err()?)));
    refused.map(|(place, error)| format!("{place}: {}: {}", error.kind().as_str(), error.message())).collect()
}

#[test]
fn a_growing_openai_conversation_is_one_run_with_its_parallel_calls_in_a_group() {
    let entries = fixture("openai_chat_tools_2turn.http.json");
    assert_eq!(entries.len(), 1);
    let run = run(&entries[0]);
    assert_eq!(run.task.text(), "What's the weather in Seattle and San Francisco today?");
    assert_eq!(
        calls(run),
        [
            r#"get_current_weather {"location": "Seattle, WA"} -> 50 degrees and raining"#,
            r#"get_current_weather {"location": "San Francisco, CA"} -> 70 degrees and sunny"#,
        ]
    );
    assert_eq!(run.calls.iter().map(|call| call.group).collect::<Vec<_>>(), [Some(0), Some(0)]);
    assert_eq!(
        run.answer.as_deref(),
        Some(
            "Today, the weather in Seattle is 50 degrees and raining, while in San Francisco, it's 70 degrees and sunny."
        )
    );
    assert_eq!(run.verdict, None);
    assert_eq!(run.origin, "openai_chat_tools_2turn.http.json: document");
}

#[test]
fn an_anthropic_agent_loop_is_one_run() {
    let entries = fixture("anthropic_agent_loop.http.json");
    assert_eq!(entries.len(), 1);
    let run = run(&entries[0]);
    assert_eq!(run.task.text(), "What is the weather in San Francisco, CA?");
    assert_eq!(calls(run), [r#"get_weather {"location":"San Francisco, CA"} -> It's sunny."#]);
    assert_eq!(run.answer.as_deref(), Some("The weather in San Francisco, CA is currently **sunny**! 🌞"));
}

#[test]
fn exchanges_of_two_conversations_stay_two() {
    let entries = fixture("anthropic_response_format_agent.http.json");
    assert_eq!(
        entries.iter().map(|entry| entry.place.as_str()).collect::<Vec<_>>(),
        ["interaction 1", "interaction 3"]
    );
    assert_eq!((run(&entries[0]).task.text(), run(&entries[0]).calls.len()), ("75 degrees F.", 0));
    assert_eq!(run(&entries[1]).task.text(), "What's the weather in SF?");
    assert_eq!(calls(run(&entries[1])), [r#"get_weather {"location":"SF"} -> 75 degrees Fahrenheit."#]);
    assert_eq!(run(&entries[1]).answer.as_deref(), Some(r#"{"temperature": 75, "units": "Fahrenheit"}"#));
}

#[test]
fn f37_what_is_not_finished_or_has_no_task_is_skipped_with_the_reason() {
    let open = |place: &str, count: &str| format!("{place}: invalid_input: not finished: {count} without a result");
    assert_eq!(refusals(&fixture("anthropic_tools_history.http.json")), [open("document", "1 call")]);
    assert_eq!(
        refusals(&fixture("openai_chat_parallel_tools.http.json")),
        [open("interaction 1", "2 calls"), open("interaction 2", "2 calls")]
    );
    let history = fixture("openai_chat_tool_history.http.json");
    let no_task = "invalid_input: there is no user turn, so no task; name it in a field `task`";
    let expected: Vec<_> = (1..=3).map(|number| format!("interaction {number}: {no_task}")).collect();
    assert_eq!(refusals(&history), expected);
}

#[test]
fn every_other_format_is_refused_by_name() {
    for (name, format) in [
        ("openai_responses_agent_loop.http.json", "the OpenAI Responses format"),
        ("anthropic_agent_loop_stream.http.json", "a streamed response (SSE)"),
        ("otel-openai-v2.openai_chat_tools_2turn.otlp.json", "an OpenTelemetry (OTLP) trace"),
    ] {
        let entries = fixture(name);
        let [Entry { place, outcome: Err(error) }] = entries.as_slice() else { panic!("{entries:?}") };
        assert_eq!((place.as_str(), error.kind()), ("document", ErrorKind::Unsupported), "{name}");
        assert!(error.message().starts_with(&format!("{format} is not read")), "{error}");
        assert!(error.message().contains("tool-call lines"), "{error}");
    }
    let hosted = fixture("anthropic_programmatic_tool_use.http.json");
    assert_eq!(
        refusals(&hosted),
        [
            "document: unsupported: the provider ran `code_execution` itself, and a procedure without that step would be \
          wrong; not learned"
        ]
    );
}

#[test]
fn a_chat_without_a_task_is_a_run_per_user_turn_and_the_reward_counts_for_each() {
    let entries = fixture("openai_chat.tau_airline_success.json");
    let tools: Vec<Vec<&str>> =
        entries.iter().map(|entry| run(entry).calls.iter().map(|call| call.tool.as_str()).collect()).collect();
    let expected: [&[&str]; 5] = [
        &[],
        &[],
        &["get_reservation_details"],
        &["get_user_details", "get_reservation_details"],
        &["transfer_to_human_agents"],
    ];
    assert_eq!(tools, expected);
    assert!(entries.iter().all(|entry| run(entry).verdict == Some(Verdict::Success)));
    assert_eq!(run(&entries[0]).task.text(), "Hi! I'd like to cancel a reservation, please.");
    assert_eq!(run(&entries[2]).calls[0].arguments.raw(), r#"{"reservation_id":"MDCLVA"}"#);
    assert_eq!(run(&entries[4]).answer, None, "the text before the transfer is no answer");
    assert_eq!(entries[4].place, "turn 5");
}

#[test]
fn a_failed_chat_keeps_its_tool_error_and_its_last_turn_is_not_finished() {
    let entries = fixture("openai_chat.tau_airline_failure_with_tool_error.json");
    assert_eq!(entries.len(), 6);
    let booking = run(&entries[4]);
    let seen: Vec<_> = booking.calls.iter().map(|call| (call.tool.as_str(), call.status.is_ok())).collect();
    assert_eq!(seen, [("book_reservation", false), ("think", true), ("book_reservation", true)]);
    assert_eq!(
        booking.calls[0].output.as_text(),
        "Error: payment amount does not add up, total price is 305, but paid 255"
    );
    assert_eq!(booking.verdict, Some(Verdict::Failure));
    assert_eq!(refusals(&entries), ["turn 6: invalid_input: not finished: nothing follows the user's words"]);
}

/// The rows carry their calls a second time, made by another program: an oracle for the reader.
#[test]
fn the_airline_runs_have_the_calls_that_the_rows_restate() {
    let open = || GzDecoder::new(File::open(path("tau_airline_runs.jsonl.gz")).unwrap());
    let entries: Vec<_> = Reader::new(BufReader::new(open()), "tau", Timestamp::UNIX_EPOCH).collect();
    let mut text = String::new();
    open().read_to_string(&mut text).unwrap();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((entries.len(), rows.len()), (12, 12));
    for (entry, row) in entries.iter().zip(&rows) {
        let run = run(entry);
        assert_eq!(run.task.text(), row["instruction"].as_str().unwrap());
        let success = row["reward"].as_f64() == Some(1.0);
        assert_eq!(run.verdict, Some(if success { Verdict::Success } else { Verdict::Failure }));
        let expected: Vec<_> = row["calls"].as_array().unwrap().iter().collect();
        assert_eq!(run.calls.len(), expected.len(), "{}", entry.place);
        for (call, expected) in run.calls.iter().zip(expected) {
            assert_eq!(call.tool, expected["name"]);
            assert_eq!(call.arguments.parse::<Value>().unwrap(), expected["args"]);
            assert_eq!(call.status.is_ok(), expected["ok"].as_bool().unwrap(), "{} {}", entry.place, call.tool);
            assert_eq!(call.turn, 0);
        }
    }
    let success = entries.iter().filter(|entry| run(entry).verdict == Some(Verdict::Success)).count();
    assert_eq!(success, 10);
}

#[test]
fn a_file_read_twice_gives_the_same_run_ids_and_every_trial_its_own() {
    let ids = || -> Vec<_> {
        let file = File::open(path("tau_airline_runs.jsonl.gz")).unwrap();
        let reader = Reader::new(BufReader::new(GzDecoder::new(file)), "tau", Timestamp::UNIX_EPOCH);
        reader.map(|entry| run(&entry).run_id.clone()).collect()
    };
    let distinct: std::collections::BTreeSet<_> = ids().into_iter().map(|id| id.to_string()).collect();
    assert_eq!(ids(), ids());
    assert_eq!(distinct.len(), 12);
}

#[test]
fn a_broken_gz_ends_with_the_failure_and_keeps_what_was_read() {
    let mut bytes = std::fs::read(path("tau_airline_runs.jsonl.gz")).unwrap();
    bytes.truncate(bytes.len() / 2);
    let reader = Reader::new(BufReader::new(GzDecoder::new(bytes.as_slice())), "tau", Timestamp::UNIX_EPOCH);
    let entries: Vec<_> = reader.collect();
    let (last, before) = entries.split_last().unwrap();
    assert!(!before.is_empty() && before.iter().all(|entry| entry.outcome.is_ok()));
    assert_eq!(last.outcome.as_ref().unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn a_whole_file_is_read_like_its_reader_reads_it() {
    let text = std::fs::read_to_string(path("fixtures/anthropic_agent_loop.http.json")).unwrap();
    let whole = read(&text, "anthropic_agent_loop.http.json", Timestamp::UNIX_EPOCH);
    assert_eq!(run(&whole[0]), run(&fixture("anthropic_agent_loop.http.json")[0]));
}
