//! Part 10. Questions that readers of the paper ask, each answered by a measurement (book: questions).

use serde::{Deserialize, Serialize};
use superpose_core::backend::{Backend, Cancelled, Real};
use superpose_core::config::{Config, EmbeddingSettings, Schedule, Training, Trigger};
use superpose_core::measure::Scale as Mean;
use superpose_core::numeric::dot;
use superpose_core::{Measure, Settings, words};
use superpose_lab::plan::PlanOptions;
use superpose_lab::run::{Inputs, RunError, Trained};
use superpose_lab::train::{AnyState, Finish, train};
use superpose_lab::words::grouped;
use superpose_store::interval::{Interval, SampleMean, number, share};
use superpose_theory::plan::{Plan, plan};
use superpose_theory::predict;

use super::{Part, Study, StudyError};

words! {
    /// A question that readers of the paper ask.
    ReaderQuestion {
        /// How far from orthogonal are random embeddings, and what changes when they are learned?
        Overlap = "overlap",
        /// Finding the trigger needs L, storing the facts needs V: why do they multiply?
        Product = "product",
        /// Does the attention matrix learn the trigger?
        Trigger = "trigger",
        /// Does an MLP help or hurt?
        Mlp = "mlp",
        /// Why are three steps enough, and when are they not?
        Rounds = "rounds",
        /// What if the sequence is longer than the vocabulary?
        Length = "length",
    }
}

/// A measured value that answers a question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AnswerPoint {
    /// The question.
    pub question: ReaderQuestion,
    /// What was measured.
    pub quantity: String,
    /// The size that varies.
    pub size: String,
    /// The models that the value belongs to.
    pub series: String,
    /// The value of the size.
    pub at: f64,
    /// The measured value; absent where a search found no threshold.
    pub measured: Option<Interval>,
    /// The value that the closed form predicts, where it has one.
    pub predicted: Option<f64>,
}

/// The model that the planner recommends for a number of facts.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Recommendation {
    /// Facts, V.
    pub facts: f64,
    /// Sequence length, L.
    pub length: f64,
    /// Dimension, d.
    pub dim: f64,
    /// Parameters of the memory, d^2.
    pub parameters: f64,
    /// Samples, N.
    pub samples: f64,
    /// Expected rms error of the predicted accuracy; absent outside the sizes that were checked.
    pub error: Option<f64>,
}

/// Answers to all questions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Questions {
    /// Measured values.
    pub points: Vec<AnswerPoint>,
    /// Plans for real sizes.
    pub plans: Vec<Recommendation>,
    /// Accuracy of the plans.
    pub accuracy: f64,
    /// Most samples of the plans, per fact.
    pub per_fact: u64,
}

/// Models that differ in one size.
struct Place {
    size: &'static str,
    series: String,
    at: f64,
    settings: Settings,
}

pub fn run(study: &mut Study<'_, '_>) -> Result<Questions, StudyError> {
    let mut points = overlap(study)?;
    points.extend(product(study)?);
    points.extend(trigger(study)?);
    points.extend(mlp(study)?);
    points.extend(rounds(study)?);
    points.extend(length(study)?);
    let (accuracy, per_fact) = (PlanOptions::default().accuracy, 100);
    let recommend = |(facts, length)| {
        let samples = Some(per_fact * facts);
        recommend(&PlanOptions { facts, length, samples, trigger: Trigger::Keys, ..PlanOptions::default() })
    };
    let sizes = [(1000, 128), (20_000, 1024), (100_000, 1024), (1_000_000, 1024), (1_000_000, 4096)];
    let plans = sizes.map(recommend).into_iter().collect::<Result<Vec<_>, _>>()?;
    let plans = plans.into_iter().flatten().collect();
    Ok(Questions { points, plans, accuracy, per_fact })
}

