//! Part 8: reference values from the literature, ours beside them.

use superpose_associative::MemorySettings;
use superpose_figure::{Axis, Chart, Figure, Series};
use superpose_lab::associative::HOPFIELD_LOAD;
use superpose_lab::interval::Interval;
use superpose_lab::words::capital;
use superpose_study::{Anchor, Anchors, Kind, Limit, Verdict};

use super::findings::{self, two_decimals};
use super::{Claim, Picture, Section, spot};
use crate::numbers::{count, interval, significant};
use crate::table::{Table, Value};

pub fn section(anchors: &Anchors) -> Section {
    let main: Vec<&Anchor> = Kind::ALL.iter().flat_map(|&kind| anchors.of(kind)).collect();
    let limit = anchors.hopfield_limit.as_ref().map(over_infinite);
    let mut verdicts: Vec<Verdict> = main.iter().filter_map(|anchor| anchor.verdict()).collect();
    verdicts.extend(limit.as_ref().map(Verdict::of));
    let (all, counts) = (verdicts.len(), findings::counted(findings::count(&verdicts)));
    let headline = format!("Of {all} values from the literature about memories without attention, {counts}.");
    let mut sentences = vec![
        "These memories have no sequences: facts are pairs of a key and a value. Capacity is the number of facts at which half of the repeats reach the required accuracy. Some references are exact results, others are values that were read off or computed by others; the last column of the table says which.".into(),
    ];
    sentences.extend(main.iter().filter(|a| a.verdict() == Some(Verdict::Differs)).filter_map(|a| reason(a)));
    if let Some(Limit { value, slope }) = &anchors.hopfield_limit {
        let (at_infinity, slope, value) = (significant(value.mean), significant(*slope), interval(value));
        sentences.push(format!(
            "The reference for the Hopfield network is a network of infinitely many neurons. The networks of n neurons hold {at_infinity} + {slope}/√n patterns per neuron, more than the reference at every n; the limit {value} is compared with it."
        ));
    }
    if let Some(fit) = &anchors.zipf_exponent {
        sentences.push(format!(
            "Under Zipf inputs the error falls as d^{{{}}}; the reference's law for large d is d^{{-1}}, and its own values fall as d^{{{}}} from d = 10 to 20 and as d^{{{}}} from 20 to 100.",
            two_decimals(fit.exponents[0].estimate),
            two_decimals((0.0113_f64 / 0.0295).ln() / 2.0_f64.ln()),
            two_decimals((0.00068_f64 / 0.0113).ln() / 5.0_f64.ln()),
        ));
    }
    let of_kind = |&kind: &Kind| {
        if kind == Kind::Hopfield {
            let (ratio, Limit { value, .. }) = (limit.as_ref()?, anchors.hopfield_limit.as_ref()?);
            let claim = "Hopfield network of infinitely many neurons: patterns per neuron";
            return Some(Claim::new(
                claim,
                interval(value),
                HOPFIELD_LOAD.to_string(),
                &[Verdict::of(ratio)],
            ));
        }
        let own: Vec<&Anchor> = anchors.of(kind).filter(|anchor| anchor.ratio().is_some()).collect();
        let verdicts: Vec<Verdict> = own.iter().filter_map(|anchor| anchor.verdict()).collect();
        let ratios = own.iter().filter_map(|anchor| Some(anchor.ratio()?.mean));
        let (low, high) = ratios.fold((f64::MAX, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
        let measured =
            if own.len() == 1 { format!("ratio {low:.2}") } else { format!("ratios {low:.2} to {high:.2}") };
        (!own.is_empty()).then(|| {
            Claim::new(
                format!("{}: value over reference", capital(kind.label())),
                measured,
                "ratio 1",
                &verdicts,
            )
        })
    };
    Section {
        title: "Memories without attention, beside the literature",
        headline,
        sentences,
        pictures: vec![picture(anchors)],
        tables: vec![table(&main, anchors.hopfield_limit.as_ref()), loads(anchors), variants(anchors)],
        claims: Kind::ALL.iter().filter_map(of_kind).collect(),
        ..Section::default()
    }
}

/// The limit of the Hopfield networks over that of the literature.
fn over_infinite(limit: &Limit) -> Interval {
    limit.value.map(|load| load / HOPFIELD_LOAD)
}

/// What was measured about a difference.
fn reason(anchor: &Anchor) -> Option<String> {
    let (kind, sizes, ratio) = (capital(anchor.kind.label()), sizes(&anchor.settings), anchor.ratio()?);
    let mut text = format!("{kind}, {sizes}: ours is {} times the reference.", interval(&ratio));
    if let Some(share) = anchor.at_reference.as_ref().map(interval) {
        text += &format!(" At the reference's own number the criterion is met in {share} of repeats.");
    }
    if let (Some(range), Some(reference)) = (&anchor.bisection, &anchor.reference) {
        let within = range.low <= reference.high && reference.low <= range.high;
        let holds = if within { "holds" } else { "does not hold" };
        let [low, high] = [range.low, range.high].map(significant);
        text += &format!(
            " Of plain bisections with five repeats at each number, 95% would end between {low} and {high}, which {holds} the reference."
        );
    }
    Some(text)
}

/// `N log N` over the number of parameters, beside the constant to which it tends.
fn loads(anchors: &Anchors) -> Table {
    let kinds = [
        (Kind::Hebbian, "1/8 in the reference"),
        (Kind::Trained, "1/2 for large d, in theory"),
        (Kind::Mlp, "1/0.35 = 2.86, guide line of the reference"),
    ];
    let rows = kinds.iter().flat_map(|&(kind, limit)| anchors.of(kind).map(move |anchor| (anchor, limit)));
    Table::new(
        "anchor_loads",
        "N log N over the number of parameters at capacity, where N is the number of facts, and the constant to which it tends for large d. At these d it is not yet reached, so this is no test.",
        rows,
        &[
            ("memory", |(a, _)| a.kind.label().into()),
            ("size", |(a, _)| sizes(&a.settings).into()),
            ("N log N over parameters", |(a, _)| a.ours.map(|ours| load(a, ours.mean)).into()),
            ("constant", |(_, limit)| (*limit).into()),
        ],
    )
}

/// `N log N` over the number of parameters.
fn load(anchor: &Anchor, facts: f64) -> f64 {
    facts * facts.ln() / (anchor.settings.dim * anchor.settings.inputs()) as f64
}

fn sizes(settings: &MemorySettings) -> String {
    match settings.width {
        Some(width) => format!("d = {}, m = {}", settings.dim, width),
        None => format!("d = {}", count(settings.dim)),
    }
}

fn quantity(kind: Kind) -> &'static str {
    match kind {
        Kind::Hebbian | Kind::Trained | Kind::Mlp => "facts",
        Kind::Zipf => "error",
        Kind::Hopfield => "patterns per neuron",
    }
}

fn source(kind: Kind) -> &'static str {
    match kind {
        Kind::Hebbian => {
            "computed elsewhere: all facts right in half of repeats; how many repeats is not known"
        }
        Kind::Trained => "setting of Nichani, Lee, Bietti 2025; limit arXiv 2605.10795",
        Kind::Mlp => "guide line of Nichani, Lee, Bietti 2025, drawn by eye",
        Kind::Zipf => "setting of Cabannes, Dohmatob, Bietti 2024, ten seeds",
        Kind::Hopfield => "Amit, Gutfreund, Sompolinsky 1985, infinite network",
    }
}

