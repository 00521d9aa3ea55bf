//! The runs of a store: means over seeds in a table, accuracy against the settings that vary in a figure.

use superpose_core::Measure;
use superpose_core::config::Value as Setting;
use superpose_figure::{Axis, Chart, Figure, Series};
use superpose_lab::store::{Group, Summary};

use super::{Picture, Section, spot};
use crate::table::{Table, Value};

/// Panels of a figure at most; where there would be more, one panel has everything.
const MAX_PANELS: usize = 6;
/// Lines that can be told apart in one panel.
const MAX_LINES: usize = 8;

/// The section about the runs of a store.
pub fn stored_runs(summary: &Summary) -> Section {
    let Summary { varying, groups, read } = summary;
    let runs = format!("{read} runs of {} configurations", groups.len());
    let what = match varying.is_empty() {
        true => "nothing varies but the seed".into(),
        false => format!("what varies: {}", varying.join(", ")),
    };
    let difference = |group: &Group| Some(group.measures[Measure::Accuracy].mean - group.predicted?);
    let compared: Vec<f64> = groups.iter().filter_map(difference).collect();
    let mut sentences = vec![format!("{runs}; {what}.")];
    if !compared.is_empty() {
        let count = compared.len();
        let rms = (compared.iter().map(|x| x * x).sum::<f64>() / count as f64).sqrt();
        sentences.push(format!(
            "Accuracy differs from the closed form by {rms:.3} rms over {count} configurations, seeds included."
        ));
    }
    let (pictures, tables) = (picture(summary).into_iter().collect(), vec![table(summary)]);
    Section { title: "Runs", headline: format!("{runs}."), sentences, pictures, tables, ..Section::default() }
}

fn table(summary: &Summary) -> Table {
    let measured = ["runs", "accuracy", "predicted", "memory accuracy", "one-step accuracy", "lock rate"];
    let row = |group: &Group| {
        let shown = |value: &Setting| match value {
            Setting::Null => Value::Absent,
            Setting::Flag(flag) => Value::Text(flag.to_string()),
            Setting::Count(x) => Value::Count(*x as usize),
            Setting::Number(x) => Value::Number(*x),
            Setting::Text(x) => Value::Text(x.to_string()),
        };
        let others = [Measure::MemoryAccuracy, Measure::OneStepAccuracy, Measure::LockRate];
        let accuracy = [group.runs.into(), group.measures[Measure::Accuracy].into(), group.predicted.into()];
        let measured = accuracy.into_iter().chain(others.map(|measure| group.measures[measure].into()));
        group.at.iter().map(shown).chain(measured).collect()
    };
    Table {
        name: "runs",
        caption: "Means over seeds with 95% intervals, beside the closed form.".into(),
        columns: summary.varying.iter().copied().chain(measured).collect(),
        rows: summary.groups.iter().map(row).collect(),
        total: summary.groups.len(),
    }
}

/// A positive number, if the value is one.
fn number(value: &Setting) -> Option<f64> {
    value.as_f64().filter(|x| *x > 0.0)
}

fn word(value: &Setting) -> String {
    if *value == Setting::Null { "none".into() } else { value.to_string() }
}

/// The value of a name in a list; a new one is added at the end.
fn entry<X: Default>(list: &mut Vec<(String, X)>, name: String) -> &mut X {
    let place = list.iter().position(|entry| entry.0 == name).unwrap_or(list.len());
    if place == list.len() {
        list.push((name, X::default()));
    }
    &mut list[place].1
}

/// Names of the lines of a panel, and the groups of each.
type Lines<'a> = Vec<(String, Vec<&'a Group>)>;

