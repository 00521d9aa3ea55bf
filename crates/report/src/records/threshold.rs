//! A threshold: the observed critical size beside the predicted one.

use superpose_lab::threshold::ThresholdRecord;
use superpose_theory::Point;
use superpose_theory::critical::Parameter;

use super::interval;
use crate::document::{Block, Document};
use crate::numbers::grouped;

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
    page.paragraph(format!("{} runs in {:.1} s.", record.runs, record.seconds));
    page
}
