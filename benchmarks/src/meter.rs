//! CPU and wall time of repeated work.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// What one operation costs, in microseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// CPU of all threads of this process.
    pub cpu_us: f64,
    /// Wall time.
    pub wall_us: f64,
}

/// CPU time of this process so far, in microseconds.
fn cpu_now() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    #[expect(clippy::cast_precision_loss, reason = "a benchmark runs for seconds, not for centuries")]
    let micros = time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3;
    micros
}

/// Starts a measurement; [`Meter::per`] ends it.
#[derive(Debug)]
pub struct Meter {
    cpu: f64,
    wall: Instant,
}

impl Meter {
    /// Starts now.
    pub fn start() -> Self {
        Self { cpu: cpu_now(), wall: Instant::now() }
    }

    /// The cost of one of `count` operations since the start.
    pub fn per(self, count: usize) -> Cost {
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
        let count = count as f64;
        Cost { cpu_us: (cpu_now() - self.cpu) / count, wall_us: self.wall.elapsed().as_secs_f64() * 1e6 / count }
    }
}
