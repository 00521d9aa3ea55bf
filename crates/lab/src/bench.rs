//! Timings of the early phase, of a training step and of matrix products on this machine.

use std::time::Instant;

use superpose_core::backend::{Backend, Cancelled, Cost, Real, View, product};
use superpose_core::config::{Config, Optimiser, Training};
use superpose_core::early_phase::early_phase;
use superpose_core::model::Model;
use superpose_core::train::{Moments, Network, Update, gradient, warm_start};
use superpose_core::with_precision;

use crate::run::{Inputs, Instance, Metered, RunError};

/// Seconds of one training, the shortest of `repeat`: on the CPU without the making of data, on a device with it and with the
/// peak of its memory.
pub fn training_cost(config: &Config, backend: &Backend, repeat: usize) -> Result<Cost, RunError> {
    if backend.device().is_some() {
        return batch_cost(std::slice::from_ref(config), backend, repeat);
    }
    with_precision!(config.precision, T => {
        let instance = Instance::<T>::new(config, &Inputs::default(), backend)?;
        let model = Model::new(config, instance.embeddings(config, backend)?);
        let drawn = instance.samples(config);
        let seconds = shortest(repeat, || {
            let samples = Metered::new(&*drawn, &());
            let started = Instant::now();
            std::hint::black_box(early_phase(config, &model, &samples, backend)?);
            Ok(started.elapsed().as_secs_f64() - samples.seconds() / backend.threads() as f64)
        })?;
        Ok(Cost { seconds, bytes: f64::NAN })
    })
}

/// The same of cells that a device trains together. They differ in their seeds alone.
///
/// # Errors
/// As those of the device, which must be there.
pub fn batch_cost(cells: &[Config], backend: &Backend, repeat: usize) -> Result<Cost, RunError> {
    let device = backend.device().expect("a device");
    with_precision!(cells[0].precision, T => {
        let instances = cells.iter().map(|cell| Instance::<T>::new(cell, &Inputs::default(), backend));
        let instances = instances.collect::<Result<Vec<_>, _>>()?;
        let problems = instances.iter().zip(cells).map(|(instance, cell)| instance.problem(cell, None, backend, &|_| {}));
        Ok(T::solver(&**device).cost(&problems.collect::<Vec<_>>(), repeat)?)
    })
}

/// Where an Adam step is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At `M = W = 0`, where the softmax is uniform and its first-order form serves.
    Start,
    /// Where the early phase ends: attention on one position, the softmax far from uniform.
    Late,
}

/// Seconds of one full-batch Adam step, gradient and update, the shortest of `repeat`, without the making of data.
pub fn step_seconds(config: &Config, at: Place, backend: &Backend, repeat: usize) -> Result<f64, RunError> {
    with_precision!(config.precision, T => {
        let instance = Instance::<T>::new(config, &Inputs::default(), backend)?;
        let embeddings = instance.embeddings(config, backend)?;
        let model = Model::new(config, embeddings);
        let drawn = instance.samples(config);
        let training = Training::new(1);
        let mut network = Network::new(config, &training, embeddings.clone(), backend)?;
        if at == Place::Late {
            let phase = early_phase(config, &model, &*drawn, backend)?;
            warm_start(config, &mut network, &phase, &*drawn, backend)?;
        }
        let ids: Vec<u32> = (0..config.samples as u32).collect();
        let update = Update::new(Optimiser::Adam);
        shortest(repeat, || {
            let (mut network, samples) = (network.clone(), Metered::new(&*drawn, &()));
            let started = Instant::now();
            let found = gradient(&network, &samples, &ids, backend)?;
            for (tensor, gradient) in network.trained().to_vec().into_iter().zip(&found.tensors) {
                let columns = network.columns(tensor);
                let place = network.tensor_mut(tensor);
                update.step(&mut Moments::default(), place, columns, gradient, training.rate, backend)?;
            }
            std::hint::black_box(&network);
            Ok(started.elapsed().as_secs_f64() - samples.seconds() / backend.threads() as f64)
        })
    })
}

/// Seconds that the four products of samples, labels and dimension take that an exact run cannot do without when its
/// softmax is far from uniform: logits and their derivatives, in steps 2 and 3. Blocks of 256 samples, tasks on all
/// threads, nothing else: what the machine's rate allows.
pub fn product_seconds(config: &Config, backend: &Backend, repeat: usize) -> Result<f64, RunError> {
    const ROWS: usize = 256;
    const TASKS: usize = 16;
    let (labels, dim, blocks) = (config.label_count(), config.dim, config.samples.div_ceil(ROWS));
    with_precision!(config.precision, T => {
        let table = vec![T::ONE; labels * dim];
        let table = View::new(&table, labels, dim);
        shortest(repeat, || {
            let started = Instant::now();
            backend.map(TASKS, |task| {
                let mut short = vec![T::ONE; ROWS * dim];
                let mut long = vec![T::ONE; ROWS * labels];
                for _ in task * blocks / TASKS..(task + 1) * blocks / TASKS {
                    for _ in 0..2 {
                        product(&mut long, View::new(&short, ROWS, dim), table.t(), false);
                        product(&mut short, View::new(&long, ROWS, labels), table, false);
                    }
                    short.fill(T::ONE);
                }
            })?;
            Ok(started.elapsed().as_secs_f64())
        })
    })
}

fn shortest(repeat: usize, mut run: impl FnMut() -> Result<f64, Cancelled>) -> Result<f64, RunError> {
    (0..repeat.max(1)).try_fold(f64::INFINITY, |shortest, _| Ok(shortest.min(run()?)))
}
