//! `superpose predict`: what `superpose run` would measure, in closed form.

use std::fmt::Write;

use anyhow::ensure;
use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use superpose_core::config::Settings;
use superpose_core::noise::{Budget, Parts};
use superpose_theory::critical::{Critical, Parameter, Target, critical};
use superpose_theory::plan::{checked, expected_error};
use superpose_theory::predict::{Dominant, Gap, Noise, Part, Quantity, uncovered};
use superpose_theory::{Point, Prediction, predict as theory};

use crate::arguments::RunArguments;
use crate::run::print;
use crate::text::{grouped, number};

/// Arguments of `superpose predict`.
#[derive(Args, Clone, Debug)]
pub struct PredictArguments {
    #[command(flatten)]
    run: RunArguments,

    /// Accuracy that the critical values are for
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, allow_hyphen_values = true)]
    accuracy: f64,
}

/// A prediction as it is printed.
#[derive(Serialize)]
struct Report {
    accuracy: Option<f64>,
    memory_accuracy: Option<f64>,
    lock_rate: Option<f64>,
    one_step_accuracy: Option<f64>,
    error: Option<f64>,
    error_reason: Option<String>,
    noise: BothBudgets,
    dominant: Option<Dominant>,
    target: Target,
    critical: ByParameter<u64>,
    critical_reason: ByParameter<String>,
    conditions: Vec<ConditionLine>,
    gaps: Vec<GapLine>,
    config: Settings,
    version: &'static str,
}

#[derive(Serialize)]
struct BothBudgets {
    logits: Budget,
    scores: Budget,
}

/// Something for each parameter that can be solved for.
#[derive(Serialize)]
struct ByParameter<X> {
    samples: Option<X>,
    dim: Option<X>,
    width: Option<X>,
    length: Option<X>,
    vocab: Option<X>,
}

impl<X> ByParameter<X> {
    fn new(mut f: impl FnMut(Parameter) -> Option<X>) -> ByParameter<X> {
        ByParameter {
            samples: f(Parameter::Samples),
            dim: f(Parameter::Dim),
            width: f(Parameter::Width),
            length: f(Parameter::Length),
            vocab: f(Parameter::Vocab),
        }
    }
}

/// A leading-order condition with its values.
#[derive(Serialize)]
pub struct ConditionLine {
    subject: &'static str,
    statement: String,
    left: f64,
    right: f64,
    holds: bool,
    text: String,
}

impl From<&superpose_theory::conditions::Condition> for ConditionLine {
    fn from(condition: &superpose_theory::conditions::Condition) -> ConditionLine {
        ConditionLine {
            subject: condition.subject.word(),
            statement: condition.statement.clone(),
            left: condition.left,
            right: condition.right,
            holds: condition.holds(),
            text: condition.to_string(),
        }
    }
}

#[derive(Serialize)]
struct GapLine {
    #[serde(flatten)]
    gap: Gap,
    text: &'static str,
}

pub fn predict(arguments: PredictArguments) -> anyhow::Result<()> {
    let target = arguments.accuracy;
    check_accuracy(target)?;
    let run = arguments.run.with_file()?;
    run.threads()?;
    ensure!(run.export.is_none(), "export is given: predict trains nothing, so there is nothing to write");
    let config = run.settings()?.check()?;
    let prediction = theory(&config);
    let point = Point::from(&config);
    let solved: Result<Vec<Critical>, _> = match uncovered(&config) {
        Some(reason) => Err(reason),
        None => Ok(solve(&point, target)),
    };
    let of = |parameter: Parameter| Parameter::ALL.iter().position(|&p| p == parameter).unwrap_or(0);
    let expected = match (&solved, expected_error(&point)) {
        (Err(reason), _) => Err(reason.text().to_owned()),
        (Ok(_), expected) => expected,
    };
    let report = Report {
        accuracy: prediction.accuracy,
        memory_accuracy: prediction.memory_accuracy,
        lock_rate: prediction.lock_rate,
        one_step_accuracy: prediction.one_step_accuracy,
        error: expected.clone().ok(),
        error_reason: expected.err(),
        noise: budgets(&prediction.noise, &config),
        dominant: prediction.dominant,
        target: Target::recall(target),
        critical: ByParameter::new(|p| {
            solved.as_ref().ok().and_then(|all| all[of(p)].value()).map(|x| x as u64)
        }),
        critical_reason: ByParameter::new(|p| match &solved {
            Ok(all) => all[of(p)].reason(p),
            Err(reason) => Some(reason.text().to_owned()),
        }),
        conditions: prediction.conditions.iter().map(ConditionLine::from).collect(),
        gaps: prediction.gaps.iter().map(|&gap| GapLine { gap, text: gap.reason.text() }).collect(),
        config: (*config).clone(),
        version: env!("CARGO_PKG_VERSION"),
    };
    let text = match run.json {
        true => serde_json::to_string_pretty(&report)? + "\n",
        false => table(&report, &prediction),
    };
    print(&text)
}

/// An accuracy to aim for.
pub fn check_accuracy(accuracy: f64) -> anyhow::Result<()> {
    ensure!(accuracy > 0.0 && accuracy < 1.0, "accuracy = {accuracy}: must be above 0 and below 1");
    Ok(())
}

/// All critical values, in the order of [`Parameter::ALL`]. They do not depend on each other: one thread each.
fn solve(point: &Point, target: f64) -> Vec<Critical> {
    std::thread::scope(|scope| {
        let workers = Parameter::ALL.map(|parameter| scope.spawn(move || critical(point, parameter, target)));
        workers.into_iter().map(|worker| worker.join().expect("a search does not panic")).collect()
    })
}

