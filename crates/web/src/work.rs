//! Blocking work of requests, on threads of its own, with limits on how much runs and waits at once.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::error::ApiError;

/// Time within which waiting work must start.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(20);

/// A kind of work with its limits.
pub struct Work {
    running: Arc<Semaphore>,
    admitted: Arc<Semaphore>,
}

impl Work {
    /// Work of which `running` at once run and `waiting` wait.
    pub fn new(running: usize, waiting: usize) -> Work {
        Work {
            running: Arc::new(Semaphore::new(running)),
            admitted: Arc::new(Semaphore::new(running + waiting)),
        }
    }

    /// Runs the work on a thread that may block.
    ///
    /// # Errors
    /// The work's own; 503 when too much waits already, 500 when the work panics.
    pub async fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<R, ApiError> + Send + 'static,
    ) -> Result<R, ApiError> {
        let busy = || ApiError::busy("too many requests are being worked on");
        let admitted = self.admitted.clone().try_acquire_owned().map_err(|_| busy())?;
        let running = tokio::time::timeout(QUEUE_TIMEOUT, self.running.clone().acquire_owned()).await;
        let running = running.map_err(|_| busy())?.map_err(|_| busy())?;
        // The work holds both permits, because it continues after the client has disconnected.
        let work = move || {
            let _permits = (admitted, running);
            work()
        };
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(ApiError::internal()))
    }

    /// The same, for work that asks now and then whether it is still wanted: it is not once the client has gone.
    pub async fn run_while_wanted<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Wanted) -> Result<R, ApiError> + Send + 'static,
    ) -> Result<R, ApiError> {
        // Dropped with this future, which is dropped with the connection.
        let waiting = Waiting(Wanted::default());
        let wanted = waiting.0.clone();
        self.run(move || work(&wanted)).await
    }
}

/// Whether an answer is still waited for.
#[derive(Clone, Default)]
pub struct Wanted {
    gone: Arc<AtomicBool>,
}

impl Wanted {
    /// Ends the work when nobody waits any more. It unwinds: the engine has nothing to tidy up, and asks in few places.
    pub fn or_end(&self) {
        if self.gone.load(Ordering::Relaxed) {
            resume_unwind(Box::new("nobody waits"));
        }
    }
}

/// One who waits, until dropped.
struct Waiting(Wanted);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.gone.store(true, Ordering::Relaxed);
    }
}
