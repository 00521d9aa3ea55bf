//! Search for the capacity of a memory: the number of facts at which half of the repeats reach the requested accuracy.

use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use superpose_associative::{KeyRows, MemoryConfig, MemorySettings, Rule};
use superpose_core::backend::{Backend, Numerics};
use superpose_core::config::{ConfigError, Embedding, Group, Labels, Values, between, check_ranges, counts};
use superpose_core::{settings, words};
use superpose_theory::capacity::{List, linear_capacity, list_load, stored_bits};

use super::{MemoryError, has_bits, numerics, reaches, recalls};
use crate::interval::Interval;
use crate::threshold::{Plan, Search, Step, Threshold};

words! {
    /// What a search finds.
    Find {
        /// How many facts a memory holds.
        Facts = "facts",
    }
}

settings! {
    /// The options of a search for a capacity, not yet validated.
    pub struct CapacityOptions in "" {
        /// Find the number of facts at which half of the repeats succeed, with a 95% interval.
        find: Option<Find> as "facts" = None;
        /// Stop when the relative half width of the 95% interval is at most this.
        half_width: f64 as "SHARE" = 0.05, between(0.0, 1.0);
        /// Maximum number of memories in the search.
        max_runs: usize as "COUNT" = 400, counts(12, 1_000_000);
    }
}

impl CapacityOptions {
    /// The options of the search if the values, which include the settings of the memory, ask for one.
    ///
    /// # Errors
    /// Fails if a value has no effect with or without a search; the error names the parameter.
    pub fn given(values: &Values) -> Result<Option<CapacityOptions>, ConfigError> {
        let search = values.gives("find");
        let (names, with, why) = match search {
            true => (["facts", "repeats"], "with", "the search decides how many"),
            false => (["half_width", "max_runs"], "without", "it applies only with find"),
        };
        match names.into_iter().find(|name| values.gives(name)) {
            Some(name) => Err(ConfigError::Together { names: format!("{name} is given {with} find"), why }),
            None => Ok(search.then(|| CapacityOptions::read(values)).transpose()?),
        }
    }
}

/// A validated search for the number of facts that a memory holds.
#[derive(Clone, Debug)]
pub struct CapacitySearch {
    config: MemoryConfig,
    /// The largest memory that may be tried.
    pub largest: MemorySettings,
    plan: Plan,
}

/// A capacity as a search found it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// The number of facts at which the share of successes crosses one half.
    pub threshold: Threshold,
    /// Memories made.
    pub runs: usize,
    /// Number of facts and success, 1 or 0, of each.
    pub points: Vec<(u64, f64)>,
}

/// A capacity as a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CapacityRecord {
    /// What was found.
    pub threshold: Threshold,
    /// Parameters per `N log N` at the crossing: `m d/(N log N)`, the width being d without an MLP.
    pub parameters_per_fact: Option<f64>,
    /// Bits of labels stored per parameter at the crossing, all facts right (theory: capacity); none with an accuracy below 0.99, unequal
    /// frequencies, a list or a Hopfield network.
    #[serde(default)]
    pub bits_per_parameter: Option<Interval>,
    /// The number of facts that the best linear memory holds (theory: capacity), where there is a formula.
    #[serde(default)]
    pub predicted: Option<f64>,
    /// Memories made.
    pub runs: usize,
    /// The half width that was asked for.
    pub half_width: f64,
    /// Time it took.
    pub seconds: f64,
    /// The full configuration; its number of facts and of repeats are not used.
    pub config: MemorySettings,
    /// The arithmetic that made it.
    #[serde(default)]
    pub numerics: Numerics,
    /// The version that searched.
    pub version: String,
}

impl CapacitySearch {
    /// Validates the options, and the settings at both ends of the search.
    ///
    /// # Errors
    /// Fails if a value is out of range; the error names the parameter.
    pub fn new(settings: &MemorySettings, options: &CapacityOptions) -> Result<CapacitySearch, ConfigError> {
        CapacitySearch::with_keys(settings, options, None)
    }

    /// The same with keys from a matrix.
    ///
    /// # Errors
    /// As for [`CapacitySearch::new`].
    pub fn with_keys(
        settings: &MemorySettings,
        options: &CapacityOptions,
        keys: Option<Arc<KeyRows>>,
    ) -> Result<CapacitySearch, ConfigError> {
        check_ranges(options, CapacityOptions::settings())?;
        let CapacityOptions { half_width, max_runs, .. } = *options;
        let classes = match settings.labels {
            Labels::Permutation => 2,
            Labels::Mod(classes) => classes.max(2) as u64,
        };
        let rows = keys.as_ref().map_or(usize::MAX, |keys| keys.count);
        let smallest = at(settings, classes, 0)?.with_keys(keys)?;
        let most = settings.max_facts().min(rows) as u64;
        let start = guess(settings).min(most as f64).max(classes as f64 + 1.0);
        let range = (classes, most.min((8.0 * start) as u64));
        at(settings, range.1, 0)?;
        // The slope only affects how far apart the first runs are.
        let plan = Plan { target: 0.5, half_width, range, rises: false, start, slope: 6.0, max_runs };
        // As many memories run at once as there are threads.
        let largest = MemorySettings { facts: range.1 as usize, repeats: usize::MAX, ..settings.clone() };
        Ok(CapacitySearch { config: smallest, largest, plan })
    }

