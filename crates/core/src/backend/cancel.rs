//! Cancellation: a flag that the caller sets, and the error that cancelled work returns.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The error of work that was cancelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("cancelled by the caller")]
pub struct Cancelled;

/// The result of work that a [`Backend`](super::Backend) does: the error is [`Cancelled`] when its token was cancelled.
pub type Result<T, E = Cancelled> = std::result::Result<T, E>;

/// A flag that cancels work. Clones share one flag, so that any of them can cancel the work of all.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

/// A token that shares the given flag, which a signal handler may set.
impl From<Arc<AtomicBool>> for CancelToken {
    fn from(flag: Arc<AtomicBool>) -> CancelToken {
        CancelToken(flag)
    }
}

impl CancelToken {
    /// A token that has not been cancelled.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Cancels the work that holds this token or a clone of it.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the work was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns an error if the work was cancelled, for use with `?` between pieces of work.
    ///
    /// # Errors
    /// [`Cancelled`] after [`CancelToken::cancel`].
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }
}
