//! The associative memories that are measured, with their reference values and variants.

use superpose_associative::{Convention, MemorySettings, Rule};
use superpose_core::config::{Embedding, Labels, Optimiser};

use super::{Anchor, Kind};
use crate::Scale;
use superpose_lab::associative::HOPFIELD_LOAD;
use superpose_store::interval::Interval;

impl Anchor {
    /// An anchor that is not measured yet.
    pub(super) fn new(kind: Kind, settings: MemorySettings, reference: Option<[f64; 2]>) -> Anchor {
        let reference = reference.map(|[low, high]| Interval { mean: 0.5 * (low + high), low, high });
        let (variant, ours, at_reference, bisection, runs) = (None, None, None, None, 0);
        Anchor { kind, variant, settings, reference, ours, at_reference, bisection, runs }
    }

    fn variant(&self, variant: &str, change: impl FnOnce(&mut MemorySettings)) -> Anchor {
        let mut anchor = Anchor { variant: Some(variant.into()), ..self.clone() };
        change(&mut anchor.settings);
        anchor
    }
}

/// Solves `constant N log N = parameters` for N.
fn guide(constant: f64, parameters: f64) -> f64 {
    (0..60).fold(parameters.max(3.0), |n: f64, _| (parameters / (constant * libm::log(n))).max(3.0))
}

/// Returns every anchor and its variants, in the order of the table.
pub(super) fn cases(scale: Scale) -> Vec<Anchor> {
    let default = MemorySettings::default;
    let mut cases = Vec::new();
    for (dim, facts) in [(64, 104.0), (128, 343.0), (256, 1130.0)] {
        let settings = MemorySettings { dim, rule: Rule::Hebbian, accuracy: 1.0, ..default() };
        let case = Anchor::new(Kind::Hebbian, settings, Some([facts, facts]));
        if dim < 256 || scale > Scale::Quick {
            cases.push(case.variant("Gaussian vectors", |s| s.embedding = Embedding::Gaussian));
        }
        cases.push(case);
    }
    let trained = MemorySettings { rule: Rule::Trained, accuracy: 0.99, ..default() };
    let known = [(16, Some([63.0, 64.0])), (22, Some([100.0, 104.0])), (32, Some([176.0, 183.0]))];
    let others = scale.pick(&[][..], &[45], &[45, 64, 90]);
    for (dim, reference) in known.into_iter().chain(others.iter().map(|&dim| (dim, None))) {
        // The references were measured with a large rate, which stops early.
        let settings = MemorySettings { dim, convention: Convention::Literature, ..trained.clone() };
        let case = Anchor::new(Kind::Trained, settings, reference);
        if dim == 16 {
            cases.push(case.variant("every fact right", |s| s.accuracy = 1.0));
            cases.push(case.variant("Gaussian vectors", |s| s.embedding = Embedding::Gaussian));
        }
        cases.push(case);
    }
    let mlps: &[(usize, usize)] = scale.pick(
        &[(8, 1), (11, 1)],
        &[(8, 1), (8, 2), (8, 4), (11, 1), (11, 2), (16, 1)],
        &[(8, 1), (8, 4), (11, 1), (11, 4), (16, 1), (16, 2), (16, 4), (22, 1), (22, 2), (32, 1), (32, 2)],
    );
    for &(dim, ratio) in mlps {
        let settings = MemorySettings { dim, width: Some(ratio * dim), ..trained.clone() };
        let facts = guide(0.35, (ratio * dim * dim) as f64);
        let case = Anchor::new(Kind::Mlp, settings, Some([facts, facts]));
        if (dim, ratio) == (8, 1) {
            cases.push(case.variant("4,096 steps", |s| s.steps = Some(4096)));
        }
        cases.push(case);
    }
    for (dim, error) in [(10, Some(0.0295)), (20, Some(0.0113)), (50, None), (100, Some(0.00068))] {
        let settings = MemorySettings {
            facts: 100,
            dim,
            rule: Rule::Trained,
            embedding: Embedding::Gaussian,
            labels: Labels::Mod(5),
            zipf: Some(2.0),
            optimiser: Optimiser::Sgd,
            rate: Some(10.0),
            batch: Some(16),
            steps: Some(6400),
            repeats: scale.pick(30, 100, 400),
            ..default()
        };
        let case = Anchor::new(Kind::Zipf, settings, error.map(|error| [error, error]));
        if dim == 10 {
            cases.push(case.variant("vectors on the sphere", |s| s.embedding = Embedding::Sphere));
        }
        cases.push(case);
    }
    for &dim in scale.pick(&[256, 512, 1024][..], &[256, 512, 1024, 2048], &[256, 512, 1024, 2048, 4096]) {
        let settings = MemorySettings { dim, rule: Rule::Hopfield, accuracy: 0.5, ..default() };
        cases.push(Anchor::new(Kind::Hopfield, settings, (dim > 256).then_some([HOPFIELD_LOAD; 2])));
    }
    cases.sort_by_key(|case| case.kind as usize);
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guide_solves_its_equation() {
        let facts = guide(0.35, 1024.0);
        assert!((0.35 * facts * facts.ln() - 1024.0).abs() < 1e-6, "{facts}");
    }

    #[test]
    fn cases_are_valid_at_every_scale() {
        for &scale in Scale::ALL {
            for case in cases(scale) {
                let settings = MemorySettings { facts: case.settings.facts.max(6), ..case.settings };
                assert!(settings.check().is_ok(), "{scale}, {}", case.kind.label());
            }
        }
    }
}
