//! Sweeps: many cells from one description, run on one machine or distributed over many.
//!
//! A file has a base configuration, axes (lists and ranges, in all combinations), points (parameters that change together) and rays
//! (parameters computed from others by a formula). `docs/sweeps.md` describes the format.

mod expression;
mod file;

pub(crate) use file::{line_at, scalar};
pub use superpose_store::cell::fingerprint;
pub use superpose_store::shards::*;

use std::collections::HashSet;
use std::sync::Arc;

use superpose_core::backend::Numerics;
use superpose_core::config::{Config, ConfigError, Group, Setting, Settings, Value, Values, find};

use crate::cell::{self, Key};
use crate::run::{Import, Inputs, RunError};
use expression::Expression;

/// Maximum number of cells of a sweep.
pub const MAX_CELLS: f64 = 1e7;

/// A description of cells.
#[derive(Clone, Debug)]
pub struct Sweep {
    base: Values,
    axes: Vec<Vec<Point>>,
    rays: Vec<Ray>,
    repeats: usize,
    /// Whether to record the noise budget.
    pub noise: bool,
    /// The tensors that all cells take.
    pub inputs: Arc<Inputs>,
}

/// A value on an axis: it sets one parameter or several together.
type Point = Vec<(&'static Setting, Value)>;

/// A parameter that follows from others by a formula.
type Ray = (&'static Setting, Expression);

/// Why a sweep is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)] // The messages explain the fields.
pub enum SweepError {
    /// A line is not TOML, or has an unknown key or a value that is not allowed.
    #[error("line {line}: {problem}")]
    Line { line: usize, problem: String },
    /// A parameter is given twice.
    #[error(
        "line {line}: {name} is given twice: above, under [axes], in [[points]] or under [rays], once each"
    )]
    Twice { line: usize, name: String },
    /// Parameters exclude each other.
    #[error(transparent)]
    Together(#[from] ConfigError),
    /// Rays depend on each other in a circle.
    #[error("[rays] {name}: its formula depends on itself")]
    Circle { name: &'static str },
    /// There are too many cells.
    #[error(
        "the axes make {cells:.0} cells; at most {MAX_CELLS:.0} are allowed: use fewer values or repeats"
    )]
    TooMany { cells: f64 },
    /// A formula has no valid value.
    #[error("[rays] {name} = {formula} with {point}: {what}")]
    Ray { name: &'static str, formula: String, point: String, what: String },
    /// A combination is not a valid configuration.
    #[error("the cell with {point}: {error}")]
    Config { point: String, error: ConfigError },
}

impl Sweep {
    /// Parses a description in TOML.
    ///
    /// # Errors
    /// Fails if the text is invalid or has too many cells; the error names the line.
    pub fn read(text: &str) -> Result<Sweep, SweepError> {
        let sweep = file::read(text)?;
        let cells = sweep.axes.iter().map(|axis| axis.len() as f64).product::<f64>() * sweep.repeats as f64;
        if cells > MAX_CELLS {
            return Err(SweepError::TooMany { cells });
        }
        Ok(sweep)
    }

    /// Opens the files that the sweep names, or takes tensors in their place, and with them the sizes that they fix.
    ///
    /// # Errors
    /// Fails if a tensor is invalid, or fixes a parameter that varies.
    pub fn open(&mut self, import: Option<Import>) -> Result<(), RunError> {
        let mut values = self.base.clone();
        for (parameter, value) in self.axes.iter().filter_map(|axis| axis.first()).flatten() {
            values.set(parameter, value.clone())?;
        }
        if import.is_none() && !["embedding_file", "import"].iter().any(|name| values.gives(name)) {
            return Ok(());
        }
        let mut settings = Settings { repeats: self.repeats, ..Settings::read(&values)? };
        let inputs = Inputs::open_with_digest(&mut settings, import, |name| self.base.gives(name))?;
        let axes = self.axes.iter().filter_map(|axis| axis.first()).flatten().map(|(parameter, _)| parameter);
        for parameter in axes.chain(self.rays.iter().map(|(parameter, _)| parameter)) {
            if let Some(why) = inputs.fixes(parameter.name) {
                return Err(ConfigError::value(parameter.name, "(several values)", why).into());
            }
        }
        // What the tensors decide, every cell has.
        for setting in Settings::settings().iter().filter(|setting| inputs.fixes(setting.name).is_some()) {
            match settings.get(setting.name) {
                Value::Null => {}
                value => self.base.set(setting, value)?,
            }
        }
        self.inputs = Arc::new(inputs);
        Ok(())
    }

    /// Returns the number of combinations including repeats; some may be the same cell.
    #[allow(clippy::len_without_is_empty)] // It is never empty.
    pub fn len(&self) -> usize {
        self.axes.iter().map(Vec::len).product::<usize>() * self.repeats
    }

    /// Returns all cells, each once, with the repeats and then the last axis changing fastest.
    ///
    /// # Errors
    /// Fails if a combination is invalid; the error names it.
    pub fn cells(&self) -> Result<Vec<Config>, SweepError> {
        let mut cells = Vec::with_capacity(self.len());
        let mut seen = HashSet::with_capacity(self.len());
        for number in 0..self.len() / self.repeats {
            let config = self.combination(number)?;
            for repeat in 0..self.repeats {
                let cell = config.repeat(repeat);
                if seen.insert(Key::new(&cell, &Numerics::CPU)) {
                    cells.push(cell);
                }
            }
        }
        Ok(cells)
    }

    fn combination(&self, number: usize) -> Result<Config, SweepError> {
        let mut values = self.base.clone();
        let mut point: Vec<&(&'static Setting, Value)> = Vec::new();
        let mut rest = number;
        for axis in self.axes.iter().rev() {
            point.extend(&axis[rest % axis.len()]);
            rest /= axis.len();
        }
        let text = |rays: &[String]| {
            let axes = point.iter().map(|(parameter, value)| format!("{} = {value}", parameter.name));
            let text = axes.chain(rays.iter().cloned()).collect::<Vec<_>>().join(", ");
            if text.is_empty() { "these values".into() } else { text }
        };
        let failed = |error| SweepError::Config { point: text(&[]), error };
        for (parameter, value) in &point {
            values.set(parameter, value.clone()).map_err(failed)?;
        }
        let mut followed = Vec::new();
        for (parameter, formula) in &self.rays {
            let of = |name: &str| match values.get(name) {
                Some(value) => value.as_f64(),
                None => find(Settings::settings(), name).ok()?.default.as_f64(),
            };
            let name = parameter.name;
            let wrong = |what| SweepError::Ray { name, formula: formula.to_string(), point: text(&[]), what };
            let x = formula.value(&of).ok_or_else(|| wrong("one of its names has no value".into()))?;
            let value =
                file::from_number(parameter, x).map_err(|allowed| wrong(format!("{x}, but it {allowed}")))?;
            followed.push(format!("{name} = {value}"));
            values.set(parameter, value).map_err(|error| wrong(error.to_string()))?;
        }
        let mut settings = Settings::read(&values).map_err(failed)?;
        settings.repeats = self.repeats;
        let wrong = |error| SweepError::Config { point: text(&followed), error };
        self.inputs.check(&settings).map_err(wrong)?;
        let config = settings.check().map_err(wrong)?;
        cell::check(&config.repeat(self.repeats - 1)).map_err(wrong)?;
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(text: &str) -> Vec<Config> {
        Sweep::read(text).unwrap().cells().unwrap()
    }

    #[test]
    fn axes_points_and_rays() {
        let cells = cells(
            "length = 8\nrepeats = 2\nseed = 10\ntrigger = \"keys\"\n[axes]\nvocab = { from = 100, to = 400, steps = 3, scale = \"geometric\" }\n\
             embedding = [\"gaussian\", \"sphere\"]\n[rays]\nsamples = \"4 * dim\"\ndim = \"sqrt(2 * vocab * ln(vocab))\"\n[[points]]\neta = 1\nlead = 2\n[[points]]\nlead = 3.5\neta = 2",
        );
        assert_eq!(cells.len(), 3 * 2 * 2 * 2);
        let (first, last) = (&cells[0], &cells[23]);
        assert_eq!((first.vocab, first.dim, first.samples, first.seed, first.eta), (100, 30, 120, 10, 1.0));
        assert_eq!((last.vocab, last.dim, last.length, last.seed, last.lead), (400, 69, 8, 11, 3.5));
        assert_eq!(cells[8].vocab, 200);
        assert!(cells.iter().all(|cell| cell.repeats == 1));
    }

    #[test]
    fn ranges_are_rounded_without_duplicates() {
        let dims = |range: &str| -> Vec<usize> {
            cells(&format!("[axes]\ndim = {range}")).iter().map(|cell| cell.dim).collect()
        };
        assert_eq!(dims("{ from = 1, to = 3, steps = 9 }"), [1, 2, 3]);
        assert_eq!(
            dims("{ from = 64, to = 1024, steps = 5, scale = \"geometric\" }"),
            [64, 128, 256, 512, 1024]
        );
        assert_eq!(dims("{ from = 8, to = 2, steps = 4 }"), [8, 6, 4, 2]);
        assert_eq!(dims("{ from = 5, to = 5, steps = 1 }"), [5]);
        assert_eq!(dims("[1e2, 65_5]"), [100, 655]);
        assert_eq!(dims("[8, 9, 8]"), [8, 9]);
    }

    #[test]
    fn errors_name_the_line() {
        for (text, message) in [
            ("vocab = 512\ndimm = 3", "line 2: unknown key dimm: there are axes"),
            ("vocab = \"many\"", "line 1: vocab = \"many\": must be a whole number"),
            ("trigger = \"both\"", "line 1: trigger = \"both\": must be one of values, keys"),
            ("vocab = 1", "the cell with these values: vocab = 1: must be a whole number from 2"),
            ("vocab = ", "line 1: "),
            ("[axes]\nimport = [\"x\"]", "line 2: import = (several values): the input files are the same"),
            ("import = \"x\"", "the cell with these values: import = x: needs input_digest"),
            ("dim = 3\n\n[axes]\ndim = [1]", "line 4: dim is given twice"),
            ("[axes]\ndim = [1]\n[rays]\ndim = \"2\"", "line 4: dim is given twice"),
            ("[axes]\ndim = 4", "line 2: dim = 4: must be a list"),
            ("[axes]\ndim = \"vocab\"", "line 2: dim = \"vocab\": must be a list or a range here; formulas"),
            ("[axes]\ndim = []", "line 2: dim = []: must have a value"),
            ("[axes]\ndim = [\n 4,\n 2.5]", "line 4: dim = 2.5: must be a whole number"),
            ("[axes]\ndim = { from = 1, to = 2 }", "line 2: dim, steps = (none)"),
            ("[axes]\ndim = { to = 2, steps = 2 }", "line 2: dim, from = (none): must be given"),
            ("[axes]\ndim = { from = 'x', to = 2 }", "line 2: dim, from = \"x\": must be a number"),
            ("[axes]\ndim = { from = 1, to = inf }", "line 2: dim, to = inf: must be a number"),
            (
                "[axes]\ndim = { from = 1, to = 2, steps = 2_000_000 }",
                "line 2: dim, steps = 2000000: must be",
            ),
            (
                "[axes]\neta = { from = -1, to = 2, steps = 3, scale = \"geometric\" }",
                "line 2: eta, scale = geometric: needs from",
            ),
            ("[axes]\ndim = { from = 1, to = 2, steps = 3, by = 1 }", "line 2: dim, by = 1: a range has"),
            (
                "[rays]\ndim = \"2 * vocabulary\"",
                "line 2: dim = \"2 * vocabulary\": vocabulary is not a parameter",
            ),
            ("[rays]\ndim = \"2 *\"", "line 2: dim = \"2 *\": character 4"),
            ("[rays]\ndim = \"samples\"\nsamples = \"dim\"", "[rays] dim: its formula depends on itself"),
            ("[rays]\ndim = \"width\"", "[rays] dim = width with these values: one of its names"),
            ("[rays]\ndim = \"ln(0)\"", "[rays] dim = ln(0) with these values: -inf"),
            (
                "[[points]]\ndim = 1\n[[points]]\nvocab = 3",
                "line 3: points = (this one): must have the parameters",
            ),
            ("noise = 1", "line 1: noise = 1: must be true or false"),
            ("repeats = 0", "line 1: repeats = 0: must be"),
            ("gamma = 1.0\nlead = 2", "gamma and lead"),
            ("activation = \"relu\"", "activation is given without width"),
            (
                "repeats = 1e6\n[axes]\nseed = { from = 0, to = 1e6, steps = 12345 }",
                "the axes make 12345000000 cells; at most 10000000",
            ),
            (
                "embedding = \"orthonormal\"\n[axes]\ndim = [600, 100]",
                "the cell with dim = 100: dim = 100: orthonormal",
            ),
        ] {
            let error = Sweep::read(text).and_then(|sweep| sweep.cells()).unwrap_err().to_string();
            assert!(error.starts_with(message), "{text}: {error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in "(dim|vocab|repeats|\\[axes\\]|\\[rays\\]|\\[\\[points\\]\\]|from|steps|=|\\{|\\}|\\[|\\]|\"|,|\n|[0-9]{1,3}|1e9|-|ln\\(| ){0,40}") {
            if let Ok(sweep) = Sweep::read(&text) && sweep.len() < 10_000 {
                let _ = sweep.cells();
            }
        }
    }
}
