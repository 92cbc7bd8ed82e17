//! Threads that own their connections: nothing here blocks an executor.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use learnkit_core::{Error, ErrorKind, Result};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::error::{Outcome, explain};

/// So many jobs wait before callers do.
const QUEUE: usize = 128;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// Threads with one connection each that take jobs from one queue.
///
/// Dropping them lets the queued jobs finish and waits for the threads.
#[derive(Debug)]
pub(crate) struct Workers {
    queue: Option<mpsc::Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts one thread per connection.
    pub(crate) fn start(name: &str, connections: Vec<Connection>) -> Result<Self> {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let receiver = Arc::new(Mutex::new(receiver));
        let mut workers = Self { queue: Some(sender), threads: Vec::new() };
        for connection in connections {
            let receiver = receiver.clone();
            let thread = std::thread::Builder::new().name(name.to_owned());
            workers.threads.push(thread.spawn(move || serve(connection, &receiver)).map_err(no_thread)?);
        }
        Ok(workers)
    }

    /// Runs a job on one of the threads.
    ///
    /// A job that has begun is finished even when the future is dropped. A job that panics gives an
    /// `Internal` error; its transaction is rolled back and its thread lives on.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        operation: &'static str,
        job: impl FnOnce(&mut Connection) -> Outcome<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            let outcome = catch_unwind(AssertUnwindSafe(|| job(connection)));
            let outcome = outcome.map_or_else(|_| Err(panicked()), |outcome| outcome.map_err(explain));
            // Nobody listens when the caller dropped the future.
            let _ = reply.send(outcome.map_err(|error| error.with_operation(operation)));
        });
        self.queue.as_ref().ok_or_else(ended)?.send(job).await.map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            // A thread only fails by a panic outside of a job, which nothing there does.
            let _ = thread.join();
        }
    }
}

/// Runs blocking work on a thread of its own.
pub(crate) async fn apart<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let (reply, answer) = oneshot::channel();
    let thread = std::thread::Builder::new().name("learnkit-sqlite-open".to_owned());
    thread.spawn(move || reply.send(work())).map_err(no_thread)?;
    answer.await.map_err(|_| panicked())?
}

fn serve(mut connection: Connection, queue: &Mutex<mpsc::Receiver<Job>>) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).blocking_recv();
        let Some(job) = next else { return };
        job(&mut connection);
    }
}

fn no_thread(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, "a thread for the store cannot be started").with_source(error).retryable()
}

fn panicked() -> Error {
    Error::new(ErrorKind::Internal, "a job of the store panicked; nothing of it was stored")
}

fn ended() -> Error {
    Error::new(ErrorKind::Internal, "the threads of the store have ended")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workers() -> Workers {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t (x)").unwrap();
        Workers::start("test", vec![connection]).unwrap()
    }

    fn count(connection: &Connection) -> Outcome<i64> {
        Ok(connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0))?)
    }

    #[tokio::test]
    async fn a_panicking_job_is_rolled_back_and_its_thread_lives_on() {
        let workers = workers();
        let outcome = workers.run("put", |connection| -> Outcome<()> {
            let transaction = connection.transaction()?;
            transaction.execute("INSERT INTO t VALUES (1)", [])?;
            panic!("on purpose");
        });
        let error = outcome.await.unwrap_err();
        assert_eq!((error.kind(), error.operation()), (ErrorKind::Internal, Some("put")));
        assert_eq!(workers.run("get", |connection| count(connection)).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn a_dropped_future_does_not_stop_its_job_and_dropping_waits_for_it() {
        let workers = workers();
        let (started, begun) = std::sync::mpsc::channel();
        let (finish, gate) = std::sync::mpsc::channel::<()>();
        let (done, was_done) = std::sync::mpsc::channel();
        let job = workers.run("put", move |_| -> Outcome<()> {
            started.send(()).unwrap();
            gate.recv().unwrap();
            done.send(()).unwrap();
            Ok(())
        });
        {
            let mut job = Box::pin(job);
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(job.as_mut().poll(&mut context).is_pending());
        }
        begun.recv().unwrap();
        finish.send(()).unwrap();
        drop(workers);
        assert_eq!(was_done.try_recv(), Ok(()));
    }
}
