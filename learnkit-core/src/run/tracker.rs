//! The tool tracker: the log of a run's calls.
//!
//! Recording is in memory and takes microseconds; the run is stored when it finishes.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;

use super::{Arguments, CallStatus, ToolCall, ToolOutput, outcome_score};
use crate::clock::Clock;
use crate::tool::{EffectClass, ToolAnnotations};

thread_local! {
    /// The tracked call whose future is being polled on this thread: the tracker's address and the index.
    static CURRENT: RefCell<Vec<(usize, usize)>> = const { RefCell::new(Vec::new()) };
}

/// A call to record.
#[derive(Debug, Clone)]
pub struct CallDraft {
    tool: String,
    arguments: Arguments,
    annotations: ToolAnnotations,
    group: Option<u32>,
    replayed: bool,
}

impl CallDraft {
    /// A call of a tool with its arguments.
    pub fn new(tool: impl Into<String>, arguments: impl Into<Arguments>) -> Self {
        Self {
            tool: tool.into(),
            arguments: arguments.into(),
            annotations: ToolAnnotations::default(),
            group: None,
            replayed: false,
        }
    }

    /// What the tool says about itself.
    #[must_use]
    pub fn with_annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.annotations = annotations;
        self
    }

    /// Calls with one number ran side by side.
    #[must_use]
    pub fn with_group(mut self, group: Option<u32>) -> Self {
        self.group = group;
        self
    }

    /// The tool.
    pub(crate) fn tool(&self) -> &str {
        &self.tool
    }

    /// The arguments.
    pub(crate) fn arguments(&self) -> &Arguments {
        &self.arguments
    }

    /// What a call of the tool may do to the world.
    pub(crate) fn effect(&self) -> EffectClass {
        self.annotations.effect()
    }

    /// Whether LearnKit planned it.
    pub(crate) fn is_planned_by_memory(&self) -> bool {
        self.replayed
    }

    /// Marks a call that LearnKit planned.
    #[must_use]
    pub(crate) fn planned_by_memory(mut self) -> Self {
        self.replayed = true;
        self
    }
}

/// Records the calls of one run. A cheap clone; all clones write to one log.
///
/// Calls keep the order in which they started. Calls that overlap share a group. A call recorded
/// while another tracked call is being polled on the same task is its child and is not replayed on
/// its own. Dropping a pending call records it as failed.
#[derive(Debug, Clone)]
pub struct ToolTracker {
    log: Arc<Mutex<Log>>,
    clock: Arc<dyn Clock>,
}

#[derive(Debug, Default)]
struct Log {
    calls: Vec<Slot>,
    turn: u32,
    next_group: u32,
}

#[derive(Debug)]
struct Slot {
    call: ToolCall,
    pending: bool,
}

