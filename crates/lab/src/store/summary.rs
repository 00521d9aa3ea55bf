//! What a store says on the whole: means over seeds, for every configuration that it has, by what varies among them.

use std::collections::BTreeMap;

use superpose_core::config::Settings;
use superpose_theory::predict;

use super::columns::{CONFIG, TRAINING};
use super::{Store, StoreError, Value, values};
use crate::cell::Measure;
use crate::interval::{Interval, share};

/// One configuration, whatever the seed.
#[derive(Clone, Debug)]
pub struct Group {
    /// Values of what varies, in the order of [`Summary::varying`].
    pub at: Vec<Value>,
    /// The configuration, with the seed of one of its runs.
    pub config: Settings,
    /// Runs with an outcome.
    pub runs: usize,
    /// Recall with the trained attention.
    pub accuracy: Interval,
    /// Recall with the attention placed on the informative position.
    pub memory_accuracy: Interval,
    /// Reading the first gradient alone.
    pub one_step_accuracy: Interval,
    /// How often the largest attention weight is on the informative position.
    pub lock_rate: Interval,
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

/// Number of the first column of the configuration, after key, status and reason.
const FIRST: usize = 3;

/// Configurations up to which the theory is asked: a prediction takes about a millisecond.
const FORETOLD: usize = 2000;

/// Values of a configuration that sort like what they stand for.
type Sorted = Vec<(u8, u64, String)>;

/// A value's place among those of its column: nothing, then numbers, then words.
fn place(value: &Value) -> (u8, u64, String) {
    // The bits of numbers that are not negative sort like the numbers.
    let real = |x: f64| (1, x.max(0.0).to_bits(), String::new());
    match value {
        Value::Null => (0, 0, String::new()),
        Value::Integer(x) => real(*x as f64),
        Value::Real(x) => real(*x),
        Value::Text(x) => (2, 0, x.clone()),
    }
}

/// Outcomes of one configuration while they are read.
struct Seeds {
    at: Vec<Value>,
    config: Settings,
    measures: [Vec<Measure>; 4],
}

impl Summary {
    /// Reads a store, up to so many outcomes.
    pub fn read(store: &Store, most: usize) -> Result<Summary, StoreError> {
        let mut seeds: BTreeMap<Sorted, Seeds> = BTreeMap::new();
        let mut read = 0;
        store.entries::<StoreError>(&mut |entry| {
            let Ok(outcome) = &entry.result else { return Ok(()) };
            if read == most {
                return Ok(());
            }
            read += 1;
            // All of the configuration but the seed, which is its last; training comes after everything else.
            let values = values(&entry);
            let at =
                [&values[FIRST..FIRST + CONFIG.len() - 1], &values[values.len() - TRAINING.len()..]].concat();
            let sorted: Sorted = at.iter().map(place).collect();
            let found = seeds.entry(sorted).or_insert_with(|| Seeds {
                at,
                config: entry.config.clone(),
                measures: Default::default(),
            });
            let measures =
                [outcome.accuracy, outcome.memory_accuracy, outcome.one_step_accuracy, outcome.lock_rate];
            found.measures.iter_mut().zip(measures).for_each(|(all, one)| all.push(one));
            Ok(())
        })?;
        let all: Vec<Seeds> = seeds.into_values().collect();
        let varies = |column: usize| all.iter().any(|seeds| seeds.at[column] != all[0].at[column]);
        let names: Vec<&str> =
            CONFIG[..CONFIG.len() - 1].iter().chain(&TRAINING).map(|column| column.0).collect();
        let varying: Vec<usize> = (0..names.len()).filter(|&column| varies(column)).collect();
        let foretell = all.len() <= FORETOLD;
        let predicted = |config: &Settings| {
            let config = foretell.then(|| config.clone().check().ok()).flatten()?;
            predict(&config).accuracy
        };
        let group = |seeds: Seeds| {
            let facts = seeds.config.vocab;
            let [accuracy, memory_accuracy, one_step_accuracy, lock_rate] =
                seeds.measures.each_ref().map(|measures| share(measures, facts));
            Group {
                at: varying.iter().map(|&column| seeds.at[column].clone()).collect(),
                runs: seeds.measures[0].len(),
                accuracy,
                memory_accuracy,
                one_step_accuracy,
                lock_rate,
                predicted: predicted(&seeds.config),
                config: seeds.config,
            }
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
    use crate::cell::Runner;

    #[test]
    fn seeds_are_brought_together_and_sizes_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        let mut cells = Vec::new();
        for samples in [2000, 500, 10_000] {
            let settings =
                Settings { vocab: 30, dim: 24, length: 4, samples, repeats: 3, ..Settings::default() };
            let config = settings.check().unwrap();
            cells.extend((0..3).map(|repeat| config.repeat(repeat)));
        }
        let mut runner = Runner::new(1).with_results(Store::open(&path).unwrap());
        let outcomes = runner.run(&cells, &mut |_| {}).unwrap();
        drop(runner);
        let store = Store::open_existing(&path).unwrap();
        let summary = Summary::read(&store, usize::MAX).unwrap();
        assert_eq!((summary.varying, summary.read), (vec!["samples"], 9));
        let sizes: Vec<&[Value]> = summary.groups.iter().map(|group| &group.at[..]).collect();
        assert_eq!(sizes, [500, 2000, 10_000].map(|n| [Value::Integer(n)]));
        let mean = outcomes[..3].iter().map(|o| o.as_ref().unwrap().accuracy.mean).sum::<f64>() / 3.0;
        assert!((summary.groups[1].accuracy.mean - mean).abs() < 1e-12);
        assert!(summary.groups.iter().all(|group| group.runs == 3 && group.predicted.is_some()));
        assert_eq!(Summary::read(&store, 4).unwrap().read, 4);
    }

    #[test]
    fn an_empty_store_has_nothing_to_say() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("store.sqlite")).unwrap();
        let summary = Summary::read(&store, 10).unwrap();
        assert!(summary.varying.is_empty() && summary.groups.is_empty());
    }
}
