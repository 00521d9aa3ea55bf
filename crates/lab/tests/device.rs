//! The seam to devices, with a device that computes on the CPU under another name.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use superpose_associative::{MemorySettings, Rule};
use superpose_core::backend::{
    Backend, Cost, Device, DeviceError, Facts, Measured, MemoryLearner, MemorySizes, Numerics, Problem, Real,
    Solution, Solver,
};
use superpose_core::config::{Config, EarlyRule, Regime, Settings, Training};
use superpose_core::early_phase::{early_phase, fact_frequency};
use superpose_core::embedding::Embeddings;
use superpose_core::evaluate::evaluate;
use superpose_core::model::Model;
use superpose_core::random::Stream;
use superpose_core::task::Drawn;
use superpose_core::train::{CpuLearner, Learner, State, Trainer, TrajectoryPoint};
use superpose_lab::associative::{self, CapacityOptions, CapacitySearch};
use superpose_lab::cell::{CellError, Event, Key, Runner, measure};
use superpose_lab::decoders::{BoundOptions, bound};
use superpose_lab::run::{Inputs, run};
use superpose_lab::store::Store;
use superpose_lab::train::{Checkpoint, Finish, Function, Observer, train};

#[derive(Debug)]
struct Fake {
    free: f64,
    /// How many cells each call took.
    batches: Mutex<Vec<usize>>,
    /// Whether the last run left the drawing of embeddings to the device.
    draws: Mutex<bool>,
    /// Runs and memories at this moment, and the most of them at any moment.
    busy: Mutex<[usize; 2]>,
    /// How many of them a test expects at one moment.
    expected: usize,
    entered: Condvar,
}

impl Fake {
    /// Waits until as many have begun as expected.
    fn work(&self) {
        let mut busy = self.busy.lock().unwrap();
        busy[0] += 1;
        busy[1] = busy[1].max(busy[0]);
        self.entered.notify_all();
        let limit = Duration::from_secs(10);
        let waits = |busy: &mut [usize; 2]| busy[1] < self.expected;
        drop(self.entered.wait_timeout_while(busy, limit, waits).unwrap());
        // Others may begin now.
        std::thread::sleep(Duration::from_millis(5));
        self.busy.lock().unwrap()[0] -= 1;
    }
}

/// The seed of cells with value matrices that are not finite.
const NOT_FINITE: u64 = 77;
/// The seed of cells with which a device panics.
const PANICS: u64 = 78;

impl<T: Real> Solver<T> for Fake {
    fn solve(&self, problem: &Problem<'_, T>) -> Result<Solution<T>, DeviceError> {
        let Problem { config, task, embeddings, host, observe, .. } = problem;
        *self.draws.lock().unwrap() = embeddings.is_none();
        self.work();
        let backend = Backend::single().with_cancel(host.cancel_token().clone());
        let embeddings = Embeddings::<T>::draw(config, &backend)?;
        let model = Model::new(config, &embeddings);
        let samples = Drawn::new(task, config.seed, Stream::Train, config.samples);
        let test = Drawn::new(task, config.seed, Stream::Test, config.test_samples);
        let phase = early_phase(config, &model, &samples, &backend)?;
        let frequency = fact_frequency(&samples, config.vocab, &backend)?;
        let evaluation = evaluate(config, &model, task, &phase, &frequency, &test, &backend)?;
        observe(config.samples);
        Ok(Solution { phase, frequency, evaluation, train_seconds: 0.0 })
    }