/// A reference: a value, or a range.
fn reference(reference: Option<Interval>) -> Value {
    match reference {
        Some(Interval { mean, low, high }) if low == high => mean.into(),
        other => other.into(),
    }
}

fn table(anchors: &[&Anchor], limit: Option<&Limit>) -> Table {
    let mut table = Table::new(
        "anchors",
        "Reference values and ours, with 95% intervals. The ratio has the errors of both; success is the share of repeats that reach the accuracy at the reference's number of facts.",
        anchors,
        &[
            ("memory", |a| a.kind.label().into()),
            ("size", |a| sizes(&a.settings).into()),
            ("quantity", |a| quantity(a.kind).into()),
            ("reference", |a| reference(a.reference)),
            ("ours", |a| a.ours.into()),
            ("ratio", |a| a.ratio().into()),
            ("verdict", |a| a.verdict().map(Verdict::word).into()),
            ("success at reference", |a| a.at_reference.into()),
            ("memories", |a| a.runs.into()),
            ("source", |a| source(a.kind).into()),
        ],
    );
    table.rows.extend(limit.map(|limit| {
        let ratio = over_infinite(limit);
        vec![
            Kind::Hopfield.label().into(),
            "infinite, by a line in 1/√n".into(),
            quantity(Kind::Hopfield).into(),
            HOPFIELD_LOAD.into(),
            limit.value.into(),
            ratio.into(),
            Verdict::of(&ratio).word().into(),
            Value::Absent,
            Value::Absent,
            source(Kind::Hopfield).into(),
        ]
    }));
    table
}

