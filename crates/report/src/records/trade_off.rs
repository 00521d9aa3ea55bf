//! The trade-off of a plan: samples, and the width of an MLP, that each dimension needs.

use superpose_figure::{Axis, Chart, Figure, Series};
use superpose_lab::plan::binds;
use superpose_theory::Point;
use superpose_theory::plan::{Plan, Row, checked_words, expected_error};

use crate::numbers::{grouped, short};

/// The trade-off curves, the cheapest model marked.
pub fn trade_off(plan: &Plan) -> Figure {
    let request = &plan.request;
    let (facts, length, accuracy) = (grouped(request.facts), grouped(request.length), request.accuracy);
    let title = format!("{facts} facts, sequences of {length}, recall {accuracy}");
    let figure = Figure::new().title(title).note(note(plan));
    let free_width = request.has_mlp() && request.width.is_none();
    match free_width {
        true => figure.panel(widths(plan)).panel(samples(plan, true)),
        false => figure.frames(440.0, 280.0).panel(samples(plan, false)),
    }
}

/// What the curves are, what binds, and where they are checked.
fn note(plan: &Plan) -> String {
    let none = "No model within these limits reaches the accuracy. ";
    let reached = if plan.cheapest.is_some() { "" } else { none };
    let count = plan.curve.iter().filter(|row| is_checked(plan, row)).count();
    let kind = match count {
        0 => "Predicted, and extrapolated everywhere (dashed)",
        _ if count == plan.curve.len() => "Predicted, in the range of simulations",
        _ => "Predicted; solid where checked against simulation, dashed where extrapolated",
    };
    format!("{reached}{} {kind}; {}.", binds(plan), checked_words(&plan.request.point(1.0)))
}

fn is_checked(plan: &Plan, row: &Row) -> bool {
    let samples = row.samples.unwrap_or(1.0);
    expected_error(&Point { samples, width: row.width, ..plan.request.point(row.dim) }).is_ok()
}

fn samples(plan: &Plan, free_width: bool) -> Chart {
    let request = &plan.request;
    let title = match (free_width, request.width) {
        (true, _) => "Samples for each dimension, at that width".to_owned(),
        (false, Some(width)) => format!("Samples for each dimension, width m = {}", grouped(width)),
        (false, None) => String::new(),
    };
    let chart = Chart::new(title, Axis::log("dimension d"), Axis::log("samples N needed"));
    let mut chart = curve(chart, plan, |row| row.samples);
    let needed = || plan.curve.iter().filter_map(|row| row.samples);
    if let Some(limit) = request.samples.filter(|&limit| near(limit, needed())) {
        chart = chart.horizontal(limit, "available samples");
    }
    if let Some(limit) = request.max_parameters.filter(|_| !free_width) {
        let dim = request.width.map_or(limit.sqrt(), |width| limit / width);
        if near(dim, plan.curve.iter().map(|row| row.dim)) {
            chart = chart.vertical(dim, "parameter limit");
        }
    }
    mark(chart, plan, |row| row.samples, |samples| format!("N = {}", short(samples)))
}

fn widths(plan: &Plan) -> Chart {
    let chart = Chart::new("Width for each dimension", Axis::log("dimension d"), Axis::log("width m needed"));
    let mut chart = curve(chart, plan, |row| row.width);
    if let Some(limit) = plan.request.max_parameters {
        let rows =
            plan.curve.iter().filter(|row| row.width.is_some_and(|m| near(limit / row.dim, [m].into_iter())));
        let line = rows.map(|row| (row.dim, limit / row.dim));
        chart = chart.with(Series::line("parameter limit, d m", line).muted().dotted());
    }
    mark(chart, plan, |row| row.width, |width| format!("m = {}", grouped(width)))
}

/// Marks the cheapest model, if there is one.
fn mark(chart: Chart, plan: &Plan, value: fn(&Row) -> Option<f64>, words: fn(f64) -> String) -> Chart {
    match plan.cheapest.and_then(|row| Some((row.dim, value(&row)?))) {
        Some((dim, y)) => chart.mark(dim, y, format!("cheapest: d = {}, {}", grouped(dim), words(y))),
        None => chart,
    }
}

