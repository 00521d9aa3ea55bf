//! Progress on standard error: a bar with the time left, or a line of text where the length is unknown.
//!
//! On a terminal both appear after one second, so that short commands print nothing extra. In a log file they become lines of
//! text, every five seconds at first and less often later.

use std::cell::Cell;
use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use superpose_lab::run::Progress;

use crate::shared::{message, rounded};

/// Time between two lines of a log at first. Later it is a share of the time so far, which keeps the logs of long sweeps short.
const LOG_PAUSE: Duration = Duration::from_secs(5);
const LOG_SHARE: f64 = 0.02;

/// A progress bar that is hidden for the first second.
pub struct Bar {
    bar: ProgressBar,
    started: Instant,
    shown: AtomicBool,
    /// Ends the lines in a log file when it is dropped.
    _log: Option<Sender<()>>,
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
        let log = (!stderr().is_terminal()).then(|| log(bar.clone()));
        Bar { bar, started: Instant::now(), shown: AtomicBool::new(false), _log: log }
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

/// Writes where a bar stands to standard error from time to time, until the sender is dropped.
fn log(bar: ProgressBar) -> Sender<()> {
    let (running, ended) = channel();
    std::thread::spawn(move || {
        let pause = || LOG_PAUSE.max(bar.elapsed().mul_f64(LOG_SHARE));
        while ended.recv_timeout(pause()) == Err(RecvTimeoutError::Timeout) && !bar.is_finished() {
            message(log_line(&bar));
        }
    });
    running
}

/// Where a bar stands, in a line of a log.
fn log_line(bar: &ProgressBar) -> String {
    let time = |time: Duration| rounded(time.as_secs_f64());
    let course = match bar.length() {
        Some(length) if length > 0 => {
            let left = if bar.position() > 0 { format!(", {} left", time(bar.eta())) } else { String::new() };
            format!("{}%{left}", 100 * bar.position() / length)
        }
        _ => format!("{} so far", time(bar.elapsed())),
    };
    let text = bar.message();
    if text.is_empty() { format!("  {course}") } else { format!("  {text}, {course}") }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_log_say_how_far_the_work_is() {
        let bar = Bar::new(200);
        bar.say("repeat 2".into());
        assert_eq!(log_line(&bar.bar), "  repeat 2, 0%");
        bar.set(50, 200);
        let line = log_line(&bar.bar);
        assert!(line.starts_with("  repeat 2, 25%, ") && line.ends_with(" left"), "{line}");
        spinner(|bar| {
            bar.say("scaling, critical N".into());
            assert_eq!(log_line(&bar.bar), "  scaling, critical N, 0 s so far");
        });
    }
}
