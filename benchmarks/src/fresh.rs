//! A fresh memory whose clock goes on by itself, so that every play of one order is alike.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use learnkit::config::{ReplayTrust, Settings};
use learnkit::{BoxError, Clock, LearnKit};

/// Far longer than any operation takes, also on a busy machine.
const DEADLINE: Duration = Duration::from_mins(10);
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

/// Goes a second on whenever it is asked.
#[derive(Debug)]
struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + START + SignedDuration::from_secs(self.0.fetch_add(1, Ordering::Relaxed))
    }
}
