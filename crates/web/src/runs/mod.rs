//! Training runs of the page: a queue, one run in progress at a time, and the most recent ones that have ended.

mod gauge;
mod routes;
mod worker;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use superpose_core::backend::{Backend, Device};
use superpose_core::config::{Config, Settings, whole};
use superpose_core::{Measure, Measures};
use superpose_lab::cell::estimated_seconds;
use superpose_lab::excess::Excess;
use superpose_lab::interval::Interval;
use superpose_lab::memory::{check_device, readable, run_bytes};
use superpose_lab::predict;
use superpose_lab::run::{RunRecord, Seen, Stage};
use tokio::sync::watch;

use crate::error::ApiError;
use gauge::Gauge;
pub use routes::{RunList, Submission, list, remove, show, submit};

/// Queued runs at most.
pub const MAX_QUEUED: usize = 16;
/// Ended runs that are kept at most.
pub const MAX_KEPT: usize = 100;
/// Estimated seconds of a run at most.
pub const MAX_RUN_SECONDS: f64 = 60.0;

/// How many times as fast as a core a GPU is at least, for the estimate of time without the noise budget: 10 times in runs
/// of a few milliseconds, some hundred times in long ones (measured on an H200).
const DEVICE_SPEED: f64 = 10.0;
/// Repeats of a run at most.
pub const MAX_REPEATS: usize = 100;
/// Removals that are remembered for slow listeners.
const MAX_REMOVED: usize = 1000;

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    Queued,
    Running,
    Done,
    Failed,
    Cancelled,
}

impl RunState {
    pub fn ended(self) -> bool {
        !matches!(self, RunState::Queued | RunState::Running)
    }
}

/// The result of a run.
#[derive(Serialize, JsonSchema)]
pub struct RunResult {
    record: RunRecord,
    prediction: predict::PredictionRecord,
    #[serde(flatten)]
    seen: Seen,
}

struct Run {
    config: Config,
    estimated: f64,
    state: RunState,
    gauge: Arc<Gauge>,
    started: Option<Instant>,
    seconds: f64,
    error: Option<String>,
    outcome: Option<Arc<RunResult>>,
    /// The version at which it last changed.
    version: u64,
}

/// A run as the API shows it.
#[derive(Clone, Serialize, JsonSchema)]
pub struct RunView {
    pub id: u64,
    pub state: RunState,
    /// Runs ahead of it in the queue.
    position: Option<usize>,
    stage: Option<Stage>,
    /// Share of the work that is done.
    #[schemars(range(min = 0.0, max = 1.0))]
    share: f64,
    repeat: usize,
    seconds: f64,
    estimated_seconds: f64,
    config: Settings,
    error: Option<String>,
    accuracy: Option<Interval>,
    /// The measures of each repeat so far, in the order of seeds.
    by_seed: Measures<Vec<f64>>,
    /// The predicted accuracy.
    predicted: Option<f64>,
    /// Only where a run is shown by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Arc<RunResult>>,
}

#[derive(Default)]
struct State {
    runs: BTreeMap<u64, Run>,
    next: u64,
    version: u64,
    /// Versions and ids of removed runs.
    removed: VecDeque<(u64, u64)>,
    closed: bool,
}

/// What has changed since a version.
pub struct Changes {
    pub version: u64,
    /// Runs that changed or are in progress.
    pub runs: Vec<RunView>,
    pub removed: Vec<u64>,
    /// Whether a run is in progress.
    pub busy: bool,
    /// Whether the server shuts down.
    pub closed: bool,
}

pub struct Runs {
    state: Mutex<State>,
    /// Notifies the worker of a queued run.
    work: Condvar,
    /// Notifies listeners of a new version.
    pub versions: watch::Sender<u64>,
    threads: usize,
    /// Bytes that a run may take at most.
    pub memory: f64,
    pub device: Option<Arc<dyn Device>>,
}