impl ToolTracker {
    /// An empty tracker.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { log: Arc::default(), clock }
    }

    /// Records a finished call; whether it worked is read off the result.
    pub fn record(&self, tool: impl Into<String>, arguments: impl Into<Arguments>, output: impl Into<ToolOutput>) {
        self.begin(CallDraft::new(tool, arguments)).finish(output.into(), None);
    }

    /// Records a finished call that failed.
    pub fn record_failure(&self, tool: impl Into<String>, arguments: impl Into<Arguments>, error: impl Into<String>) {
        self.begin(CallDraft::new(tool, arguments)).fail(error);
    }

    /// Runs a call and records it. A dropped future is recorded as a failed call.
    ///
    /// # Errors
    /// The future's own error, after it was recorded.
    pub async fn call<F, T, E>(&self, draft: CallDraft, work: F) -> Result<T, E>
    where
        F: Future<Output = Result<T, E>> + Send,
        T: Clone + Into<ToolOutput>,
        E: std::fmt::Display,
    {
        self.call_judged(draft, work, |_| None).await
    }

    /// The same, where the tool's own word on the result counts too.
    pub(crate) async fn call_judged<F, T, E>(
        &self,
        draft: CallDraft,
        work: F,
        success_when: impl Fn(&ToolOutput) -> Option<bool>,
    ) -> Result<T, E>
    where
        F: Future<Output = Result<T, E>> + Send,
        T: Clone + Into<ToolOutput>,
        E: std::fmt::Display,
    {
        self.begin(draft).make(work, success_when).await
    }

    /// A call as it stands in the log.
    pub(crate) fn call_at(&self, index: usize) -> Option<ToolCall> {
        self.locked(|log| log.calls.get(index).map(|slot| slot.call.clone()))
    }

    /// A call as it would start now, without starting it.
    pub(crate) fn draft_as_call(&self, draft: &CallDraft) -> ToolCall {
        let (parent, started) = (self.current(), self.clock.now());
        self.locked(|log| call_of(draft.clone(), parent, started, log.turn))
    }

    /// Puts calls that an earlier process made before everything else; they are settled.
    pub(crate) fn load(&self, calls: Vec<ToolCall>) {
        self.locked(|log| {
            log.turn = calls.iter().map(|call| call.turn).max().unwrap_or(log.turn);
            log.next_group = calls.iter().filter_map(|call| call.group).max().map_or(0, |group| group + 1);
            log.calls = calls.into_iter().map(|call| Slot { call, pending: false }).collect();
        });
    }

    /// Starts a call that ends with [`PendingCall::finish`] or [`PendingCall::fail`].
    pub fn begin(&self, draft: CallDraft) -> PendingCall {
        let (parent, started) = (self.current(), self.clock.now());
        let index = self.locked(|log| log.start(draft, parent, started));
        PendingCall { tracker: self.clone(), index, open: true }
    }

    /// The tracked call that is being polled.
    fn current(&self) -> Option<usize> {
        let address = self.address();
        CURRENT.with_borrow(|stack| stack.iter().rev().find(|(owner, _)| *owner == address).map(|(_, index)| *index))
    }

    /// Starts the next user turn; later calls belong to it.
    pub fn next_turn(&self) {
        self.locked(|log| log.turn += 1);
    }

    /// A group number that no call has yet.
    pub(crate) fn fresh_group(&self) -> u32 {
        self.locked(|log| {
            log.next_group += 1;
            log.next_group - 1
        })
    }

    /// How many calls with these arguments have worked so far.
    pub(crate) fn count_ok(&self, tool: &str, arguments: &Arguments) -> usize {
        self.locked(|log| {
            let calls = log.calls.iter().map(|slot| &slot.call);
            calls.filter(|call| call.status.is_ok() && call.tool == tool && call.arguments.same_as(arguments)).count()
        })
    }

    /// How many user turns there were, at least 1.
    pub fn turns(&self) -> u32 {
        self.locked(|log| log.turn + 1)
    }

    /// The calls so far, in the order they started; a pending call shows as failed.
    pub fn calls(&self) -> Vec<ToolCall> {
        self.locked(|log| log.calls.iter().map(|slot| slot.call.clone()).collect())
    }

    /// The finished calls from `start` on, up to the first that is pending.
    pub(crate) fn settled_from(&self, start: usize) -> Vec<ToolCall> {
        self.locked(|log| {
            let rest = log.calls.iter().skip(start).take_while(|slot| !slot.pending);
            rest.map(|slot| slot.call.clone()).collect()
        })
    }

    /// How many calls were recorded that no other tracked call made.
    pub fn call_count(&self) -> usize {
        self.locked(|log| log.calls.iter().filter(|slot| slot.call.parent.is_none()).count())
    }

    /// How many calls were started, also from inside others.
    pub(crate) fn started_count(&self) -> usize {
        self.locked(|log| log.calls.len())
    }

    /// The score of the run so far by its tool outcomes; see [`outcome_score`].
    pub fn outcome_score(&self, has_answer: bool) -> Option<f64> {
        outcome_score(&self.calls(), self.turns(), has_answer)
    }

    fn address(&self) -> usize {
        Arc::as_ptr(&self.log).cast::<()>() as usize
    }

    fn locked<T>(&self, work: impl FnOnce(&mut Log) -> T) -> T {
        work(&mut self.log.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Log {
    fn start(&mut self, draft: CallDraft, parent: Option<usize>, started: Timestamp) -> usize {
        let group = draft.group.or_else(|| self.overlapping(parent));
        self.next_group = self.next_group.max(group.map_or(0, |group| group + 1));
        let call = ToolCall { group, ..call_of(draft, parent, started, self.turn) };
        self.calls.push(Slot { call, pending: true });
        self.calls.len() - 1
    }

    /// The group of the siblings that are still running; they get a new one if they have none. A
    /// group that a finished call belongs to is closed: what starts now may use its result.
    fn overlapping(&mut self, parent: Option<usize>) -> Option<u32> {
        let next = self.next_group;
        let closed: Vec<u32> =
            self.calls.iter().filter(|slot| !slot.pending).filter_map(|slot| slot.call.group).collect();
        let mut running = self.calls.iter_mut().filter(|slot| slot.pending && slot.call.parent == parent);
        let first = running.next()?;
        let group = *first.call.group.get_or_insert(next);
        Some(if closed.contains(&group) { next.max(group + 1) } else { group })
    }
}

/// A call as it is before its end.
fn call_of(draft: CallDraft, parent: Option<usize>, started: Timestamp, turn: u32) -> ToolCall {
    ToolCall {
        tool: draft.tool,
        arguments: draft.arguments,
        output: ToolOutput::error("the call did not finish"),
        status: CallStatus::Failed { reason: "the call did not finish".to_owned() },
        annotations: draft.annotations,
        started,
        duration_ms: 0,
        group: draft.group,
        parent,
        turn,
        replayed: draft.replayed,
    }
}

/// A call that has started.
#[derive(Debug)]
#[must_use = "a pending call that is dropped is recorded as failed"]
pub struct PendingCall {
    tracker: ToolTracker,
    index: usize,
    open: bool,
}

impl PendingCall {
    /// The place in the log.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Runs the call and records what came of it; `success_when` is the tool's own word.
    pub(crate) async fn make<F, T, E>(self, work: F, success_when: impl Fn(&ToolOutput) -> Option<bool>) -> Result<T, E>
    where
        F: Future<Output = Result<T, E>> + Send,
        T: Clone + Into<ToolOutput>,
        E: std::fmt::Display,
    {
        let place = (self.tracker.address(), self.index);
        let result = Nested { place, work: Box::pin(work) }.await;
        match &result {
            Ok(output) => {
                let output = output.clone().into();
                let success = success_when(&output);
                self.finish(output, success);
            }
            Err(error) => self.fail(error.to_string()),
        }
        result
    }

    /// Records the result; `success_when` is the tool's own word, absent leaves it to the envelope.
    pub fn finish(mut self, output: ToolOutput, success_when: Option<bool>) {
        let status = CallStatus::of(&output, success_when);
        self.close(output, status);
    }

    /// Records an error.
    pub fn fail(mut self, error: impl Into<String>) {
        let reason = error.into();
        self.close(ToolOutput::error(reason.clone()), CallStatus::Failed { reason });
    }

    fn close(&mut self, output: ToolOutput, status: CallStatus) {
        self.open = false;
        let now = self.tracker.clock.now();
        let index = self.index;
        self.tracker.locked(|log| {
            if let Some(slot) = log.calls.get_mut(index) {
                let elapsed = now.duration_since(slot.call.started).as_millis();
                slot.call.duration_ms = u64::try_from(elapsed).unwrap_or(0);
                slot.call.output = output;
                slot.call.status = status;
                slot.pending = false;
            }
        });
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        if self.open {
            let reason = "the call was cancelled before it finished".to_owned();
            self.close(ToolOutput::error(reason.clone()), CallStatus::Failed { reason });
        }
    }
}

/// A future that is known as the current call while it is polled.
struct Nested<'a, T> {
    place: (usize, usize),
    work: Pin<Box<dyn Future<Output = T> + Send + 'a>>,
}

impl<T> Future for Nested<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> std::task::Poll<T> {
        let _entered = Entered::new(self.place);
        self.work.as_mut().poll(context)
    }
}