/// Noise by the names and in the units of `run`: the lead sets gamma so that the trigger's score is `lead ln(L + 1)`.
fn budgets(noise: &Noise, config: &Settings) -> BothBudgets {
    let logits = noise.logits.map_or(Budget::default(), |logits| Parts {
        signal: Some(logits.signal),
        mean_bias: Some(logits.mean_bias),
        interference: Some(logits.interference),
        gradient_noise: Some(logits.gradient_noise),
        output_overlap: Some(logits.output_overlap),
        mlp_noise: Some(logits.mlp_noise),
        attention_leak: None,
    });
    let scores = noise.scores.map_or(Budget::default(), |scores| {
        let unit = (config.lead * (config.length as f64).ln_1p()).powi(2) / scores.signal;
        let sized = |part: f64| Some(unit * part).filter(|part| part.is_finite());
        Parts {
            signal: sized(scores.signal),
            mean_bias: sized(scores.mean_bias),
            gradient_noise: sized(scores.gradient_noise),
            mlp_noise: sized(scores.mlp_noise),
            output_overlap: sized(scores.output_overlap),
            ..Budget::default()
        }
    });
    BothBudgets { logits, scores }
}

fn table(report: &Report, prediction: &Prediction) -> String {
    let config = &report.config;
    let model = match config.width {
        Some(width) => {
            format!("attention and MLP (width m = {}, {})", grouped(width as f64), config.activation)
        }
        None => "attention only".into(),
    };
    let mut text = format!(
        "Predicted recall of V = {} facts from sequences of L = {} tokens\n  {model}, d = {}, N = {} samples, {} embeddings, trigger in {}\n\n",
        grouped(config.vocab as f64),
        grouped(config.length as f64),
        grouped(config.dim as f64),
        grouped(config.samples as f64),
        config.embedding,
        if config.trigger.t() > 0.0 { "keys and values" } else { "keys only" },
    );
    let gap = |quantity: Quantity| {
        let gap = prediction.gaps.iter().find(|gap| gap.quantity == quantity);
        gap.map_or("", |gap| gap.reason.text())
    };
    let mut rows = Vec::new();
    for (name, value, quantity) in [
        ("recall accuracy", report.accuracy, Quantity::Accuracy),
        ("memory accuracy", report.memory_accuracy, Quantity::MemoryAccuracy),
        ("one-step accuracy", report.one_step_accuracy, Quantity::OneStepAccuracy),
        ("lock rate", report.lock_rate, Quantity::LockRate),
    ] {
        let shown = value.map_or("-".into(), |x| format!("{x:.4}"));
        rows.push([name.to_owned(), shown, gap(quantity).to_owned()]);
    }
    text += &columns(rows);
    let error = match (&report.error, &report.error_reason) {
        (Some(error), _) => {
            let range = checked(report.config.width.is_some()).words;
            format!("rms {error:.3} near the critical number of samples ({range})")
        }
        (None, reason) => format!("not known; {}", reason.as_deref().unwrap_or("not checked")),
    };
    let _ = writeln!(text, "  Expected error of the recall accuracy: {error}.");
    for (title, budget) in [
        ("Noise in the logits, standard deviation over the signal", &report.noise.logits),
        ("Noise in the token scores, standard deviation over the trigger's score", &report.noise.scores),
    ] {
        let signal = budget.signal.unwrap_or(0.0);
        let size = |(name, part): (&str, &Option<f64>)| {
            let size = ((*part)? / signal).sqrt();
            (size.is_finite() && size > 0.0).then(|| [name.replace('_', " "), number(size), String::new()])
        };
        let rows: Vec<_> = budget.named().into_iter().skip(1).filter_map(size).collect();
        if !rows.is_empty() {
            let _ = write!(text, "\n{title}\n{}", columns(rows));
        }
    }
    if let Some(Dominant { part, term }) = report.dominant {
        let part = if part == Part::Memory { "memory" } else { "attention" };
        let term = term.word().replace('_', " ");
        let _ = writeln!(text, "\nThe {part} limits recall; what is most in the way there: {term}.");
    }
    let target = report.target.accuracy;
    let _ = writeln!(text, "\nCritical values for recall accuracy {target}, the other sizes as given");
    let rows = critical_rows(report);
    text += &columns(rows);
    if !report.conditions.is_empty() {
        let _ = writeln!(text, "\nLeading-order conditions");
    }
    for condition in &report.conditions {
        let _ = writeln!(text, "  {}", condition.text);
    }
    text
}

fn critical_rows(report: &Report) -> Vec<[String; 3]> {
    let (at, why) = (&report.critical, &report.critical_reason);
    [
        ("samples N at least", at.samples, &why.samples),
        ("dim d at least", at.dim, &why.dim),
        ("width m at least", at.width, &why.width),
        ("length L at most", at.length, &why.length),
        ("vocab V at most", at.vocab, &why.vocab),
    ]
    .map(|(name, value, why)| {
        [name.to_owned(), value.map_or("-".into(), |x| grouped(x as f64)), why.clone().unwrap_or_default()]
    })
    .to_vec()
}

/// Rows of a name, a number and a remark, without lines.
fn columns(rows: Vec<[String; 3]>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for [name, value, note] in rows {
        table.add_row(vec![format!("  {name}"), value, note]);
    }
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}