    fn learner<'a>(
        &'a self,
        problem: &'a Problem<'a, T>,
        state: &'a mut State<T>,
    ) -> Result<Box<dyn Learner<T> + 'a>, DeviceError> {
        let Problem { config, task, .. } = *problem;
        let drawn = |stream, count| Box::leak(Box::new(Drawn::new(task, config.seed, stream, count)));
        let trainer = Trainer {
            config,
            training: config.training.as_ref().unwrap(),
            task,
            samples: drawn(Stream::Train, config.samples),
            test: drawn(Stream::Test, config.test_samples),
            early: &[],
            own_loss: false,
        };
        let backend = Box::leak(Box::new(Backend::single()));
        Ok(Box::new(CpuLearner::new(Box::leak(Box::new(trainer)), state, backend)))
    }

    fn memory<'a>(&'a self, _: Facts<'a, T>) -> Result<Box<dyn MemoryLearner + 'a>, DeviceError> {
        self.work();
        Err(DeviceError::unsupported("a memory"))
    }

    fn measure(&self, problems: &[Problem<'_, T>]) -> Result<Vec<Measured<T>>, DeviceError> {
        self.batches.lock().unwrap().push(problems.len());
        assert!(problems.iter().all(|problem| problem.config.seed != PANICS), "a call of the device");
        problems
            .iter()
            .map(|problem| {
                let Solution { phase, evaluation, .. } = self.solve(problem)?;
                Ok(Measured { phase, evaluation, finite: problem.config.seed != NOT_FINITE })
            })
            .collect()
    }

    fn cost(&self, _: &[Problem<'_, T>], _: usize) -> Result<Cost, DeviceError> {
        Ok(Cost { seconds: 1.0, bytes: 2.0 })
    }
}

impl Device for Fake {
    fn word(&self) -> String {
        "fake".into()
    }

    fn numerics(&self) -> Numerics {
        Numerics::try_from("fake-1".to_string()).unwrap()
    }

    fn batch(&self, config: &Config) -> usize {
        if config.vocab > 100 { 1 } else { 4 }
    }

    fn check(&self, config: &Config) -> Result<(), DeviceError> {
        match config.length > 10 {
            true => Err(DeviceError::unsupported("a long sequence")),
            false => Ok(()),
        }
    }

    fn needs(&self, config: &Config, _: bool) -> f64 {
        config.vocab as f64
    }

    fn memory_needs(&self, sizes: &MemorySizes) -> f64 {
        sizes.facts as f64
    }

    /// A device with no memory is one that does not answer.
    fn available(&self) -> Result<f64, DeviceError> {
        match self.free > 0.0 {
            true => Ok(self.free),
            false => Err(DeviceError::Failed { reason: "no answer".into() }),
        }
    }
}

fn fake(free: f64) -> Arc<Fake> {
    expecting(0, free)
}

fn expecting(expected: usize, free: f64) -> Arc<Fake> {
    let (batches, draws, busy) = (Mutex::default(), Mutex::default(), Mutex::default());
    Arc::new(Fake { free, batches, draws, busy, expected, entered: Condvar::new() })
}

fn device(free: f64) -> Option<Arc<dyn Device>> {
    Some(fake(free))
}

fn settings() -> Settings {
    Settings { vocab: 60, dim: 24, length: 6, samples: 500, test_samples: 100, ..Settings::default() }
}

#[test]
fn device_gives_the_measures_of_a_run() {
    for regime in [Regime::Exact, Regime::Infinitesimal] {
        let config = Settings { regime, ..settings() }.check().unwrap();
        let cpu = Backend::single();
        let fake = fake(1e9);
        let other = Backend::single().with_device(Some(fake.clone()));
        let record = |backend| run(&config, &Inputs::default(), backend, None, &()).unwrap();
        let (here, there) = (record(&cpu), record(&other));
        assert_eq!((&here.measures, &here.noise, &here.gamma), (&there.measures, &there.noise, &there.gamma));
        assert_eq!((there.numerics.word(), here.numerics), ("fake-1", Numerics::this_cpu()));
        assert!(*fake.draws.lock().unwrap(), "a device draws independent rows itself");
    }
}

#[test]
fn decoders_read_the_first_step_of_a_device() {
    let options = BoundOptions { seeds: 2, accuracy: 0.2 };
    let config = options.check(settings(), &Inputs::default()).unwrap();
    let found = |backend: &Backend| {
        bound(&config, &Inputs::default(), &options, None, backend, &mut |_, _| {}).map(|record| {
            let estimates = record.decoders.into_values().chain([record.three_step]);
            estimates.map(|critical| critical.estimate).collect::<Vec<_>>()
        })
    };
    let here = found(&Backend::single()).unwrap();
    assert_eq!(found(&Backend::single().with_device(device(1e9))).unwrap(), here);
    assert!(here.iter().all(Option::is_some), "{here:?}");
    let error = found(&Backend::single().with_device(device(50.0))).unwrap_err().to_string();
    assert!(error.contains("about 60 B of device memory"), "{error}");
}

#[test]
fn limits_of_a_device_are_checked_before_work_begins() {
    let options = BoundOptions { seeds: 2, accuracy: 0.2 };
    let config = options.check(Settings { length: 11, ..settings() }, &Inputs::default()).unwrap();
    let backend = Backend::single().with_device(device(1e9));
    let none = &mut |_: &str, _: f64| panic!("work has started");
    let error = bound(&config, &Inputs::default(), &options, None, &backend, none).unwrap_err().to_string();
    assert!(error.starts_with("a long sequence cannot run"), "{error}");
}

/// Two of 60 bytes fit in 130.
#[test]
fn jobs_of_a_device_run_side_by_side_as_far_as_they_fit() {
    let options = BoundOptions { seeds: 4, accuracy: 0.2 };
    let config = options.check(settings(), &Inputs::default()).unwrap();
    let most = |(free, expected), work: &dyn Fn(&Backend)| {
        let fake = expecting(expected, free);
        work(&Backend::cpu(4).unwrap().with_device(Some(fake.clone())));
        fake.busy.lock().unwrap()[1]
    };
    let decode = |backend: &Backend| {
        bound(&config, &Inputs::default(), &options, None, backend, &mut |_, _| {}).unwrap();
    };
    assert_eq!([(130.0, 2), (1e9, 4)].map(|room| most(room, &decode)), [2, 4]);
    let memory = MemorySettings { facts: 60, dim: 16, rule: Rule::Trained, ..MemorySettings::default() };
    let configs: Vec<_> =
        (0..8).map(|seed| MemorySettings { seed, ..memory.clone() }.check().unwrap()).collect();
    let train = |backend: &Backend| {
        associative::recalls(&configs, backend).unwrap_err();
    };
    assert_eq!([(130.0, 2), (1e9, 4)].map(|room| most(room, &train)), [2, 4]);
}

#[test]
fn rules_that_run_on_the_cpu_have_its_numerics() {
    let backend = Backend::single().with_device(device(1e9));
    for rule in [Rule::Hebbian, Rule::LeastSquares, Rule::Hopfield] {
        let settings = MemorySettings { facts: 20, dim: 16, rule, ..MemorySettings::default() };
        let config = settings.clone().check().unwrap();
        let record = associative::run(&config, &backend, &mut |_| {}).unwrap();
        assert_eq!(record.numerics, Numerics::this_cpu(), "{rule:?}");
        let options = CapacityOptions { half_width: 0.5, ..CapacityOptions::default() };
        let search = CapacitySearch::new(&settings, &options).unwrap();
        let record = search.record(&backend, &mut |_, _| {}).unwrap();
        assert_eq!(record.numerics, Numerics::this_cpu(), "{rule:?}");
    }
}

#[test]
fn cells_of_a_device_have_keys_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let cells: Vec<Config> = (0..3).map(|seed| Settings { seed, ..settings() }.check().unwrap()).collect();
    let planned = |device: Option<Arc<dyn Device>>| {
        let mut runner = Runner::new(2).with_device(device).with_results(Store::open(&path).unwrap());
        let mut known = None;
        let outcomes = runner.run(&cells, &mut |event| {
            if let Event::Planned { done, .. } = event {
                known = Some(done);
            }
        });
        assert!(outcomes.unwrap().iter().all(Result::is_ok));
        known.unwrap()
    };
    assert_eq!([planned(None), planned(device(1e9)), planned(device(1e9)), planned(None)], [0, 0, 3, 3]);
    let numerics = device(1.0).unwrap().numerics();
    assert_ne!(Key::new(&cells[0], &numerics), Key::new(&cells[0], &Numerics::this_cpu()));
}

