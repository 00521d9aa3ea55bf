//! Coverage: a bound for any learner (`docs/theory/bound.md`, 1).
//!
//! Given the data, the labels of facts that occur in no sample are a uniformly random arrangement of the labels that occur in
//! none. Whatever is answered for them, one answer is right on average, so `E accuracy <= 1 - (1 - 1/V)^N + 1/V`.

/// The N at which the right side is the accuracy.
pub(super) fn samples(vocab: f64, accuracy: f64) -> f64 {
    // ln(1 / (1 - accuracy + 1/V)) over ln(V / (V - 1)).
    (libm::log1p(1.0 / vocab - accuracy) / libm::log1p(-1.0 / vocab)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Dice;

    /// A learner that knows every fact that it has seen and assigns the labels left over at random to the facts left over.
    #[test]
    fn best_learner_attains_the_bound() {
        let mut dice = Dice(3);
        for (vocab, accuracy) in [(20, 0.3), (20, 0.6), (60, 0.5), (60, 0.8)] {
            let samples = samples(f64::from(vocab), accuracy);
            let recalled = |count: f64, dice: &mut Dice| {
                let runs = 20_000;
                let mut right = 0;
                for _ in 0..runs {
                    let mut seen = vec![false; vocab as usize];
                    (0..count as usize).for_each(|_| seen[(dice.unit() * f64::from(vocab)) as usize] = true);
                    let left: Vec<usize> = (0..vocab as usize).filter(|&v| !seen[v]).collect();
                    let mut labels = left.clone();
                    for i in (1..labels.len()).rev() {
                        labels.swap(i, (dice.unit() * (i + 1) as f64) as usize);
                    }
                    right += vocab as usize - left.len();
                    right += left.iter().zip(&labels).filter(|(fact, label)| fact == label).count();
                }
                right as f64 / f64::from(runs * vocab)
            };
            let (below, above) = (recalled(samples.floor(), &mut dice), recalled(samples.ceil(), &mut dice));
            assert!(below < accuracy + 0.003, "V = {vocab}, N < {samples}: {below}");
            assert!(above > accuracy - 0.003, "V = {vocab}, N > {samples}: {above}");
        }
    }

    #[test]
    fn chance_needs_no_samples_and_certainty_many() {
        assert_eq!(samples(50.0, 0.02), 0.0);
        assert!((samples(50.0, 1.0) / (50.0 * 50_f64.ln()) - 1.0).abs() < 0.02);
    }
}
