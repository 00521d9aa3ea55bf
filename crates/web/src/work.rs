//! Computing for requests: on threads of its own, so many at once, and not for ever.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use superpose_core::backend::CancelToken;
use tokio::sync::Semaphore;

use crate::refusal::Refusal;

/// Longest wait for one's turn.
const PATIENCE: Duration = Duration::from_secs(20);

/// A kind of work, of which only so much is done at once and only so much waits.
pub struct Work {
    turns: Arc<Semaphore>,
    places: Arc<Semaphore>,
}

impl Work {
    /// So many at once, so many waiting.
    pub fn new(at_once: usize, waiting: usize) -> Work {
        Work { turns: Arc::new(Semaphore::new(at_once)), places: Arc::new(Semaphore::new(at_once + waiting)) }
    }

    /// Does it on a thread that may block. A fault in it is an answer like any other.
    pub async fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<R, Refusal> + Send + 'static,
    ) -> Result<R, Refusal> {
        let busy = || Refusal::busy("too many requests are being worked on");
        let place = self.places.clone().try_acquire_owned().map_err(|_| busy())?;
        let turn = tokio::time::timeout(PATIENCE, self.turns.clone().acquire_owned()).await;
        let turn = turn.map_err(|_| busy())?.map_err(|_| busy())?;
        // Both go with the work, which goes on when nobody waits for its answer any more.
        let work = move || {
            let _held = (place, turn);
            work()
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(result) => result,
            Err(_) => Err(fault()),
        }
    }

    /// The same, for work that can be cancelled: its token is cancelled when the client disconnects.
    pub async fn run_cancellable<R: Send + 'static>(
        &self,
        work: impl FnOnce(&CancelToken) -> Result<R, Refusal> + Send + 'static,
    ) -> Result<R, Refusal> {
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

/// Something that should not happen.
pub fn fault() -> Refusal {
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "a fault of the engine")
}
