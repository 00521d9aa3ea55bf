//! Measures the coverage of threshold intervals on curves with known crossings and on the engine, and compares with bisection.
//!
//! `cargo run --release -p superpose-lab --example coverage` (`-- simulated` skips the engine, `-- memories` measures
//! associative memories only)
#![allow(clippy::unwrap_used)]

#[path = "../tests/known/mod.rs"]
mod known;

use std::collections::BTreeMap;

use superpose_associative::{MemorySettings, Rule};
use superpose_core::Measure;
use superpose_core::backend::Backend;
use superpose_core::config::{Config, Settings, Trigger};
use superpose_lab::associative::{self, CapacityOptions, CapacitySearch};
use superpose_lab::cell::Runner;
use superpose_lab::interval::Interval;
use superpose_lab::threshold::{Criterion, Curve, Observation, Plan, Question, Threshold, find, shares};
use superpose_theory::critical::Parameter;

use known::{Dice, Known, tables};

fn main() {
    if std::env::args().any(|argument| argument == "memories") {
        return memories();
    }
    let tables = tables();
    let family: Vec<Known> = (0..400).map(|i| Known::draw(2026, i, &tables)).collect();
    simulated(&family);
    bisection(&family);
    if std::env::args().all(|argument| argument != "simulated") {
        real();
    }
}

#[derive(Default)]
struct Score {
    searches: usize,
    covered: usize,
    found: usize,
    runs: usize,
    squares: f64,
}

fn simulated(family: &[Known]) {
    println!("## Simulated searches on known curves\n");
    println!(
        "| searches | intervals that cover | precise enough within 400 runs | mean runs | rms error of the logarithm |"
    );
    println!("|---|---|---|---|---|");
    let mut scores: BTreeMap<String, Score> = BTreeMap::new();
    let (mut counted, mut without) = (0, 0);
    for known in family {
        let (answer, runs) = known.search();
        let (Some(covered), Some(Interval { mean: crossing, .. })) =
            (known.covered(&answer), answer.interval())
        else {
            without += 1;
            continue;
        };
        counted += 1;
        let keys = [
            "all".to_string(),
            format!("curve {}", known.shape()),
            known.spread().to_string(),
            format!("target {}", known.plan.target),
        ];
        for key in keys {
            let score = scores.entry(key).or_default();
            score.searches += 1;
            score.covered += usize::from(covered);
            score.found += usize::from(matches!(answer, Threshold::Found(_)));
            score.runs += runs;
            score.squares += (crossing / known.crossing).ln().powi(2);
        }
        if counted == 300 {
            break;
        }
    }
    for (name, s) in scores {
        let count = s.searches as f64;
        println!(
            "| {name} | {} of {} | {} | {:.0} | {:.4} |",
            s.covered,
            s.searches,
            s.found,
            s.runs as f64 / count,
            (s.squares / count).sqrt()
        );
    }
    println!("\nNot counted: {without} of {} searches, whose intervals have no end.\n", counted + without);
}

