//! The tensors that `--import` accepts, and checks that their shapes agree.

use superpose_core::backend::Backend;
use superpose_core::config::{Config, Labels, Settings};
use superpose_core::random::Stream;
use superpose_core::task::{Drawn, Stored, Task};
use superpose_tensors::{Tensor, TensorError, Tensors};

use super::RunError;
use super::instance::digest;

/// The names of the tensors.
pub const NAMES: [&str; 8] = ["z_in", "z_out", "z_trig", "z_eos", "w_in", "tokens", "position", "labels"];

/// The tensors found; missing ones are generated.
#[derive(Clone, Debug, Default)]
pub struct Import {
    /// `[V, d]`, facts' tokens first, then noise tokens.
    pub z_in: Option<Tensor<f64>>,
    /// `[V, d]`, a row per label.
    pub z_out: Option<Tensor<f64>>,
    /// `[d]`
    pub z_trig: Option<Tensor<f64>>,
    /// `[d]`
    pub z_eos: Option<Tensor<f64>>,
    /// `[m, d]`
    pub w_in: Option<Tensor<f64>>,
    tokens: Option<Tensor<u32>>,
    position: Option<Tensor<u32>>,
    labels: Option<Tensor<u32>>,
}

/// Sizes that the tensors determine; `None` where they do not.
#[derive(Debug, Default)]
struct Sizes {
    /// Rows of `z_in`: vocabulary and noise vocabulary together.
    token_rows: Option<usize>,
    label_rows: Option<usize>,
    dim: Option<usize>,
    length: Option<usize>,
    samples: Option<usize>,
    width: Option<usize>,
}

impl Import {
    /// Reads the tensors of a file; tensors with other names are ignored.
    ///
    /// # Errors
    /// Fails if none of the names is there, or a tensor is invalid.
    pub fn read(tensors: &Tensors<'_>) -> Result<Import, TensorError> {
        let floats = |name| if tensors.has(name) { tensors.floats(name).map(Some) } else { Ok(None) };
        let whole = |name| if tensors.has(name) { tensors.whole(name).map(Some) } else { Ok(None) };
        if !NAMES.iter().any(|name| tensors.has(name)) {
            return Err(TensorError::Missing { name: NAMES.join(" or "), present: tensors.listed() });
        }
        Import::gather(floats, whole)
    }

    /// Gets the tensors by name from any source. Tensors with shapes but without entries suffice for [`Import::fit`] and
    /// [`Import::float_bytes`].
    ///
    /// # Errors
    /// Fails if the source fails, `z_eos` is zero, or labels come without tokens and positions.
    pub fn gather<E: From<TensorError>>(
        floats: impl Fn(&'static str) -> Result<Option<Tensor<f64>>, E>,
        whole: impl Fn(&'static str) -> Result<Option<Tensor<u32>>, E>,
    ) -> Result<Import, E> {
        let import = Import {
            z_in: floats("z_in")?,
            z_out: floats("z_out")?,
            z_trig: floats("z_trig")?,
            z_eos: floats("z_eos")?.map(not_zero).transpose()?,
            w_in: floats("w_in")?,
            tokens: whole("tokens")?,
            position: whole("position")?,
            labels: whole("labels")?,
        };
        if import.labels.is_some() && !(import.tokens.is_some() && import.position.is_some()) {
            let missing = if import.tokens.is_none() { "tokens" } else { "position" };
            let name = format!("{missing} (needed with labels: a label belongs to the token at a position)");
            return Err(TensorError::Missing { name, present: import.names().join(", ") }.into());
        }
        Ok(import)
    }

    /// Returns the names of the tensors found.
    pub fn names(&self) -> Vec<&'static str> {
        let floats = [&self.z_in, &self.z_out, &self.z_trig, &self.z_eos, &self.w_in];
        let whole = [&self.tokens, &self.position, &self.labels];
        let there = floats.map(Option::is_some).into_iter().chain(whole.map(Option::is_some));
        NAMES.into_iter().zip(there).filter(|(_, there)| *there).map(|(name, _)| name).collect()
    }

    /// Adds all tensors to a digest.
    pub(super) fn digest(&self, hasher: &mut blake3::Hasher) {
        self.floats().for_each(|tensor| digest(hasher, tensor, f64::to_le_bytes));
        let whole = [&self.tokens, &self.position, &self.labels];
        whole.into_iter().flatten().for_each(|tensor| digest(hasher, tensor, u32::to_le_bytes));
    }

    /// Returns why a setting cannot vary, if a tensor fixes it.
    pub(super) fn fixes(&self, setting: &str) -> Option<&'static str> {
        let (fixed, why) = match setting {
            "embedding" => (self.z_in.is_some(), "the embeddings are those of z_in"),
            "vocab" => (self.z_in.is_some() || self.z_out.is_some(), "the rows of z_in or z_out decide it"),
            "noise_vocab" => (self.z_in.is_some(), "the rows of z_in decide it"),
            "labels" | "output_embedding" => (self.z_out.is_some(), "the rows of z_out are those of labels"),
            "dim" => (self.floats().next().is_some(), "the columns of the tensors decide it"),
            "width" => (self.w_in.is_some(), "the rows of w_in decide it"),
            "length" => (self.tokens.is_some(), "the columns of tokens decide it"),
            "samples" => (self.has_samples(), "the rows of tokens, position or labels decide it"),
            _ => (false, ""),
        };
        fixed.then_some(why)
    }

