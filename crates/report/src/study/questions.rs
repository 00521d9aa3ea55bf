//! Part 10: questions that readers of the paper ask.

use superpose_core::config::{Field, Kind};
use superpose_figure::{Axis, Chart, Figure, Series};
use superpose_lab::interval::Interval;
use superpose_study::{AnswerPoint, Questions, ReaderQuestion as Question, Verdict};

use super::{Claim, Picture, Section, spot};
use crate::numbers::{count, significant};
use crate::table::Table;

pub fn section(study: &Questions) -> Section {
    let plans = study.plans.iter().map(|plan| {
        let [facts, length] = [plan.facts, plan.length].map(|x| count(x as usize));
        format!(
            "{facts} facts at L = {length}: d = {}, N = {}",
            significant(plan.dim),
            significant(plan.samples)
        )
    });
    let plans = plans.collect::<Vec<_>>().join("; ");
    Section {
        title: "Questions that readers ask",
        headline: "Six questions about the model, each answered by a measurement; the captions of the figures are the answers.".into(),
        sentences: vec![
            format!(
                "What should someone who trains language models take away? With {} samples per fact, the cheapest one-layer models for a recall of {} are: {plans}. The table says where the formulas behind them were checked; that real models learn facts in this way is not shown here.",
                study.per_fact, study.accuracy
            ),
        ],
        pictures: Question::ALL.iter().map(|&question| picture(study, question)).collect(),
        tables: vec![points_table(study), plans_table(study)],
        claims: vec![predictions(study)],
        ..Section::default()
    }
}

/// The question in words, those of its definition.
fn words(question: Question) -> &'static str {
    let Kind::Word(choices) = Question::KIND else { return question.word() };
    choices[question as usize].1.trim()
}

/// The points of one curve: a quantity against a size.
type Curve<'a> = Vec<&'a AnswerPoint>;

impl Points<'_> {
    /// The curves that satisfy a condition, by series.
    fn curves(&self, of: impl Fn(&AnswerPoint) -> bool) -> Vec<Curve<'_>> {
        let mut curves: Vec<Curve<'_>> = Vec::new();
        for point in self.0.iter().filter(|p| of(p)) {
            match curves.iter_mut().find(|curve| curve[0].series == point.series) {
                Some(curve) => curve.push(point),
                None => curves.push(vec![point]),
            }
        }
        curves
    }

    /// Pairs of a quantity and a size, each a panel of the figure.
    fn panels(&self) -> Vec<(&str, &str)> {
        let mut panels: Vec<(&str, &str)> = Vec::new();
        for point in &self.0 {
            let panel = (&*point.quantity, &*point.size);
            if !panels.contains(&panel) {
                panels.push(panel);
            }
        }
        panels
    }
}

/// The points of one question.
struct Points<'a>(Vec<&'a AnswerPoint>);

fn picture(study: &Questions, question: Question) -> Picture {
    let points = Points(study.points.iter().filter(|p| p.question == question).collect());
    let mut figure = Figure::new().title(words(question)).columns(2);
    figure = figure.note(
        "Points: measured with 95% intervals over seeds. Solid lines: closed form. Dashed lines join points.",
    );
    for (quantity, size) in points.panels() {
        let axis = match quantity {
            "recall accuracy" | "lock rate" => Axis::linear(quantity).range(0.0, 1.0),
            "critical N of one step" => Axis::log(quantity),
            _ => Axis::linear(quantity),
        };
        let x =
            if size == "rounds" { Axis::linear(size).ticks([1.0, 2.0, 3.0, 4.0]) } else { Axis::log(size) };
        let mut chart = Chart::new("", x, axis);
        for (color, curve) in points.curves(|p| p.quantity == quantity && p.size == size).iter().enumerate() {
            let name = &curve[0].series;
            let seen = curve.iter().filter_map(|p| Some(spot(p.at, p.measured.as_ref()?)));
            let predicted: Vec<(f64, f64)> =
                curve.iter().filter_map(|p| Some((p.at, p.predicted?))).collect();
            let line = match predicted.len() == curve.len() {
                true => Series::line(name, predicted),
                false => {
                    let means = curve.iter().filter_map(|p| Some((p.at, p.measured?.mean)));
                    Series::line(name, means).dashed()
                }
            };
            chart = chart.with(Series::points(name, seen).color(color)).with(line.color(color));
        }
        figure = figure.panel(chart);
    }
    let caption = format!("{} {}", words(question), answer(&points, question));
    let name = match question {
        Question::Overlap => "question_overlap",
        Question::Product => "question_product",
        Question::Trigger => "question_trigger",
        Question::Mlp => "question_mlp",
        Question::Rounds => "question_rounds",
        Question::Length => "question_length",
    };
    Picture { name, caption, figure }
}

