//! Blocking work of requests, on threads of its own, with limits on how much runs and waits at once.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use superpose_core::backend::CancelToken;
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
        let permits = |count: usize| Arc::new(Semaphore::new(count));
        Work { running: permits(running), admitted: permits(running + waiting) }
    }

    /// Runs the work on a thread that may block.
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
        let panicked = || ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal error");
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(panicked()))
    }

    /// The same, for work that can be cancelled: its token is cancelled when the client disconnects.
    pub async fn run_cancellable<R: Send + 'static>(
        &self,
        work: impl FnOnce(&CancelToken) -> Result<R, ApiError> + Send + 'static,
    ) -> Result<R, ApiError> {
        // Dropped with this future, which is dropped with the connection.
        let guard = CancelOnDrop(CancelToken::new());
        let cancel = guard.0.clone();
        self.run(move || work(&cancel)).await
    }
}

/// Cancels its token when dropped.
struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
