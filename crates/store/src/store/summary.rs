//! A summary of a store: means over seeds of every configuration, by the settings that vary among them.

use std::collections::BTreeMap;

use superpose_core::config::{Settings, Value, Values};
use superpose_core::{Measure, Measures};
use superpose_theory::predict;

use super::{Store, StoreError, cell_settings};
use crate::interval::{Interval, SampleMean, intervals};

/// One configuration, whatever the seed.
#[derive(Clone, Debug)]
pub struct Group {
    /// Values of what varies, in the order of [`Summary::varying`].
    pub at: Vec<Value>,
    /// The configuration, with the seed of one of its runs.
    pub config: Settings,
    /// Runs with an outcome.
    pub runs: usize,
    /// The measures over these runs.
    pub measures: Measures<Interval>,
    /// What the theory says of the accuracy.
    pub predicted: Option<f64>,
}

/// A store on the whole.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Names of what varies beside the seed.
    pub varying: Vec<&'static str>,
    /// Configurations in the order of what varies.
    pub groups: Vec<Group>,
    /// Outcomes that were read.
    pub read: usize,
}

/// Number of configurations up to which the theory is asked: a prediction takes about a millisecond.
const MAX_PREDICTED: usize = 2000;

/// Values of a configuration that sort like what they stand for.
type Sorted = Vec<(u8, u64, String)>;

/// The place of a value among those of its setting: absent, then numbers, then words.
fn place(value: &Value) -> (u8, u64, String) {
    match value {
        Value::Null => (0, 0, String::new()),
        Value::Flag(flag) => (1, u64::from(*flag), String::new()),
        Value::Count(_) | Value::Number(_) => (1, sortable(value.as_f64().unwrap_or(0.0)), String::new()),
        Value::Text(text) => (2, 0, text.to_string()),
    }
}

/// Bits that sort like numbers.
fn sortable(x: f64) -> u64 {
    // -0 becomes 0.
    let bits = (x + 0.0).to_bits();
    if x < 0.0 { !bits } else { bits | 1 << 63 }
}

/// Outcomes of one configuration while they are read.
struct Seeds {
    at: Vec<Value>,
    config: Settings,
    measures: Vec<Measures<SampleMean>>,
}

