//! A trained model to look into: its tensors, its attention and logits on any sequences, its loss and gradients at any
//! parameters.

use superpose_core::backend::{Backend, Cancelled, Real};
use superpose_core::config::Config;
use superpose_core::early_phase::EarlyPhase;
use superpose_core::embedding::Embeddings;
use superpose_core::model::{Attention, Model, Response, Want, attention_weights, descent, logits};
use superpose_core::task::{Samples, Stored};
use superpose_tensors::{Tensor, TensorError};

use super::import::below;
use super::instance::narrow;
use super::{Inputs, Instance, Metered, Progress, RunError, train};

/// A model after the early phase, with everything that made it: what `superpose run --export` writes.
pub struct Trained<T> {
    /// The configuration, sizes of imported tensors included.
    pub config: Config,
    /// The fixed vectors.
    pub embeddings: Embeddings<T>,
    /// The training samples.
    pub samples: Stored,
    /// What the three steps left behind.
    pub phase: EarlyPhase<T>,
    /// `W1`, `dim` rows of `dim`.
    pub w1: Vec<T>,
}

/// Loss and gradients at some parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradients {
    /// Mean cross-entropy over the samples.
    pub loss: f64,
    /// By the value matrix `M`, `dim` rows of `inputs`.
    pub m: Vec<f64>,
    /// By the attention matrix `W`, `dim` rows of `dim`.
    pub w: Vec<f64>,
}

impl<T: Real> Trained<T> {
    /// Draws what was not brought along and trains. `progress` hears how far it is: every sample is read four times, first to be
    /// kept and then in each of the three steps.
    pub fn new(
        config: &Config,
        inputs: &Inputs,
        backend: &Backend,
        progress: &dyn Progress,
    ) -> Result<Trained<T>, RunError> {
        config.three_steps_only()?;
        let instance = Instance::<T>::new(config, inputs, backend)?;
        let model = Model::new(config, &instance.embeddings);
        let drawn = instance.samples(config);
        let samples = Stored::copy(&Metered::new(&*drawn, progress), backend)?;
        drop(drawn);
        let phase = train(config, &model, &Metered::new(&samples, progress), backend)?;
        let w1 = phase.w1_matrix(&model);
        Ok(Trained { config: config.clone(), embeddings: instance.embeddings, samples, phase, w1 })
    }

    /// The model.
    pub fn model(&self) -> Model<'_, T> {
        Model::new(&self.config, &self.embeddings)
    }

    /// How many sequences these are and how long, by the shapes alone.
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

    /// Sequences of the model's tokens, for [`Trained::attention`] and [`Trained::logits`]; they have no labels.
    pub fn sequences(&self, tokens: Tensor<u32>, position: Tensor<u32>) -> Result<Stored, TensorError> {
        let (count, length) = Self::sequence_sizes(&tokens, &position)?;
        below("tokens", &tokens.data, self.model().tokens(), "vocab + noise_vocab")?;
        below("position", &position.data, length, "the columns of tokens")?;
        Ok(Stored::new(length, tokens.data, position.data, vec![0; count]))
    }

    /// The entries of a value matrix `M` in the model's precision.
    pub fn value_matrix(&self, m: &Tensor<f64>) -> Result<Vec<T>, TensorError> {
        of_shape(m, [self.model().dim(), self.model().inputs()])
    }

    /// The entries of an attention matrix `W` in the model's precision.
    pub fn attention_matrix(&self, w: &Tensor<f64>) -> Result<Vec<T>, TensorError> {
        of_shape(w, [self.model().dim(), self.model().dim()])
    }

    /// Roughly the seconds that one thread takes to pass over the sequences.
    pub fn pass_seconds(&self, sequences: &Stored) -> f64 {
        let model = self.model();
        let (d, p, labels) = (model.dim() as f64, model.inputs() as f64, model.labels() as f64);
        1e-10 * sequences.count() as f64 * (d * sequences.length() as f64 + p * (d + labels))
    }

    /// Where the attention looks at the matrix `w`, or as it was trained.
    fn looks(&self, w: Option<&[T]>, backend: &Backend) -> Result<Attention<T>, Cancelled> {
        let model = self.model();
        match w {
            Some(w) => model.attention(&model.query(w), backend),
            None => self.phase.attention(&model, backend),
        }
    }

    /// Attention weights, a row per sequence, at the matrix `w` or as trained.
    pub fn attention(
        &self,
        w: Option<&[T]>,
        sequences: &Stored,
        backend: &Backend,
    ) -> Result<Vec<T>, Cancelled> {
        attention_weights(&self.model(), &self.looks(w, backend)?, sequences, backend)
    }

    /// Logits, a row per sequence, at the matrices `m` and `w` or as trained.
    pub fn logits(
        &self,
        m: Option<&[T]>,
        w: Option<&[T]>,
        sequences: &Stored,
        backend: &Backend,
    ) -> Result<Vec<T>, Cancelled> {
        let m = m.unwrap_or(&self.phase.m2);
        logits(&self.model(), m, &self.looks(w, backend)?, sequences, backend)
    }

    /// Loss and gradients over the training samples at the matrices `m` and `w`. `progress` hears how far it is.
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
