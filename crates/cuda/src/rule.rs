//! The rules of the memory steps other than the gradient (see `crates/core/src/early_phase/rule.rs`). A gradient is one small matrix, so
//! it is copied to the host, which computes the step; sums over samples stay on the device, except for the moments of Newton's step,
//! which must be summed in 64 bits.

use superpose_core::backend::{Backend, Result};
use superpose_core::config::EarlyRule;
use superpose_core::early_phase::{EarlyPhase, Limit, fact_frequency_of, placed_moment};
use superpose_core::embedding::Embeddings;
use superpose_core::model::{Attention, Model};
use superpose_core::random::Stream;
use superpose_core::task::{Drawn, Samples};

use crate::lane::{Buffer, Done, Element};
use crate::session::Session;

impl<T: Element> Session<'_, T> {
    /// The step of a gradient under the attention of the phases, or under equal attention without them. `sum` is a multiple of the
    /// gradient, and the result is the same multiple of the step.
    pub fn step_by_rule(&self, sum: Buffer<f64>, phases: Option<&[EarlyPhase<T>]>) -> Done<Buffer<f64>> {
        self.by_rule(sum, |cell, model, backend| {
            let problem = &self.problems[cell];
            let drawn = Drawn::new(problem.task, problem.config.seed, Stream::Train, self.sizes.samples);
            let samples: &dyn Samples = match problem.stored {
                Some(stored) => stored,
                None => &drawn,
            };
            let attention = match phases {
                Some(phases) => phases[cell].attention(model, backend)?,
                None => Attention::Uniform,
            };
            Limit::new(model, samples, backend)?.moment(&attention)
        })
    }

    /// The same of a gradient with attention placed on the informative position, of facts that were seen as often as counted.
    pub fn placed_step_by_rule(&self, sum: Buffer<f64>, counts: &Buffer<u32>) -> Done<Buffer<f64>> {
        if self.problem.config.early_rule != EarlyRule::Newton {
            return self.by_rule(sum, |_, _, _| Ok(Vec::new()));
        }
        let vocab = self.problem.config.vocab;
        let counts = self.lane.download(counts, 0..vocab)?;
        self.by_rule(sum, |cell, model, backend| {
            let frequency = fact_frequency_of(&counts[cell * vocab..][..vocab], self.sizes.samples);
            placed_moment(model, &self.problems[cell].task.seen(&frequency), backend)
        })
    }

    /// Replaces the gradients of all cells by steps. `moment` computes the second moment of the features of a cell.
    fn by_rule(
        &self,
        sum: Buffer<f64>,
        moment: impl Fn(usize, &Model<'_, T>, &Backend) -> Result<Vec<f64>>,
    ) -> Done<Buffer<f64>> {
        let rule = self.problem.config.early_rule;
        if rule == EarlyRule::Gradient {
            return Ok(sum);
        }
        let (size, backend) = (self.sizes.dim * self.sizes.inputs, self.host());
        let gradients = self.lane.download(&sum, 0..size)?;
        let mut steps = Vec::with_capacity(gradients.len());
        for (cell, gradient) in gradients.chunks(size).enumerate() {
            let problem = &self.problems[cell];
            let drawn = match problem.embeddings {
                Some(_) => None,
                None => Some(Embeddings::draw(problem.config, &backend)?),
            };
            let embeddings = problem.embeddings.or(drawn.as_ref()).expect("given or drawn");
            let model = Model::new(problem.config, embeddings);
            let moment = || moment(cell, &model, &backend);
            steps.extend(rule.step(gradient.to_vec(), &model, moment, &backend)?);
        }
        self.lane.upload(&steps)
    }

    /// All threads of the host, which work for this run.
    pub fn host(&self) -> Backend {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let backend = Backend::cpu(threads).unwrap_or_else(|_| Backend::single());
        backend.with_cancel(self.problem.cancel.clone())
    }
}
