//! A threshold: the observed critical size beside the predicted one.

use superpose_figure::{Axis, Chart, Figure, Series};
use superpose_lab::threshold::ThresholdRecord;
use superpose_theory::Point;
use superpose_theory::critical::Parameter;
use superpose_theory::predict::predict_measure;

use super::interval;
use crate::document::{Block, Document};
use crate::numbers::{duration, grouped, plural};

/// The observed critical size with its interval, the prediction, and the ratio of both.
pub fn threshold(record: &ThresholdRecord) -> Document {
    let (word, symbol) = (record.find.word(), record.find.symbol());
    let point = Point::from(&record.config);
    let fixed = Parameter::ALL.iter().filter(|&&parameter| parameter != record.find);
    let size =
        |parameter: &Parameter| Some(format!("{} = {}", parameter.symbol(), grouped(parameter.of(&point)?)));
    let mut page = Document::new(format!("Critical {word} {symbol} for {}", record.criterion_text));
    page.note(fixed.filter_map(size).collect::<Vec<_>>().join(", "));
    page.gap();
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String, note: String| rows.push([name.into(), value, note]);
    if let Some(o) = &record.observed {
        row("observed", grouped(o.estimate as f64), interval(o.low, o.high));
        if !o.precise {
            row("", String::new(), format!("not as precise as {}: the runs were used up", record.half_width));
        }
    }
    if let Some(unreached) = &record.unreached {
        row("observed", String::new(), unreached.text.clone());
    }
    let reason = record.predicted_reason.as_deref().unwrap_or("no formula");
    match record.predicted {
        Some(value) => row("predicted", grouped(value), String::new()),
        None => row("predicted", String::new(), format!("none: {reason}")),
    }
    if let Some(ratio) = record.ratio {
        row("ratio", format!("{ratio:.3}"), "observed over predicted".into());
    }
    page.blocks.push(Block::Fields([12, 12], rows));
    page.paragraph(format!("{} in {}.", plural(record.runs, "run", "runs"), duration(record.seconds)));
    page
}

/// The runs of the search, the closed form and the threshold.
pub fn threshold_figure(record: &ThresholdRecord) -> Figure {
    let runs = record.trials.iter().map(|trial| (trial.size as f64, trial.share));
    let (word, symbol) = (record.find.word(), record.find.symbol());
    let mut chart = Chart::new(
        "",
        Axis::log(format!("{word} {symbol}")),
        Axis::linear(record.measure.label()).range(0.0, 1.0),
    )
    .with(Series::points("one run", runs.clone()).small())
    .horizontal(record.accuracy, "level");
    let (low, high) = runs.fold((f64::INFINITY, 0.0f64), |(low, high), (x, _)| (low.min(x), high.max(x)));
    if record.predicted.is_some() && low < high {
        let point = Point::from(&record.config);
        let at = |i: i32| low * (high / low).powf(f64::from(i) / 60.0);
        let value = |x: f64| Some((x, predict_measure(record.measure, &record.find.set(&point, x))?));
        chart = chart.with(Series::line("predicted", (0..=60).map(at).filter_map(value)).color(1));
    }
    if let Some(observed) = &record.observed {
        let interval = interval(observed.low, observed.high);
        chart = chart.mark(observed.crossing, record.accuracy, format!("{} {interval}", observed.estimate));
    }
    let title = format!("Critical {word} for {}", record.criterion_text);
    Figure::new().title(title).frames(440.0, 280.0).panel(chart)
}

#[cfg(test)]
mod tests {
    use superpose_core::config::Settings;
    use superpose_lab::cell::Runner;
    use superpose_lab::run::Inputs;
    use superpose_lab::threshold::{SizeRange, ThresholdOptions};

    use super::*;

    #[test]
    fn long_time_is_in_hours() {
        let range = Some(SizeRange { low: 20, high: 40 });
        let options = ThresholdOptions { range, max_runs: 2, ..ThresholdOptions::default() };
        let sizes = Settings { vocab: 8, dim: 8, length: 2, test_samples: 8, ..Settings::default() };
        let search = options.check(sizes, &Inputs::default()).unwrap();
        let record = search.search(&mut Runner::new(1), |_, _| {}).unwrap();
        let text = threshold(&ThresholdRecord { runs: 1, seconds: 14_400.0, ..record }).text();
        assert!(text.ends_with("\n1 run in 4.0 h.\n"), "{text}");
    }
}