fn recommend(options: &PlanOptions) -> Result<Option<Recommendation>, StudyError> {
    let Plan { request, cheapest, error, .. } = plan(&options.check()?);
    let found = cheapest.and_then(|row| Some((row.dim, row.parameters?, row.samples?)));
    Ok(found.map(|(dim, parameters, samples)| Recommendation {
        facts: request.facts,
        length: request.length,
        dim,
        parameters,
        samples,
        error,
    }))
}

/// Runs several seeds of every place and returns its measures beside the predicted ones.
fn measured(
    study: &mut Study<'_, '_>,
    question: ReaderQuestion,
    places: Vec<Place>,
    seeds: usize,
    measures: &[Measure],
) -> Result<Vec<AnswerPoint>, StudyError> {
    let configs = places.iter().map(|place| place.settings.clone().check());
    let configs: Vec<Config> = configs.collect::<Result<_, _>>()?;
    let cells: Vec<Config> =
        configs.iter().flat_map(|config| (0..seeds).map(|seed| config.repeat(seed))).collect();
    (study.say)(&format!("question {question}: {} runs", cells.len()));
    let outcomes = study.outcomes(&cells)?;
    let mut points = Vec::new();
    for ((Place { size, series, at, .. }, config), outcomes) in
        places.into_iter().zip(&configs).zip(outcomes.chunks(seeds))
    {
        let prediction = predict(config);
        for &measure in measures {
            let values: Vec<SampleMean> = outcomes.iter().map(|outcome| outcome.measures[measure]).collect();
            let facts = if measure.scale() == Mean::ShareOfFacts { config.vocab } else { usize::MAX };
            points.push(AnswerPoint {
                question,
                quantity: measure.label().into(),
                size: size.into(),
                series: series.clone(),
                at,
                measured: Some(share(&values, facts)),
                predicted: prediction.measures[measure],
            });
        }
    }
    Ok(points)
}

/// Overlap of embeddings and recall against d, with fixed and with learned embeddings.
fn overlap(study: &mut Study<'_, '_>) -> Result<Vec<AnswerPoint>, StudyError> {
    let (vocab, samples, steps, seeds) =
        study.scale.pick((64, 1024, 200, 4), (128, 4096, 400, 4), (256, 16_384, 800, 6));
    let dims = study.scale.pick([6, 8, 12, 16, 24], [8, 12, 16, 24, 32], [12, 16, 24, 32, 48]);
    (study.say)(&format!("fixed and learned embeddings, V = {vocab}"));
    let mut points = Vec::new();
    for (i, dim) in dims.into_iter().enumerate() {
        for (learned, series) in [(false, "fixed embeddings"), (true, "learned embeddings")] {
            let training = Training {
                rate: 0.03,
                schedule: Schedule::Cosine,
                train_embeddings: learned,
                ..Training::new(steps)
            };
            let settings = study.settings(Part::Questions, i, [vocab, dim, 8]);
            let config = Settings { samples, training: Some(training), ..settings }.check()?;
            let backend = study.backend;
            let found =
                backend.try_map(seeds, |seed| trained(&config.repeat(seed), &study.backend.alone()))?;
            let (overlaps, recalls): (Vec<SampleMean>, Vec<SampleMean>) = found.into_iter().unzip();
            for (quantity, value) in [
                ("mean squared cosine times d", number(&overlaps)),
                ("recall accuracy", share(&recalls, vocab)),
            ] {
                points.push(AnswerPoint {
                    question: ReaderQuestion::Overlap,
                    quantity: quantity.into(),
                    size: "dimension d".into(),
                    series: series.into(),
                    at: dim as f64,
                    measured: Some(value),
                    predicted: None,
                });
            }
        }
    }
    Ok(points)
}

/// The mean squared cosine of two input embeddings after training, times d, and the recall.
fn trained(config: &Config, backend: &Backend) -> Result<(SampleMean, SampleMean), RunError> {
    let Finish::Done(record, state) = train(config, &Inputs::default(), None, None, backend, &mut ())? else {
        return Err(Cancelled.into());
    };
    let overlap = match *state {
        AnyState::F32(state) => overlap_of(&state.network.model().embeddings.z_in, config.dim),
        AnyState::F64(state) => overlap_of(&state.network.model().embeddings.z_in, config.dim),
    };
    Ok((overlap, record.outcomes[0].measures[Measure::Accuracy]))
}

