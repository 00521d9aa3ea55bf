//! A bar with the time left, for runs that take longer than a second. None when nobody looks.

use std::cell::Cell;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use superpose_core::config::Config;
use superpose_lab::run::{Progress, reads};

/// Shows the samples read out of those that a run will read.
pub struct Bar {
    bar: ProgressBar,
    started: Instant,
    shown: Mutex<bool>,
}

impl Bar {
    pub fn new(config: &Config) -> Bar {
        let bar = ProgressBar::with_draw_target(Some(reads(config)), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {percent}%, {eta} left") {
            bar.set_style(style);
        }
        Bar { bar, started: Instant::now(), shown: Mutex::new(false) }
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Shows work out of an estimated amount: seconds of cells, so that the time left is right while long ones go first.
pub struct Work {
    bar: ProgressBar,
    started: Instant,
    shown: Cell<bool>,
    finished: Cell<usize>,
    items: Cell<usize>,
}

/// Steps of the bar per unit of work.
const STEPS: f64 = 1e6;

impl Work {
    pub fn new() -> Work {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {percent}%, {eta} left") {
            bar.set_style(style);
        }
        let (shown, finished, items) = (Cell::new(false), Cell::new(0), Cell::new(0));
        Work { bar, started: Instant::now(), shown, finished, items }
    }

    /// So many items, together so much work.
    pub fn begin(&self, items: usize, work: f64) {
        self.items.set(items);
        self.bar.set_length((work * STEPS) as u64);
        self.bar.reset_eta();
    }

    /// One more item is done, so much of the work.
    pub fn advance(&self, work: f64) {
        self.finished.set(self.finished.get() + 1);
        if !self.shown.get() && self.started.elapsed() > Duration::from_secs(1) {
            self.shown.set(true);
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        if self.shown.get() {
            self.bar.set_message(format!("{} of {}", self.finished.get(), self.items.get()));
        }
        self.bar.inc((work * STEPS) as u64);
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn repeat(&self, repeat: usize) {
        self.bar.set_message(format!("repeat {}", repeat + 1));
    }

    fn samples(&self, count: usize) {
        self.bar.inc(count as u64);
        if self.started.elapsed() > Duration::from_secs(1)
            && let Ok(mut shown) = self.shown.try_lock()
            && !*shown
        {
            *shown = true;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

/// A line that says what is going on, for work of unknown length that takes longer than a second.
pub struct Spinner {
    bar: ProgressBar,
    started: Instant,
}

impl Spinner {
    pub fn new() -> Spinner {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed} so far") {
            bar.set_style(style);
        }
        Spinner { bar, started: Instant::now() }
    }

    pub fn say(&self, message: &str) {
        if self.bar.is_hidden() && self.started.elapsed() > Duration::from_secs(1) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_message(message.to_owned());
        self.bar.tick();
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
