use jiff::Timestamp;

use super::*;
use crate::record::{AgentName, Scope, Tenant};
use crate::run::Verdict;
use crate::task::{Identity, TaskKey};
use crate::{ErrorKind, Task};

fn call(id: &str, tool: &str) -> RequestedCall {
    RequestedCall::new(tool, Arguments::from_raw("{}")).with_id(id)
}

fn label() -> Label {
    Label::new("test", Timestamp::UNIX_EPOCH)
}

/// One finished turn per entry: the user's words, the tool's result, the answer.
fn chat(turns: &[(&str, &str, &str)]) -> Conversation {
    let mut chat = Conversation::new();
    for (user, result, answer) in turns {
        chat.push_user(*user);
        chat.push_calls([call("c", "look")]);
        chat.push_result(Some("c"), CallResult::of(*result)).unwrap();
        chat.push_text(*answer);
    }
    chat
}

fn key(run: &RecordedRun) -> TaskKey {
    let identity = Identity { tenant: Tenant::default(), scope: Scope::default(), agent: AgentName::default() };
    TaskKey::of(&run.task, &identity)
}

fn runs(chat: &Conversation) -> Vec<RecordedRun> {
    chat.runs(&label()).into_iter().map(Result::unwrap).collect()
}

#[test]
fn each_user_turn_is_a_task_with_the_earlier_turns_in_its_key() {
    let one = runs(&chat(&[("hi", "7", "done"), ("redo it", "8", "redone")]));
    let other = runs(&chat(&[("hi", "9", "done"), ("redo it", "8", "redone")]));
    assert_eq!(one.len(), 2);
    assert_eq!(one[1].calls.len(), 1);
    assert_eq!(one[1].answer.as_deref(), Some("redone"));
    assert_eq!(key(&one[0]), key(&other[0]));
    assert_ne!(key(&one[1]), key(&other[1]), "an earlier result differs");
    assert_ne!(one[0].run_id, other[0].run_id);
}

#[test]
fn a_turn_keeps_its_run_id_when_the_conversation_grows() {
    let short = runs(&chat(&[("hi", "7", "done")]));
    let long = runs(&chat(&[("hi", "7", "done"), ("more", "8", "ok")]));
    assert_eq!(short[0].run_id, long[0].run_id);
    let again = runs(&chat(&[("hi", "7", "done"), ("hi", "7", "done")]));
    assert_ne!(again[0].run_id, again[1].run_id, "the same words later are another run");
}

#[test]
fn a_named_task_makes_one_run_and_takes_the_verdict() {
    let verdict = Some(Verdict::Failure);
    let label = Label { task: Some("sum up".into()), verdict, ..label() };
    let all = chat(&[("hi", "7", "done"), ("more", "8", "ok")]).runs(&label);
    let [Ok(run)] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!(run.task, Task::new("sum up"));
    assert_eq!(run.calls.iter().map(|call| call.turn).collect::<Vec<_>>(), [0, 0]);
    assert_eq!((run.answer.as_deref(), run.verdict), (Some("ok"), verdict));
}

#[test]
fn the_run_id_does_not_depend_on_the_verdict_or_the_place() {
    let chat = chat(&[("hi", "7", "done")]);
    let other = Label { verdict: Some(Verdict::Success), origin: "elsewhere".into(), ..label() };
    assert_eq!(chat.runs(&label())[0].as_ref().unwrap().run_id, chat.runs(&other)[0].as_ref().unwrap().run_id);
    let named = Label { id: Some("2".into()), ..label() };
    assert_ne!(chat.runs(&label())[0].as_ref().unwrap().run_id, chat.runs(&named)[0].as_ref().unwrap().run_id);
}

#[test]
fn f37_a_turn_with_open_calls_is_not_learned() {
    let mut chat = chat(&[("hi", "7", "done")]);
    chat.push_user("more");
    chat.push_text("I will look.");
    chat.push_calls([call("a", "look"), call("b", "look")]);
    chat.push_result(Some("b"), CallResult::of("1")).unwrap();
    let runs = chat.runs(&label());
    assert!(runs[0].is_ok());
    let error = runs[1].as_ref().unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidInput, "not finished: 1 call without a result"));
}