#[test]
fn run_that_does_not_fit_in_device_memory_is_refused() {
    let config = settings().check().unwrap();
    let backend = Backend::single().with_device(device(50.0));
    let error = run(&config, &Inputs::default(), &backend, None, &()).unwrap_err().to_string();
    let expected =
        "vocab = 60: this needs about 60 B of device memory, and 50 B are free; vocab up to 50 would fit";
    assert_eq!(error, expected);
    let outcomes = Runner::new(2).with_device(device(50.0)).run(&[config], &mut |_| {}).unwrap();
    let expected = DeviceError::TooLarge { needed: 60.0, available: 50.0 };
    assert_eq!(outcomes[0], Err(CellError::Device(expected)));
}

#[test]
fn cells_of_a_device_that_does_not_answer_have_its_error() {
    let outcomes =
        Runner::new(2).with_device(device(0.0)).run(&[settings().check().unwrap()], &mut |_| {}).unwrap();
    let error = outcomes[0].as_ref().unwrap_err().to_string();
    assert!(error.contains("no answer"), "{error}");
}

/// What a device leaves to the CPU is in the memory of the host.
#[test]
fn cells_that_use_the_host_are_limited_by_its_memory() {
    // Cells that differ in their seeds alone are a group on a device.
    let run = |early_rule, noise| {
        let config = |seed| Settings { early_rule, seed, ..settings() }.check().unwrap();
        let runner = Runner::new(2).with_device(device(1e9)).with_memory(1e3).with_noise(noise);
        { runner }.run(&[1, 2, 3].map(config), &mut |_| {}).unwrap()
    };
    assert!(run(EarlyRule::Gradient, false).iter().all(Result::is_ok));
    for outcome in [run(EarlyRule::Muon, false), run(EarlyRule::Gradient, true)].concat() {
        assert!(matches!(outcome, Err(CellError::TooLarge { available: 1e3, .. })), "{outcome:?}");
    }
}

