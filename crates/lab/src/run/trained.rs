//! A trained model for analysis: its tensors, its attention and logits on any sequences, its loss and gradients at any parameters.

use superpose_core::backend::{Backend, Real, Result};
use superpose_core::config::{Config, ConfigError, EarlyRule, Regime};
use superpose_core::early_phase::{EarlyPhase, fact_frequency};
use superpose_core::embedding::Embeddings;
use superpose_core::model::{Attention, Model, Response, Want, attention_weights, descent, logits};
use superpose_core::noise::logit_parts;
use superpose_core::task::{Samples, Stored, Task};
use superpose_tensors::{Tensor, TensorError};

use super::import::below;
use super::instance::narrow;
use super::{Inputs, Instance, Metered, Progress, RunError, train};

/// A model after the early phase with its inputs: what `superpose run --export` writes.
pub struct Trained<T> {
    /// The configuration, sizes of imported tensors included.
    pub config: Config,
    /// The fixed vectors.
    pub embeddings: Embeddings<T>,
    /// The training samples.
    pub samples: Stored,
    /// The result of the three steps.
    pub phase: EarlyPhase<T>,
    /// `W1`, `dim` rows of `dim`.
    pub w1: Vec<T>,
    /// The facts.
    task: Task,
}

/// Loss and gradients at some parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradients {
    /// Mean cross-entropy over the samples.
    pub loss: f64,
    /// Gradient of the value matrix `M`, `dim` rows of `inputs`.
    pub m: Vec<f64>,
    /// Gradient of the attention matrix `W`, `dim` rows of `dim`.
    pub w: Vec<f64>,
}

impl<T: Real> Trained<T> {
    /// Draws the tensors that the inputs do not contain and trains. Every sample is read once to be stored, and then in each pass of the
    /// early phase ([`passes`](super::passes)).
    ///
    /// # Errors
    /// Fails if the configuration has training steps, a number overflows or `progress` cancels.
    pub fn new(
        config: &Config,
        inputs: &Inputs,
        backend: &Backend,
        progress: &dyn Progress,
    ) -> Result<Trained<T>, RunError> {
        config.three_steps_only()?;
        let instance = Instance::<T>::new(config, inputs, backend)?;
        let model = Model::new(config, instance.embeddings(config, backend)?);
        let drawn = instance.samples(config);
        let samples = Stored::copy(&Metered::new(&*drawn, progress), backend)?;
        drop(drawn);
        let phase = match backend.device() {
            Some(device) => {
                let observe = |count: usize| progress.samples(count);
                T::solver(&**device)
                    .solve(&instance.problem(config, Some(&samples), backend, &observe))?
                    .phase
            }
            None => train(config, &model, &Metered::new(&samples, progress), backend)?,
        };
        let w1 = phase.w1_matrix(&model);
        let task = instance.task.clone();
        let embeddings = instance.into_embeddings();
        Ok(Trained { config: config.clone(), embeddings, samples, phase, w1, task })
    }