    /// Runs the search. `observe` receives the number of memories made and the number of facts of the next ones.
    ///
    /// # Errors
    /// Fails if training diverges, or when the backend's token was cancelled.
    pub fn search(
        &self,
        backend: &Backend,
        observe: &mut dyn FnMut(usize, u64),
    ) -> Result<Capacity, MemoryError> {
        let mut search = Search::new(self.plan);
        loop {
            let trials = match search.ask() {
                Step::Run(trials) => trials,
                Step::Done(threshold) => {
                    let points = search.told().collect();
                    return Ok(Capacity { threshold, runs: search.runs(), points });
                }
            };
            let configs: Result<Vec<MemoryConfig>, ConfigError> = trials
                .iter()
                .map(|trial| {
                    at(&self.config, trial.value, trial.number)?.with_keys(self.config.keys().cloned())
                })
                .collect();
            observe(search.runs(), trials[0].value);
            // The whole batch at once: memories with too many facts train many times longer than those that reach the accuracy.
            let configs = configs?;
            let found = recalls(&configs, backend)?;
            for ((trial, config), found) in trials.iter().zip(&configs).zip(found) {
                search.tell(trial.value, reaches(config, &found), 1.0);
            }
        }
    }

    /// Runs the search and returns its record.
    ///
    /// # Errors
    /// As for [`CapacitySearch::search`].
    pub fn record(
        &self,
        backend: &Backend,
        observe: &mut dyn FnMut(usize, u64),
    ) -> Result<CapacityRecord, MemoryError> {
        let started = Instant::now();
        let Capacity { threshold, runs, .. } = self.search(backend, observe)?;
        let config = &self.config;
        let parameters = (config.inputs() * config.dim) as f64;
        let bits = |facts: f64| {
            let labels = config.labels.count(facts as usize).max(2);
            facts * stored_bits(config.accuracy, labels) / config.parameters() as f64
        };
        Ok(CapacityRecord {
            bits_per_parameter: threshold.interval().filter(|_| has_bits(config)).map(|n| n.map(bits)),
            predicted: predicted(config),
            parameters_per_fact: threshold.interval().map(|n| parameters / (n.mean * libm::log(n.mean))),
            threshold,
            runs,
            half_width: self.plan.half_width,
            seconds: started.elapsed().as_secs_f64(),
            config: (**config).clone(),
            numerics: numerics(config, backend),
            version: env!("CARGO_PKG_VERSION").into(),
        })
    }
}

fn at(settings: &MemorySettings, facts: u64, number: u64) -> Result<MemoryConfig, ConfigError> {
    let full = || ConfigError::value("seed", settings.seed, "leaves no room for the seeds of a search");
    let seed = settings.seed.checked_add(number).ok_or_else(full)?;
    MemorySettings { facts: facts as usize, repeats: 1, seed, ..settings.clone() }.check()
}

/// The least accuracy that is compared with the number of facts that are all recalled.
const NEARLY_ALL: f64 = 0.99;

/// The number of facts that the best linear memory holds; `None` for other memories, keys of a file, shared labels, unequal frequencies
/// and accuracies below [`NEARLY_ALL`].
fn predicted(settings: &MemorySettings) -> Option<f64> {
    let MemorySettings { rule, width, labels, zipf, top, dim, embedding, accuracy, .. } = *settings;
    let all = settings.embedding_file.is_none() && accuracy >= NEARLY_ALL;
    if !all || (rule, width, labels, zipf) != (Rule::Trained, None, Labels::Permutation, None) {
        return None;
    }
    match top {
        Some(top) => Some(list_load(top, List::Mean) * (dim * dim) as f64),
        None => linear_capacity(dim, embedding != Embedding::Gaussian),
    }
}

/// Patterns per neuron that an infinite Hopfield network holds (Amit, Gutfreund, Sompolinsky 1985).
pub const HOPFIELD_LOAD: f64 = 0.138;