#[test]
fn device_takes_the_steps_of_training() {
    let config = Settings { training: Some(Training::new(3)), ..settings() }.check().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.safetensors");
    let there = Backend::single().with_device(device(1e9));
    let run = |backend: &Backend, to| {
        let finish = train(&config, &Inputs::default(), None, to, backend, &mut ()).unwrap();
        let Finish::Done(record, _) = finish else { panic!("interrupted") };
        (record.outcome.measures, record.early_phase.measures, record.trajectory)
    };
    assert_eq!(run(&there, Some(&path)), run(&Backend::single(), None));
    assert!(measure(&config, false, &there).is_ok());
    // The checkpoint is the device's.
    let saved = Checkpoint::open(&path).unwrap();
    let resume = |backend: &Backend| {
        train(&config, &Inputs::default(), Some(&saved), None, backend, &mut ()).map(|_| ())
    };
    let error = resume(&Backend::single()).unwrap_err().to_string();
    assert!(error.contains("made with numerics fake-1"), "{error}");
    resume(&there).unwrap();
}

#[test]
fn training_that_does_not_fit_or_has_a_hook_is_refused() {
    struct Hooked;
    impl Observer for Hooked {
        fn step(&mut self, _: usize, _: usize) -> bool {
            panic!("work has started")
        }
        fn point(&mut self, _: &TrajectoryPoint) {}
        fn functions(&self) -> Vec<Function> {
            vec![Function::Hook]
        }
    }
    let config = Settings { training: Some(Training::new(3)), ..settings() }.check().unwrap();
    let error = |free, observer: &mut dyn Observer| {
        let backend = Backend::single().with_device(device(free));
        train(&config, &Inputs::default(), None, None, &backend, observer).err().unwrap().to_string()
    };
    assert!(error(50.0, &mut ()).contains("about 60 B of device memory"), "{}", error(50.0, &mut ()));
    let hooked = error(1e9, &mut Hooked);
    assert!(hooked.starts_with("training with a hook of your own cannot run"), "{hooked}");
}

/// Cells that differ in their seeds alone are given to the device together, as many as it asks for and as fit in its memory.
#[test]
fn cells_of_one_shape_run_together() {
    let cell = |vocab, samples, seed| Settings { vocab, samples, seed, ..settings() }.check().unwrap();
    let shapes = [(60, 500), (60, 600), (120, 500)];
    let cells: Vec<Config> =
        (0..6).flat_map(|seed| shapes.map(|(vocab, samples)| cell(vocab, samples, seed))).collect();
    let run = |free: f64, noise: bool| {
        let fake = fake(free);
        let mut runner = Runner::new(1).with_noise(noise).with_device(Some(fake.clone()));
        let outcomes = runner.run(&cells, &mut |_| {}).unwrap();
        let mut batches = fake.batches.lock().unwrap().clone();
        batches.sort_unstable();
        (outcomes, batches)
    };
    let (outcomes, batches) = run(1e9, false);
    assert_eq!(batches, [1, 1, 1, 1, 1, 1, 2, 2, 4, 4], "four of six cells of 60 tokens at a time");
    for (cell, outcome) in cells.iter().zip(&outcomes) {
        let alone = measure(cell, false, &Backend::single().with_device(device(1e9))).unwrap();
        assert_eq!(outcome.as_ref().unwrap().measures, alone.measures);
    }
    // Eight groups at a time share the memory, which is 60 bytes for a cell here.
    assert_eq!(run(1000.0, false).1, [[1; 6].as_slice(), &[2; 6]].concat());
    assert_eq!(run(1e9, true).1, [0; 0], "a noise budget needs all of a run");
}

/// One cell of a batch may fail; the others keep their outcomes.
#[test]
fn cell_of_a_batch_fails_alone() {
    let cells = [1, NOT_FINITE, 2].map(|seed| Settings { seed, ..settings() }.check().unwrap());
    let mut runner = Runner::new(1).with_device(device(1e9));
    let outcomes = runner.run(&cells, &mut |_| {}).unwrap();
    assert!(outcomes[0].is_ok() && outcomes[2].is_ok());
    let error = outcomes[1].as_ref().unwrap_err().to_string();
    assert!(error.contains("not finite"), "{error}");
    // A failure of the call is that of one cell, too: the others are run alone.
    let cells = [1, PANICS, 2].map(|seed| Settings { seed, ..settings() }.check().unwrap());
    let fake = fake(1e9);
    let outcomes = Runner::new(1).with_device(Some(fake.clone())).run(&cells, &mut |_| {}).unwrap();
    assert!(outcomes[0].is_ok() && outcomes[2].is_ok());
    let error = outcomes[1].as_ref().unwrap_err().to_string();
    assert!(error.contains("internal error: a call of the device"), "{error}");
    assert_eq!(*fake.batches.lock().unwrap(), [3, 1, 1, 1]);
}