    /// Returns the tensors of floating-point numbers.
    fn floats(&self) -> impl Iterator<Item = &Tensor<f64>> {
        [&self.z_in, &self.z_out, &self.z_trig, &self.z_eos, &self.w_in].into_iter().flatten()
    }

    /// Returns the bytes of the floating-point tensors, as a float so that very large shapes do not overflow.
    pub fn float_bytes(&self) -> f64 {
        self.floats().map(|tensor| tensor.shape.iter().map(|&n| n as f64).product::<f64>() * 8.0).sum()
    }

    /// Whether nothing is left to draw, so that all repeats would be the same.
    pub fn is_complete(&self, width: Option<usize>) -> bool {
        let found = self.names();
        let needed = |name: &&&str| **name != "labels" && (**name != "w_in" || width.is_some());
        NAMES.iter().filter(needed).all(|name| found.contains(name))
    }

    fn sizes(&self) -> Result<Sizes, TensorError> {
        let mut sizes = Sizes::default();
        let mut dim = Shared { parameter: "dim", first: None };
        let mut samples = Shared { parameter: "samples", first: None };
        for (tensor, rows) in [
            (&self.z_in, &mut sizes.token_rows),
            (&self.z_out, &mut sizes.label_rows),
            (&self.w_in, &mut sizes.width),
        ] {
            if let Some(tensor) = tensor {
                let (count, columns) = tensor.matrix()?;
                *rows = Some(count);
                dim.agree(tensor, columns)?;
            }
        }
        for tensor in [&self.z_trig, &self.z_eos].into_iter().flatten() {
            dim.agree(tensor, tensor.vector()?)?;
        }
        if let Some(tokens) = &self.tokens {
            let [count, length] = tokens.shape[..] else {
                return Err(tokens.shaped("must be a matrix, a row per sample"));
            };
            if count == 0 || length == 0 {
                return Err(tokens.shaped("must have at least one sample and one position"));
            }
            sizes.length = Some(length);
            samples.agree(tokens, count)?;
        }
        for tensor in [&self.position, &self.labels].into_iter().flatten() {
            let [count] = tensor.shape[..] else {
                return Err(tensor.shaped("must be a vector, an entry per sample"));
            };
            if count == 0 {
                return Err(tensor.shaped("must have at least one entry"));
            }
            samples.agree(tensor, count)?;
        }
        sizes.dim = dim.first.map(|(_, size)| size);
        sizes.samples = samples.first.map(|(_, size)| size);
        Ok(sizes)
    }

    /// Sets the sizes in the settings to those of the tensors. `given(name)` tells whether the user set a parameter.
    ///
    /// # Errors
    /// Fails if tensors disagree with each other or with a parameter that was given.
    pub fn fit(&self, settings: &mut Settings, given: impl Fn(&str) -> bool) -> Result<(), TensorError> {
        let sizes = self.sizes()?;
        let floats = [&self.z_in, &self.z_out, &self.w_in, &self.z_trig, &self.z_eos].into_iter().flatten();
        let dim_of = floats.map(|tensor| tensor.name.clone()).next().unwrap_or_default() + " (columns)";
        let vocab_of = if self.z_in.is_some() { "z_in (rows, without noise tokens)" } else { "z_out (rows)" };
        let shape = |name: &str, got, expected| Err(TensorError::Shape { name: name.into(), got, expected });
        let set = |parameter: &str, tensor: &str, have: &mut usize, size: Option<usize>| {
            let size = size.unwrap_or(*have);
            if given(parameter) && *have != size {
                let expected = format!("{parameter} was given as {have}; omit it or use the same value");
                return shape(tensor, vec![size], expected);
            }
            *have = size;
            Ok(())
        };
        set("dim", &dim_of, &mut settings.dim, sizes.dim)?;
        set("length", "tokens (columns)", &mut settings.length, sizes.length)?;
        set("samples", "tokens, position, labels (rows)", &mut settings.samples, sizes.samples)?;
        if sizes.width.is_some() {
            let mut width = settings.width.unwrap_or(0);
            set("width", "w_in (rows)", &mut width, sizes.width)?;
            settings.width = Some(width);
        }
        let vocab = match sizes.token_rows.map(|rows| rows.checked_sub(settings.noise_vocab.unwrap_or(0))) {
            Some(Some(vocab)) if vocab >= 2 => Some(vocab),
            Some(_) => {
                let got = vec![sizes.token_rows.unwrap_or(0), settings.dim];
                return shape("z_in", got, "needs noise_vocab rows and at least 2 more".into());
            }
            None if settings.labels == Labels::Permutation => sizes.label_rows,
            None => None,
        };
        set("vocab", vocab_of, &mut settings.vocab, vocab)?;
        if let Some(rows) = sizes.label_rows.filter(|&rows| rows != settings.label_count()) {
            let (count, labels) = (settings.label_count(), &settings.labels);
            let classes = format!("for fewer classes than tokens set labels = mod:{rows}");
            let expected = format!("must have a row per label, {count} with labels = {labels}; {classes}");
            return shape("z_out", vec![rows, settings.dim], expected);
        }
        Ok(())
    }

