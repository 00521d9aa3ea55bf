//! Long calls: they release the interpreter lock, stop on Ctrl-C and report progress to a listener.

use std::any::Any;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{TryRecvError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyFileNotFoundError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use superpose_core::backend::{Backend, CancelToken};
use superpose_lab::run::Progress;
use superpose_lab::store::StoreError;

/// Calls expected to take fewer seconds run on the caller's thread.
const SHORT: f64 = 0.05;

/// The time between two checks for signals by the caller's thread, which also calls the listener.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Time to finish after a stop request; then the work is cancelled and waited for as long again. Work that does not check for
/// cancellation (a decoder's assignment, a closed form, the writing of a file) finishes in the background.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// The same for work that saves its state. A second Ctrl-C ends the wait.
const SAVE_TIMEOUT: Duration = Duration::from_secs(60);

/// A call that failed.
pub struct Failure {
    /// What failed, in one sentence.
    pub text: String,
    /// Whether a file is missing.
    pub is_missing_file: bool,
}

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::of(&error)
    }
}

impl Failure {
    /// A failure in one sentence.
    pub fn new(text: impl Into<String>) -> Failure {
        Failure { text: text.into(), is_missing_file: false }
    }

    /// The failure with its causes.
    pub fn of(error: &(dyn Error + 'static)) -> Failure {
        let mut text = error.to_string();
        let mut innermost = error;
        while let Some(source) = innermost.source() {
            text += &format!(": {source}");
            innermost = source;
        }
        let cause = match innermost.downcast_ref() {
            Some(StoreError::Io { error, .. }) => Some(error),
            _ => innermost.downcast_ref(),
        };
        let is_missing_file =
            cause.is_some_and(|cause: &std::io::Error| cause.kind() == std::io::ErrorKind::NotFound);
        Failure { text, is_missing_file }
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        match failure.is_missing_file {
            true => PyFileNotFoundError::new_err(failure.text),
            false => PyValueError::new_err(failure.text),
        }
    }
}

/// What the caller and the work know of each other.
#[derive(Default)]
pub struct Watch {
    stop: Arc<AtomicBool>,
    leave: CancelToken,
    done: AtomicU64,
    total: AtomicU64,
    note: Mutex<String>,
    saves: AtomicBool,
    /// The thread that calls the listener, if there is one.
    caller: OnceLock<Thread>,
    /// Counts that the listener was not called with yet.
    counts: Mutex<Vec<Progressed>>,
    /// Notified when the listener is called with all of them.
    told: Condvar,
}

/// What is done, what is to be done and a note.
type Progressed = (u64, u64, String);

/// Counts that may wait for the listener. Work that is further ahead waits.
const MAX_COUNTS: usize = 1024;

impl Watch {
    /// Set when the caller interrupts the call: work that keeps its finished parts starts no further part.
    pub fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// The same as a token, for work of which nothing is kept unless it ends.
    pub fn cancel_token(&self) -> CancelToken {
        Arc::clone(&self.stop).into()
    }

    /// Cancelled when the caller no longer waits for the parts that are running.
    pub fn leave(&self) -> CancelToken {
        self.leave.clone()
    }

    /// Threads for work of which nothing is kept unless it ends: it stops at once.
    pub fn backend(&self, threads: usize) -> Result<Backend, Failure> {
        Ok(Backend::cpu(threads)?.with_cancel(self.cancel_token()))
    }

    /// Threads for work that keeps what it has finished: it is given some time.
    pub fn patient_backend(&self, threads: usize) -> Result<Backend, Failure> {
        Ok(Backend::cpu(threads)?.with_cancel(self.leave()))
    }

    /// Whether the work, from now on, saves how far it is when it is told to stop.
    pub fn will_save(&self, saves: bool) {
        self.saves.store(saves, Ordering::Relaxed);
    }

    /// Sets the total amount of work.
    pub fn begin(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
    }

    /// Adds to the amount of work done.
    pub fn advance(&self, by: u64) {
        self.done.fetch_add(by, Ordering::Relaxed);
    }

