//! Steps that the commands share: threads, stores, records as text or JSON, messages on standard error.
//!
//! A command validates its arguments, makes one call into the laboratory and prints the record. Everything around that call is
//! here, so that a new command is one module, one variant of `Command` and one line that runs it.

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Args;
use serde::Serialize;
use superpose_core::backend::{Backend, Device};
use superpose_cuda::Choice;
use superpose_lab::cell::{CellError, Runner};
pub use superpose_lab::memory::available as available_memory;
use superpose_lab::store::Store;
use superpose_lab::threshold::SearchError;
pub use superpose_lab::words::plural;

use crate::arguments::{Count, threads};
use crate::interrupt::Interrupt;
use superpose_report::duration;

/// The flag `--threads`.
#[derive(Args, Clone, Copy, Debug)]
pub struct Threads {
    /// Number of threads (default: all cores); does not affect results
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    threads: Option<Count>,
}

impl Threads {
    /// Returns the number of threads to use, or an error if the number given is out of range.
    pub fn count(self) -> anyhow::Result<usize> {
        threads(self.threads)
    }

    /// Returns this flag after a space; empty if it was not given.
    pub fn flag(self) -> String {
        self.threads.map_or(String::new(), |threads| format!(" --threads {threads}"))
    }
}

/// The flag `--device`.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct DeviceFlag {
    /// Where to compute: cpu, cuda, cuda:N, or auto for a GPU where one works (default: cpu)
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<Choice>,
}

impl DeviceFlag {
    /// Opens the device; `None` is the CPU. What `auto` chooses, and why, is written to standard error.
    pub fn open(self) -> anyhow::Result<Option<Arc<dyn Device>>> {
        let choice = self.device.unwrap_or_default();
        Ok(choice.open_saying(&mut |device| message(format_args!("device: {device}")))?)
    }

    /// Fails if a device is given other than the CPU, for commands that do not use one.
    pub fn check_cpu(self, command: &str) -> anyhow::Result<()> {
        match self.device.filter(|&device| device != Choice::Cpu) {
            Some(device) => {
                bail!("device = {device}: {command} uses the CPU only; leave the device out or give cpu")
            }
            None => Ok(()),
        }
    }
}

/// Returns the flag that selects a device, after a space; `None` is the CPU.
pub fn device_flag(device: Option<&Arc<dyn Device>>) -> String {
    device.map_or(String::new(), |device| format!(" --device {}", device.word()))
}

/// The flag `--store` of commands that search by running.
#[derive(Args, Clone, Debug)]
pub struct StoreFlag {
    /// Store results in this SQLite file and reuse results already there
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

impl StoreFlag {
    /// Returns a runner on `threads` threads and a device that reads and writes the store, if one is given.
    pub fn runner<'a>(
        &self,
        threads: usize,
        device: DeviceFlag,
        interrupt: &'a Interrupt,
    ) -> anyhow::Result<Runner<'a>> {
        let runner = Runner::new(threads).with_memory(available_memory()).with_device(device.open()?);
        let runner = runner.with_stop(interrupt.flag()).with_leave(interrupt.token());
        Ok(match &self.store {
            Some(path) => runner.with_results(Store::open(path)?),
            None => runner,
        })
    }

    /// Returns the record of a search. A search that a signal stopped is an error that says where its runs are.
    pub fn finish<R>(&self, record: Result<R, SearchError>, interrupt: &Interrupt) -> anyhow::Result<R> {
        match record {
            Err(SearchError::Cell { error: CellError::Stopped, .. }) => {
                let kept = |path: &PathBuf| {
                    let path = path.display();
                    format!("stopped: finished runs are kept in {path}\nhint: continue with the same command")
                };
                let lost = || "stopped: no run is kept\nhint: with --store FILE a search can continue".into();
                Err(interrupt.stopped(self.store.as_ref().map_or_else(lost, kept)))
            }
            record => Ok(record?),
        }
    }
}

/// Returns a backend with this many threads.
pub fn backend(threads: usize) -> anyhow::Result<Backend> {
    Backend::cpu(threads).context("cannot start threads")
}

/// Writes to standard output. A reader that closes the pipe early is not an error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error).context("standard output"),
        _ => Ok(()),
    }
}

/// Prints a value as indented JSON, or as the text that `text` makes of it.
pub fn print_record<R: Serialize, T: Into<String>>(
    json: bool,
    record: &R,
    text: impl FnOnce(&R) -> T,
) -> anyhow::Result<()> {
    print(&if json { pretty(record)? } else { text(record).into() })
}

/// Returns a value as indented JSON with a final line break.
pub fn pretty(value: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

/// Writes a line to standard error. A closed standard error is ignored, because no other channel is left.
pub fn message(line: impl Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Returns a time in whole seconds, minutes or hours.
pub fn rounded(seconds: f64) -> String {
    if seconds < 120.0 { format!("{seconds:.0} s") } else { duration(seconds) }
}

/// Returns an estimated time in words.
pub fn about(seconds: f64) -> String {
    if seconds < 1.0 { "less than a second".into() } else { format!("about {}", duration(seconds)) }
}

/// Returns a path quoted for a shell.
pub fn shell(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:@,".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