/// The rows as small points on a line: solid between rows that are checked, dashed elsewhere.
fn curve(chart: Chart, plan: &Plan, value: impl Fn(&Row) -> Option<f64>) -> Chart {
    let rows: Vec<(f64, f64, bool)> =
        plan.curve.iter().filter_map(|row| Some((row.dim, value(row)?, is_checked(plan, row)))).collect();
    let mut chart = chart;
    for (name, checked) in [("checked", true), ("extrapolated", false)] {
        let line = pieces(&rows, checked);
        if !line.is_empty() {
            let line = Series::line(name, line).color(0);
            chart = chart.with(if checked { line } else { line.dashed() });
        }
    }
    chart.with(Series::points("", rows.iter().map(|row| (row.0, row.1))).small().color(0))
}

/// The line through neighbours that are both checked, or through those that are not; NaN where it is broken.
fn pieces(rows: &[(f64, f64, bool)], checked: bool) -> Vec<(f64, f64)> {
    let mut line: Vec<(f64, f64)> = Vec::new();
    for pair in rows.windows(2).filter(|pair| (pair[0].2 && pair[1].2) == checked) {
        let [from, to] = [(pair[0].0, pair[0].1), (pair[1].0, pair[1].1)];
        if line.last() != Some(&from) {
            // A gap, so that dashes run through pieces that follow on one another.
            line.extend((!line.is_empty()).then_some((f64::NAN, f64::NAN)));
            line.push(from);
        }
        line.push(to);
    }
    line
}

/// Whether a limit is close enough to these values to be shown beside them.
fn near(limit: f64, values: impl Iterator<Item = f64>) -> bool {
    let (low, high) = values.fold((f64::INFINITY, 0.0f64), |(a, b), value| (a.min(value), b.max(value)));
    (low / 30.0..=high * 30.0).contains(&limit)
}

#[cfg(test)]
mod tests {
    use superpose_core::config::{Activation, Embedding, Trigger};
    use superpose_figure::Theme;
    use superpose_theory::plan::{Request, plan};

    use super::*;

    fn request() -> Request {
        Request {
            facts: 2000.0,
            length: 64.0,
            accuracy: 0.9,
            dim: None,
            width: None,
            activation: None,
            embedding: Embedding::Gaussian,
            trigger: Trigger::Values,
            samples: None,
            max_parameters: None,
        }
    }

    fn svg(request: Request) -> String {
        trade_off(&plan(&request)).svg(Theme::Light)
    }

    #[test]
    fn what_is_checked_is_solid_and_the_rest_dashed() {
        let some = svg(request());
        for word in ["dimension d", "samples N needed", "cheapest: d = 337", ">checked<", ">extrapolated<"] {
            assert!(some.contains(word), "{word}");
        }
        let none = svg(Request { facts: 1e6, length: 1e5, ..request() });
        assert!(!none.contains(">checked<") && none.contains("extrapolated everywhere"));
        let all = svg(Request { dim: Some(500.0), ..request() });
        assert!(!all.contains("dashed") && all.contains("cheapest: d = 500"));
    }

    #[test]
    fn a_width_to_be_found_has_its_own_panel() {
        let free = Request { activation: Some(Activation::He2), trigger: Trigger::Keys, ..request() };
        assert!(svg(free).contains("width m needed"));
        assert!(!svg(Request { width: Some(4000.0), ..free }).contains("width m needed"));
    }

    #[test]
    fn limits_are_drawn_where_they_are_near() {
        let limited = Request { samples: Some(1e6), max_parameters: Some(1e6), ..request() };
        let text = svg(limited);
        assert!(text.contains("available samples") && text.contains("parameter limit"));
        assert!(!svg(Request { samples: Some(1e15), ..request() }).contains("available samples"));
        let none = svg(Request { dim: Some(20.0), ..request() });
        assert!(none.contains("no data") && none.contains("No model within"));
    }

    #[test]
    fn pieces_are_joined() {
        let rows = [(1.0, true), (2.0, true), (3.0, true), (4.0, false), (5.0, true), (6.0, true)];
        let line = pieces(&rows.map(|(x, checked)| (x, x, checked)), true);
        assert_eq!(line.len(), 6);
        assert!(line[3].0.is_nan() && line[4] == (5.0, 5.0));
    }
}
