//! Ctrl-C and SIGTERM: the first signal asks the command to stop, the second ends the process at once.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use superpose_core::backend::CancelToken;

/// Records the signals that this process receives.
pub struct Interrupt {
    flag: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

/// The error of a command that stopped because of a signal.
#[derive(Debug)]
pub struct Interrupted {
    /// The exit code: 128 plus the signal's number.
    pub code: u8,
    message: String,
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Interrupt {
    /// Installs the signal handlers.
    pub fn listen() -> anyhow::Result<Interrupt> {
        let interrupt = Interrupt { flag: Arc::default(), signal: Arc::default() };
        for signal in [SIGINT, SIGTERM] {
            // In this order, because the shutdown on the second signal is armed by the flag that the first one sets.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&interrupt.flag))
                .and_then(|_| flag::register_usize(signal, Arc::clone(&interrupt.signal), signal as usize))
                .and_then(|_| flag::register(signal, Arc::clone(&interrupt.flag)))
                .context("cannot install signal handlers")?;
        }
        Ok(interrupt)
    }

    /// Returns a flag that becomes true with the first signal.
    pub fn flag(&self) -> &AtomicBool {
        &self.flag
    }

    /// Returns a token that the first signal cancels.
    pub fn token(&self) -> CancelToken {
        Arc::clone(&self.flag).into()
    }

    /// Returns the exit code for the signal received: 130 after Ctrl-C.
    pub fn code(&self) -> u8 {
        128 + self.signal.load(Ordering::Relaxed) as u8
    }

    /// Returns the error of a command that the signal stopped. The message says what was kept.
    pub fn stopped(&self, message: String) -> anyhow::Error {
        anyhow::Error::msg(Interrupted { code: self.code(), message })
    }
}
