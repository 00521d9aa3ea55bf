//! What `--json` prints, from the comments on the records.

use anyhow::{Context, bail};

use super::source::{Field, fields};
use super::{cell, code, head, table};

/// What a record is made of: each type's name, and the source that declares it.
type Sources = [(&'static str, &'static str)];

macro_rules! source {
    ($path:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../", $path))
    };
}

const PREDICT: &str = source!("theory/src/predict.rs");
const PHASE: &str = source!("lab/src/phase/mod.rs");
const INSPECT: &str = source!("lab/src/inspect/mod.rs");
const STATUS: &str = source!("cli/src/status.rs");
const RESULTS: &str = source!("lab/src/cell/results.rs");
const PLANS: &str = source!("theory/src/plan/mod.rs");
const TARGET: (&str, &str) = ("Target", source!("theory/src/critical/mod.rs"));
const NOISE: (&str, &str) = ("Noise", source!("lab/src/run/record.rs"));
const PARTS: &str = source!("core/src/noise/mod.rs");
const DOMINANT: (&str, &str) = ("Dominant", PREDICT);
const CONDITION: (&str, &str) = ("Condition", source!("lab/src/predict.rs"));

/// Commands, what they print, and the types that it is made of, its own first.
const RECORDS: &[(&str, &str, &Sources)] = &[
    ("superpose run --json", "one object", &[("RunRecord", source!("lab/src/run/record.rs")), NOISE]),
    (
        "superpose predict --json",
        "one object",
        &[
            ("PredictionRecord", source!("lab/src/predict.rs")),
            NOISE,
            DOMINANT,
            TARGET,
            CONDITION,
            ("ByParameter", source!("lab/src/predict.rs")),
            ("Silence", source!("lab/src/predict.rs")),
            ("Gap", PREDICT),
        ],
    ),
    (
        "superpose train --json",
        "one object",
        &[
            ("TrainingRecord", source!("lab/src/train/mod.rs")),
            ("Outcome", source!("lab/src/cell/outcome.rs")),
            NOISE,
            ("TrajectoryPoint", source!("core/src/train/reading.rs")),
        ],
    ),
    ("superpose memory --json", "one object", &[("MemoryRecord", source!("lab/src/associative/mod.rs"))]),
    (
        "superpose memory --find facts --json",
        "one object",
        &[("CapacityRecord", source!("lab/src/associative/capacity.rs"))],
    ),
    (
        "superpose threshold --json",
        "one object",
        &[
            ("ThresholdRecord", source!("lab/src/threshold/record.rs")),
            ("Observed", source!("lab/src/threshold/record.rs")),
            ("NotReached", source!("lab/src/threshold/record.rs")),
            ("Unreached", source!("lab/src/threshold/mod.rs")),
        ],
    ),
    (
        "superpose phase --json",
        "one object",
        &[
            ("PhaseRecord", source!("lab/src/phase/record.rs")),
            ("Axis", source!("lab/src/phase/axis.rs")),
            ("Diagram", PHASE),
            ("Cell", PHASE),
            DOMINANT,
        ],
    ),
    (
        "superpose plan --json",
        "one object",
        &[
            ("PlanRecord", source!("lab/src/plan.rs")),
            ("Binds", source!("lab/src/plan.rs")),
            ("Row", PLANS),
            ("Request", PLANS),
            TARGET,
            DOMINANT,
            CONDITION,
        ],
    ),
    (
        "superpose bound --json",
        "one object",
        &[("BoundRecord", source!("lab/src/decoders.rs")), ("Critical", source!("lab/src/decoders.rs"))],
    ),
    (
        "superpose inspect --json",
        "one object",
        &[
            ("Inspection", INSPECT),
            ("Vectors", INSPECT),
            ("OutputMatrix", INSPECT),
            ("Geometry", INSPECT),
            ("Measured", source!("theory/src/kernel/measured.rs")),
        ],
    ),
    (
        "superpose status --json",
        "one object",
        &[("Report", STATUS), ("Cells", STATUS), ("Tasks", STATUS), ("Stopped", STATUS)],
    ),
    ("superpose bench --json", "a list of objects", &[("Measurement", source!("cli/src/bench.rs"))]),
    (
        "superpose export --format jsonl",
        "one object a line, for every cell",
        &[("Entry", RESULTS), ("Outcome", source!("lab/src/cell/outcome.rs")), NOISE],
    ),
];

/// Names that are one word in JSON.
const WORDS: &[&str] = &[
    "Activation",
    "Criterion",
    "Embedding",
    "Parameter",
    "Part",
    "Quantity",
    "Reason",
    "Scale",
    "Size",
    "Term",
    "Trigger",
    "Why",
];

