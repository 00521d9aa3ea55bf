//! A Hopfield network: the classical associative memory.
//!
//! P patterns of N neurons, each +1 or -1, are stored in `J_ij = sum_mu x_i^mu x_j^mu`, `J_ii = 0`. From a stored pattern,
//! neurons are updated one after the other, `s_i = sign(sum_j J_ij s_j)`, until none changes; the energy falls with every
//! change, so that this ends. Fields are whole numbers, which 32-bit floats represent exactly, so that the order of sums does not
//! matter.

use super::Recall;
use superpose_core::backend::{Backend, Result, View};
use superpose_core::config::Embedding;
use superpose_core::embedding::table;
use superpose_core::evaluate::Tally;
use superpose_core::random::Stream;

/// The smallest overlap at which a pattern counts as retrieved. Below capacity the overlap is near 1, above it about 0.35 (Amit,
/// Gutfreund and Sompolinsky 1985), so that the exact value does not matter.
const RETRIEVED: f64 = 0.9;

/// The maximum number of patterns that recall starts from; all patterns are statistically alike.
const MAX_STARTS: usize = 64;

pub struct Hopfield {
    neurons: usize,
    /// A row for each pattern.
    patterns: Vec<f32>,
    /// `J`, neurons by neurons.
    couplings: Vec<f32>,
}

impl Hopfield {
    /// Stores random patterns of +1 and -1.
    pub fn store(patterns: usize, neurons: usize, seed: u64, backend: &Backend) -> Result<Hopfield> {
        let signs: Vec<f32> =
            table(Embedding::Rademacher, seed, Stream::Patterns, patterns, neurons, backend)?;
        let patterns: Vec<f32> = signs.into_iter().map(f32::signum).collect();
        let rows = View::new(&patterns, patterns.len() / neurons, neurons);
        let mut couplings = vec![0.0; neurons * neurons];
        backend.product(&mut couplings, rows.t(), rows)?;
        couplings.iter_mut().step_by(neurons + 1).for_each(|x| *x = 0.0);
        Ok(Hopfield { neurons, patterns, couplings })
    }

    /// The dynamics, with the fields kept up to date: a change costs one row.
    fn descend(&self, state: &mut [f32], fields: &mut [f32]) {
        let mut changed = true;
        while changed {
            changed = false;
            for (i, row) in self.couplings.chunks_exact(self.neurons).enumerate() {
                // A field of 0 leaves the neuron as it is.
                if state[i] * fields[i] < 0.0 {
                    state[i] = -state[i];
                    let twice = 2.0 * state[i];
                    fields.iter_mut().zip(row).for_each(|(field, &coupling)| *field += twice * coupling);
                    changed = true;
                }
            }
        }
    }

    /// Starts the dynamics from stored patterns; returns the fraction retrieved, by [`RETRIEVED`], and the final overlaps.
    pub fn recall(&self, backend: &Backend) -> Result<Recall> {
        let neurons = self.neurons;
        let tried = MAX_STARTS.min(self.patterns.len() / neurons);
        let starts = View::new(&self.patterns, self.patterns.len() / neurons, neurons).rows_in(0, tried);
        let mut fields = vec![0.0; tried * neurons];
        let couplings = View::new(&self.couplings, neurons, neurons);
        backend.product(&mut fields, starts, couplings)?;
        let (mut accuracy, mut margin) = (Tally::default(), Tally::default());
        for (pattern, fields) in self.patterns.chunks_exact(neurons).zip(fields.chunks_exact_mut(neurons)) {
            let mut state = pattern.to_vec();
            self.descend(&mut state, fields);
            let overlap: f32 = state.iter().zip(pattern).map(|(s, x)| s * x).sum();
            let overlap = f64::from(overlap) / neurons as f64;
            accuracy.add(1.0, f64::from(u8::from(overlap >= RETRIEVED)));
            margin.add(1.0, overlap);
        }
        Ok(Recall { accuracy, margin, steps: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows the dynamics from a state to a fixed point.
    fn settle(network: &Hopfield, state: &mut [f32]) {
        let mut fields = vec![0.0; network.neurons];
        let couplings = View::new(&network.couplings, network.neurons, network.neurons);
        superpose_core::backend::product(&mut fields, couplings, View::new(state, network.neurons, 1), false);
        network.descend(state, &mut fields);
    }

    /// Few patterns are fixed points that attract a perturbed start; too many are not.
    #[test]
    fn few_patterns_are_retrieved_and_many_are_not() {
        let single = Backend::single();
        let few = Hopfield::store(10, 200, 1, &single).unwrap();
        assert_eq!(few.recall(&single).unwrap().accuracy.mean(), 1.0);
        let mut state = few.patterns[..200].to_vec();
        state.iter_mut().step_by(8).for_each(|s| *s = -*s);
        settle(&few, &mut state);
        assert_eq!(state, few.patterns[..200]);
        let many = Hopfield::store(80, 200, 1, &single).unwrap().recall(&single).unwrap();
        assert!(many.accuracy.mean() < 0.1 && many.margin.mean() < 0.7, "{many:?}");
    }

    /// In the final state every neuron has the sign of its field, computed from the definition.
    #[test]
    fn final_state_is_a_fixed_point() {
        let network = Hopfield::store(30, 100, 2, &Backend::single()).unwrap();
        let mut state: Vec<f32> = (0..100).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
        settle(&network, &mut state);
        for i in 0..100 {
            let others = |x: &[f32]| (0..100).filter(|&j| j != i).map(|j| x[j] * state[j]).sum::<f32>();
            let field: f32 = network.patterns.chunks(100).map(|x| x[i] * others(x)).sum();
            assert!(field * state[i] >= 0.0, "neuron {i}");
        }
    }
}