impl Runs {
    /// Starts the training thread. A run may take `memory` bytes.
    pub fn start(threads: usize, memory: f64, device: Option<Arc<dyn Device>>) -> std::io::Result<Arc<Runs>> {
        let runs = Arc::new(Runs {
            // New listeners are at version 0.
            state: Mutex::new(State { version: 1, ..State::default() }),
            work: Condvar::new(),
            versions: watch::Sender::new(0),
            threads,
            memory,
            device,
        });
        let worker = Arc::clone(&runs);
        std::thread::Builder::new().name("training".into()).spawn(move || worker::work(&worker))?;
        Ok(runs)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic can leave only counters inconsistent, and the next change corrects them.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn submit(&self, config: Config) -> Result<RunView, ApiError> {
        let estimated = self.check_cost(&config)?;
        let mut state = self.lock();
        let waiting = state.runs.values().filter(|run| run.state == RunState::Queued).count();
        if waiting >= MAX_QUEUED {
            let error = format!("{waiting} runs wait already, the maximum is {MAX_QUEUED}");
            return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, error)
                .hint("cancel one, or wait until one is done"));
        }
        let id = state.next;
        state.next += 1;
        let run = Run {
            gauge: Arc::new(Gauge::new(&config)),
            config,
            estimated,
            state: RunState::Queued,
            started: None,
            seconds: 0.0,
            error: None,
            outcome: None,
            version: 0,
        };
        state.runs.insert(id, run);
        state.remove_oldest();
        self.changed(&mut state, id);
        self.work.notify_one();
        state.view(id, false)
    }

    /// The estimated seconds of a run, or an error when it would take too long or too much memory.
    fn check_cost(&self, config: &Config) -> Result<f64, ApiError> {
        let hint = "superpose run takes larger ones";
        whole("repeats", config.repeats, 1, MAX_REPEATS)
            .map_err(|error| ApiError::invalid(error).hint(hint))?;
        let refuse = |why: String, excess: Excess| Err(ApiError::invalid(excess.message(&why)).hint(hint));
        let bytes = |config: &Config| run_bytes(config, self.threads, false, false);
        let needed = bytes(config);
        if needed > self.memory {
            let (needed, allowed) = (readable(needed), readable(self.memory));
            let why = format!("this run needs about {needed} of memory, and {allowed} are allowed");
            return refuse(why, Excess::find(config, self.memory, bytes));
        }
        if self.device.is_some() {
            let backend = Backend::single().with_device(self.device.clone());
            check_device(config, false, &backend).map_err(|error| ApiError::invalid(error).hint(hint))?;
        }
        let speed = if self.device.is_some() { DEVICE_SPEED } else { 1.0 };
        let seconds = |config: &Config| {
            let one = config.repeat(0);
            let [run, all] = [false, true].map(|noise| estimated_seconds(&one, noise));
            // The noise budget is computed on the CPU.
            (run / speed + all - run) * config.repeats as f64
        };
        let needed = seconds(config);
        if needed > MAX_RUN_SECONDS {
            let about = if needed < 1e6 { format!("{needed:.0}") } else { format!("{needed:.0e}") };
            let why = format!("this run would take about {about} s, and {MAX_RUN_SECONDS:.0} s are allowed");
            return refuse(why, Excess::find(config, MAX_RUN_SECONDS, seconds));
        }
        Ok(needed)
    }

    /// One run with its result.
    pub fn show(&self, id: u64) -> Result<RunView, ApiError> {
        self.lock().view(id, true)
    }

    /// Cancels a run that is queued or running; removes one that has ended.
    pub fn remove(&self, id: u64) -> Result<RunView, ApiError> {
        let mut state = self.lock();
        let view = state.view(id, false)?;
        if view.state.ended() {
            state.remove(id);
            self.announce(&state);
            return Ok(view);
        }
        if let Some(run) = state.runs.get_mut(&id) {
            run.gauge.cancel.cancel();
            run.end(RunState::Cancelled);
        }
        self.changed(&mut state, id);
        state.view(id, false)
    }

    /// What has changed since a version.
    pub fn since(&self, version: u64) -> Changes {
        let state = self.lock();
        let is_new = |run: &Run| run.version > version || run.state == RunState::Running;
        let changed: Vec<u64> = state.runs.iter().filter(|(_, run)| is_new(run)).map(|(&id, _)| id).collect();
        Changes {
            version: state.version,
            runs: changed.into_iter().filter_map(|id| state.view(id, false).ok()).collect(),
            removed: state.removed.iter().filter(|gone| gone.0 > version).map(|gone| gone.1).collect(),
            busy: state.runs.values().any(|run| run.state == RunState::Running),
            closed: state.closed,
        }
    }

    /// Cancels all runs and ends event streams.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.version += 1;
        state.runs.values().for_each(|run| run.gauge.cancel.cancel());
        self.work.notify_all();
        self.announce(&state);
    }

    /// Gives the run a new version, and the queued ones, whose positions may have changed.
    fn changed(&self, state: &mut State, id: u64) {
        state.version += 1;
        let version = state.version;
        for (&other, run) in &mut state.runs {
            if other == id || run.state == RunState::Queued {
                run.version = version;
            }
        }
        self.announce(state);
    }

    fn announce(&self, state: &State) {
        self.versions.send_replace(state.version);
    }
}

impl Run {
    fn end(&mut self, state: RunState) {
        self.state = state;
        self.seconds = self.started.map_or(0.0, |started| started.elapsed().as_secs_f64());
    }
}

impl State {
    fn view(&self, id: u64, whole: bool) -> Result<RunView, ApiError> {
        let missing = || ApiError::not_found(format!("there is no run {id}"));
        let run = self.runs.get(&id).ok_or_else(missing)?;
        let ahead = self.runs.range(..id).filter(|(_, other)| other.state == RunState::Queued).count();
        let running = run.state == RunState::Running;
        let outcome = run.outcome.as_ref();
        Ok(RunView {
            id,
            state: run.state,
            position: (run.state == RunState::Queued).then_some(ahead),
            stage: run.gauge.stage().filter(|_| running),
            share: if run.state == RunState::Done { 1.0 } else { run.gauge.share() },
            repeat: run.gauge.repeat(),
            seconds: match run.started {
                Some(started) if running => started.elapsed().as_secs_f64(),
                _ => run.seconds,
            },
            estimated_seconds: run.estimated,
            config: (*run.config).clone(),
            error: run.error.clone(),
            accuracy: outcome.map(|outcome| outcome.record.measures[Measure::Accuracy]),
            by_seed: run.gauge.by_seed(),
            predicted: outcome.and_then(|outcome| outcome.prediction.measures[Measure::Accuracy]),
            result: outcome.filter(|_| whole).cloned(),
        })
    }

    fn remove(&mut self, id: u64) {
        self.runs.remove(&id);
        self.version += 1;
        self.removed.push_back((self.version, id));
        if self.removed.len() > MAX_REMOVED {
            self.removed.pop_front();
        }
    }

    fn remove_oldest(&mut self) {
        let ended: Vec<u64> =
            self.runs.iter().filter(|(_, run)| run.state.ended()).map(|(&id, _)| id).collect();
        for &id in ended.iter().take(ended.len().saturating_sub(MAX_KEPT)) {
            self.remove(id);
        }
    }
}