/// The same memories under other conventions.
fn variants(anchors: &Anchors) -> Table {
    let variants = anchors.anchors.iter().filter(|anchor| anchor.variant.is_some());
    let with_plain = variants.map(|anchor| {
        let plain = anchors.of(anchor.kind).find(|plain| sizes(&plain.settings) == sizes(&anchor.settings));
        (anchor, plain)
    });
    Table::new(
        "anchor_conventions",
        "The same memories under other conventions: what a difference may come from, measured.",
        with_plain,
        &[
            ("memory", |(a, _)| a.kind.label().into()),
            ("size", |(a, _)| sizes(&a.settings).into()),
            ("quantity", |(a, _)| quantity(a.kind).into()),
            ("convention", |(a, _)| a.variant.as_deref().into()),
            ("ours", |(a, _)| a.ours.into()),
            ("ours as the reference", |(_, plain)| plain.and_then(|plain| plain.ours).into()),
            ("reference", |(a, _)| reference(a.reference)),
        ],
    )
}

fn picture(anchors: &Anchors) -> Picture {
    type Scale = fn(&Anchor, f64) -> f64;
    let ours = |kind: Kind, value: Scale| {
        let found = anchors.of(kind).filter_map(|anchor| Some((anchor, anchor.ours?)));
        found.map(move |(a, i)| (a.settings.dim as f64, value(a, i.mean), value(a, i.low), value(a, i.high)))
    };
    let theirs = |kind: Kind, value: Scale| {
        let found = anchors.of(kind).filter_map(|anchor| Some((anchor, anchor.reference?)));
        found.map(move |(a, r)| (a.settings.dim as f64, value(a, r.mean)))
    };
    let dims = || Axis::log("dimension d");
    let mut stored =
        Chart::new("facts stored", dims(), Axis::log("N log N over parameters").range(0.05, 6.0));
    for kind in [Kind::Hebbian, Kind::Trained] {
        stored = stored.points(kind.label(), ours(kind, load)).line("", theirs(kind, load));
    }
    stored = stored.points(Kind::Mlp.label(), ours(Kind::Mlp, load));
    stored = stored.horizontal(0.5, "1/2").horizontal(1.0 / 0.35, "1/0.35");
    let zipf = Chart::new("Zipf inputs", dims(), Axis::log("error"))
        .points("ours", ours(Kind::Zipf, |_, x| x))
        .with(Series::line("reference", theirs(Kind::Zipf, |_, x| x)).dashed());
    let neurons = Axis::linear("1/sqrt(neurons)").range(0.0, 0.07);
    let patterns = Axis::linear("patterns per neuron").range(0.12, 0.2);
    let load = |a: &Anchor| Some(spot(1.0 / (a.settings.dim as f64).sqrt(), &a.ours?));
    let mut hopfield = Chart::new("Hopfield network", neurons, patterns)
        .points("ours", anchors.of(Kind::Hopfield).filter_map(load))
        .horizontal(HOPFIELD_LOAD, HOPFIELD_LOAD.to_string());
    if let Some(Limit { value, slope }) = &anchors.hopfield_limit {
        hopfield = hopfield.line("", [(0.0, value.mean), (0.07, value.mean + 0.07 * slope)]);
    }
    let figure = Figure::new().title("Associative memories beside the literature");
    let figure = figure.columns(2).panel(stored).panel(zipf).panel(hopfield);
    let caption = "Ours as points with 95% intervals, values of the literature as lines. First: N log N over the number of parameters at capacity, where N is the number of facts. Second: error under Zipf inputs. Third: patterns per neuron at which half of the Hopfield networks still retrieve half of their patterns, the line fitted to them, and the value of an infinite network.".into();
    Picture { name: "anchors", caption, figure }
}
