//! A fresh memory whose clock goes on by itself, so that every play of one order is alike.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use learnkit::backend::Store;
use learnkit::config::{ReplayTrust, Settings};
use learnkit::record::Scope;
use learnkit::{BoxError, Clock, LearnKit};

/// Far longer than any operation takes, also on a busy machine.
const DEADLINE: Duration = Duration::from_mins(10);
/// No run of the benchmark takes longer on the clock of [`Ticking`].
const SECONDS_OF_A_RUN: i64 = 1_000;
/// When the clock starts: 2020.
const START: SignedDuration = SignedDuration::from_hours(24 * 18_262);

/// A fresh memory on `memory:`.
pub(crate) async fn open(trust: ReplayTrust) -> Result<LearnKit, BoxError> {
    with(Settings { replay_trust: trust, ..Settings::default() }).await
}

/// The same with these settings.
pub(crate) async fn with(settings: Settings) -> Result<LearnKit, BoxError> {
    let settings = Settings { memory_deadline: DEADLINE, ..settings };
    let clock = Arc::new(Ticking(AtomicI64::new(0)));
    Ok(LearnKit::builder().backend("memory:").settings(settings).clock(clock).build().await?)
}

/// A memory of a user on a store that is there; its clock goes on from one run to the next.
pub(crate) async fn of_store(store: Store, scope: Scope, settings: Settings, run: usize) -> Result<LearnKit, BoxError> {
    let clock = Arc::new(Ticking(AtomicI64::new(i64::try_from(run)? * SECONDS_OF_A_RUN)));
    Ok(LearnKit::builder().store(store).scope(scope).settings(settings).clock(clock).build().await?)
}

/// Goes a second on whenever it is asked.
#[derive(Debug)]
struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + START + SignedDuration::from_secs(self.0.fetch_add(1, Ordering::Relaxed))
    }
}
