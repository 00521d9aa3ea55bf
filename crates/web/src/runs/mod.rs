//! Training for the page: runs wait in a queue, one at a time is trained, and the last ones are kept to look at.

mod gauge;
mod routes;
mod worker;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::http::StatusCode;
use serde::Serialize;
use superpose_core::config::{Config, Settings, whole};
use superpose_lab::cell::estimated_seconds;
use superpose_lab::excess::Excess;
use superpose_lab::interval::Interval;
use superpose_lab::memory::{readable, run_bytes};
use superpose_lab::predict;
use superpose_lab::run::{RunRecord, Seen, Stage};
use tokio::sync::watch;

use crate::refusal::Refusal;
use gauge::Gauge;
pub use routes::{list, remove, show, submit};

/// Runs that wait at most.
pub const QUEUE: usize = 16;
/// Runs that have ended and are kept.
pub const KEPT: usize = 100;
/// Estimated time of a run at most.
pub const RUN_SECONDS: f64 = 60.0;
/// Seeds of a run at most.
pub const REPEATS: usize = 100;
/// Removals that late listeners still hear of.
const REMEMBERED: usize = 1000;

/// Where a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    Queued,
    Running,
    Done,
    Failed,
    Cancelled,
}

impl Place {
    /// Whether nothing more will happen.
    pub fn ended(self) -> bool {
        !matches!(self, Place::Queued | Place::Running)
    }
}

/// What a finished run has to show.
#[derive(Serialize)]
pub struct Outcome {
    record: RunRecord,
    prediction: predict::PredictionRecord,
    #[serde(flatten)]
    seen: Seen,
}

struct Run {
    config: Config,
    estimated: f64,
    place: Place,
    gauge: Arc<Gauge>,
    started: Option<Instant>,
    seconds: f64,
    error: Option<String>,
    outcome: Option<Arc<Outcome>>,
    /// When it changed last.
    version: u64,
}

/// A run as others see it.
#[derive(Clone, Serialize)]
pub struct View {
    pub id: u64,
    pub state: Place,
    position: Option<usize>,
    stage: Option<Stage>,
    share: f64,
    repeat: usize,
    seconds: f64,
    estimated_seconds: f64,
    config: Settings,
    error: Option<String>,
    accuracy: Option<Interval>,
    predicted: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Arc<Outcome>>,
}

#[derive(Default)]
struct State {
    runs: BTreeMap<u64, Run>,
    next: u64,
    version: u64,
    /// Versions and numbers of removed runs.
    removed: VecDeque<(u64, u64)>,
    closed: bool,
}

/// What has changed since a listener last heard.
pub struct News {
    /// Up to which version this is.
    pub version: u64,
    /// Runs that changed, or that go on.
    pub runs: Vec<View>,
    /// Runs that are gone.
    pub removed: Vec<u64>,
    /// Whether one goes on.
    pub busy: bool,
    /// Whether the server ends.
    pub closed: bool,
}

/// All runs.
pub struct Runs {
    state: Mutex<State>,
    /// The worker waits for this.
    work: Condvar,
    /// Listeners wait for this.
    news: watch::Sender<u64>,
    threads: usize,
    memory: f64,
}

impl Runs {
    /// Starts the thread that trains. `memory` is what a run may take.
    pub fn start(threads: usize, memory: f64) -> std::io::Result<Arc<Runs>> {
        let runs = Arc::new(Runs {
            // A listener that has heard nothing is at version 0.
            state: Mutex::new(State { version: 1, ..State::default() }),
            work: Condvar::new(),
            news: watch::Sender::new(0),
            threads,
            memory,
        });
        let worker = Arc::clone(&runs);
        std::thread::Builder::new().name("training".into()).spawn(move || worker::work(&worker))?;
        Ok(runs)
    }

    /// Bytes that a run may take.
    pub fn memory(&self) -> f64 {
        self.memory
    }

