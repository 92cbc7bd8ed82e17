//! What each format may look like, and what is refused.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

use learnkit_adapters::wire::{Entry, Timestamp, read};
use learnkit_core::ErrorKind;
use learnkit_core::conversation::RecordedRun;
use learnkit_core::run::{Gate, Verdict};

fn entries(text: &str) -> Vec<Entry> {
    read(text, "log", Timestamp::UNIX_EPOCH)
}

fn only(text: &str) -> RecordedRun {
    let mut entries = entries(text);
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries.remove(0).outcome.unwrap()
}

/// Every entry as its place and `ok` or the kind of its error.
fn outline(text: &str) -> Vec<String> {
    let outcome = |entry: &Entry| entry.outcome.as_ref().map_or_else(|error| error.kind().as_str(), |_| "ok");
    entries(text).iter().map(|entry| format!("{}: {}", entry.place, outcome(entry))).collect()
}

fn message_of(text: &str) -> String {
    let mut entries = entries(text);
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries.remove(0).outcome.unwrap_err().to_string()
}

/// A tool-call line with one call of these arguments.
fn line(arguments: &str) -> String {
    format!(r#"{{"task": "t", "calls": [{{"tool": "x", "arguments": {arguments}, "result": 1}}], "answer": "a"}}"#)
}

const GOOD: &str = r#"{"task": "t", "calls": [{"tool": "x", "arguments": {}, "result": 1}], "answer": "a"}"#;

#[test]
fn a_tool_call_line_is_read_as_documented() {
    let run = only(
        r#"{"task": "Email the report", "calls": [{"tool": "query", "arguments": {"table": "users"}, "result": [1, 2]}, {"name": "send", "args": "{\"to\": 1}", "ok": false, "error": "busy"}], "answer": "Sent.", "success": true}"#,
    );
    assert_eq!((run.task.text(), run.answer.as_deref()), ("Email the report", Some("Sent.")));
    assert_eq!(run.verdict, Some(Verdict::Success));
    let seen: Vec<_> = run
        .calls
        .iter()
        .map(|call| (call.tool.as_str(), call.arguments.raw(), call.output.as_text(), call.status.is_ok()))
        .collect();
    assert_eq!(seen, [("query", r#"{"table":"users"}"#, "[1,2]", true), ("send", r#"{"to": 1}"#, "busy", false)]);
}

#[test]
fn f63_f88_arguments_of_any_kind_are_kept_raw_and_only_objects_replay() {
    for (written, raw) in [
        ("null", "null"),
        (r#""""#, ""),
        ("[1, 2]", "[1,2]"),
        (r#""x""#, "x"),
        ("7", "7"),
        (r#""{bad""#, "{bad"),
        (r#""null""#, "null"),
    ] {
        let run = only(&line(written));
        assert_eq!(run.calls[0].arguments.raw(), raw);
        assert!(!run.calls[0].arguments.is_object(), "{written}");
    }
    let chat = r#"{"messages": [{"role": "user", "content": "t"}, {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "x", "arguments": "{bad"}}]}, {"role": "tool", "tool_call_id": "1", "content": "1"}]}"#;
    assert_eq!(only(chat).calls[0].arguments.raw(), "{bad");
    assert_eq!(only(&chat.replace(r#""{bad""#, "null")).calls[0].arguments.raw(), "null");
    assert_eq!(only(&chat.replace(r#", "arguments": "{bad""#, "")).calls[0].arguments.raw(), "");
    assert!(message_of(r#"{"task": "t", "calls": [{"tool": "x"}]}"#).contains("no `arguments`"));
}

#[test]
fn f64_big_integers_survive_to_the_digit_in_every_format() {
    let arguments = r#"{"id":90071992547409930000000001,"x":1.50}"#;
    assert_eq!(only(&line(arguments)).calls[0].arguments.raw(), arguments);
    let anthropic = format!(
        r#"[{{"role": "user", "content": "t"}},
            {{"role": "assistant", "content": [{{"type": "tool_use", "id": "1", "name": "x", "input": {arguments}}}]}},
            {{"role": "user", "content": [{{"type": "tool_result", "tool_use_id": "1", "content": "9007199254740993"}}]}}]"#
    );
    let run = only(&anthropic);
    assert_eq!(run.calls[0].arguments.raw(), arguments);
    assert_eq!(run.calls[0].output.as_text(), "9007199254740993");
    let result = r#"{"task": "t", "calls": [{"tool": "x", "arguments": {}, "result": {"id": 123456789012345678901}}]}"#;
    assert_eq!(only(result).calls[0].output.as_text(), r#"{"id":123456789012345678901}"#);
}

#[test]
fn f65_nan_is_refused_as_json_and_kept_as_text_of_a_result() {
    let nan = GOOD.replace(r#""result": 1"#, r#""result": NaN"#);
    assert_eq!(outline(&format!("{nan}\n{GOOD}\n")), ["line 1: invalid_input", "line 2: ok"]);
    let text = GOOD.replace(r#""result": 1"#, r#""result": "{\"ratio\": NaN}""#);
    assert_eq!(only(&text).calls[0].output.as_text(), r#"{"ratio": NaN}"#);
}

#[test]
fn f46_a_lone_surrogate_is_refused_for_its_line_alone() {
    let surrogate = r#""\ud83d""#;
    let lines = [
        GOOD.replace(r#""a""#, surrogate),
        GOOD.replace(r#""result": 1"#, &format!(r#""result": {{"x": {surrogate}}}"#)),
        line(&format!(r#"{{"x": {surrogate}}}"#)),
        GOOD.to_owned(),
    ];
    let expected = ["line 1: invalid_input", "line 2: invalid_input", "line 3: invalid_input", "line 4: ok"];
    assert_eq!(outline(&lines.join("\n")), expected);
}

#[test]
fn a_truncated_line_is_refused_wherever_it_stands() {
    let cut = &GOOD[..40];
    assert_eq!(outline(&format!("{cut}\n{GOOD}\n\n{GOOD}")), ["line 1: invalid_input", "line 2: ok", "line 4: ok"]);
    assert_eq!(outline(&format!("{GOOD}\n{cut}\n{GOOD}")), ["line 1: ok", "line 2: invalid_input", "line 3: ok"]);
    assert_eq!(outline(&format!("{GOOD}\n{cut}")), ["line 1: ok", "line 2: invalid_input"]);
}

#[test]
fn documents_lines_and_lists_of_rows_are_told_apart() {
    let pretty = GOOD.replace(", ", ",\n  ");
    assert_eq!(outline(&pretty), ["document: ok"]);
    assert_eq!(outline(&format!("\u{feff}{GOOD}\r\n{GOOD}\r\n")), ["line 1: ok", "line 2: ok"]);
    assert_eq!(outline(&format!("[\n{GOOD},\n{GOOD}\n]")), ["item 1: ok", "item 2: ok"]);
    assert_eq!(outline(&format!("[{GOOD}, {{}}]")), ["line 1, item 1: ok", "line 1, item 2: unsupported"]);
    assert_eq!(outline(&pretty[..pretty.len() - 3]), ["document: invalid_input"]);
    assert_eq!(outline(""), Vec::<String>::new());
    assert_eq!(outline("# Notes\n\nnothing here\n"), ["document: unsupported"]);
    assert_eq!(outline("data: {\"x\": 1}\n\ndata: [DONE]\n"), ["document: unsupported"]);
}

#[test]
fn a_list_inside_a_list_of_rows_holds_messages_or_is_refused() {
    let chat = r#"[{"role": "user", "content": "t"}, {"role": "assistant", "content": "done"}]"#;
    assert_eq!(outline(&format!("[{chat}, {GOOD}]")), ["line 1, item 1: ok", "line 1, item 2: ok"]);
    for inner in [format!("[{GOOD}]"), format!("[{chat}]"), "[[]]".to_owned(), "[]".to_owned(), "[1]".to_owned()] {
        let expected = ["line 1, item 1: invalid_input", "line 1, item 2: ok"];
        assert_eq!(outline(&format!("[{inner}, {GOOD}]")), expected, "{inner}");
    }
}

#[test]
fn an_input_that_nests_without_end_is_refused_and_never_overflows_the_stack() {
    const DEPTH: usize = 5000;
    let nested = |open: &str, inner: &str, close: &str| format!("{}{inner}{}", open.repeat(DEPTH), close.repeat(DEPTH));
    let lists = nested("[", "", "]");
    assert_eq!(outline(&format!("{lists}\n{GOOD}")), ["line 1, item 1: invalid_input", "line 2: ok"]);
    assert_eq!(outline(&lists.replacen('[', "[\n", 1)), ["item 1: invalid_input"]);
    assert_eq!(outline(&nested(r#"{"messages": ["#, "", "]}")), ["line 1: invalid_input"]);
    assert_eq!(outline(&nested(r#"{"interactions": ["#, "", "]}")), ["line 1: invalid_input"]);
    assert_eq!(outline(&line(&lists)), ["line 1: invalid_input"]);
    assert_eq!(outline(&GOOD.replace(r#""result": 1"#, &format!(r#""result": {lists}"#))), ["line 1: invalid_input"]);
    let text = format!("\"{lists}\"");
    let kept = only(&line(&text).replace(r#""result": 1"#, &format!(r#""result": {text}"#)));
    assert_eq!((kept.calls[0].arguments.raw(), kept.calls[0].output.as_text()), (lists.as_str(), lists.as_str()));

    let results = nested(r#"[{"type": "tool_result", "content": "#, "[]", "}]");
    let chat = format!(
        r#"[{{"role": "user", "content": "t"}}, {{"role": "assistant", "content": [{{"type": "tool_use", "id": "1", "name": "x", "input": {{}}}}]}}, {{"role": "user", "content": [{{"type": "tool_result", "tool_use_id": "1", "content": {results}}}]}}, {{"role": "assistant", "content": "done"}}]"#
    );
    let noted = only(&chat);
    assert!(noted.calls[0].output.as_text().contains("tool_result"), "{:?}", noted.calls[0].output);
}

#[test]
fn other_formats_are_named_in_the_refusal() {
    for (text, name) in [
        (r#"{"model": "m", "input": "hi", "output": []}"#, "OpenAI Responses"),
        (r#"{"object": "response", "output": []}"#, "OpenAI Responses"),
        (r#"[{"type": "function_call", "name": "x", "arguments": "{}"}]"#, "OpenAI Responses"),
        (r#"{"object": "chat.completion.chunk", "choices": []}"#, "streamed response"),
        (r#"{"resourceSpans": []}"#, "OTLP"),
        (r#"[{"run_type": "chain", "id": "1"}, {"run_type": "llm"}]"#, "LangSmith"),
        (r#"{"conversations": [{"from": "human", "value": "x"}]}"#, "ShareGPT"),
        (r#"{"foo": 1, "bar": 2}"#, "unknown format with the fields `bar`, `foo`"),
    ] {
        let error = entries(text).remove(0).outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{text}");
        assert!(error.message().contains(name), "{error}");
    }
    let mixed = r#"[{"role": "user", "content": "t"}, {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "x", "input": {}}]}, {"role": "tool", "tool_call_id": "1", "content": "1"}]"#;
    assert!(message_of(mixed).contains("mixture"));
}

#[test]
fn c10_an_unreadable_outcome_refuses_the_row() {
    for (field, way_out) in [
        (r#""reward": "4/5""#, "`reward` is not a number"),
        (r#""reward": [5]"#, "`reward` is not a number"),
        (r#""outcome": "great""#, "says `great`; write `success` or `failure`"),
        (r#""reward": 1, "success": false"#, "contradict"),
    ] {
        let text = GOOD.replace(r#""answer""#, &format!(r#"{field}, "answer""#));
        assert!(message_of(&text).contains(way_out), "{}", message_of(&text));
    }
}

#[test]
fn results_are_matched_by_id_and_without_ids_in_order() {
    let chat = |first: &str, second: &str| {
        format!(
            r#"{{"messages": [{{"role": "system", "content": "s"}}, {{"role": "user", "content": [{{"type": "text", "text": "do"}}, {{"type": "text", "text": "it"}}]}}, {{"role": "assistant", "content": null, "tool_calls": [{{"id": "a", "function": {{"name": "x", "arguments": "{{}}"}}}}, {{"id": "b", "function": {{"name": "y", "arguments": "{{}}"}}}}]}}, {{"role": "tool", {first}"content": "1"}}, {{"role": "tool", {second}"content": "2"}}, {{"role": "assistant", "content": "done"}}]}}"#
        )
    };
    let outputs = |text: &str| {
        let run = only(text);
        assert_eq!(run.task.text(), "do\nit");
        run.calls.iter().map(|call| format!("{}{}", call.tool, call.output.as_text())).collect::<Vec<_>>()
    };
    assert_eq!(outputs(&chat(r#""tool_call_id": "b", "#, r#""tool_call_id": "a", "#)), ["x2", "y1"]);
    assert_eq!(outputs(&chat("", "")), ["x1", "y2"]);
    let unknown = message_of(&chat(r#""tool_call_id": "z", "#, ""));
    assert!(unknown.contains("call `z`"), "{unknown}");
    let twice = message_of(&chat(r#""tool_call_id": "a", "#, r#""tool_call_id": "a", "#));
    assert!(twice.contains("call `a`"), "{twice}");
}

#[test]
fn the_older_function_call_is_read() {
    let run = only(
        r#"[{"role": "user", "content": "t"}, {"role": "assistant", "content": null, "function_call": {"name": "x", "arguments": "{\"a\": 1}"}}, {"role": "function", "name": "x", "content": "1"}, {"role": "assistant", "content": "done"}]"#,
    );
    assert_eq!((run.calls[0].tool.as_str(), run.calls[0].arguments.raw()), ("x", r#"{"a": 1}"#));
    assert_eq!((run.calls[0].output.as_text(), run.answer.as_deref()), ("1", Some("done")));
}

#[test]
fn anthropic_errors_thinking_and_citations_are_understood() {
    let run = only(
        r#"{"messages": [{"role": "user", "content": "t"}, {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "Let me look."}, {"type": "tool_use", "id": "1", "name": "x", "input": {}}]}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "is_error": true, "content": [{"type": "text", "text": "no"}, {"type": "text", "text": "way"}]}]}, {"role": "assistant", "content": [{"type": "text", "text": "It "}, {"type": "text", "text": "failed."}]}]}"#,
    );
    assert_eq!((run.calls[0].output.as_text(), run.calls[0].output.is_error()), ("no\nway", true));
    assert!(!run.calls[0].status.is_ok());
    assert_eq!(run.answer.as_deref(), Some("It failed."));
}

#[test]
fn another_picture_is_another_task() {
    let task = |url: &str| {
        let parts = format!(r#"[{{"type": "text", "text": "crop"}}, {{"type": "image_url", "image_url": "{url}"}}]"#);
        only(&format!(r#"[{{"role": "user", "content": {parts}}}, {{"role": "assistant", "content": "done"}}]"#)).task
    };
    assert_ne!(task("a.png").canonical(), task("b.png").canonical());
    assert!(task("a.png").text().contains("image_url"));
    assert!(!task("a.png").text().contains("a.png"), "a reference and not the picture");
}

#[test]
fn a_cut_off_response_is_not_finished() {
    let exchange = |reason: &str| {
        format!(
            r#"{{"interactions": [{{"request": {{"messages": [{{"role": "user", "content": "t"}}]}}, "response": {{"choices": [{{"message": {{"role": "assistant", "content": "don"}}, "finish_reason": "{reason}"}}]}}}}]}}"#
        )
    };
    assert_eq!(message_of(&exchange("length")), "not finished: the model stopped with `length`");
    assert_eq!(only(&exchange("stop")).answer.as_deref(), Some("don"));
}

#[test]
fn the_gate_does_not_take_an_announcement_for_an_answer() {
    let run = only(
        r#"[{"role": "user", "content": "t"}, {"role": "assistant", "content": "I will pay.", "tool_calls": [{"id": "a", "function": {"name": "pay", "arguments": "{}"}}]}, {"role": "tool", "tool_call_id": "a", "content": "paid"}]"#,
    );
    assert_eq!(Gate::of_calls(&run.calls, 1, run.answer.is_some()).score, Some(3.0));
}

#[test]
fn equal_rows_are_one_run_unless_their_ids_differ() {
    let ids = |text: &str| entries(text).into_iter().map(|entry| entry.outcome.unwrap().run_id).collect::<Vec<_>>();
    let same = ids(&format!("{GOOD}\n{GOOD}"));
    assert_eq!(same[0], same[1]);
    let row = |id: &str| GOOD.replace(r#""task""#, &format!(r#""id": {id}, "task""#));
    let other = ids(&format!("{}\n{}", row("1"), row("2")));
    assert_ne!(other[0], other[1]);
}
