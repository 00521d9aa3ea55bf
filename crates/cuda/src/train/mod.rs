//! Training beyond the early phase (see `crates/core/src/train`): parameters, moments and data stay in device memory.
//!
//! | module | content |
//! |---|---|
//! | `memory` | tensors and buffers in device memory, and an estimate of their size |
//! | `scores` | queries and scores from the attention matrices, and back |
//! | `block` | forward and backward pass of a block of samples |
//! | `optimiser` | parameters with their gradients and moments, and the steps of optimisers |
//! | `queue` | launches and small products |
//! | `read` | the measures of a network |
//! | `facts` | training of an associative memory |

mod block;
mod facts;
mod memory;
mod optimiser;
mod queue;
mod read;
mod scores;

use std::cell::Cell;
use std::ffi::c_void;

use superpose_core::backend::{DeviceError, Problem};
use superpose_core::train::{Counters, Learner, Reading, State, Update};

use crate::geometry::{self, WAIT};
use crate::gpu::{Borrowed, Gpu};
use crate::kernels::Kernels;
use crate::lane::{Buffer, Done, Element, Lane, Shape};

pub use facts::{Memory, bytes as memory_bytes};
pub use memory::bytes;
use memory::{Sizes, Tensors, Work};
use optimiser::{Parameters, Span, Step};
use queue::{Factor, Out, Queue};

/// A network in training on a device.
pub struct Training<'a, T> {
    kernels: &'a Kernels,
    lane: Borrowed<'a>,
    problem: &'a Problem<'a, T>,
    state: &'a mut State<T>,
    /// Whether the device took steps that `state` does not have.
    ahead: bool,
    sizes: Sizes,
    tensors: Tensors<T>,
    work: Work<T>,
    /// The samples of the last gradient or loss, on the host and on the device.
    ids: (Vec<u32>, Buffer<u32>),
    /// Numbers multiplied or read since the last wait.
    pending: Cell<usize>,
}

impl<'a, T: Element> Training<'a, T> {
    /// Copies the network, its moments and the data to the device.
    pub fn new(gpu: &'a Gpu, problem: &'a Problem<'a, T>, state: &'a mut State<T>) -> Done<Self> {
        let config = problem.config;
        if problem.task.given_test().is_some() {
            return Err(DeviceError::unsupported("training with test sequences of your own"));
        }
        let (lane, kernels) = (gpu.lane()?, gpu.kernels::<T>()?);
        geometry::check(config, kernels.shared)?;
        let sizes = Sizes::new(config, &config.training.clone().unwrap_or_default());
        let tensors = Tensors::new(&lane, problem, state, &sizes)?;
        let (work, ids) = (Work::new(&lane, &sizes)?, (Vec::new(), lane.alloc(0)?));
        let pending = Cell::new(0);
        Ok(Training { kernels, lane, problem, state, ahead: false, sizes, tensors, work, ids, pending })
    }

    fn lane(&self) -> &Lane {
        &self.lane
    }

    fn queue(&self) -> Queue<'_> {
        Queue { kernels: self.kernels, lane: &self.lane }
    }

    fn launch(&self, kernel: &str, shape: Shape, arguments: &mut [*mut c_void]) -> Done {
        self.queue().launch(kernel, shape, arguments)
    }

    /// Waits for the device if much work is under way, and checks whether the work was cancelled.
    fn progress(&self, numbers: usize) -> Done {
        self.pending.set(self.pending.get() + numbers);
        if self.pending.get() >= WAIT {
            self.lane.wait()?;
            self.pending.set(0);
        }
        Ok(self.problem.host.check_cancelled()?)
    }

    fn contract(&self, sizes: [usize; 3], a: Factor, b: Factor, out: Out) -> Done {
        self.queue().contract(sizes, a, b, out)
    }

    /// Puts the samples of a step on the device.
    fn choose(&mut self, ids: &[u32]) -> Done {
        if self.ids.0 != ids {
            self.ids = (ids.to_vec(), self.lane.upload(ids)?);
        }
        Ok(())
    }
}

impl<T: Element> Learner<T> for Training<'_, T> {
    fn counters(&mut self) -> &mut Counters {
        &mut self.state.counters
    }

    fn state(&mut self) -> Result<&State<T>, DeviceError> {
        if std::mem::take(&mut self.ahead) {
            let State { network, moments, .. } = &mut *self.state;
            let Parameters { spans, values, moments: kept, .. } = &self.tensors.parameters;
            for ((&tensor, moments), &Span { start, size, .. }) in
                self.tensors.trained.iter().zip(moments).zip(spans)
            {
                let values = self.lane.download(values, start..start + size)?;
                network.tensor_mut(tensor).copy_from_slice(&values);
                for (to, from) in [&mut moments.first, &mut moments.second].into_iter().zip(kept) {
                    if !to.is_empty() {
                        *to = self.lane.download(from, start..start + size)?;
                    }
                }
            }
        }
        Ok(self.state)
    }

    fn loss(&mut self, ids: &[u32]) -> Result<f64, DeviceError> {
        self.choose(ids)?;
        self.pass(false)
    }

    fn gradient(&mut self, ids: &[u32]) -> Result<f64, DeviceError> {
        self.choose(ids)?;
        self.pass(true)
    }

    fn step(&mut self, rate: f64) -> Result<bool, DeviceError> {
        let training = self.problem.config.training.clone().unwrap_or_default();
        let update = Update::of(&training);
        for (span, moments) in self.tensors.parameters.spans.iter().zip(&mut self.state.moments) {
            moments.steps += 1;
            let kept = span.kept(&update).into_iter().zip([&mut moments.first, &mut moments.second]);
            kept.for_each(|(kept, moment)| moment.resize(if kept { span.size } else { 0 }, 0.0));
        }
        self.state.counters.step += 1;
        self.ahead = true;

        let number = self.state.moments.first().map_or(0, |moments| moments.steps);
        let scale = -1.0 / self.ids.0.len() as f64;
        let step = Step { update: &update, number, rate, scale, clip: training.gradient_clip };
        self.tensors.parameters.step(self.queue(), step)?;
        self.lane.clear(&self.work.numbers, 1, 1)?;
        self.tensors.parameters.find_infinite(self.queue(), self.work.numbers.at(1))?;
        Ok(self.lane.download(&self.work.numbers, 1..2)?[0].to_bits() == 0)
    }

    fn read(&mut self) -> Result<Reading, DeviceError> {
        self.reading()
    }
}
