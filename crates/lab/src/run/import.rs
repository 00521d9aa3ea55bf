//! The tensors that `--import` accepts, and checks that their shapes agree.

use superpose_core::backend::Backend;
use superpose_core::config::{Config, Labels, Settings};
use superpose_core::task::{Fact, Stored, Task};
use superpose_tensors::{Tensor, TensorError, Tensors};

use super::RunError;
use super::data::{Sequences, Split, facts, facts_of, shares};
use super::instance::digest;

/// The names of the tensors of floating-point numbers.
const FLOATS: [&str; 5] = ["z_in", "z_out", "z_trig", "z_eos", "w_in"];
/// The names of the training sequences.
const TRAIN: [&str; 3] = ["tokens", "position", "labels"];
/// The names of the test sequences.
const TEST: [&str; 3] = ["test_tokens", "test_position", "test_labels"];

/// The names of the tensors.
pub fn names() -> impl Iterator<Item = &'static str> {
    FLOATS.into_iter().chain(TRAIN).chain(TEST)
}

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
    /// Training sequences.
    train: Sequences,
    /// Test sequences.
    test: Sequences,
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
    test_samples: Option<usize>,
    width: Option<usize>,
}

/// The sequences of a run that are not drawn, and the task with the facts in them.
pub struct Data {
    /// Training sequences; absent: drawn.
    pub train: Option<Stored>,
    /// Test sequences; absent: drawn.
    pub test: Option<Stored>,
    /// The task.
    pub task: Task,
}

impl Import {
    /// Reads the tensors of a file; tensors with other names are ignored.
    ///
    /// # Errors
    /// Fails if none of the names is there, or a tensor is invalid.
    pub fn read(tensors: &Tensors<'_>) -> Result<Import, TensorError> {
        let floats = |name| if tensors.has(name) { tensors.floats(name).map(Some) } else { Ok(None) };
        let whole = |name| if tensors.has(name) { tensors.whole(name).map(Some) } else { Ok(None) };
        if !names().any(|name| tensors.has(name)) {
            let name = names().collect::<Vec<_>>().join(" or ");
            return Err(TensorError::Missing { name, present: tensors.listed() });
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
        Ok(Import {
            z_in: floats("z_in")?,
            z_out: floats("z_out")?,
            z_trig: floats("z_trig")?,
            z_eos: floats("z_eos")?.map(not_zero).transpose()?,
            w_in: floats("w_in")?,
            train: Sequences::gather(TRAIN, &whole)?,
            test: Sequences::gather(TEST, &whole)?,
        })
    }

    /// Returns the names of the tensors found.
    pub fn names(&self) -> Vec<String> {
        let floats = self.floats().map(|tensor| tensor.name.clone());
        floats.chain(self.whole().map(|tensor| tensor.name.clone())).collect()
    }

    /// Returns the names of the sequences found.
    pub fn sequences(&self) -> Vec<&str> {
        self.whole().map(|tensor| &*tensor.name).collect()
    }

    /// Adds all tensors to a digest.
    pub(super) fn digest(&self, hasher: &mut blake3::Hasher) {
        self.floats().for_each(|tensor| digest(hasher, tensor, f64::to_le_bytes));
        self.whole().for_each(|tensor| digest(hasher, tensor, u32::to_le_bytes));
    }

    /// Returns why a setting cannot vary, if a tensor fixes it.
    pub(super) fn fixes(&self, setting: &str) -> Option<&'static str> {
        let (fixed, why) = match setting {
            "embedding" => (self.z_in.is_some(), "the embeddings are those of z_in"),
            "vocab" => (
                self.z_in.is_some() || self.z_out.is_some(),
                "the rows of z_in or z_out decide it; an embedding_file may have more rows, of which each seed draws its own",
            ),
            "noise_vocab" => (self.z_in.is_some(), "the rows of z_in decide it"),
            "labels" | "output_embedding" => (self.z_out.is_some(), "the rows of z_out are those of labels"),
            "dim" => (self.floats().next().is_some(), "the columns of the tensors decide it"),
            "width" => (self.w_in.is_some(), "the rows of w_in decide it"),
            "length" => (self.gives_length(), "the columns of tokens or test_tokens decide it"),
            "samples" => (self.has_samples(), "the rows of tokens, position or labels decide it"),
            "test_samples" => {
                (!self.test.is_empty(), "the rows of test_tokens, test_position or test_labels decide it")
            }
            _ => (false, ""),
        };
        fixed.then_some(why)
    }