#[test]
fn f37_a_result_that_comes_after_the_final_text_still_counts() {
    let mut chat = Conversation::new();
    chat.push_user("hi");
    chat.push_calls([call("a", "look"), call("b", "peek")]);
    chat.push_text("done");
    chat.push_result(Some("b"), CallResult::of("2")).unwrap();
    chat.push_result(Some("a"), CallResult::of("1")).unwrap();
    let run = &runs(&chat)[0];
    let outputs: Vec<_> = run.calls.iter().map(|call| call.output.as_text()).collect();
    assert_eq!(outputs, ["1", "2"]);
    assert_eq!(run.calls[0].group, run.calls[1].group);
    assert!(run.calls[0].group.is_some());
    assert_eq!(run.answer.as_deref(), Some("done"));
}

#[test]
fn a_call_that_was_passed_over_counts_as_failed() {
    let mut chat = Conversation::new();
    chat.push_user("hi");
    chat.push_calls([call("a", "look")]);
    chat.push_text("done");
    let failed = CallStatus::Failed { reason: "no result recorded".into() };
    assert_eq!(runs(&chat)[0].calls[0].status, failed);
}

#[test]
fn a_text_before_a_call_is_no_answer() {
    let mut chat = Conversation::new();
    chat.push_user("hi");
    chat.push_text("let me look");
    chat.push_calls([call("a", "look")]);
    chat.push_result(None, CallResult::of("1")).unwrap();
    assert_eq!(runs(&chat)[0].answer, None);
}

#[test]
fn an_id_may_be_used_again_once_it_was_answered() {
    let mut chat = chat(&[("hi", "1", "done"), ("more", "2", "ok")]);
    let outputs: Vec<_> = runs(&chat).iter().map(|run| run.calls[0].output.as_text().to_owned()).collect();
    assert_eq!(outputs, ["1", "2"]);
    let error = chat.push_result(Some("c"), CallResult::of("3")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.message().contains("`c`"), "{error}");
}

#[test]
fn the_word_of_the_host_wins_over_the_envelope() {
    let status = |output: ToolOutput, ok| CallResult { output, ok }.status().is_ok();
    assert!(!status("fine".into(), Some(false)));
    assert!(status("Error: is what I searched for".into(), Some(true)));
    assert!(!status(ToolOutput::error("x"), None));
}

#[test]
fn what_the_provider_ran_itself_is_refused_by_name() {
    let mut chat = Conversation::new();
    chat.push_user("hi");
    chat.push_hosted_tool("code_execution");
    chat.push_text("done");
    let error = chat.runs(&label()).remove(0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("`code_execution`"));
}

#[test]
fn an_answer_that_was_cut_off_is_not_learned() {
    let mut chat = chat(&[("hi", "1", "don")]);
    chat.cut_off("max_tokens");
    assert_eq!(
        chat.runs(&label()).remove(0).unwrap_err().message(),
        "not finished: the model stopped with `max_tokens`"
    );
}

#[test]
fn messages_in_a_row_are_one_turn_and_no_user_is_no_task() {
    let mut chat = Conversation::new();
    chat.push_text("Welcome!");
    assert!(chat.runs(&label()).remove(0).is_err());
    chat.push_user("the file");
    chat.push_user("sum it up");
    chat.push_text("done");
    assert_eq!(runs(&chat)[0].task.text(), "the file\n\nsum it up");
}

#[test]
fn f37_a_turn_that_nothing_follows_is_not_learned() {
    let mut chat = chat(&[("hi", "1", "done")]);
    chat.push_user("thanks");
    let error = chat.runs(&label()).remove(1).unwrap_err();
    assert_eq!(error.message(), "not finished: nothing follows the user's words");
}
