//! Ctrl-C and the signal that asks a process to end: the first is a request, the second ends it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Whether someone wants this process to end.
pub struct Interrupt {
    flag: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Listens from now on.
    pub fn listen() -> anyhow::Result<Interrupt> {
        let interrupt = Interrupt { flag: Arc::default(), signal: Arc::default() };
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first request only sets the flag, which arms the second.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&interrupt.flag))
                .and_then(|_| flag::register_usize(signal, Arc::clone(&interrupt.signal), signal as usize))
                .and_then(|_| flag::register(signal, Arc::clone(&interrupt.flag)))
                .context("signals cannot be listened to")?;
        }
        Ok(interrupt)
    }

    /// Becomes true with the first request.
    pub fn flag(&self) -> &AtomicBool {
        &self.flag
    }

    /// The exit code that tells which request it was: 130 after Ctrl-C.
    pub fn code(&self) -> u8 {
        128 + self.signal.load(Ordering::Relaxed) as u8
    }
}