fn picture(summary: &Summary) -> Option<Picture> {
    let Summary { varying, groups, .. } = summary;
    let distinct = |column: usize| {
        let mut words: Vec<String> = groups.iter().map(|group| word(&group.at[column])).collect();
        words.sort_unstable();
        words.dedup();
        words.len()
    };
    let numeric = |&column: &usize| {
        varying[column] != "numerics_revision"
            && groups.iter().all(|group| number(&group.at[column]).is_some())
    };
    // The axis is the setting with most values; of equals the number of samples, then the first.
    let x = (0..varying.len())
        .filter(numeric)
        .max_by_key(|&column| (distinct(column), varying[column] == "samples", std::cmp::Reverse(column)))?;
    let mut rest: Vec<usize> = (0..varying.len()).filter(|&column| column != x).collect();
    rest.sort_by_key(|&column| distinct(column));
    // A panel for each value of the setting with fewest, where one panel would have too many lines.
    let lines: usize = rest.iter().map(|&column| distinct(column)).product();
    let panel = rest.first().copied().filter(|&column| lines > MAX_LINES && distinct(column) <= MAX_PANELS);
    rest.retain(|&column| Some(column) != panel);
    let named = |group: &Group, columns: &[usize]| {
        let name = |&column: &usize| format!("{} = {}", varying[column], word(&group.at[column]));
        columns.iter().map(name).collect::<Vec<_>>().join(", ")
    };
    // Panels and lines in the order of the groups, so that sizes grow from line to line.
    let mut panels: Vec<(String, Lines<'_>)> = Vec::new();
    for group in groups {
        let title = panel.map(|column| named(group, &[column])).unwrap_or_default();
        entry(entry(&mut panels, title), named(group, &rest)).push(group);
    }
    let figure = Figure::new()
        .title("Accuracy over what varies")
        .note("Points: means over seeds with 95% intervals. Lines: closed form.");
    let mut figure = if panels.len() == 1 { figure.frames(440.0, 280.0) } else { figure };
    for (title, lines) in panels {
        let y = Axis::linear("accuracy").range(0.0, 1.0);
        let mut chart = Chart::new(title, Axis::log(varying[x]), y);
        let many = lines.len() > MAX_LINES;
        for (name, groups) in lines {
            let at = |group: &&Group| number(&group.at[x]).unwrap_or(1.0);
            let points = groups.iter().map(|group| spot(at(group), &group.measures[Measure::Accuracy]));
            let line: Vec<_> =
                groups.iter().filter_map(|group| Some((at(group), group.predicted?))).collect();
            // Where there are too many lines to tell apart, all look the same.
            let series = Series::points(if many { String::new() } else { name.clone() }, points);
            chart = chart.with(if many { series.color(0).small() } else { series });
            if !many && !line.is_empty() {
                chart = chart.with(Series::line(name, line));
            }
        }
        figure = figure.panel(chart);
    }
    Some(Picture { name: "runs", caption: format!("Accuracy against {}.", varying[x]), figure })
}

#[cfg(test)]
mod tests {
    use superpose_core::{Measures, Settings};
    use superpose_figure::Theme;
    use superpose_lab::interval::Interval;

    use super::*;

    fn group(at: Vec<Setting>) -> Group {
        let measures = Measures::from_fn(|_| Interval { mean: 0.5, low: 0.4, high: 0.6 });
        Group { at, config: Settings::default(), runs: 3, measures, predicted: Some(0.52) }
    }

    #[test]
    fn the_axis_is_the_setting_with_most_values() {
        let at = |dim, samples| {
            group(vec![Setting::Count(dim), Setting::Count(samples), Setting::Text("keys".into())])
        };
        let groups = [32, 64].into_iter().flat_map(|dim| [100, 1000, 10_000].map(|samples| at(dim, samples)));
        let groups = groups.collect();
        let section = stored_runs(&Summary { varying: vec!["dim", "samples", "trigger"], groups, read: 18 });
        assert_eq!(section.pictures[0].caption, "Accuracy against samples.");
        let svg = section.pictures[0].figure.svg(Theme::Light);
        assert!(svg.contains("dim = 32") && svg.contains("dim = 64"));
        assert_eq!(section.tables[0].rows.len(), 6);
        assert!(section.tables[0].csv().starts_with("dim,samples,trigger,runs,accuracy,accuracy_low"));
        assert!(section.sentences[1].contains("0.020 rms"), "{:?}", section.sentences);
    }

    #[test]
    fn runs_that_differ_only_in_seeds_have_no_figure() {
        let section = stored_runs(&Summary { varying: Vec::new(), groups: vec![group(Vec::new())], read: 3 });
        assert!(section.pictures.is_empty() && section.tables[0].rows.len() == 1);
        assert!(stored_runs(&Summary::default()).pictures.is_empty());
    }
}
