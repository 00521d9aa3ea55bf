//! A threshold.

use std::fmt::Write;

use superpose_lab::threshold::ThresholdRecord;
use superpose_lab::words::grouped;
use superpose_theory::Point;
use superpose_theory::critical::Parameter;

/// What was found with its interval, beside the prediction.
pub fn threshold(record: &ThresholdRecord) -> String {
    let (word, symbol) = (record.find.word(), record.find.symbol());
    let point = Point::from(&record.config);
    let fixed: Vec<String> = Parameter::ALL
        .into_iter()
        .filter(|&parameter| parameter != record.find)
        .filter_map(|parameter| Some(format!("{} = {}", parameter.symbol(), grouped(parameter.of(&point)?))))
        .collect();
    let mut text =
        format!("Critical {word} {symbol} for {}\n  {}\n\n", record.criterion_text, fixed.join(", "));
    if let Some(o) = &record.observed {
        let end = |end: Option<u64>| end.map_or("?".into(), |end| grouped(end as f64));
        let _ = writeln!(
            text,
            "  observed    {:>12}  [{}, {}]  95% interval",
            grouped(o.estimate as f64),
            end(o.low),
            end(o.high)
        );
        if !o.precise {
            let _ = writeln!(
                text,
                "              not as precise as {}: the runs were used up",
                record.half_width
            );
        }
    }
    if let Some(unreached) = &record.unreached {
        let _ = writeln!(text, "  observed    {}", unreached.text);
    }
    match (record.predicted, &record.predicted_reason) {
        (Some(value), _) => {
            let _ = writeln!(text, "  predicted   {:>12}", grouped(value));
        }
        (None, reason) => {
            let _ = writeln!(text, "  predicted   nothing: {}", reason.as_deref().unwrap_or("no formula"));
        }
    }
    if let Some(ratio) = record.ratio {
        let _ = writeln!(text, "  ratio       {ratio:>12.3}  observed over predicted");
    }
    let _ = writeln!(text, "\n{} runs in {:.1} s.", record.runs, record.seconds);
    text
}
