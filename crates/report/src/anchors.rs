//! Part 8: reference values from the literature, ours beside them.

use superpose_core::associative::MemorySettings;
use superpose_figure::{Axis, Chart, Figure, Series};
use superpose_lab::interval::Interval;
use superpose_lab::study::{Anchor, Anchors, Kind, Limit, Verdict};

use crate::table::{Table, Value};
use crate::words::{count, exponent, interval, number};
use crate::{Picture, Section};

pub fn section(anchors: &Anchors) -> Section {
    let main: Vec<&Anchor> = Kind::ALL.into_iter().flat_map(|kind| anchors.of(kind)).collect();
    let verdicts: Vec<Verdict> = main.iter().filter_map(|anchor| anchor.verdict()).collect();
    let tally = |wanted: Verdict| verdicts.iter().filter(|&&verdict| verdict == wanted).count();
    let headline = format!(
        "Of {} reference values from the literature, {} agree with ours (the 95% interval of ours over theirs holds 1), {} more are within 15%, {} differ.",
        verdicts.len(),
        tally(Verdict::Agrees),
        tally(Verdict::Close),
        tally(Verdict::Differs),
    );
    let mut sentences = vec![
        "Associative memories alone: facts are pairs of a key and a value, and nothing has to be found in a sequence. A memory holds N facts when half of the repeats reach the accuracy asked for.".into(),
        headline.clone(),
    ];
    sentences.extend(main.iter().filter(|a| a.verdict() != Some(Verdict::Agrees)).filter_map(|a| reason(a)));
    sentences.extend(constants(anchors));
    sentences.extend(anchors.hopfield_limit.as_ref().map(|limit| {
        let holds = limit.value.low <= 0.138 && 0.138 <= limit.value.high;
        format!(
            "Hopfield networks that are finite hold more than 0.138 patterns per neuron, the value of an infinite one: the load falls with the number of neurons n as {} + {}/sqrt(n). Its limit, {}, {} 0.138.",
            number(limit.value.mean),
            number(limit.slope),
            interval(&limit.value),
            if holds { "agrees with" } else { "is not" }
        )
    }));
    if let Some(fit) = &anchors.zipf_exponent {
        sentences.push(format!(
            "Under Zipf inputs the error falls as d^{}; the reference's asymptotic law is d^-1, its own values fall as d^{} from d = 10 to 20 and d^{} from 20 to 100.",
            exponent(&fit.exponents[0]),
            number((0.0113_f64 / 0.0295).ln() / 2.0_f64.ln()),
            number((0.00068_f64 / 0.0113).ln() / 5.0_f64.ln()),
        ));
    }
    Section {
        title: "Anchors: associative memories beside the literature",
        sentences,
        pictures: vec![picture(anchors)],
        tables: vec![table(&main, anchors.hopfield_limit.as_ref()), variants(anchors)],
        headline,
    }
}

/// What was measured about a difference.
fn reason(anchor: &Anchor) -> Option<String> {
    let ratio = anchor.ratio()?;
    let mut text = format!(
        "{}, {}: ours is {} times the reference.",
        capital(anchor.kind.label()),
        sizes(&anchor.settings),
        interval(&ratio)
    );
    if let Some(share) = &anchor.at_reference {
        text += &format!(
            " At the reference's own number the criterion is met in {} of repeats.",
            interval(share)
        );
    }
    // An infinite network's value is not a search's result.
    let searched = anchor.bisection.as_ref().filter(|_| anchor.kind != Kind::Hopfield);
    if let (Some(range), Some(reference)) = (searched, &anchor.reference) {
        let within = range.low <= reference.high && reference.low <= range.high;
        text += &format!(
            " Of plain bisections with five repeats at each number, 95% would end between {} and {}, which {} the reference.",
            number(range.low),
            number(range.high),
            if within { "holds" } else { "does not hold" }
        );
    }
    Some(text)
}

