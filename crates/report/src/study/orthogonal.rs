//! Part 3: orthogonal against random embeddings.

use superpose_figure::{Axis, Chart, Figure};
use superpose_study::fit::Comparison;
use superpose_study::{Finding, Orthogonal};

use super::findings::{beside, exponent_claims, exponents_table, thresholds, thresholds_claim, two_decimals};
use super::{Picture, Section, distinct};
use crate::numbers::{count, significant};

pub fn section(orthogonal: &Orthogonal) -> Section {
    let Orthogonal { random, orthonormal, random_exponents, orthonormal_exponents } = orthogonal;
    let mut sentences = Vec::new();
    for (name, findings) in [("random", random), ("orthonormal", orthonormal)] {
        if let Some([short, long]) = growth(findings).map(|growth| growth.map(significant)) {
            sentences.push(format!(
                "With {name} embeddings, going from the fewest to the most facts multiplies the critical N by {short} at the shortest sequences and by {long} at the longest."
            ));
        }
    }
    sentences.push(
        "With random embeddings the two factors are alike: V and L multiply. With orthonormal embeddings facts do not interfere, and more facts cost more samples only because each fact must appear at least once. Orthonormal embeddings need d = V + 2, so that their dimension grows with V; random ones keep theirs.".into(),
    );
    let of_facts = |fit: &Option<Comparison>| {
        fit.as_ref().map_or("(no fit)".into(), |fit| two_decimals(fit.observed.exponents[1].estimate))
    };
    let [with_random, without] = [random_exponents, orthonormal_exponents].map(of_facts);
    let headline = format!(
        "Overlap makes facts expensive: the one-step critical N grows as V^{{{with_random}}} with random and as V^{{{without}}} with orthonormal embeddings."
    );
    let mut claims = exponent_claims("Random embeddings", random_exponents.as_ref());
    claims.extend(exponent_claims("Orthonormal embeddings", orthonormal_exponents.as_ref()));
    claims.push(thresholds_claim("Random and orthonormal", random.iter().chain(orthonormal)));
    let fits = [("random", random_exponents.as_ref()), ("orthonormal", orthonormal_exponents.as_ref())];
    let tables = vec![
        exponents_table("orthogonal_exponents", &fits),
        thresholds("orthogonal_random", "One step, random embeddings", random),
        thresholds("orthogonal_orthonormal", "One step, orthonormal embeddings", orthonormal),
    ];
    let title = "Orthogonal embeddings remove the interference";
    let pictures = vec![picture(orthogonal)];
    Section { title, headline, sentences, pictures, tables, claims, ..Section::default() }
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
            chart = beside(chart, format!("V = {}", count(vocab)), &found, |f| f.length);
        }
        chart
    };
    let dim = orthogonal.random.first().map_or(0, |f| f.dim);
    let figure = Figure::new()
        .title("Critical number of samples, one step")
        .note("Points: observed with 95% intervals. Lines: closed form.")
        .panel(panel(&format!("random, d = {dim}"), &orthogonal.random))
        .panel(panel("orthonormal, d = V + 2", &orthogonal.orthonormal));
    let caption = "One-step critical N against L for several V, measured (points with 95% intervals) and predicted (lines): random embeddings at a fixed d, and orthonormal ones at d = V + 2.";
    Picture { name: "orthogonal", caption: caption.into(), figure }
}
