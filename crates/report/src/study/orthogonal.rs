//! Part 3: orthogonal against random embeddings.

use superpose_figure::{Axis, Chart, Figure};
use superpose_study::fit::Comparison;
use superpose_study::{Finding, Orthogonal};

use super::findings::{beside, exponent, exponents, tally, thresholds};
use super::{Picture, Section, distinct};
use crate::numbers::significant;

pub fn section(orthogonal: &Orthogonal) -> Section {
    let Orthogonal { random, orthonormal, random_exponents, orthonormal_exponents } = orthogonal;
    let mut sentences = vec![
        format!("Random embeddings of one dimension: {}.", exponents(random_exponents.as_ref())),
        format!("Orthonormal embeddings (d = V + 2): {}.", exponents(orthonormal_exponents.as_ref())),
    ];
    for (name, findings) in [("random", random), ("orthonormal", orthonormal)] {
        if let Some([short, long]) = growth(findings).map(|growth| growth.map(significant)) {
            sentences.push(format!(
                "With {name} embeddings, going from the fewest to the most facts multiplies the critical N by {short} at the shortest sequences and by {long} at the longest."
            ));
        }
    }
    sentences.push(
        "If the factors multiply, the two numbers of a line are alike and large; if they separate, facts matter only where coverage binds and length only where it does not.".into(),
    );
    sentences.push(tally(random.iter().chain(orthonormal)));
    let of_facts = |fit: &Option<Comparison>| {
        fit.as_ref().map_or("(no fit)".into(), |fit| exponent(&fit.observed.exponents[1]))
    };
    let exponents = [random_exponents, orthonormal_exponents].map(of_facts);
    let headline = format!(
        "One-step critical N grows with the number of facts as V^{} for random and V^{} for orthonormal embeddings.",
        exponents[0], exponents[1]
    );
    let tables = vec![
        thresholds("orthogonal_random", "One step, random embeddings", random),
        thresholds("orthogonal_orthonormal", "One step, orthonormal embeddings", orthonormal),
    ];
    let title = "Orthogonal against random embeddings";
    Section { title, headline, sentences, pictures: vec![picture(orthogonal)], tables }
}

/// Critical N at the most facts over that at the fewest, at the shortest and the longest sequences.
fn growth(findings: &[Finding]) -> Option<[f64; 2]> {
    let (lengths, vocabs) = (distinct(findings, |f| f.length), distinct(findings, |f| f.vocab));
    let at = |length: usize, vocab: usize| {
        findings.iter().find(|f| f.length == length && f.vocab == vocab)?.observed().map(|seen| seen.mean)
    };
    let ratio = |&length: &usize| Some(at(length, *vocabs.last()?)? / at(length, *vocabs.first()?)?);
    Some([ratio(lengths.first()?)?, ratio(lengths.last()?)?])
}

fn picture(orthogonal: &Orthogonal) -> Picture {
    let seen = orthogonal.random.iter().chain(&orthogonal.orthonormal).filter_map(Finding::observed);
    let (low, high) = seen.fold((f64::MAX, 1.0_f64), |(low, high), n| (low.min(n.low), high.max(n.high)));
    let panel = |title: &str, findings: &[Finding]| {
        let samples = Axis::log("critical samples N").range(low / 2.0, high * 4.0);
        let mut chart = Chart::new(title, Axis::log("sequence length L"), samples).ordered();
        for vocab in distinct(findings, |f| f.vocab) {
            let found: Vec<&Finding> = findings.iter().filter(|f| f.vocab == vocab).collect();
            chart = beside(chart, format!("V = {vocab}"), &found, |f| f.length);
        }
        chart
    };
    let dim = orthogonal.random.first().map_or(0, |f| f.dim);
    let figure = Figure::new()
        .title("Critical number of samples, one step")
        .note("Points: observed with 95% intervals. Lines: closed form.")
        .panel(panel(&format!("random, d = {dim}"), &orthogonal.random))
        .panel(panel("orthonormal, d = V + 2", &orthogonal.orthonormal));
    let caption = "One-step critical N against L for several V: random embeddings of one dimension, and orthonormal ones.";
    Picture { name: "orthogonal", caption: caption.into(), figure }
}
