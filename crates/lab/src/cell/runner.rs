//! Runs many cells on all cores: looks up known results, runs the missing cells and stores their results.
//!
//! Cells run in parallel on one thread each, longest first; a cell runs alone on all threads if that shortens the total time or
//! if its memory requires it. Workers send results to the caller's thread, which alone writes the store and commits every 100 ms.
//! A killed program loses only the results since the last commit.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use superpose_core::backend::{Backend, CancelToken, Device, DeviceError, Numerics};
use superpose_core::config::{Config, EarlyRule};
use superpose_core::measure::{Measure, Missing};

use super::batch::{self, measure_batch};
use super::{
    CellError, Entry, Event, Key, Known, Memory, Outcome, Results, StoreError, check, check_input,
    estimated_seconds, longest_first, measure_with, wide,
};
use crate::memory::{self, side_by_side};
use crate::run::Inputs;

/// Finished cells are kept this often.
const COMMIT: Duration = Duration::from_millis(100);

/// Cells, or groups of cells, that run on a device at the same time, each in its own stream of work.
pub const LANES: usize = 8;

/// Runs cells and remembers them.
///
/// ```
/// use superpose_core::{Measure, Settings};
/// use superpose_lab::cell::Runner;
///
/// let config = Settings { vocab: 64, dim: 64, samples: 4096, repeats: 3, ..Settings::default() }.check()?;
/// let cells: Vec<_> = (0..config.repeats).map(|repeat| config.repeat(repeat)).collect();
/// let mut runner = Runner::new(2);
/// let outcomes = runner.run(&cells, &mut |_| {})?;
/// assert!(outcomes[0].as_ref().is_ok_and(|outcome| outcome.measures[Measure::LockRate].mean > 0.99));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Runner<'a> {
    results: Box<dyn Results + 'a>,
    numerics: Numerics,
    device: Option<Arc<dyn Device>>,
    threads: usize,
    noise: bool,
    retry_failed: bool,
    memory: f64,
    stop: Option<&'a AtomicBool>,
    leave: CancelToken,
    required: Option<Measure>,
    inputs: Arc<Inputs>,
    inputs_checked: bool,
}