/// The mean over pairs of rows of the squared cosine, times the dimension.
fn overlap_of<T: Real>(rows: &[T], dim: usize) -> SampleMean {
    let rows: Vec<&[T]> = rows.chunks_exact(dim).collect();
    let mut sum = 0.0;
    for (i, a) in rows.iter().enumerate() {
        for b in &rows[..i] {
            sum += dot(a, b).powi(2) / (dot(a, a) * dot(b, b));
        }
    }
    let pairs = rows.len() * (rows.len() - 1) / 2;
    SampleMean { mean: dim as f64 * sum / pairs as f64, variance: 0.0, items: pairs }
}

/// Critical N of one step against L and V, with orthonormal and with random embeddings.
fn product(study: &mut Study<'_, '_>) -> Result<Vec<AnswerPoint>, StudyError> {
    let dim = study.scale.pick(64, 96, 128);
    let mut points = Vec::new();
    for embedding in [EmbeddingSettings::Gaussian, EmbeddingSettings::Orthonormal] {
        for vocab in [2 * dim, 4 * dim] {
            // Orthonormal vectors need a dimension for each token, the trigger and the end of the sequence.
            let dim = if embedding == EmbeddingSettings::Orthonormal { vocab + 2 } else { dim };
            for length in [2, 8, 32, 128] {
                let settings = study.settings(Part::Questions, 10 + points.len(), [vocab, dim, length]);
                let settings = Settings { embedding: embedding.clone(), ..settings };
                let finding = study.samples(settings, Measure::OneStepAccuracy)?;
                points.push(AnswerPoint {
                    question: ReaderQuestion::Product,
                    quantity: "critical N of one step".into(),
                    size: "sequence length L".into(),
                    series: format!("{}, V = {vocab}, d = {dim}", embedding.kind()),
                    at: length as f64,
                    measured: finding.observed(),
                    predicted: finding.predicted,
                });
            }
        }
    }
    Ok(points)
}

/// The cosine of the query of attention with the trigger, against N, L and the number of rounds.
fn trigger(study: &mut Study<'_, '_>) -> Result<Vec<AnswerPoint>, StudyError> {
    let (vocab, seeds) = study.scale.pick((128, 8), (256, 12), (512, 16));
    let [low, high] = study.scale.pick([32, 128], [64, 256], [64, 512]);
    let mut places = Vec::new();
    let mut place = |size, at: usize, dim, length, samples: usize, rounds| {
        let settings = study.settings(Part::Questions, 30 + places.len(), [vocab, dim, length]);
        let series = format!("d = {dim}");
        places.push(Place {
            size,
            series,
            at: at as f64,
            settings: Settings { samples, rounds, ..settings },
        });
    };
    for dim in [low, high] {
        for samples in [1, 4, 16, 64].map(|per_fact| per_fact * vocab) {
            place("samples N", samples, dim, 16, samples, 1);
        }
        for length in [4, 16, 64, 256] {
            place("sequence length L", length, dim, length, 16 * vocab, 1);
        }
        for rounds in 1..=4 {
            place("rounds", rounds, dim, 64, 16 * vocab, rounds);
        }
    }
    (study.say)(&format!("cosine of the query with the trigger, V = {vocab}"));
    let backend = study.backend;
    let mut points = Vec::new();
    for Place { size, series, at, settings } in places {
        let config = settings.check()?;
        let cosines = backend.try_map(seeds, |seed| cosine(&config.repeat(seed), &backend.alone()))?;
        points.push(AnswerPoint {
            question: ReaderQuestion::Trigger,
            quantity: "cosine of the query with the trigger".into(),
            size: size.into(),
            series,
            at,
            measured: Some(number(&cosines)),
            predicted: None,
        });
    }
    Ok(points)
}