/// Returns the number of facts at which the search starts, from published constants in `parameters = c N log N` and of the load of a
/// Hopfield network.
fn guess(settings: &MemorySettings) -> f64 {
    if let (Rule::Trained, Some(top)) = (settings.rule, settings.top) {
        return list_load(top, List::Mean) * (settings.inputs() * settings.dim) as f64;
    }
    let constant = match (settings.rule, settings.width) {
        (Rule::Hopfield, _) => return HOPFIELD_LOAD * settings.dim as f64,
        (Rule::Hebbian, _) => 8.0,
        (Rule::LeastSquares, _) => 3.0,
        (Rule::Trained, None) => 1.0,
        (Rule::Trained, Some(_)) => 0.35,
    };
    let product = (settings.inputs() * settings.dim) as f64 / constant;
    // The iteration N <- product / log N converges quickly.
    (0..50).fold(product.max(3.0), |n: f64, _| (product / libm::log(n)).max(3.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use superpose_associative::Convention;
    use superpose_core::backend::CancelToken;

    fn capacity(settings: &MemorySettings, half_width: f64) -> Interval {
        let options = CapacityOptions { half_width, ..CapacityOptions::default() };
        let search = CapacitySearch::new(settings, &options).expect("settings");
        let backend = Backend::cpu(2).expect("threads");
        let found = search.search(&backend, &mut |_, _| {}).expect("an answer");
        found.threshold.interval().unwrap_or_else(|| panic!("{found:?}"))
    }

    /// 104 facts at d = 64 on the sphere; far fewer with Gaussian vectors, whose lengths differ.
    #[test]
    fn hebbian_capacity_is_the_published_one() {
        let settings = MemorySettings { dim: 64, ..MemorySettings::default() };
        let n = capacity(&settings, 0.05);
        assert!(n.low <= 104.0 && 104.0 <= n.high, "{n:?}");
        let n = capacity(&MemorySettings { embedding: Embedding::Gaussian, ..settings }, 0.05);
        assert!(n.high < 80.0, "{n:?}");
    }

    /// 63 to 64 facts at d = 16 with the rate of the literature, 66 where training goes on.
    #[test]
    fn trained_capacity_is_the_published_one() {
        let settings =
            MemorySettings { dim: 16, rule: Rule::Trained, accuracy: 0.99, ..MemorySettings::default() };
        let n = capacity(&MemorySettings { convention: Convention::Literature, ..settings.clone() }, 0.04);
        assert!(60.0 <= n.mean && n.mean <= 67.0, "{n:?}");
        let n = capacity(&settings, 0.04);
        assert!(63.0 <= n.mean && n.mean <= 69.0, "{n:?}");
        let predicted = predicted(&settings).expect("a formula");
        assert!((n.low..n.high).contains(&predicted), "{n:?} {predicted}");
    }

    /// At the number of facts that half of the memories hold, neither a smaller or larger rate nor more steps change how many do. At
    /// the rate of the literature fewer do.
    #[test]
    fn default_training_has_converged() {
        let base = MemorySettings { facts: 106, dim: 22, rule: Rule::Trained, ..MemorySettings::default() };
        let base = MemorySettings { accuracy: 0.99, repeats: 16, ..base };
        let backend = Backend::cpu(2).expect("threads");
        let success = |settings: MemorySettings| {
            let config = settings.check().expect("settings");
            let found = super::super::run(&config, &backend, &mut |_| {}).expect("a run");
            (16.0 * found.success.mean).round()
        };
        let default = success(base.clone());
        assert!((4.0..=12.0).contains(&default), "{default}");
        let rate =
            |rate: f64, steps: usize| MemorySettings { rate: Some(rate), steps: Some(steps), ..base.clone() };
        for other in [rate(10.0, 4096), rate(0.5, 8192), rate(1.0, 16_384)] {
            let found = success(other);
            assert!((found - default).abs() <= 1.0, "{found} {default}");
        }
        let literature = success(MemorySettings { convention: Convention::Literature, ..base.clone() });
        assert!(literature <= default - 3.0, "{literature} {default}");
    }

    /// A list of a tenth of the labels holds more facts than the criterion of its mean, and fewer than that of its last label.
    #[test]
    fn list_capacity_is_between_the_formulas() {
        let [mean, last] = [List::Mean, List::Last].map(|list| (list_load(0.1, list) * 256.0) as usize);
        let success = |facts: usize| {
            let settings = MemorySettings { facts, dim: 16, top: Some(0.1), ..MemorySettings::default() };
            let config = MemorySettings { rule: Rule::Trained, steps: Some(512), repeats: 3, ..settings };
            let config = config.check().expect("settings");
            super::super::run(&config, &Backend::single(), &mut |_| {}).expect("a run").success.mean
        };
        assert_eq!((mean, last), (62, 98));
        assert_eq!([mean, last].map(success), [1.0, 0.0]);
    }

    #[test]
    fn search_stops_and_rejects_invalid_settings() {
        let settings = MemorySettings::default();
        let search = CapacitySearch::new(&settings, &CapacityOptions::default()).expect("settings");
        let token = CancelToken::new();
        token.cancel();
        let stopped = search.search(&Backend::single().with_cancel(token), &mut |_, _| {});
        assert!(matches!(stopped, Err(MemoryError::Cancelled(_))));
        let refused = |settings: &MemorySettings, half_width| {
            let options = CapacityOptions { half_width, ..CapacityOptions::default() };
            CapacitySearch::new(settings, &options).unwrap_err().to_string()
        };
        assert!(refused(&settings, 0.0).starts_with("half_width = 0: "));
        assert!(refused(&MemorySettings { dim: 0, ..settings.clone() }, 0.1).starts_with("dim = 0: "));
        let huge = MemorySettings { dim: usize::MAX, ..settings.clone() };
        assert!(refused(&huge, 0.1).starts_with("dim = 1844"));
        let last = MemorySettings { seed: u64::MAX, ..settings };
        assert!(refused(&last, 0.1).starts_with("seed = "));
    }
}