impl<'a> Runner<'a> {
    /// A runner that remembers in memory.
    pub fn new(threads: usize) -> Runner<'a> {
        Runner {
            results: Box::new(Memory::default()),
            numerics: Numerics::this_cpu(),
            device: None,
            threads: threads.max(1),
            noise: false,
            retry_failed: false,
            memory: f64::INFINITY,
            stop: None,
            leave: CancelToken::new(),
            required: None,
            inputs: Arc::default(),
            inputs_checked: false,
        }
    }

    /// Remembers in a store or shard.
    pub fn with_results(self, results: impl Results + 'a) -> Runner<'a> {
        Runner { results: Box::new(results), ..self }
    }

    /// Whether the noise budget is wanted, too.
    pub fn with_noise(self, noise: bool) -> Runner<'a> {
        Runner { noise, ..self }
    }

    /// Whether cells that are known to fail are tried again.
    pub fn with_retry_failed(self, retry_failed: bool) -> Runner<'a> {
        Runner { retry_failed, ..self }
    }

    /// Bytes that may be used. A cell that needs more is not run, which is not kept; cells that do not fit side by side run one by one.
    pub fn with_memory(self, memory: f64) -> Runner<'a> {
        Runner { memory, ..self }
    }

    /// When this becomes true, no further cell is begun.
    pub fn with_stop(self, stop: &'a AtomicBool) -> Runner<'a> {
        Runner { stop: Some(stop), ..self }
    }

    /// Cancels the cells that are running, too. The caller sets the flag of [`Runner::with_stop`] first.
    pub fn with_leave(self, leave: CancelToken) -> Runner<'a> {
        Runner { leave, ..self }
    }

    /// Requires a measure of every outcome: one that was kept before the measure was added is run again.
    pub fn require(&mut self, measure: Measure) {
        self.required = Some(measure);
    }

    /// Runs the cells on a device, many at once, so that small cells keep it busy.
    pub fn with_device(self, device: Option<Arc<dyn Device>>) -> Runner<'a> {
        let numerics = device.as_ref().map_or_else(Numerics::this_cpu, |device| device.numerics());
        Runner { numerics, device, ..self }
    }

    /// The tensors that the cells take, the same for all.
    pub fn with_inputs(self, inputs: Arc<Inputs>) -> Runner<'a> {
        Runner { inputs, ..self }
    }

    /// Fails if results were made with other contents of the input files, which is checked once.
    fn check_inputs(&mut self, cells: &[Config]) -> Result<(), StoreError> {
        let first = cells.iter().find(|cell| cell.input_digest.is_some());
        if let (Some(cell), false) = (first, self.inputs_checked) {
            check_input(&self.results.input_files()?, cell)?;
            self.inputs_checked = true;
        }
        Ok(())
    }

    /// The arithmetic that the cells run with.
    pub fn numerics(&self) -> &Numerics {
        &self.numerics
    }

    fn is_complete(&self, outcome: &Outcome) -> bool {
        let measured = self.required.is_none_or(|measure| !outcome.measures[measure].is_missing());
        measured && (outcome.noise.is_some() || !self.noise)
    }

    fn stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// The outcomes of the given cells, in their order. A cell that is there several times is run once.
    ///
    /// # Errors
    /// Fails if the store fails; what was committed before stays.
    pub fn run(
        &mut self,
        cells: &[Config],
        observe: &mut dyn FnMut(Event<'_>),
    ) -> Result<Vec<Result<Outcome, CellError>>, StoreError> {
        self.check_inputs(cells)?;
        let mut outcomes: Vec<Option<Result<Outcome, CellError>>> = vec![None; cells.len()];
        // The first place of each cell.
        let mut first: HashMap<Key, usize> = HashMap::with_capacity(cells.len());
        let mut same: Vec<usize> = (0..cells.len()).collect();
        let mut asked: Vec<(Key, usize)> = Vec::with_capacity(cells.len());
        for (i, config) in cells.iter().enumerate() {
            match check(config) {
                Ok(()) => {
                    let key = Key::new(config, &self.numerics);
                    same[i] = *first.entry(key).or_insert(i);
                    if same[i] == i {
                        asked.push((key, i));
                    }
                }
                Err(error) => outcomes[i] = Some(Err(error.into())),
            }
        }
        drop(first);

        let keys: Vec<Key> = asked.iter().map(|&(key, _)| key).collect();
        let mut known = self.results.find(&keys)?;
        let (mut done, mut failed) = (0, 0);
        let mut missing: Vec<usize> = Vec::new();
        for (key, i) in asked {
            match known.remove(&key) {
                Some(Ok(outcome)) if self.is_complete(&outcome) => {
                    done += 1;
                    outcomes[i] = Some(Ok(outcome));
                }
                Some(Err(reason)) if !self.retry_failed => {
                    failed += 1;
                    outcomes[i] = Some(Err(CellError::Failed { reason }));
                }
                _ => missing.push(i),
            }
        }
        let estimates: Vec<f64> = missing.iter().map(|&i| estimated_seconds(&cells[i], self.noise)).collect();
        let seconds = estimates.iter().sum();
        observe(Event::Planned { cells: keys.len(), done, failed, seconds });

        let job = |j: usize| {
            let cell = missing[j];
            Job { cell, config: &cells[cell], estimated: estimates[j] }
        };
        let jobs: Vec<Job<'_>> = longest_first(&estimates).into_iter().map(job).collect();
        self.work(&jobs, &mut |finished| {
            observe(match finished {
                Some((Job { cell, config, estimated, .. }, result)) => {
                    Event::Finished { config, result: outcomes[*cell].insert(result), estimated: *estimated }
                }
                None => Event::Waiting,
            });
        })?;

        Ok(same.into_iter().map(|i| outcomes[i].clone().unwrap_or(Err(CellError::Stopped))).collect())
    }

    /// Ends the work on results, which must still be where they were kept.
    ///
    /// # Errors
    /// If their file was removed or replaced since the last cell.
    pub fn finish(mut self) -> Result<(), StoreError> {
        self.results.keep(&[])
    }

    /// Runs the jobs, given longest first.
    fn work(&mut self, jobs: &[Job<'_>], finished: &mut Finished<'_>) -> Result<(), StoreError> {
        let workers = if self.device.is_some() { LANES } else { self.threads };
        // An error becomes that of each cell.
        let free = self.free().unwrap_or_default();
        let fits = |config: &Config| {
            let on_host = side_by_side(self.host_bytes(config, 1), self.memory, workers);
            on_host.min(side_by_side(self.device_bytes(config), free, workers)) == workers
        };
        let (mut rest, mut first): (Vec<&Job<'_>>, Vec<&Job<'_>>) =
            jobs.iter().partition(|job| fits(job.config));
        if self.device.is_none() {
            let estimates: Vec<f64> = rest.iter().map(|job| job.estimated).collect();
            first.extend(rest.drain(..wide(&estimates, self.threads)));
        }
        self.share(&first, 1.min(first.len()), self.threads, finished)?;
        self.share(&rest, workers.min(rest.len()), 1, finished)
    }

    /// The memory of a cell on the host: with a device, for what that leaves to the CPU.
    fn host_bytes(&self, config: &Config, threads: usize) -> f64 {
        match self.device.is_some() && !self.noise && config.early_rule == EarlyRule::Gradient {
            true => 0.0,
            false => memory::run_bytes(config, threads, false, false),
        }
    }

    /// The memory of a cell on the device, if there is one.
    fn device_bytes(&self, config: &Config) -> f64 {
        self.device.as_ref().map_or(0.0, |device| device.needs(config, false))
    }

    /// The memory of the device that cells may use.
    fn free(&self) -> Result<f64, DeviceError> {
        self.device.as_ref().map_or(Ok(f64::INFINITY), |device| device.available())
    }

    /// Fails if a cell does not fit in memory, even alone.
    fn check_memory(
        &self,
        config: &Config,
        threads: usize,
        free: &Result<f64, DeviceError>,
    ) -> Result<(), CellError> {
        let (needed, available) = (self.host_bytes(config, threads), self.memory);
        if needed > available {
            return Err(CellError::TooLarge { needed, available });
        }
        let (needed, available) = (self.device_bytes(config), free.clone().map_err(CellError::Device)?);
        match needed > available {
            true => Err(CellError::Device(DeviceError::TooLarge { needed, available })),
            false => Ok(()),
        }
    }

    fn share(
        &mut self,
        jobs: &[&Job<'_>],
        workers: usize,
        threads: usize,
        finished: &mut Finished<'_>,
    ) -> Result<(), StoreError> {
        let next = AtomicUsize::new(0);
        let broken = AtomicBool::new(false);
        let (noise, free, stop, leave) = (self.noise, self.free(), self.stop, self.leave.clone());
        let inputs = Arc::clone(&self.inputs);
        let fit: Vec<Result<(), CellError>> =
            jobs.iter().map(|job| self.check_memory(job.config, threads, &free)).collect();
        let device = &self.device.clone();
        let together = |config: &Config| device.is_some() && batch::together(config, &inputs, noise);
        let groups = match device {
            Some(device) => {
                let (cells, memory) =
                    (jobs.iter().map(|job| job.config), free.unwrap_or_default() / workers as f64);
                batch::groups(cells, &**device, together, memory)
            }
            None => (0..jobs.len()).map(|place| vec![place]).collect(),
        };
        let cells = |places: &[usize]| -> Vec<&Config> { places.iter().map(|&i| jobs[i].config).collect() };
        let run = |places: &[usize], backend: &Backend| match (&fit[places[0]], jobs[places[0]].config) {
            (Err(error), _) => vec![Err(error.clone()); places.len()],
            (_, config) if together(config) => measure_batch(&cells(places), backend),
            (_, config) => vec![measure_with(config, &inputs, noise, backend)],
        };
        std::thread::scope(|scope| {
            // Bounded, so that a slow disk slows the workers and finished cells do not pile up.
            let (sender, receiver) = sync_channel(1024);
            for worker in 0..workers {
                let sender = sender.clone();
                let (next, broken, run, groups, leave) = (&next, &broken, &run, &groups, leave.clone());
                let work = move || {
                    // One thread gives the same bits if the system refuses more.
                    let backend = Backend::cpu(threads).unwrap_or_else(|_| Backend::single());
                    let backend = backend.with_cancel(leave).with_device(device.clone());
                    while !broken.load(Ordering::Relaxed)
                        && !stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
                    {
                        let Some(places) = groups.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                        let mut results = places.iter().copied().zip(run(places, &backend));
                        if results.any(|result| sender.send(result).is_err()) {
                            break;
                        }
                    }
                };
                // The system may allow fewer threads than were asked for; they run all cells.
                match std::thread::Builder::new().spawn_scoped(scope, work) {
                    Ok(_) => {}
                    Err(_) if worker > 0 => break,
                    Err(error) => return Err(StoreError::io("threads".as_ref(), error)),
                }
            }
            drop(sender);
            let result = self.collect(jobs, &receiver, finished);
            // After an error the workers end: they see this flag or the closed channel.
            broken.store(true, Ordering::Relaxed);
            drop(receiver);
            result
        })
    }

    /// Takes finished jobs until all workers are gone, and keeps them every [`COMMIT`].
    fn collect(
        &mut self,
        jobs: &[&Job<'_>],
        receiver: &Receiver<(usize, Result<Outcome, CellError>)>,
        finished: &mut Finished<'_>,
    ) -> Result<(), StoreError> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut since = Instant::now();
        loop {
            let wait = match (entries.is_empty(), self.stopped()) {
                (true, false) => COMMIT,
                _ => COMMIT.saturating_sub(since.elapsed()),
            };
            let received = receiver.recv_timeout(wait);
            let over = matches!(received, Err(RecvTimeoutError::Disconnected));
            if let Ok((place, result)) = received {
                let job = jobs[place];
                if entries.is_empty() {
                    since = Instant::now();
                }
                let known: Option<Known> = match &result {
                    Ok(outcome) => Some(Ok(*outcome)),
                    Err(error) => error.is_final().then(|| Err(error.to_string())),
                };
                entries.extend(known.map(|known| Entry::new(job.config, &self.numerics, known)));
                finished(Some((job, result)));
            }
            if over || since.elapsed() >= COMMIT {
                if !entries.is_empty() {
                    self.results.keep(&entries)?;
                    entries.clear();
                }
                since = Instant::now();
                if self.stopped() && !over {
                    finished(None);
                }
            }
            if over {
                return Ok(());
            }
        }
    }
}

/// Receives each finished job, and `None` while it waits for the last ones.
type Finished<'a> = dyn FnMut(Option<(&Job<'_>, Result<Outcome, CellError>)>) + 'a;

struct Job<'a> {
    /// Its place in the request.
    cell: usize,
    config: &'a Config,
    estimated: f64,
}