fn cosine(config: &Config, backend: &Backend) -> Result<SampleMean, RunError> {
    let trained = Trained::<f64>::new(config, &Inputs::default(), backend, &())?;
    let (query, trigger) = (trained.model().query(&trained.w1), &trained.embeddings.z_trig);
    let mean = dot(&query, trigger) / (dot(&query, &query) * dot(trigger, trigger)).sqrt();
    Ok(SampleMean { mean, variance: 0.0, items: 2 })
}

/// Recall against the number of parameters of the memory, with and without an MLP.
fn mlp(study: &mut Study<'_, '_>) -> Result<Vec<AnswerPoint>, StudyError> {
    let (vocab, samples, seeds) = study.scale.pick((128, 8192, 4), (256, 32_768, 6), (512, 131_072, 6));
    let mut places = Vec::new();
    for (number, parameters) in (7..=13).map(|i| (1_usize << i) * vocab / 64).enumerate() {
        for (ratio, name) in [(1, "no MLP"), (2, "m = 2d"), (4, "m = 4d"), (8, "m = 8d")] {
            let dim = (parameters as f64 / f64::from(ratio)).sqrt().round() as usize;
            let inputs = ratio as usize * dim;
            let settings = study.settings(Part::Questions, 60 + number, [vocab, dim, 8]);
            let settings = Settings { samples, width: (ratio > 1).then_some(inputs), ..settings };
            let at = (dim * inputs) as f64;
            places.push(Place { size: "parameters of the memory", series: name.into(), at, settings });
        }
    }
    measured(study, ReaderQuestion::Mlp, places, seeds, &[Measure::Accuracy])
}

/// Lock rate and recall by round, for several numbers of samples.
fn rounds(study: &mut Study<'_, '_>) -> Result<Vec<AnswerPoint>, StudyError> {
    let (sizes, seeds) = study.scale.pick(([128, 64, 256], 8), ([128, 64, 256], 24), ([256, 96, 256], 24));
    let mut places = Vec::new();
    for (number, per_fact) in [4, 36, 144].into_iter().enumerate() {
        let samples = per_fact * sizes[0];
        for rounds in 1..=4 {
            // The same seeds for all rounds, which shows where a run goes.
            let settings = study.settings(Part::Questions, 70 + number, sizes);
            let settings = Settings { samples, rounds, ..settings };
            places.push(Place {
                size: "rounds",
                series: format!("N = {}", grouped(samples as f64)),
                at: rounds as f64,
                settings,
            });
        }
    }
    measured(study, ReaderQuestion::Rounds, places, seeds, &[Measure::LockRate, Measure::Accuracy])
}

/// Recall and lock rate where L passes V.
fn length(study: &mut Study<'_, '_>) -> Result<Vec<AnswerPoint>, StudyError> {
    let (vocab, dim, seeds) = study.scale.pick((64, 64, 8), (128, 96, 12), (256, 128, 12));
    let mut places = Vec::new();
    for samples in [16 * vocab, 256 * vocab] {
        for i in 0..7 {
            let length = (vocab / 8) << i;
            let settings = study.settings(Part::Questions, 80 + places.len(), [vocab, dim, length]);
            let (at, settings) = (length as f64 / vocab as f64, Settings { samples, ..settings });
            places.push(Place {
                size: "L / V",
                series: format!("N = {}", grouped(samples as f64)),
                at,
                settings,
            });
        }
    }
    measured(study, ReaderQuestion::Length, places, seeds, &[Measure::LockRate, Measure::Accuracy])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_of_known_vectors() {
        // Cosines 1, 0 and 0, whatever the lengths.
        let rows = [1.0, 0.0, 2.0, 0.0, 0.0, 5.0];
        assert!((overlap_of(&rows, 2).mean - 2.0 / 3.0).abs() < 1e-12);
    }
}
