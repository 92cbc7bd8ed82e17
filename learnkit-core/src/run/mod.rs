//! Runs: what an agent called, with what result, and what came of it.
//!
//! Not here: what is made of a run ([`crate::procedure`]) and who decides ([`crate::engine`]).

mod arguments;
mod call;
mod doubt;
mod journal;
mod offer;
mod outage;
mod outcome;
mod output;
mod reading;
mod replayed;
mod stored;
mod tracker;

pub use arguments::Arguments;
pub(crate) use call::short_reason;
pub use call::{CallStatus, Cut, StoredCall, ToolCall};
pub use journal::{Journal, JournalStep, Lease, OpenReplay, OpenRun, StepState};
pub use offer::{Arm, Offer, Tokens};
pub(crate) use outage::is_outage;
pub use outcome::{Gate, GateSource, QUALITY_THRESHOLD, Verdict, failure_of, outcome_score};
pub(crate) use output::prefix;
pub use output::{STORED_RESULT_BYTES, StoredOutput, ToolOutput};
pub(crate) use reading::Reading;
pub use replayed::ReplayNote;
pub use stored::{AnswerSource, CandidateNote, DecisionNote, LearnedNote, Mode, StoredRun};
pub use tracker::{CallDraft, PendingCall, ToolTracker};
