//! Progress on standard error: a bar with the time left, or a line of text where the length is unknown.
//!
//! Both appear after one second, so that short commands print nothing extra, and only on a terminal.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use superpose_lab::run::Progress;

/// A progress bar that is hidden for the first second.
pub struct Bar {
    bar: ProgressBar,
    started: Instant,
    shown: AtomicBool,
}

impl Bar {
    /// Returns a bar of this length.
    pub fn new(length: u64) -> Bar {
        Bar::styled(Some(length), "{msg} {wide_bar} {percent}%, {eta} left")
    }

    fn styled(length: Option<u64>, template: &str) -> Bar {
        let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Bar { bar, started: Instant::now(), shown: AtomicBool::new(false) }
    }

    fn show_when_due(&self) {
        if self.started.elapsed() > Duration::from_secs(1) && !self.shown.swap(true, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Sets the text beside the bar.
    pub fn say(&self, message: String) {
        self.show_when_due();
        self.bar.set_message(message);
        self.bar.tick();
    }

    /// Sets how much of the total is done.
    pub fn set(&self, done: u64, total: u64) {
        self.show_when_due();
        self.bar.set_length(total);
        self.bar.set_position(done);
    }

    /// Removes the bar.
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
        self.show_when_due();
    }
}

/// Does work of unknown length beside a line of text, which is removed at the end.
pub fn spinner<R>(work: impl FnOnce(&Bar) -> R) -> R {
    let bar = Bar::styled(None, "{spinner} {msg}, {elapsed} so far");
    let result = work(&bar);
    bar.finish();
    result
}

/// The same for work whose messages may be many seconds apart: the elapsed time is shown from the start and keeps running.
pub fn ticking_spinner<R>(work: impl FnOnce(&Bar) -> R) -> R {
    spinner(|bar| {
        bar.shown.store(true, Ordering::Relaxed);
        bar.bar.set_draw_target(ProgressDrawTarget::stderr());
        bar.bar.enable_steady_tick(Duration::from_millis(200));
        work(bar)
    })
}

/// A bar over items of different estimated durations. Its length is time, so that the time left is right while long items run
/// first.
pub struct Work {
    bar: Bar,
    finished: Cell<usize>,
    items: Cell<usize>,
}

/// Steps of the bar per unit of work.
const STEPS: f64 = 1e6;

impl Work {
    /// Returns a bar without work.
    pub fn new() -> Work {
        Work { bar: Bar::new(0), finished: Cell::new(0), items: Cell::new(0) }
    }

    /// Sets the number of items and their total work.
    pub fn begin(&self, items: usize, work: f64) {
        self.items.set(items);
        self.bar.bar.set_length((work * STEPS) as u64);
        self.bar.bar.reset_eta();
    }

    /// Counts one more finished item, which was this much work.
    pub fn advance(&self, work: f64) {
        self.finished.set(self.finished.get() + 1);
        self.bar.show_when_due();
        self.bar.bar.set_message(format!("{} of {}", self.finished.get(), self.items.get()));
        self.bar.bar.inc((work * STEPS) as u64);
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish();
    }
}
