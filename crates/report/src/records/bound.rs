//! Decoders of the first gradient beside the lower bounds.

use schemars::JsonSchema;
use superpose_core::config::Group;
use superpose_lab::decoders::{self, BoundOptions, BoundRecord, Critical, DECODERS, LIMIT_MARGIN, OWN};
use superpose_lab::memory::check;
use superpose_lab::run::Inputs;
use superpose_theory::bound::Bounds;

use crate::document::{Document, Grid, Left, Right};
use crate::experiment::{Context, Experiment, Finding};
use crate::numbers::{count, fixed, grouped, plural, sizes};

pub const EXPERIMENT: Experiment = Experiment {
    name: "bound",
    about: "Compare the samples that decoders of the first gradient need with lower bounds, and say for whom each bound holds",
    settings: BoundOptions::with_model,
    device: true,
    cpu_part: |_| Some("the decoders run on the CPU"),
    run: |values, context| {
        let options = BoundOptions::read(values)?;
        let Context { backend, memory, observe, arrays, decoder } = context;
        let mut settings = BoundOptions::model(values)?;
        let inputs = Inputs::open_with_digest(&mut settings, arrays, |name| values.gives(name))?;
        let config = options.check(settings, &inputs)?;
        check(&config, memory, |config| decoders::bytes(config, options.seeds, backend.threads()))?;
        let mut progress = |what: &str, samples: f64| {
            let at = if samples.is_finite() {
                format!(": trying N = {}", grouped(samples))
            } else {
                String::new()
            };
            observe(0, 0, format!("{}{at}", what.replace('_', " ")));
        };
        Ok(Finding::new(decoders::bound(&config, &inputs, &options, decoder, backend, &mut progress)?, bound))
    },
    records: &[("", BoundRecord::json_schema)],
};

/// Names of the decoders, in the order of [`DECODERS`].
const LABELS: [&str; 4] =
    ["argmax", "one-to-one assignment", "linear MMSE", "linear MMSE, then one-to-one assignment"];

/// The bounds and for whom they hold; critical numbers of samples with their intervals, and how many times the bound they are.
fn bound(record: &BoundRecord) -> Document {
    let config = &record.config;
    let width = |width| format!("m = {} ({}), ", count(width), config.activation);
    let model = config.width.map_or(String::new(), width);
    let sizes = sizes([("d", config.dim), ("L", config.length)]);
    let (vocab, seeds) = (count(config.vocab), plural(record.seeds, "seed", "seeds"));
    let mut page = Document::new(format!(
        "Reading V = {vocab} facts off the first gradient with accuracy {}, {model}{sizes}, {seeds}",
        record.accuracy
    ));
    page.gap();
    page.table(bounds(record));
    let columns = ["", "critical N", "95% interval", "largest bound", "over it"];
    let mut table = Grid::new(&[Left, Right, Left, Right, Right], &columns);
    for (name, label) in DECODERS.iter().zip(LABELS).chain([(&OWN, "your decoder")]) {
        if let Some(critical) = record.decoders.get(*name) {
            table.row(cells(record, label, critical));
        }
    }
    table.row(cells(record, "three-step algorithm", &record.three_step));
    page.gap();
    page.table(table);
    page.paragraph(
        "The largest bound is the largest of those that hold for the decoder with the true noise: coverage and, for linear scores, theirs.",
    );
    let best =
        record.decoders.values().filter_map(|critical| critical.estimate).fold(f64::INFINITY, f64::min);
    if let Some(three) = record.three_step.estimate.filter(|_| best.is_finite()) {
        let times = fixed(three / best, 2);
        page.line(format!(
            "Training the attention needs {times} times as many samples as the best decoder of the first gradient."
        ));
    }
    if record.given_embeddings {
        page.line("Bounds that are not known were derived for random vectors; these were given.");
    }
    page.line(format!("Intervals: {}.", record.interval));
    page
}

fn bounds(record: &BoundRecord) -> Grid {
    let Bounds { coverage, linear, genie, surrogate, bits } = record.bounds;
    let mut table = Grid::new(&[Left, Right, Left], &["lower bound", "N", "holds for"]);
    let none = if record.given_embeddings { "not known" } else { "no N" };
    let mut row = |name: &str, bound: Option<f64>, who: &str| {
        table.row([name, &bound.map_or(none.into(), grouped), who]);
    };
    row("coverage", Some(coverage), "any learner");
    row("linear scores, then argmax", linear, "argmax and linear MMSE, to leading order");
    row("one-fact genie", genie, "decoders that take labels as independent, if the noise were Gaussian");
    row(
        "Gaussian surrogate",
        surrogate,
        "any decoder, if the noise were Gaussian and all facts were seen equally often",
    );
    let counted = format!("any decoder that reads the gradient with less than {bits:.2e} bits a number");
    table.row(match bits > 0.0 {
        true => ["counting", "no N", &counted],
        false => ["counting", "0", "any decoder; this bound excludes none"],
    });
    table
}

fn cells(record: &BoundRecord, name: &str, critical: &Critical) -> [String; 5] {
    let bound = critical.bound.map_or("no N".into(), grouped);
    if let (Some(estimate), Some(low), Some(high)) = (critical.estimate, critical.low, critical.high) {
        let ratio = critical.ratio.map_or("-".into(), |ratio| format!("{ratio:.2}"));
        let interval = format!("[{}, {}]", grouped(low), grouped(high));
        return [name.into(), grouped(estimate), interval, bound, ratio];
    }
    let (above, reason) = match critical.limit {
        Some(limit) if limit + LIMIT_MARGIN < record.accuracy => {
            ("no N".into(), format!("accuracy {limit:.3} with unlimited data"))
        }
        _ => (format!("> {}", grouped(record.max_samples)), "not reached".into()),
    };
    [name.into(), above, reason, bound, "-".into()]
}