/// Measures how many runs bisection needs for the rms error of the search, for each curve.
fn bisection(family: &[Known]) {
    const AGAIN: u64 = 60;
    println!("## Beside plain bisection\n");
    println!(
        "Bisection begins with the search's own starting point, a factor of four to either side, and runs every middle equally often. Each"
    );
    println!(
        "curve is searched {AGAIN} times with other seeds. Bisection gets the number of steps that suits it best on that very curve, and the"
    );
    println!("fewest repeats that reach the search's rms error of the logarithm.\n");
    println!(
        "| curve | runs differ because | target | rms error | runs of the search | steps x repeats of bisection | its rms error | its runs | ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let (mut ours, mut theirs) = (0.0, 0.0);
    // Bisection has no bracket if the start is too far away, and a search that ends early has no error to compare.
    let usable = |known: &&Known| {
        (known.plan.start / known.crossing).ln().abs() < 1.2
            && matches!(known.search().0, Threshold::Found(_))
    };
    for known in family.iter().filter(usable).take(20) {
        let searches: Vec<(f64, usize)> = (0..AGAIN)
            .filter_map(|again| {
                let known = known.again(again);
                let (answer, runs) = known.search();
                Some(((answer.interval()?.mean / known.crossing).ln(), runs))
            })
            .collect();
        let count = searches.len() as f64;
        let rms = (searches.iter().map(|s| s.0 * s.0).sum::<f64>() / count).sqrt();
        let runs = searches.iter().map(|s| s.1).sum::<usize>() as f64 / count;
        let mut best: Option<(u64, u64, f64)> = None;
        for steps in 4..=9 {
            for repeats in
                [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 27, 33, 40, 48, 58, 70, 85, 100, 120, 145]
            {
                if best.is_some_and(|b| b.0 * b.1 <= steps * repeats) {
                    break;
                }
                let squares = (0..AGAIN).map(|again| {
                    (known.again(again).bisection(steps, repeats) / known.crossing).ln().powi(2)
                });
                let error = (squares.sum::<f64>() / AGAIN as f64).sqrt();
                if error <= rms {
                    best = Some((steps, repeats, error));
                    break;
                }
            }
        }
        let first = format!(
            "| {} | {} | {} | {rms:.4} | {runs:.0} |",
            known.shape(),
            known.spread(),
            known.plan.target
        );
        match best {
            Some((steps, repeats, error)) => {
                let its = (steps * repeats) as f64;
                ours += runs.ln();
                theirs += its.ln();
                println!("{first} {steps} x {repeats} | {error:.4} | {its} | {:.1} |", its / runs);
            }
            None => println!("{first} more than 9 x 145 | | | |"),
        }
    }
    println!("\nGeometric mean of the ratios: {:.1}.\n", ((theirs - ours) / 20.0).exp());
}

/// Draws a configuration that runs in milliseconds.
fn random(index: u64) -> (Settings, Parameter, Measure, f64) {
    let mut dice = Dice::new(77, index);
    let vocab = dice.within(60_f64.ln(), 300_f64.ln()).exp() as usize;
    let settings = Settings {
        vocab,
        dim: (dice.within(0.35, 0.9) * vocab as f64) as usize,
        length: dice.within(3_f64.ln(), 40_f64.ln()).exp() as usize,
        samples: (dice.within(8.0, 40.0) * vocab as f64) as usize,
        trigger: dice.pick(&[Trigger::Keys, Trigger::Values]),
        test_samples: 1024,
        seed: 1_000_000 * (index + 1),
        ..Settings::default()
    };
    let parameter = dice.pick(&[
        Parameter::Samples,
        Parameter::Samples,
        Parameter::Dim,
        Parameter::Length,
        Parameter::Vocab,
    ]);
    let measure =
        dice.pick(&[Measure::Accuracy, Measure::Accuracy, Measure::Accuracy, Measure::OneStepAccuracy]);
    (settings, parameter, measure, dice.pick(&[0.5, 0.5, 0.25, 0.8]))
}

/// Compares searches on the engine with estimates from several hundred other runs around the crossing.
fn real() {
    const SEARCHES: usize = 30;
    println!("## Real searches beside brute force\n");
    println!(
        "Brute force: 9 sizes from 0.8 to 1.25 times the crossing, 40 other seeds at each, the same curve fitted to all. A search covers when"
    );
    println!(
        "the difference of logarithms is within its half width and that of brute force, added in squares.\n"
    );
    println!(
        "| model | find | measure | target | predicted | search | 95% interval | runs | brute force | covers |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut runner = Runner::new(2);
    let (mut done, mut covered, mut total, mut without) = (0, 0, 0, 0);
    for index in 0.. {
        if done == SEARCHES {
            break;
        }
        let (settings, parameter, measure, level) = random(index);
        let config = settings.check().unwrap();
        let question = Question::new(config.clone(), parameter, measure, Criterion::Mean, level).unwrap();
        let predicted = question.predicted();
        // Only configurations with a predicted threshold that is cheap to run.
        if !predicted.value.is_some_and(|v| match parameter {
            Parameter::Samples => v > 20.0 && v < 3e4,
            Parameter::Length => v > 3.0 && v < 200.0,
            Parameter::Dim | Parameter::Vocab | Parameter::Width => v > 10.0 && v < 500.0,
        }) {
            continue;
        }
        let most = if parameter == Parameter::Samples { 200_000 } else { 1000 };
        let plan = question.plan(&predicted, 0.05, (question.range().0, most), 250);
        let (answer, search) =
            find(&question, plan, |cells| shares(&mut runner, cells, measure, &mut |_| ())).unwrap();
        let Some(Interval { mean: crossing, low, high }) = answer.interval() else {
            println!(
                "| {} | {parameter} | {measure} | {level} | {} | {answer:?} | | {} | | |",
                model(&config),
                predicted.value.unwrap(),
                search.runs()
            );
            without += 1;
            continue;
        };
        done += 1;
        total += search.runs();
        let Some((brute, half)) = brute_force(&question, plan, crossing, &mut runner) else { continue };
        let own = 0.5 * (high / low).ln();
        let hit = (crossing / brute).ln().abs() <= own.hypot(half);
        covered += usize::from(hit);
        println!(
            "| {} | {parameter} | {measure} | {level} | {} | {crossing:.1} | {low:.1} to {high:.1} | {} | {brute:.1} ± {:.1}% | {} |",
            model(&config),
            predicted.value.unwrap(),
            search.runs(),
            100.0 * half,
            if hit { "yes" } else { "no" }
        );
    }
    println!(
        "\n{covered} of {done} cover; {:.0} runs on average. Not counted: {without}, whose intervals have no end.",
        total as f64 / done as f64
    );
}

fn model(config: &Config) -> String {
    format!(
        "V {}, d {}, L {}, N {}, trigger in {}",
        config.vocab, config.dim, config.length, config.samples, config.trigger
    )
}

/// Returns the crossing from many runs and the half width of its interval in logarithms.
fn brute_force(question: &Question, plan: Plan, around: f64, runner: &mut Runner<'_>) -> Option<(f64, f64)> {
    let mut values: Vec<u64> = (-4..=4)
        .map(|i| (around * (f64::from(i) * 0.056).exp()).round() as u64)
        .map(|v| v.max(plan.range.0))
        .collect();
    values.dedup();
    let mut configs = Vec::new();
    for (i, &value) in values.iter().enumerate() {
        for seed in 0..(360 / values.len() as u64) {
            configs.push((value, question.at(value, 500_000 + 1000 * i as u64 + seed).ok()?));
        }
    }
    let only: Vec<Config> = configs.iter().map(|c| c.1.clone()).collect();
    let shares = shares(runner, &only, question.measure, &mut |_| ()).ok()?;
    let sign = if plan.rises { 1.0 } else { -1.0 };
    let data: Vec<Observation> = configs
        .iter()
        .zip(shares)
        .map(|((value, _), share)| Observation {
            x: sign * (*value as f64).ln(),
            y: share.mean,
            items: share.items,
        })
        .collect();
    let curve = Curve::fit(&data, plan.target, sign * around.ln(), plan.slope, 1.0)?;
    Some(((sign * curve.crossing).exp(), 0.5 * (curve.high? - curve.low?)))
}

/// Measures how often the interval of `memory --find facts` contains the number of facts at which half of many other memories
/// succeed.
fn memories() {
    println!(
        "| memory | half succeed at, of memories at every number | intervals that cover | mean memories |"
    );
    println!("|---|---|---|---|");
    let hebbian = MemorySettings { dim: 32, ..MemorySettings::default() };
    let trained =
        MemorySettings { dim: 16, rule: Rule::Trained, accuracy: 0.99, ..MemorySettings::default() };
    for (settings, facts, others, searches) in [(hebbian, 31..=36, 8000, 300), (trained, 61..=65, 1000, 120)]
    {
        let backend = Backend::cpu(2).unwrap();
        let success = |facts: usize| {
            let others = MemorySettings { facts, repeats: others, seed: 900_000_000, ..settings.clone() };
            let found = associative::run(&others.check().unwrap(), &backend, &mut |_| {});
            found.unwrap().success.mean
        };
        let shares: Vec<(f64, f64)> = facts.map(|facts| (facts as f64, success(facts))).collect();
        let crossing = shares
            .windows(2)
            .find(|pair| pair[1].1 < 0.5)
            .map(|pair| {
                let [(low, above), (high, below)] = [pair[0], pair[1]];
                low * (high / low).powf((above - 0.5) / (above - below))
            })
            .unwrap();
        let (mut covered, mut runs) = (0, 0);
        for search in 0..searches {
            let settings = MemorySettings { seed: 1000 * search, ..settings.clone() };
            let search = CapacitySearch::new(&settings, &CapacityOptions::default()).unwrap();
            let found = search.search(&backend, &mut |_, _| {}).unwrap();
            runs += found.runs;
            let interval = found.threshold.interval();
            covered += u64::from(interval.is_some_and(|n| n.low <= crossing && crossing <= n.high));
        }
        println!(
            "| {:?}, d = {} | {crossing:.2}, {others} | {covered} of {searches} | {:.0} |",
            settings.rule,
            settings.dim,
            runs as f64 / searches as f64
        );
    }
}