    /// Sets everything as done, where the total was an upper bound.
    pub fn complete(&self) {
        self.done.store(self.total.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Sets the amount of work done, with which the listener is called even if more is done by then.
    pub fn count(&self, done: u64) {
        self.done.store(done, Ordering::Relaxed);
        let Some(caller) = self.caller.get() else { return };
        let mut counts = lock(&self.counts);
        while counts.len() >= MAX_COUNTS && !self.stop.load(Ordering::Relaxed) {
            caller.unpark();
            let waited = self.told.wait_timeout(counts, POLL_INTERVAL);
            counts = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if counts.len() < MAX_COUNTS {
            counts.push(self.now());
        }
    }

    /// The progress now.
    fn now(&self) -> Progressed {
        let (done, total) = (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed));
        (done, total, lock(&self.note).clone())
    }

    /// Sets the note on the current work.
    pub fn say(&self, note: String) {
        *lock(&self.note) = note;
    }

    /// Calls the listener with every count since the last call, or with the progress now if there is none.
    pub fn tell(&self, py: Python<'_>, listener: &Py<PyAny>) -> PyResult<()> {
        let mut counts = std::mem::take(&mut *lock(&self.counts));
        self.told.notify_all();
        if counts.is_empty() {
            counts.push(self.now());
        }
        counts.into_iter().try_for_each(|count| listener.call1(py, count).map(|_| ()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Samples read, out of those that a run will read.
impl Progress for Watch {
    fn repeat(&self, repeat: usize) {
        self.say(format!("repeat {}", repeat + 1));
    }

    fn samples(&self, count: usize) {
        self.advance(count as u64);
    }
}

/// Does the work, expected to take so many seconds, without holding the interpreter. `listener` is called with what is
/// done, what is to be done (0 where that is not known) and what is going on: for every count, and every 50 ms without one.
pub fn work<R: Send + 'static>(
    py: Python<'_>,
    seconds: f64,
    listener: Option<Py<PyAny>>,
    job: impl FnOnce(&Watch) -> Result<R, Failure> + Send + 'static,
) -> PyResult<R> {
    let watch = Arc::new(Watch::default());
    let guarded = |watch: &Watch| catch_unwind(AssertUnwindSafe(|| job(watch)));
    if seconds < SHORT {
        let result = py.detach(|| guarded(&watch));
        if let Some(listener) = &listener {
            watch.tell(py, listener)?;
        }
        return finish(result);
    }
    let caller = std::thread::current();
    if listener.is_some() {
        let _ = watch.caller.set(caller.clone());
    }
    let (sender, receiver) = sync_channel(1);
    let theirs = Arc::clone(&watch);
    std::thread::Builder::new().name("superpose".into()).spawn(move || {
        // The receiver is gone if the caller stopped waiting.
        let _ = sender.send(guarded(&theirs));
        caller.unpark();
    })?;
    // Waits for the result, or until the work wakes this thread because the listener is behind.
    let receiver = Mutex::new(receiver);
    let wait = |time: Duration| {
        py.detach(|| {
            let found = lock(&receiver).try_recv();
            found.or_else(|empty| match empty {
                TryRecvError::Empty => {
                    std::thread::park_timeout(time);
                    lock(&receiver).try_recv()
                }
                TryRecvError::Disconnected => Err(empty),
            })
        })
    };
    loop {
        match wait(POLL_INTERVAL) {
            Ok(result) => {
                if let Some(listener) = &listener {
                    watch.tell(py, listener)?;
                }
                return finish(result);
            }
            Err(TryRecvError::Disconnected) => return Err(fault("its thread is gone")),
            Err(TryRecvError::Empty) => {}
        }
        let told = listener.as_ref().map_or(Ok(()), |listener| watch.tell(py, listener));
        if let Err(error) = py.check_signals().and(told) {
            watch.stop.store(true, Ordering::Relaxed);
            let timeout = if watch.saves.load(Ordering::Relaxed) { SAVE_TIMEOUT } else { STOP_TIMEOUT };
            let ended = |timeout: Duration| {
                let until = Instant::now() + timeout;
                while matches!(wait(POLL_INTERVAL), Err(TryRecvError::Empty)) {
                    if py.check_signals().is_err() || Instant::now() > until {
                        return false;
                    }
                }
                true
            };
            if !ended(timeout) {
                watch.leave.cancel();
                ended(STOP_TIMEOUT);
            }
            return Err(error);
        }
    }
}

/// Does long work that borrows from the caller, without holding the interpreter. Ctrl-C cancels the token that the work heeds.
pub fn borrowing<R: Send>(
    py: Python<'_>,
    cancel: &CancelToken,
    job: impl FnOnce() -> Result<R, Failure> + Send,
) -> PyResult<R> {
    let caller = std::thread::current();
    let (sender, receiver) = sync_channel(1);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let _ = sender.send(catch_unwind(AssertUnwindSafe(job)));
            caller.unpark();
        });
        let mut interrupted = None;
        loop {
            match receiver.try_recv() {
                Ok(result) => return interrupted.map_or_else(|| finish(result), Err),
                Err(TryRecvError::Disconnected) => return Err(fault("its thread is gone")),
                Err(TryRecvError::Empty) => py.detach(|| std::thread::park_timeout(POLL_INTERVAL)),
            }
            if let Err(error) = py.check_signals() {
                cancel.cancel();
                interrupted.get_or_insert(error);
            }
        }
    })
}

fn finish<R>(result: std::thread::Result<Result<R, Failure>>) -> PyResult<R> {
    match result {
        Ok(result) => Ok(result?),
        Err(panic) => Err(panicked(&*panic)),
    }
}

/// What a panic said, as an error.
pub fn panicked(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    fault(&text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default())
}

/// An internal error.
fn fault(what: &str) -> PyErr {
    PyRuntimeError::new_err(format!("internal error: {what}"))
}