/// The answer in two sentences, with the measured values.
fn answer(points: &Points<'_>, question: Question) -> String {
    // What each curve of a quantity says, joined.
    let each = |quantity: &str, size: &str, say: fn(&Curve<'_>) -> String| {
        let curves = points.curves(|p| p.quantity.starts_with(quantity) && p.size.starts_with(size));
        let said = curves.iter().map(|curve| format!("{} ({})", say(curve), curve[0].series));
        said.collect::<Vec<_>>().join(", ")
    };
    match question {
        Question::Overlap => format!(
            "The mean squared cosine of two embeddings times d, which is 1 for random directions, goes from the smallest to the largest d from {}. Recall after training passes one half {}.",
            each("mean squared", "", ends),
            each("recall", "", |curve| crossing(curve, "d = "))
        ),
        Question::Product => format!(
            "From the shortest to the longest sequence the critical N of one step grows {}. Orthogonal vectors let the memory tell the other tokens of a sequence from the fact; vectors that overlap add noise from each of the L tokens to each of the V facts.",
            each("critical", "", growth)
        ),
        Question::Trigger => format!(
            "The cosine of the learned query with the trigger goes with growing N from {}, and in four rounds from {}. With growing L it goes from {}.",
            each("cosine", "samples", ends),
            each("cosine", "rounds", ends),
            each("cosine", "sequence", ends)
        ),
        Question::Mlp => format!(
            "By the number of parameters of the memory (d^{{2}}, or d m with an MLP), recall passes one half {}. The first layer of the MLP is random and fixed, and is not counted.",
            each("recall", "", |curve| crossing(curve, ""))
        ),
        Question::Rounds => format!(
            "From one round to four, the lock rate goes from {}. Three steps are enough where the first round finds the trigger nearly always; elsewhere more rounds complete what some seeds began and lose it in others.",
            each("lock", "", ends)
        ),
        Question::Length => format!(
            "Nothing special happens at L = V, where tokens begin to repeat: recall goes from {} between L = V/8 and L = 8 V. More samples move the length at which attention fails.",
            each("recall", "", ends)
        ),
    }
}

/// The first and the last value of a curve.
fn ends(curve: &Curve<'_>) -> String {
    let value =
        |p: Option<&&AnswerPoint>| p.and_then(|p| p.measured).map_or("-".into(), |m| significant(m.mean));
    format!("{} to {}", value(curve.first()), value(curve.last()))
}

/// How much a curve grows, with the prediction.
fn growth(curve: &Curve<'_>) -> String {
    let ratio = |of: fn(&AnswerPoint) -> Option<f64>| {
        let (first, last) = (curve.first().and_then(|p| of(p)), curve.last().and_then(|p| of(p)));
        first.zip(last).map_or("-".into(), |(first, last)| significant(last / first))
    };
    format!("{} times, predicted {}", ratio(|p| p.measured.map(|m| m.mean)), ratio(|p| p.predicted))
}

/// Where a curve over whole sizes first reaches one half.
fn crossing(curve: &Curve<'_>, size: &str) -> String {
    let at = |i: usize| count(curve[i].at as usize);
    match curve.iter().position(|p| p.measured.is_some_and(|m| m.mean >= 0.5)) {
        Some(0) => format!("at {size}{} or below", at(0)),
        Some(i) => format!("between {size}{} and {}", at(i - 1), at(i)),
        None => "nowhere that was tried".into(),
    }
}

/// How many predictions lie inside the measured intervals.
fn predictions(study: &Questions) -> Claim {
    let pairs: Vec<(Interval, f64)> =
        study.points.iter().filter_map(|p| p.measured.zip(p.predicted)).collect();
    // Shares that are 0 or 1 to a hundredth are met however wide the interval.
    let meets = |(m, p): &&(Interval, f64)| (m.low - 0.01..=m.high + 0.01).contains(p);
    let (met, all) = (pairs.iter().filter(meets).count(), pairs.len());
    Claim::new(
        format!("Closed form at the {all} points that have one"),
        format!("within 0.01 of {met} of {all} intervals"),
        format!("about {:.0}", 0.95 * all as f64),
        &[Verdict::of_coverage(met, all)],
    )
}

fn points_table(study: &Questions) -> Table {
    Table::new(
        "questions",
        "Measured and predicted values by question.",
        &study.points,
        &[
            ("question", |p| p.question.word().into()),
            ("quantity", |p| p.quantity.clone().into()),
            ("models", |p| p.series.clone().into()),
            ("size", |p| p.size.clone().into()),
            ("at", |p| p.at.into()),
            ("measured", |p| p.measured.into()),
            ("predicted", |p| p.predicted.into()),
        ],
    )
}

fn plans_table(study: &Questions) -> Table {
    let caption = format!(
        "Cheapest attention-only models for a recall of {}, trigger in keys and values, by superpose plan.",
        study.accuracy
    );
    Table::new(
        "question_plans",
        caption,
        &study.plans,
        &[
            ("facts V", |p| p.facts.into()),
            ("L", |p| p.length.into()),
            ("d", |p| p.dim.into()),
            ("parameters of the memory", |p| p.parameters.into()),
            ("samples N", |p| p.samples.into()),
            ("expected error of recall", |p| p.error.into()),
        ],
    )
}