/// `N log N` over the number of parameters, where it tends to a constant.
fn constants(anchors: &Anchors) -> Vec<String> {
    let list = |kind: Kind| -> Vec<String> {
        anchors
            .of(kind)
            .filter_map(|anchor| {
                Some(format!("{} at {}", number(load(anchor, anchor.ours?.mean)), sizes(&anchor.settings)))
            })
            .collect()
    };
    let mut sentences = Vec::new();
    for (kind, limit) in [
        (Kind::Hebbian, "the reference's d^2/(N log N) near 8 is 0.125"),
        (Kind::Trained, "it is to fall to 1/2 as d grows"),
        (Kind::Mlp, "the reference's guide line is 1/0.35 = 2.86"),
    ] {
        let found = list(kind);
        if !found.is_empty() {
            sentences.push(format!(
                "N log N over the number of parameters, {}: {}; {limit}.",
                kind.label(),
                found.join(", ")
            ));
        }
    }
    sentences
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

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + letters.as_str())
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
    let row = |anchor: &&Anchor| -> Vec<Value> {
        vec![
            anchor.kind.label().into(),
            sizes(&anchor.settings).as_str().into(),
            quantity(anchor.kind).into(),
            reference(anchor.reference),
            anchor.ours.into(),
            anchor.ratio().into(),
            anchor.verdict().map(Verdict::word).into(),
            anchor.at_reference.into(),
            anchor.runs.into(),
            source(anchor.kind).into(),
        ]
    };
    let mut rows: Vec<Vec<Value>> = anchors.iter().map(row).collect();
    rows.extend(limit.map(|limit| {
        let over = |x: f64| x / 0.138;
        let Interval { mean, low, high } = limit.value;
        let ratio = Interval { mean: over(mean), low: over(low), high: over(high) };
        vec![
            Kind::Hopfield.label().into(),
            "infinite, by a line in 1/sqrt(n)".into(),
            quantity(Kind::Hopfield).into(),
            0.138.into(),
            limit.value.into(),
            ratio.into(),
            Verdict::of(&ratio).word().into(),
            Value::Absent,
            Value::Absent,
            source(Kind::Hopfield).into(),
        ]
    }));
    Table {
        name: "anchors",
        caption: "Reference values and ours, with 95% intervals. The ratio has the errors of both; success is the share of repeats that reach the accuracy at the reference's number of facts.".into(),
        columns: vec![
            "memory", "size", "quantity", "reference", "ours", "ratio", "verdict", "success at reference",
            "memories", "source",
        ],
        rows,
    }
}

/// The same memories under other conventions.
fn variants(anchors: &Anchors) -> Table {
    let row = |anchor: &Anchor| -> Vec<Value> {
        let plain = anchors.of(anchor.kind).find(|plain| sizes(&plain.settings) == sizes(&anchor.settings));
        vec![
            anchor.kind.label().into(),
            sizes(&anchor.settings).as_str().into(),
            quantity(anchor.kind).into(),
            anchor.variant.as_deref().into(),
            anchor.ours.into(),
            plain.and_then(|plain| plain.ours).into(),
            reference(anchor.reference),
        ]
    };
    Table {
        name: "anchor_conventions",
        caption: "The same memories under other conventions: what a difference may come from, measured."
            .into(),
        columns: vec![
            "memory",
            "size",
            "quantity",
            "convention",
            "ours",
            "ours as the reference",
            "reference",
        ],
        rows: anchors.anchors.iter().filter(|anchor| anchor.variant.is_some()).map(row).collect(),
    }
}

fn picture(anchors: &Anchors) -> Picture {
    type Scale<'a> = &'a dyn Fn(&Anchor, f64) -> f64;
    let points = |kind: Kind, value: Scale<'_>| -> Vec<(f64, f64, f64, f64)> {
        let found = anchors.of(kind).filter_map(|anchor| Some((anchor, anchor.ours?)));
        found
            .map(|(a, i)| (a.settings.dim as f64, value(a, i.mean), value(a, i.low), value(a, i.high)))
            .collect()
    };
    let theirs = |kind: Kind, value: Scale<'_>| -> Vec<(f64, f64)> {
        let found = anchors.of(kind).filter_map(|anchor| Some((anchor, anchor.reference?)));
        found.map(|(a, r)| (a.settings.dim as f64, value(a, r.mean))).collect()
    };
    let plain = |_: &Anchor, x: f64| x;
    let mut stored = Chart::new(
        "facts stored",
        Axis::log("dimension d"),
        Axis::log("N log N over parameters").range(0.05, 6.0),
    );
    for kind in [Kind::Hebbian, Kind::Trained] {
        stored = stored.points(kind.label(), points(kind, &load)).line("", theirs(kind, &load));
    }
    stored = stored.points(Kind::Mlp.label(), points(Kind::Mlp, &load));
    stored = stored.horizontal(0.5, "1/2").horizontal(1.0 / 0.35, "1/0.35");
    let zipf = Chart::new("Zipf inputs", Axis::log("dimension d"), Axis::log("error"))
        .points("ours", points(Kind::Zipf, &plain))
        .with(Series::line("reference", theirs(Kind::Zipf, &plain)).dashed());
    let loads = anchors.of(Kind::Hopfield).filter_map(|anchor| {
        let (x, load) = (1.0 / (anchor.settings.dim as f64).sqrt(), anchor.ours?);
        Some((x, load.mean, load.low, load.high))
    });
    let mut hopfield = Chart::new(
        "Hopfield network",
        Axis::linear("1/sqrt(neurons)").range(0.0, 0.07),
        Axis::linear("patterns per neuron").range(0.12, 0.2),
    )
    .points("ours", loads.collect::<Vec<_>>())
    .horizontal(0.138, "0.138");
    if let Some(Limit { value, slope }) = &anchors.hopfield_limit {
        hopfield = hopfield.line("", [(0.0, value.mean), (0.07, value.mean + 0.07 * slope)]);
    }
    Picture {
        name: "anchors",
        caption: "Ours as points with 95% intervals, reference values as lines. Left: N log N over the number of parameters at capacity. Middle: error under Zipf inputs. Right: load at which half of the networks still retrieve half of their patterns, and the line to an infinite network.".into(),
        figure: Figure::new()
            .title("Associative memories beside the literature")
            .panel(stored)
            .panel(zipf)
            .panel(hopfield),
    }
}