/// The page of results.
pub fn results() -> anyhow::Result<String> {
    let mut text = head("Results as JSON");
    text += "\nNames are those of the command line and of the [store](store.md). A dot leads into an object, `[]` into a list. Numbers that are not \
             finite are `null`. An *interval* is `{\"mean\", \"low\", \"high\"}`, with 95%; a *measure* is `{\"mean\", \"variance\", \"items\"}`, of one seed's test items; a \
             *configuration* has the [keys](keys.md) of a configuration file, all of them, and makes the result again. A *budget* has the parts of a logit or of a token score, as mean \
             squares; a part that cannot be told from another is `null` ([how to read it](../how-to/noise.md)):\n\n";
    let parts = fields(PARTS, "Parts")?;
    text += &table(
        ["part of a budget", "meaning"],
        parts.iter().map(|part| [code(&part.name), cell(&part.meaning)]),
    );
    for (command, form, sources) in RECORDS {
        text += &format!("\n## {command}\n\nPrints {form}.\n\n");
        let mut rows = Vec::new();
        let (name, _) = sources.first().context("a record has a type")?;
        expand(name, "", "", sources, &mut rows).with_context(|| command.to_string())?;
        text += &table(["field", "holds", "meaning"], rows);
    }
    Ok(text)
}

/// Rows for the fields of a type whose names start with `prefix`.
fn expand(
    name: &str,
    parameter: &str,
    prefix: &str,
    sources: &Sources,
    rows: &mut Vec<[String; 3]>,
) -> anyhow::Result<()> {
    let Some((_, source)) = sources.iter().find(|(known, _)| *known == name) else {
        bail!("type {name} is not known: name its source in crates/book/src/reference/results.rs");
    };
    for field in fields(source, name)? {
        let Field { name, kind, meaning, flattened, left_out } = field;
        let kind =
            if kind == "X" { parameter.into() } else { kind.replace("<X>", &format!("<{parameter}>")) };
        let shape = Shape::of(&kind);
        if flattened {
            expand(shape.name, shape.parameter, prefix, sources, rows)?;
            continue;
        }
        let path = format!("{prefix}{name}");
        let (holds, inner) = match shape.name {
            "f64" => ("number", None),
            "usize" | "u64" | "u32" | "i8" => ("whole number", None),
            "bool" => ("true or false", None),
            "String" | "PathBuf" | "Key" => ("text", None),
            "Settings" => ("configuration", None),
            "MemorySettings" => ("the flags of `superpose memory`", None),
            "Threshold" => ("`found`, `imprecise` or `unreached`, each with its numbers", None),
            "Interval" => ("interval", None),
            // Of one seed's items; the search has a choice of that name.
            "Measure" if sources.iter().any(|(known, _)| *known == "Outcome") => ("measure", None),
            "Measure" => ("word", None),
            "(u64, u64)" | "(f64, f64)" => ("pair of numbers", None),
            // The outcome, or why there is none.
            "Known" => ("`done`, or `failed` with the reason", Some(("Outcome", "", ".done"))),
            "Budget" => ("budget", None),
            word if WORDS.contains(&word) => ("word", None),
            other => ("object", Some((other, shape.parameter, ""))),
        };
        let mut holds = holds.to_string();
        if !shape.suffix.is_empty() {
            holds = format!("{}{holds}", if shape.suffix == "[][]" { "lists of lists: " } else { "list: " });
        }
        if shape.by_name {
            holds = format!("by name: {holds}");
        }
        match (shape.optional, left_out) {
            (true, true) => holds += ", or absent",
            (true, false) => holds += ", or null",
            _ => {}
        }
        rows.push([code(&path), holds, cell(&meaning)]);
        if let Some((name, parameter, more)) = inner {
            let name_of = if shape.by_name { ".NAME" } else { "" };
            expand(name, parameter, &format!("{path}{more}{name_of}{}.", shape.suffix), sources, rows)?;
        }
    }
    Ok(())
}

/// A type, taken apart.
struct Shape<'a> {
    name: &'a str,
    /// What stands between the angle brackets of a type of ours.
    parameter: &'a str,
    optional: bool,
    suffix: &'static str,
    by_name: bool,
}

impl Shape<'_> {
    fn of(kind: &str) -> Shape<'_> {
        fn within<'a>(kind: &'a str, outer: &str) -> Option<&'a str> {
            kind.strip_prefix(outer)?.strip_suffix('>')
        }
        let (mut rest, mut optional, mut suffix, mut by_name) = (kind, false, "", false);
        loop {
            if let Some(inner) = within(rest, "Option<") {
                (rest, optional) = (inner, true);
            } else if let Some(inner) = within(rest, "Vec<") {
                (rest, suffix) = (inner, if suffix.is_empty() { "[]" } else { "[][]" });
            } else if let Some(inner) = within(rest, "BTreeMap<String, ") {
                (rest, by_name) = (inner, true);
            } else {
                break;
            }
        }
        let (name, parameter) = match rest.split_once('<') {
            Some((name, parameter)) => (name, parameter.strip_suffix('>').unwrap_or(parameter)),
            None => (rest, ""),
        };
        Shape { name, parameter, optional, suffix, by_name }
    }
}
