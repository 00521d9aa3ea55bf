//! The threshold search: coverage of its intervals on known curves, and its behaviour on arbitrary ones.

use crate::known::{Known, tables};
use superpose_core::Measure;
use superpose_core::Settings;
use superpose_core::random::{Stream, Words};
use superpose_lab::threshold::{Criterion, Plan, Question, Search, Step, Threshold, Why};
use superpose_theory::critical::Parameter;

/// Of 300 searches on curves with known crossings, as many intervals cover as 95% intervals should, neither fewer nor more.
#[test]
fn intervals_have_their_nominal_coverage() {
    let tables = tables();
    let covered = |i: u64| {
        let known = Known::draw(2026, i, &tables);
        known.covered(&known.search().0)
    };
    let (mut found, mut hits, mut without) = (0, 0, 0);
    for answer in (0..).map(covered) {
        match answer {
            Some(hit) => (found, hits) = (found + 1, hits + usize::from(hit)),
            None => without += 1,
        }
        if found == 300 {
            break;
        }
    }
    assert!((276..=292).contains(&hits), "{hits} of 300");
    // Searches without a bounded interval are not counted, so there must be few of them.
    assert!(without <= 15, "{without} searches without an interval beside 300 with one");
}

fn plan() -> Plan {
    Plan {
        target: 0.5,
        half_width: 0.05,
        range: (1, 1 << 30),
        rises: true,
        start: 1000.0,
        slope: 1.5,
        max_runs: 200,
    }
}

fn search(plan: Plan, share: impl Fn(f64) -> f64) -> (Threshold, usize) {
    let mut search = Search::new(plan);
    loop {
        match search.ask() {
            Step::Run(trials) => {
                trials.iter().for_each(|t| search.tell(t.value, share(t.value as f64), 500.0))
            }
            Step::Done(answer) => return (answer, search.runs()),
        }
    }
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

#[test]
fn noiseless_crossing_is_found_at_any_size() {
    for middle in [3.0, 40.0, 950.0, 20_000.0, 3e6] {
        for slope in [0.8, 3.0, 20.0] {
            for rises in [true, false] {
                let sign = if rises { 1.0 } else { -1.0 };
                let (answer, runs) = search(Plan { rises, max_runs: 400, ..plan() }, |v| {
                    logistic(sign * slope * (v / middle).ln())
                });
                let Threshold::Found(e) = answer else {
                    panic!("{middle} {slope} {rises}: {answer:?} after {runs}")
                };
                assert!(
                    (e.crossing / middle).ln().abs() < 0.06 || (e.crossing - middle).abs() < 0.5,
                    "{middle} {slope} {rises}: {e:?}"
                );
                assert!(e.low <= e.estimate && e.estimate <= e.high);
            }
        }
    }
}

#[test]
fn level_outside_the_range_is_unreached() {
    let (answer, _) = search(Plan { range: (10, 5000), ..plan() }, |_| 0.2);
    let Threshold::Unreached(u) = answer else { panic!("{answer:?}") };
    assert!(u.why == Why::Below && u.high == 5000 && u.best == 0.2, "{u:?}");
    let (answer, _) = search(Plan { range: (10, 5000), ..plan() }, |_| 0.9);
    let Threshold::Unreached(u) = answer else { panic!("{answer:?}") };
    assert!(u.why == Why::Above && u.low == 10, "{u:?}");
    // A crossing above the range, and a curve that stays at the target.
    let (answer, _) = search(Plan { range: (10, 5000), ..plan() }, |v| logistic((v / 20_000.0).ln()));
    assert!(matches!(answer, Threshold::Unreached(_)), "{answer:?}");
    let (answer, runs) = search(plan(), |_| 0.5);
    assert!(!matches!(answer, Threshold::Found(_)) && runs <= 200, "{answer:?}");
}

#[test]
fn too_few_runs_give_no_estimate() {
    for max_runs in [0, 1, 2, 3, 7] {
        let (answer, runs) = search(Plan { max_runs, ..plan() }, |v| logistic((v / 900.0).ln()));
        assert!(!matches!(answer, Threshold::Found(_)) && runs <= max_runs, "{max_runs}: {answer:?}");
    }
}

/// The search ends with finite numbers for any shares it receives.
#[test]
fn search_ends_for_arbitrary_shares() {
    for trial in 0..400u64 {
        let mut words = [0; 8];
        Words::new(5, Stream::Train, trial).fill(0, &mut words);
        let low = u64::from(words[0] % 50) + 1;
        let plan = Plan {
            target: 0.05 + 0.9 * f64::from(words[1]) / f64::from(u32::MAX),
            range: (low, low + u64::from(words[2] % 2000)),
            rises: words[3].is_multiple_of(2),
            start: f64::from(words[4] % 3000),
            slope: 0.3 + f64::from(words[5] % 20),
            max_runs: 60,
            ..plan()
        };
        let wild = |v: f64| match trial % 4 {
            0 => (v * 12.9898).sin().abs(),
            1 => f64::from(u8::from((v as u64).is_multiple_of(2))),
            2 => f64::NAN,
            _ => 1e300 * v,
        };
        let (answer, runs) = search(plan, wild);
        assert!(runs <= 60);
        if let Threshold::Found(e) = answer {
            assert!(e.crossing.is_finite() && e.low <= e.high, "{e:?}");
        }
    }
}

#[test]
fn errors_name_the_parameter() {
    let config = || Settings::default().check().unwrap();
    let ask = |parameter, level| {
        Question::new(config(), parameter, Measure::Accuracy, Criterion::Mean, level)
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    assert!(ask(Parameter::Samples, 1.0).starts_with("accuracy = 1: must be above 0 and below 1"));
    assert!(ask(Parameter::Width, 0.5).starts_with("find = width: the attention-only model has no width"));
}

#[test]
fn prediction_depends_on_the_measure() {
    let config = Settings { vocab: 200, dim: 180, ..Settings::default() }.check().unwrap();
    let predicted = |measure, criterion, level| {
        Question::new(config.clone(), Parameter::Samples, measure, criterion, level)
            .unwrap()
            .predicted()
            .value
            .unwrap()
    };
    let recall = predicted(Measure::Accuracy, Criterion::Mean, 0.5);
    let one_step = predicted(Measure::OneStepAccuracy, Criterion::Mean, 0.5);
    assert!(predicted(Measure::LockRate, Criterion::Mean, 0.5) < recall);
    assert!(
        predicted(Measure::MemoryAccuracy, Criterion::Mean, 0.9)
            > predicted(Measure::MemoryAccuracy, Criterion::Mean, 0.5)
    );
    assert!(one_step > 100.0 && one_step < 1e6);
}
