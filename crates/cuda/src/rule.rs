//! The rules of the memory steps other than the gradient (see `crates/core/src/early_phase/rule.rs`). A gradient is one small matrix, so
//! it is copied to the host, which computes the step; sums over samples stay on the device, except for the moments of Newton's step,
//! which must be summed in 64 bits.

use superpose_core::backend::{Backend, Result};
use superpose_core::config::EarlyRule;
use superpose_core::early_phase::{EarlyPhase, Limit, fact_frequency_of, output_covariance, placed_moment};
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
            Limit::new(model, samples, backend)?.hessian(&attention)
        })
    }

    /// The same of a gradient with attention placed on the informative position, of facts that were seen as often as counted.
    pub fn placed_step_by_rule(&self, sum: Buffer<f64>, counts: &Buffer<u32>) -> Done<Buffer<f64>> {
        let vocab = self.problem.config.vocab;
        let newton = self.problem.config.early_rule == EarlyRule::Newton;
        let counts = if newton { self.lane.download(counts, 0..vocab)? } else { Vec::new() };
        self.by_rule(sum, |cell, model, backend| {
            let frequency = fact_frequency_of(&counts[cell * vocab..][..vocab], self.sizes.samples);
            let moment = placed_moment(model, &self.problems[cell].task.seen(&frequency), backend)?;
            Ok([output_covariance(model, backend)?, moment])
        })
    }

    /// Replaces the gradients of all cells by steps. `hessian` computes what Newton's step of a cell needs.
    fn by_rule(
        &self,
        sum: Buffer<f64>,
        hessian: impl Fn(usize, &Model<'_, T>, &Backend) -> Result<[Vec<f64>; 2]>,
    ) -> Done<Buffer<f64>> {
        let rule = self.problem.config.early_rule;
        if rule == EarlyRule::Gradient {
            return Ok(sum);
        }
        let sizes = [self.sizes.dim, self.sizes.inputs];
        let size = sizes[0] * sizes[1];
        let gradients = self.lane.download(&sum, 0..size)?;
        let mut steps = Vec::with_capacity(gradients.len());
        for (cell, (gradient, problem)) in gradients.chunks(size).zip(self.problems).enumerate() {
            let hessian = || {
                let drawn;
                let embeddings = match problem.embeddings {
                    Some(embeddings) => embeddings,
                    None => {
                        drawn = Embeddings::draw(problem.config, problem.host)?;
                        &drawn
                    }
                };
                hessian(cell, &Model::new(problem.config, embeddings), problem.host)
            };
            steps.extend(rule.step(gradient.to_vec(), sizes, T::EPSILON, hessian, problem.host)?);
        }
        self.lane.upload(&steps)
    }
}