    /// Returns the model.
    pub fn model(&self) -> Model<'_, T> {
        Model::new(&self.config, &self.embeddings)
    }

    /// Returns the number and the length of sequences from their shapes.
    ///
    /// # Errors
    /// Fails if a shape is wrong.
    pub fn sequence_sizes(
        tokens: &Tensor<u32>,
        position: &Tensor<u32>,
    ) -> Result<(usize, usize), TensorError> {
        let [count, length] = tokens.shape[..] else {
            return Err(tokens.shaped("must be a matrix, a row per sequence"));
        };
        if count == 0 || length == 0 {
            return Err(tokens.shaped("must have at least one sequence and one position"));
        }
        if position.shape != [count] {
            return Err(position.shaped(format!("must be a vector of {count}, an entry per row of tokens")));
        }
        Ok((count, length))
    }

    /// Returns sequences without labels for [`Trained::attention`] and [`Trained::logits`].
    ///
    /// # Errors
    /// Fails if a shape is wrong or an entry is out of range.
    pub fn sequences(&self, tokens: Tensor<u32>, position: Tensor<u32>) -> Result<Stored, TensorError> {
        let (count, length) = Self::sequence_sizes(&tokens, &position)?;
        below("tokens", &tokens.data, self.model().tokens(), "vocab + noise_vocab")?;
        below("position", &position.data, length, "the columns of tokens")?;
        Ok(Stored::new(length, tokens.data, position.data, vec![0; count]))
    }

    /// Returns the entries of a value matrix `M` in the model's precision.
    ///
    /// # Errors
    /// Fails if the shape is wrong or an entry overflows.
    pub fn value_matrix(&self, m: &Tensor<f64>) -> Result<Vec<T>, TensorError> {
        of_shape(m, [self.model().dim(), self.model().inputs()])
    }

    /// Returns the entries of an attention matrix `W` in the model's precision.
    ///
    /// # Errors
    /// Fails if the shape is wrong or an entry overflows.
    pub fn attention_matrix(&self, w: &Tensor<f64>) -> Result<Vec<T>, TensorError> {
        of_shape(w, [self.model().dim(), self.model().dim()])
    }

    /// Returns an estimate of the seconds that one thread takes to pass over the sequences.
    pub fn pass_seconds(&self, sequences: &Stored) -> f64 {
        let model = self.model();
        let (d, p, labels) = (model.dim() as f64, model.inputs() as f64, model.labels() as f64);
        1e-10 * sequences.count() as f64 * (d * sequences.length() as f64 + p * (d + labels))
    }

    /// Returns the attention at the matrix `w`, or as trained.
    fn attention_at(&self, w: Option<&[T]>, backend: &Backend) -> Result<Attention<T>> {
        let model = self.model();
        match w {
            Some(w) => model.attention(&model.query(w), backend),
            None => self.phase.attention(&model, backend),
        }
    }

    /// Returns attention weights, a row per sequence, at the matrix `w` or as trained.
    pub fn attention(&self, w: Option<&[T]>, sequences: &Stored, backend: &Backend) -> Result<Vec<T>> {
        attention_weights(&self.model(), &self.attention_at(w, backend)?, sequences, backend)
    }

    /// Returns logits, a row per sequence, at the matrices `m` and `w` or as trained.
    pub fn logits(
        &self,
        m: Option<&[T]>,
        w: Option<&[T]>,
        sequences: &Stored,
        backend: &Backend,
    ) -> Result<Vec<T>> {
        let m = m.unwrap_or(&self.phase.m2);
        logits(&self.model(), m, &self.attention_at(w, backend)?, sequences, backend)
    }

    /// Returns the parts of the logits of each sequence, a row per part in the order of [`Parts::named`](superpose_core::noise::Parts::named).
    ///
    /// # Errors
    /// Fails if the logits are not a sum over facts.
    pub fn noise_parts(&self, sequences: &Stored, backend: &Backend) -> Result<Vec<T>, RunError> {
        let config = &self.config;
        let sum = "the parts of a logit are defined";
        if config.regime != Regime::Infinitesimal {
            let allowed = format!("{sum} in the infinitesimal regime");
            return Err(ConfigError::value("regime", config.regime, allowed).into());
        }
        if config.early_rule != EarlyRule::Gradient {
            let allowed = format!("{sum} for gradient steps");
            return Err(ConfigError::value("early_rule", config.early_rule, allowed).into());
        }
        if !self.task.by_token() {
            let allowed = format!("{sum} if every label is that of the informative token");
            return Err(ConfigError::value("labels", "given", allowed).into());
        }
        let asked: Vec<u32> = (0..sequences.count() as u32).map(|id| sequences.fact(id).0).collect();
        below("tokens (at the informative position)", &asked, config.vocab, "vocab")?;
        let frequency = fact_frequency(&self.samples, config.vocab, backend)?;
        Ok(logit_parts(&self.model(), &self.task, &self.phase, &frequency, sequences, backend)?)
    }

    /// Returns the loss and the gradients over the training samples at the matrices `m` and `w`.
    ///
    /// # Errors
    /// Fails if `progress` cancels.
    pub fn gradients(
        &self,
        m: &[T],
        w: &[T],
        backend: &Backend,
        progress: &dyn Progress,
    ) -> Result<Gradients, RunError> {
        let model = self.model();
        let samples = Metered::new(&self.samples, progress);
        let want = Want { loss: true, m: true, query: true };
        let response = Response::new(&model, m, samples.count(), backend)?;
        let down = descent(&model, &response, &model.query(w), &samples, want, backend)?;
        let eos = &self.embeddings.z_eos;
        Ok(Gradients {
            loss: down.loss,
            m: down.m.iter().map(|x| -x).collect(),
            w: down.query.iter().flat_map(|&q| eos.iter().map(move |z| -q * z.to_f64())).collect(),
        })
    }
}

fn of_shape<T: Real>(matrix: &Tensor<f64>, shape: [usize; 2]) -> Result<Vec<T>, TensorError> {
    match matrix.shape == shape {
        true => narrow(matrix),
        false => Err(matrix.shaped(format!("must be {} rows of {}", shape[0], shape[1]))),
    }
}