    /// Tells whoever waits that something has changed.
    pub fn listen(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves counters at worst, which the next change puts right.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a run into the queue.
    pub fn submit(&self, config: Config) -> Result<View, Refusal> {
        let estimated = self.bound(&config)?;
        let mut state = self.lock();
        let waiting = state.runs.values().filter(|run| run.place == Place::Queued).count();
        if waiting >= QUEUE {
            let what = format!("{waiting} runs wait already, and that is the most");
            return Err(Refusal::new(StatusCode::TOO_MANY_REQUESTS, what)
                .hint("cancel one, or wait until one is done"));
        }
        let id = state.next;
        state.next += 1;
        let run = Run {
            gauge: Arc::new(Gauge::new(&config)),
            config,
            estimated,
            place: Place::Queued,
            started: None,
            seconds: 0.0,
            error: None,
            outcome: None,
            version: 0,
        };
        state.runs.insert(id, run);
        state.forget_oldest();
        self.changed(&mut state, id);
        self.work.notify_one();
        state.view(id, false)
    }

    /// Refuses what would take too much; otherwise the estimated seconds.
    fn bound(&self, config: &Config) -> Result<f64, Refusal> {
        let hint = "superpose run takes larger ones";
        whole("repeats", config.repeats, 1, REPEATS).map_err(|error| Refusal::value(error).hint(hint))?;
        let refuse = |why: String, excess: Excess| Err(Refusal::value(excess.message(&why)).hint(hint));
        let bytes = |config: &Config| run_bytes(config, self.threads, false, false);
        let needed = bytes(config);
        if needed > self.memory {
            let (needed, allowed) = (readable(needed), readable(self.memory));
            let why = format!("this run needs about {needed} of memory, and {allowed} are allowed");
            return refuse(why, Excess::find(config, self.memory, bytes));
        }
        let seconds = |config: &Config| estimated_seconds(&config.repeat(0), true) * config.repeats as f64;
        let needed = seconds(config);
        if needed > RUN_SECONDS {
            let about = if needed < 1e6 { format!("{needed:.0}") } else { format!("{needed:.0e}") };
            let why = format!("this run would take about {about} s, and {RUN_SECONDS:.0} s are allowed");
            return refuse(why, Excess::find(config, RUN_SECONDS, seconds));
        }
        Ok(needed)
    }

    /// One run, with all that it has to show.
    pub fn show(&self, id: u64) -> Result<View, Refusal> {
        self.lock().view(id, true)
    }

    /// Ends a run that waits or goes on; removes one that has ended.
    pub fn remove(&self, id: u64) -> Result<View, Refusal> {
        let mut state = self.lock();
        let view = state.view(id, false)?;
        if view.state.ended() {
            state.forget(id);
            self.announce(&state);
            return Ok(view);
        }
        if let Some(run) = state.runs.get_mut(&id) {
            run.gauge.stop();
            run.end(Place::Cancelled);
        }
        self.changed(&mut state, id);
        state.view(id, false)
    }

    /// What has changed since a version.
    pub fn since(&self, version: u64) -> News {
        let state = self.lock();
        let news = |run: &Run| run.version > version || run.place == Place::Running;
        let changed: Vec<u64> = state.runs.iter().filter(|(_, run)| news(run)).map(|(&id, _)| id).collect();
        News {
            version: state.version,
            runs: changed.into_iter().filter_map(|id| state.view(id, false).ok()).collect(),
            removed: state.removed.iter().filter(|gone| gone.0 > version).map(|gone| gone.1).collect(),
            busy: state.runs.values().any(|run| run.place == Place::Running),
            closed: state.closed,
        }
    }

    /// Cancels everything and lets listeners go.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.version += 1;
        state.runs.values().for_each(|run| run.gauge.stop());
        self.work.notify_all();
        self.announce(&state);
    }

    /// Tells that a run has changed, and that places in the queue may have.
    fn changed(&self, state: &mut State, id: u64) {
        state.version += 1;
        let version = state.version;
        for (&other, run) in &mut state.runs {
            if other == id || run.place == Place::Queued {
                run.version = version;
            }
        }
        self.announce(state);
    }

    fn announce(&self, state: &State) {
        self.news.send_replace(state.version);
    }
}

impl Run {
    fn end(&mut self, place: Place) {
        self.place = place;
        self.seconds = self.started.map_or(0.0, |started| started.elapsed().as_secs_f64());
    }
}

impl State {
    fn view(&self, id: u64, whole: bool) -> Result<View, Refusal> {
        let missing = || Refusal::missing(format!("there is no run {id}"));
        let run = self.runs.get(&id).ok_or_else(missing)?;
        let ahead = self.runs.range(..id).filter(|(_, other)| other.place == Place::Queued).count();
        let running = run.place == Place::Running;
        Ok(View {
            id,
            state: run.place,
            position: (run.place == Place::Queued).then_some(ahead),
            stage: run.gauge.stage().filter(|_| running),
            share: if run.place == Place::Done { 1.0 } else { run.gauge.share() },
            repeat: run.gauge.repeat(),
            seconds: match run.started {
                Some(started) if running => started.elapsed().as_secs_f64(),
                _ => run.seconds,
            },
            estimated_seconds: run.estimated,
            config: (*run.config).clone(),
            error: run.error.clone(),
            accuracy: run.outcome.as_ref().map(|outcome| outcome.record.accuracy),
            predicted: run.outcome.as_ref().and_then(|outcome| outcome.prediction.accuracy),
            result: run.outcome.clone().filter(|_| whole),
        })
    }

    fn forget(&mut self, id: u64) {
        self.runs.remove(&id);
        self.version += 1;
        self.removed.push_back((self.version, id));
        if self.removed.len() > REMEMBERED {
            self.removed.pop_front();
        }
    }

    fn forget_oldest(&mut self) {
        let ended: Vec<u64> =
            self.runs.iter().filter(|(_, run)| run.place.ended()).map(|(&id, _)| id).collect();
        for &id in ended.iter().take(ended.len().saturating_sub(KEPT)) {
            self.forget(id);
        }
    }
}