/// Leaves the current call even when the poll panics.
struct Entered;

impl Entered {
    fn new(place: (usize, usize)) -> Self {
        CURRENT.with_borrow_mut(|stack| stack.push(place));
        Self
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(Vec::pop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use crate::error::BoxError;
    use serde_json::json;

    fn tracker() -> ToolTracker {
        ToolTracker::new(Arc::new(SystemClock))
    }

    #[tokio::test]
    async fn f84_a_call_made_inside_another_is_its_child() {
        let tracker = tracker();
        let inner = tracker.clone();
        let outer = tracker.call(CallDraft::new("outer", json!({})), async move {
            inner.record("inner", json!({}), "x");
            Ok::<_, BoxError>("done".to_owned())
        });
        outer.await.unwrap();
        tracker.record("later", json!({}), "y");
        let parents: Vec<_> = tracker.calls().iter().map(|call| call.parent).collect();
        assert_eq!(parents, [None, Some(0), None]);
        assert_eq!(tracker.call_count(), 2);
    }

    #[test]
    fn overlapping_calls_share_a_group_and_keep_their_order() {
        let tracker = tracker();
        let first = tracker.begin(CallDraft::new("a", json!({})));
        let second = tracker.begin(CallDraft::new("b", json!({})));
        second.finish("2".into(), None);
        first.finish("1".into(), None);
        tracker.record("c", json!({}), "3");
        let seen: Vec<_> = tracker.calls().iter().map(|call| (call.tool.clone(), call.group)).collect();
        assert_eq!(seen, [("a".into(), Some(0)), ("b".into(), Some(0)), ("c".into(), None)]);
    }

    #[test]
    fn a_call_that_starts_after_another_finished_is_not_in_its_group() {
        let tracker = tracker();
        let first = tracker.begin(CallDraft::new("a", json!({})));
        let second = tracker.begin(CallDraft::new("b", json!({})));
        first.finish("1".into(), None);
        let third = tracker.begin(CallDraft::new("c", json!({})));
        second.finish("2".into(), None);
        third.finish("3".into(), None);
        let groups: Vec<_> = tracker.calls().iter().map(|call| call.group).collect();
        assert_eq!(groups, [Some(0), Some(0), Some(1)]);
    }

    #[test]
    fn a_dropped_call_is_recorded_as_failed() {
        let tracker = tracker();
        drop(tracker.begin(CallDraft::new("a", json!({}))));
        assert!(!tracker.calls()[0].status.is_ok());
    }

    #[test]
    fn a9_a_failed_last_call_fails_the_gate() {
        let tracker = tracker();
        for _ in 0..3 {
            tracker.record("look_up", json!({}), "{\"a\": 1}");
        }
        tracker.record_failure("pay", json!({}), "declined");
        assert_eq!(tracker.outcome_score(true), Some(2.0));
    }

    #[test]
    fn the_gate_scores_as_documented() {
        let tracker = tracker();
        assert_eq!(tracker.outcome_score(true), None);
        tracker.record_failure("query", json!({}), "busy");
        tracker.record("query", json!({}), "[1]");
        assert_eq!(tracker.outcome_score(true), Some(4.5));
        assert_eq!(tracker.outcome_score(false), Some(3.0));
        tracker.next_turn();
        assert_eq!(tracker.outcome_score(true), Some(2.0));
        tracker.record("query", json!({}), "[2]");
        assert_eq!(tracker.outcome_score(true), Some(4.5));
        tracker.next_turn();
        let explore = ToolAnnotations { exploration: true, ..ToolAnnotations::default() };
        tracker.begin(CallDraft::new("ls", json!({})).with_annotations(explore)).finish("[]".into(), None);
        assert_eq!(tracker.outcome_score(true), Some(2.0));
    }
}