    /// Whether any part of the dataset is given.
    pub fn has_samples(&self) -> bool {
        self.tokens.is_some() || self.position.is_some() || self.labels.is_some()
    }

    /// Returns the dataset, with the given parts instead of generated ones, and the task with the facts in it.
    ///
    /// # Errors
    /// Fails if an entry is out of range.
    pub fn samples(
        &self,
        config: &Config,
        task: Task,
        backend: &Backend,
    ) -> Result<(Stored, Task), RunError> {
        let drawn = Drawn::new(&task, config.seed, Stream::Train, config.samples);
        let all_given = self.tokens.is_some() && self.position.is_some();
        let generated = (!all_given).then(|| Stored::copy(&drawn, backend)).transpose()?;
        let pick = |own: &Option<Tensor<u32>>, other: fn(&Stored) -> &[u32]| match own {
            Some(own) => own.data.clone(),
            None => generated.as_ref().map_or(Vec::new(), |generated| other(generated).to_vec()),
        };
        let tokens = pick(&self.tokens, Stored::tokens);
        let position = pick(&self.position, Stored::position);
        drop(generated);
        below("tokens", &tokens, config.token_count(), "vocab + noise_vocab")?;
        below("position", &position, config.length, "length")?;
        let informative = |n: usize| tokens[n * config.length + position[n] as usize];
        let labels = match &self.labels {
            Some(labels) => labels.data.clone(),
            None => {
                let points: Vec<u32> = (0..position.len()).map(informative).collect();
                below("tokens (at the informative position)", &points, config.vocab, "vocab")?;
                points.iter().map(|&token| task.facts()[token as usize]).collect()
            }
        };
        below("labels", &labels, config.label_count(), "the number of labels")?;
        let facts = facts(config, &task, (0..labels.len()).map(|n| (informative(n), labels[n])));
        Ok((Stored::new(config.length, tokens, position, labels), task.with_facts(facts)))
    }
}

/// Returns the label of each token: the most frequent one, the smallest of equally frequent ones; for a token that never occurs, an
/// unused label or, if there is none, that of the task.
fn facts(config: &Config, task: &Task, seen: impl Iterator<Item = (u32, u32)>) -> Vec<u32> {
    let mut pairs: Vec<(u32, u32)> = seen.filter(|&(token, _)| (token as usize) < config.vocab).collect();
    pairs.sort_unstable();
    let mut best: Vec<Option<(usize, u32)>> = vec![None; config.vocab];
    for run in pairs.chunk_by(|a, b| a == b) {
        let (token, label) = run[0];
        let best = &mut best[token as usize];
        if best.is_none_or(|(count, _)| run.len() > count) {
            *best = Some((run.len(), label));
        }
    }
    let mut used = vec![false; config.label_count()];
    best.iter().flatten().for_each(|&(_, label)| used[label as usize] = true);
    let mut free = (0..config.label_count() as u32).filter(|&label| !used[label as usize]);
    let mut label =
        |best: &Option<(usize, u32)>, own| best.map_or_else(|| free.next().unwrap_or(own), |b| b.1);
    best.iter().zip(task.facts()).map(|(best, &own)| label(best, own)).collect()
}

/// Rejects a zero vector, because scores and gamma are proportional to the length of `z_eos`. A tensor without entries passes.
fn not_zero(tensor: Tensor<f64>) -> Result<Tensor<f64>, TensorError> {
    if tensor.data.is_empty() || tensor.data.iter().any(|&x| x != 0.0) {
        return Ok(tensor);
    }
    let expected = "some entry must differ from 0".into();
    Err(TensorError::Value { name: tensor.name, value: "0".into(), index: 0, expected })
}

pub(crate) fn below(name: &str, values: &[u32], bound: usize, what: &str) -> Result<(), TensorError> {
    let Some(index) = values.iter().position(|&value| value as usize >= bound) else { return Ok(()) };
    let expected = format!("every entry must be below {what} = {bound}");
    Err(TensorError::Value { name: name.into(), value: values[index].to_string(), index, expected })
}

/// A size that several tensors must share.
struct Shared {
    parameter: &'static str,
    first: Option<(String, usize)>,
}

impl Shared {
    fn agree<X>(&mut self, tensor: &Tensor<X>, size: usize) -> Result<(), TensorError> {
        let (other, have) = self.first.get_or_insert_with(|| (tensor.name.clone(), size));
        match *have == size {
            true => Ok(()),
            false => Err(tensor.shaped(format!("{} must be {have}, as in tensor {other}", self.parameter))),
        }
    }
}