    /// Returns the tensors of floating-point numbers.
    fn floats(&self) -> impl Iterator<Item = &Tensor<f64>> {
        [&self.z_in, &self.z_out, &self.z_trig, &self.z_eos, &self.w_in].into_iter().flatten()
    }

    /// Returns the tensors of whole numbers.
    fn whole(&self) -> impl Iterator<Item = &Tensor<u32>> {
        self.train.tensors().chain(self.test.tensors())
    }

    fn gives_length(&self) -> bool {
        self.whole().any(|tensor| tensor.name.ends_with("tokens"))
    }

    /// Returns the bytes of the floating-point tensors, as a float so that very large shapes do not overflow.
    pub fn float_bytes(&self) -> f64 {
        self.floats().map(|tensor| tensor.shape.iter().map(|&n| n as f64).product::<f64>() * 8.0).sum()
    }

    /// Whether nothing is left to draw in training, so that all repeats would be the same.
    pub fn is_complete(&self, width: Option<usize>) -> bool {
        let found = self.names();
        let needed = |name: &&str| *name != "labels" && (*name != "w_in" || width.is_some());
        FLOATS.into_iter().chain(TRAIN).filter(needed).all(|name| found.iter().any(|have| have == name))
    }

    fn sizes(&self) -> Result<Sizes, TensorError> {
        let mut sizes = Sizes::default();
        let mut dim = Shared { parameter: "dim", first: None };
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
        sizes.dim = dim.first.map(|(_, size)| size);
        let mut length = Shared { parameter: "length", first: None };
        sizes.samples = self.train.count("samples", &mut length)?;
        sizes.test_samples = self.test.count("test_samples", &mut length)?;
        sizes.length = length.first.map(|(_, size)| size);
        Ok(sizes)
    }

