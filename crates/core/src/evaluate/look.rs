//! A closer look at a trained model: the margin of every test sequence, and one sequence with its attention.

use crate::backend::{Backend, Real, Result, top};
use crate::early_phase::EarlyPhase;
use crate::model::Model;
use crate::task::Samples;

use super::{Answer, answers};

/// What is seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Look {
    /// Right label's logit minus the largest other, sequence by sequence.
    pub margins: Vec<f64>,
    /// The first sequence.
    pub example: Option<Example>,
}

/// One sequence and what the model makes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// Its tokens.
    pub tokens: Vec<u32>,
    /// The informative position, where the trigger is.
    pub position: usize,
    /// The right label.
    pub label: usize,
    /// The label with the largest logit.
    pub answer: usize,
    /// Attention weights over positions.
    pub weights: Vec<f64>,
}

/// Asks the trained model every test sequence.
pub fn look<T: Real>(
    model: &Model<'_, T>,
    phase: &EarlyPhase<T>,
    test: &dyn Samples,
    backend: &Backend,
) -> Result<Look> {
    let parts = answers(model, phase, test, backend, |part: &mut Look, answer| {
        part.margins.push(top(answer.logits, answer.label).margin);
        part.example.get_or_insert_with(|| Example::new(&answer));
    })?;
    let mut all = Look::default();
    for part in parts {
        all.margins.extend(part.margins);
        all.example = all.example.or(part.example);
    }
    Ok(all)
}

impl Example {
    fn new<T: Real>(answer: &Answer<'_, T>) -> Example {
        let largest = (0..answer.logits.len())
            .max_by(|&a, &b| answer.logits[a].to_f64().total_cmp(&answer.logits[b].to_f64()));
        Example {
            tokens: answer.tokens.to_vec(),
            position: answer.position,
            label: answer.label,
            answer: largest.unwrap_or(answer.label),
            weights: answer.weights.iter().map(|weight| weight.to_f64()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::evaluate;
    use super::*;
    use crate::config::Settings;
    use crate::early_phase::{early_phase, fact_frequency};
    use crate::embedding::Embeddings;
    use crate::random::Stream;
    use crate::task::{Drawn, Task};

    /// The margins are those whose mean is reported, and the weights those that lock.
    #[test]
    fn what_is_seen_is_what_is_measured() {
        let settings =
            Settings { vocab: 80, dim: 60, samples: 4000, test_samples: 700, ..Settings::default() };
        let config = settings.check().unwrap();
        let backend = Backend::single();
        let embeddings = Embeddings::<f64>::draw(&config, &backend).unwrap();
        let (task, model) = (Task::new(&config), Model::new(&config, &embeddings));
        let samples = Drawn::new(&task, 0, Stream::Train, config.samples);
        let phase = early_phase(&config, &model, &samples, &backend).unwrap();
        let frequency = fact_frequency(&samples, config.vocab, &backend).unwrap();
        let test = Drawn::new(&task, 0, Stream::Test, config.test_samples);
        let measured = evaluate(&config, &model, &task, &phase, &frequency, &test, &backend).unwrap();
        let seen = look(&model, &phase, &test, &backend).unwrap();
        assert_eq!(seen.margins.len(), 700);
        let mean = seen.margins.iter().sum::<f64>() / 700.0;
        assert!(
            (mean - measured[crate::Measure::Margin].mean()).abs() < 1e-9 * mean.abs().max(1e-3),
            "{mean}"
        );
        let right = seen.margins.iter().filter(|&&margin| margin > 0.0).count() as f64 / 700.0;
        assert!((right - measured[crate::Measure::Accuracy].mean()).abs() < 1e-9);
        let example = seen.example.unwrap();
        assert_eq!(example.tokens.len(), config.length);
        assert!((example.weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(example.weights[example.position] > 0.9, "{:?}", example.weights);
        assert_eq!(task.facts()[example.tokens[example.position] as usize] as usize, example.label);
        assert_eq!(example.answer == example.label, seen.margins[0] > 0.0);
    }
}