impl Summary {
    /// Reads a store, up to `max` outcomes.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn read(store: &Store, max: usize) -> Result<Summary, StoreError> {
        let settings = cell_settings().map(|setting| setting.name).filter(|name| *name != "seed");
        // Results of other arithmetic are other results.
        let names: Vec<&'static str> = settings.chain(["numerics", "numerics_revision"]).collect();
        let mut seeds: BTreeMap<Sorted, Seeds> = BTreeMap::new();
        let mut read = 0;
        store.entries::<StoreError>(&mut |entry| {
            let Ok(outcome) = &entry.result else { return Ok(()) };
            if read == max {
                return Ok(());
            }
            read += 1;
            let values = Values::of(&entry.config);
            let value = |name: &&'static str| match *name {
                "numerics" => Value::Text(entry.numerics.to_string().into()),
                "numerics_revision" => Value::Count(entry.numerics_revision.into()),
                name => values.get(name).cloned().unwrap_or(Value::Null),
            };
            let at: Vec<Value> = names.iter().map(value).collect();
            let sorted: Sorted = at.iter().map(place).collect();
            let new = || Seeds { at, config: entry.config.clone(), measures: Vec::new() };
            seeds.entry(sorted).or_insert_with(new).measures.push(outcome.measures);
            Ok(())
        })?;
        let all: Vec<Seeds> = seeds.into_values().collect();
        let varies = |column: usize| all.iter().any(|seeds| seeds.at[column] != all[0].at[column]);
        let varying: Vec<usize> = (0..names.len()).filter(|&column| varies(column)).collect();
        let few = all.len() <= MAX_PREDICTED;
        let predicted = |config: &Settings| {
            let config = few.then(|| config.clone().check().ok()).flatten()?;
            predict(&config).measures[Measure::Accuracy]
        };
        let group = |seeds: Seeds| Group {
            at: varying.iter().map(|&column| seeds.at[column].clone()).collect(),
            runs: seeds.measures.len(),
            measures: intervals(&seeds.measures, seeds.config.vocab),
            predicted: predicted(&seeds.config),
            config: seeds.config,
        };
        Ok(Summary {
            varying: varying.iter().map(|&column| names[column]).collect(),
            groups: all.into_iter().map(group).collect(),
            read,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Entry, Outcome, Results};
    use superpose_core::backend::Numerics;

    #[test]
    fn seeds_are_averaged_and_sizes_kept_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        let mut store = Store::open(&path).unwrap();
        for samples in [2000, 500, 10_000] {
            let sizes =
                Settings { vocab: 30, dim: 24, length: 4, samples, repeats: 3, ..Settings::default() };
            let config = sizes.check().unwrap();
            for repeat in 0..3 {
                let mean = 0.1 * (repeat + 1) as f64 + 1e-5 * samples as f64;
                let measures = Measures::from_fn(|_| SampleMean { mean, variance: 0.2, items: 100 });
                let outcome = Outcome { measures, trigger_sign: 1, noise: None, seconds: 0.0 };
                let cell = config.repeat(repeat);
                store.keep(&[Entry::new(&cell, &Numerics::CPU, Ok(outcome))]).unwrap();
            }
        }
        let summary = Summary::read(&store, usize::MAX).unwrap();
        assert_eq!((summary.varying, summary.read), (vec!["samples"], 9));
        let sizes: Vec<&[Value]> = summary.groups.iter().map(|group| &group.at[..]).collect();
        assert_eq!(sizes, [500, 2000, 10_000].map(|n| [Value::Count(n)]));
        assert!((summary.groups[1].measures[Measure::Accuracy].mean - 0.22).abs() < 1e-12);
        assert!(summary.groups.iter().all(|group| group.runs == 3 && group.predicted.is_some()));
        assert_eq!(Summary::read(&store, 4).unwrap().read, 4);
        // The same cell of another arithmetic is no further seed.
        let mut first = None;
        let read = &mut |entry: Entry| -> Result<(), StoreError> {
            first.get_or_insert(entry);
            Ok(())
        };
        store.entries(read).unwrap();
        let entry = first.unwrap();
        let gpu = Numerics::try_from("cuda-sm90".to_string()).unwrap();
        let config = entry.config.clone().check().unwrap();
        store.keep(&[Entry::new(&config, &gpu, Ok(entry.result.unwrap()))]).unwrap();
        let summary = Summary::read(&store, usize::MAX).unwrap();
        assert_eq!(summary.varying, ["samples", "numerics"]);
        let mut runs: Vec<usize> = summary.groups.iter().map(|group| group.runs).collect();
        runs.sort_unstable();
        assert_eq!(runs, [1, 3, 3, 3]);
    }

    #[test]
    fn negative_settings_are_kept_apart_and_sorted() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("store.sqlite")).unwrap();
        for gamma in [0.5, -1.0, 0.0, -2.0] {
            let config = Settings { gamma: Some(gamma), ..Settings::default() }.check().unwrap();
            let measures = Measures::from_fn(|_| SampleMean { mean: 0.5, variance: 0.2, items: 100 });
            let outcome = Outcome { measures, trigger_sign: 1, noise: None, seconds: 0.0 };
            store.keep(&[Entry::new(&config.repeat(0), &Numerics::CPU, Ok(outcome))]).unwrap();
        }
        let summary = Summary::read(&store, usize::MAX).unwrap();
        let found: Vec<&[Value]> = summary.groups.iter().map(|group| &group.at[..]).collect();
        assert_eq!(summary.varying, ["gamma"]);
        assert_eq!(found, [-2.0, -1.0, 0.0, 0.5].map(|gamma| [Value::Number(gamma)]));
    }

    #[test]
    fn summary_of_an_empty_store_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("store.sqlite")).unwrap();
        let summary = Summary::read(&store, 10).unwrap();
        assert!(summary.varying.is_empty() && summary.groups.is_empty());
    }
}