    /// Sets the sizes in the settings to those of the tensors. `given(name)` tells whether the user set a parameter.
    ///
    /// # Errors
    /// Fails if tensors disagree with each other or with a parameter that was given.
    pub fn fit(&self, settings: &mut Settings, given: impl Fn(&str) -> bool) -> Result<(), TensorError> {
        let sizes = self.sizes()?;
        let shape = |name: &str, got, expected| Err(TensorError::Shape { name: name.into(), got, expected });
        let set = |parameter: &str, from: Option<(&str, &[usize])>, have: &mut usize, size: Option<usize>| {
            let (Some((tensor, got)), Some(size)) = (from, size) else { return Ok(()) };
            if given(parameter) && *have != size {
                let expected = format!("{parameter} was given as {have}; omit it or give {size}");
                return shape(tensor, got.to_vec(), expected);
            }
            *have = size;
            Ok(())
        };
        let tokens = self.whole().find(|tensor| tensor.name.ends_with("tokens"));
        set("dim", self.floats().next().map(named), &mut settings.dim, sizes.dim)?;
        set("length", tokens.map(named), &mut settings.length, sizes.length)?;
        set("samples", self.train.tensors().next().map(named), &mut settings.samples, sizes.samples)?;
        let test = self.test.tensors().next().map(named);
        set("test_samples", test, &mut settings.test_samples, sizes.test_samples)?;
        if sizes.width.is_some() {
            let mut width = settings.width.unwrap_or(0);
            set("width", self.w_in.as_ref().map(named), &mut width, sizes.width)?;
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
        set("vocab", self.z_in.as_ref().or(self.z_out.as_ref()).map(named), &mut settings.vocab, vocab)?;
        if let Some(rows) = sizes.label_rows.filter(|&rows| rows != settings.label_count()) {
            let (count, labels) = (settings.label_count(), &settings.labels);
            let classes = format!("for fewer classes than tokens set labels = mod:{rows}");
            let expected = format!("must have a row per label, {count} with labels = {labels}; {classes}");
            return shape("z_out", vec![rows, settings.dim], expected);
        }
        Ok(())
    }

    /// Whether any part of the training data is given.
    pub fn has_samples(&self) -> bool {
        !self.train.is_empty()
    }

    /// Whether any part of the test data is given.
    pub fn has_test(&self) -> bool {
        !self.test.is_empty()
    }

    /// Returns the sequences that are given, and the task with the facts in them.
    ///
    /// # Errors
    /// Fails if an entry is out of range. Without labels of the test, a token with two labels in training, or one of the test that
    /// labelled training data lack, is refused.
    pub fn data(&self, config: &Config, task: Task, backend: &Backend) -> Result<Data, RunError> {
        let complete = |sequences: &Sequences, task: &Task, split| {
            let given = !sequences.is_empty();
            given.then(|| sequences.complete(config, task, split, backend)).transpose()
        };
        let train = complete(&self.train, &task, Split::Train)?;
        let trained = train.as_ref().map(facts_of).unwrap_or_default();
        // A noise token at the informative position has no fact, and adds to none.
        let mut seen = shares(&trained);
        seen.retain(|fact| fact.token < config.vocab);
        // Test labels do not depend on the task if they are given; then they tell the labels of tokens that training lacks.
        let labelled = if self.test.has_labels() { complete(&self.test, &task, Split::Test)? } else { None };
        let task = match &train {
            Some(_) => {
                let mut new = labelled.as_ref().map(facts_of).unwrap_or_default();
                new.retain(|fact| seen.binary_search_by_key(&fact.token, |known| known.token).is_err());
                let facts = facts(config, &task, &[&seen[..], &shares(&new)].concat());
                task.with_facts(facts)
            }
            None => task,
        };
        let test = match labelled {
            Some(test) => Some(test),
            None => complete(&self.test, &task, Split::Test)?,
        };
        let tested = test.as_ref().map(facts_of);
        let from_training = self.train.has_labels() && !self.test.has_labels();
        let asked = test.iter().filter(|_| from_training).flat_map(facts_of).enumerate();
        let known = |token| seen.binary_search_by_key(&token, |fact| fact.token).is_ok();
        if let Some((index, fact)) = { asked }.find(|(_, fact)| !known(fact.token)) {
            let (name, value) = ("test_tokens (at the informative position)".into(), fact.token.to_string());
            let expected = "no training sample tells its label; give test_labels".into();
            return Err(TensorError::Value { name, value, index, expected }.into());
        }
        let differs = |fact: &Fact| task.facts().get(fact.token).map(|&label| label != fact.label);
        let contradiction = trained.iter().position(|fact| differs(fact) == Some(true));
        if let Some(index) = contradiction.filter(|_| !self.test.has_labels()) {
            let Fact { token, label, .. } = trained[index];
            let expected = format!(
                "token {token} has the label {} in other samples, and a test without test_labels needs one label per token; give test_tokens, test_position and test_labels",
                task.facts()[token]
            );
            let (name, value) = ("labels".into(), label.to_string());
            return Err(TensorError::Value { name, value, index, expected }.into());
        }
        let task = task.with_samples(contradiction.map(|_| seen), tested);
        Ok(Data { train, test, task })
    }
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

/// The name and the shape of a tensor.
fn named<X>(tensor: &Tensor<X>) -> (&str, &[usize]) {
    (&tensor.name, &tensor.shape)
}

/// A size that several tensors must share.
pub(super) struct Shared {
    pub parameter: &'static str,
    pub first: Option<(String, usize)>,
}

impl Shared {
    pub fn agree<X>(&mut self, tensor: &Tensor<X>, size: usize) -> Result<(), TensorError> {
        let (other, have) = self.first.get_or_insert_with(|| (tensor.name.clone(), size));
        match *have == size {
            true => Ok(()),
            false => Err(tensor.shaped(format!("{} must be {have}, as in tensor {other}", self.parameter))),
        }
    }
}
