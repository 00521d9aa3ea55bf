//! A threshold: the observed critical size beside the predicted one.

use superpose_lab::threshold::ThresholdRecord;
use superpose_theory::Point;
use superpose_theory::critical::Parameter;

use super::end;
use crate::document::{Block, Document};
use crate::numbers::grouped;

/// The observed critical size with its interval, the prediction, and the ratio of both.
pub fn threshold(record: &ThresholdRecord) -> Document {
    let (word, symbol) = (record.find.word(), record.find.symbol());
    let point = Point::from(&record.config);
    let fixed: Vec<String> = Parameter::ALL
        .iter()
        .copied()
        .filter(|&parameter| parameter != record.find)
        .filter_map(|parameter| Some(format!("{} = {}", parameter.symbol(), grouped(parameter.of(&point)?))))
        .collect();
    let mut page = Document::new(format!("Critical {word} {symbol} for {}", record.criterion_text));
    page.note(fixed.join(", "));
    page.gap();
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String, note: String| rows.push([name.into(), value, note]);
    if let Some(o) = &record.observed {
        let interval = format!("[{}, {}]  95% interval", end(o.low), end(o.high));
        row("observed", grouped(o.estimate as f64), interval);
        if !o.precise {
            row("", String::new(), format!("not as precise as {}: the runs were used up", record.half_width));
        }
    }
    if let Some(unreached) = &record.unreached {
        row("observed", String::new(), unreached.text.clone());
    }
    match (record.predicted, &record.predicted_reason) {
        (Some(value), _) => row("predicted", grouped(value), String::new()),
        (None, reason) => {
            let reason = reason.as_deref().unwrap_or("no formula");
            row("predicted", String::new(), format!("none: {reason}"));
        }
    }
    if let Some(ratio) = record.ratio {
        row("ratio", format!("{ratio:.3}"), "observed over predicted".into());
    }
    page.blocks.push(Block::Fields { name: 12, value: 12, rows });
    page.paragraph(format!("{} runs in {:.1} s.", record.runs, record.seconds));
    page
}
