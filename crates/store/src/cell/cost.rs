//! How long a cell takes, before it is run: for time estimates, for the order of work, and for shares of equal time.
//!
//! The passes of the early phase and of the evaluation, counted from the configuration, times unit costs of one thread in
//! nanoseconds. They are those of one machine (`cargo run --release -p superpose-lab --example costs` measures them);
//! another may be faster or slower as a whole, which changes no share. Only additions, products and quotients, so that
//! every machine deals the same cells to the same shard.

use superpose_core::config::{Activation, Config, EarlyRule, Embedding, Precision, Regime};
use superpose_core::evaluate::asks_all;
use superpose_core::noise::BUDGET_SEQUENCES;

/// A multiply-add inside a matrix product, f32.
const FMA: f64 = 0.026;
/// An entry of an embedding row picked by a token, added up or multiplied, f32.
const ENTRY: f64 = 0.13;
/// A table access by a token.
const ACCESS: f64 = 1.6;
/// A random token.
const TOKEN: f64 = 1.1;
/// A sample, whatever its length.
const SAMPLE: f64 = 36.0;
/// A normal random number.
const NORMAL: f64 = 11.0;
/// An exponential.
const EXPONENTIAL: f64 = 0.7;
/// What picking a row costs beside its entries, in entries.
const PICK: f64 = 16.0;
/// An activation that is piecewise linear or polynomial.
const CHEAP: f64 = 0.25;
/// An activation that takes an exponential or an error function.
const TRANSCENDENTAL: f64 = 10.0;
/// What one step of orthonormalisation costs an entry.
const ORTHONORMAL: f64 = 0.45;
/// A logit read.
const READ: f64 = 0.15;
/// A term of a triangular solution or factorisation, f64.
const SOLVE: f64 = 0.4;
/// A cell, whatever its sizes.
const CELL: f64 = 80_000.0;

/// Seconds that the cell takes on one thread, to about a factor of 2.
pub fn seconds(config: &Config, noise: bool) -> f64 {
    let real = if config.precision == Precision::F64 { 2.0 } else { 1.0 };
    let (fma, entry) = (FMA * real, ENTRY * real);
    let count = |size: usize| size as f64;
    let (n, l, d, p) =
        (count(config.samples), count(config.length), count(config.dim), count(config.inputs()));
    let (tokens, labels) = (count(config.token_count()), count(config.label_count()));
    let (vocab, test) = (count(config.vocab), count(config.test_samples));
    let m = config.width.map_or(0.0, count);

    let mut draw = (tokens + labels + m) * d * NORMAL;
    if config.embedding.kind() == Embedding::Orthonormal {
        draw += (tokens * tokens + labels * labels) * d * ORTHONORMAL;
    }
    let read = SAMPLE + TOKEN * l;
    // Through the MLP and, in step 2, back.
    let activation = match config.activation {
        Activation::Gelu | Activation::Tanh | Activation::Softplus => TRANSCENDENTAL,
        Activation::Relu | Activation::Abs | Activation::He2 | Activation::He3 | Activation::Identity => {
            CHEAP
        }
    };
    let forward = m * (d * fma + activation);
    let picked = l * (d + PICK) * entry;
    let products = labels * d * p * fma;
    let sums = 16.0 * d * p;

    // A pass over the samples in the limit: by tables or by rows, the cheaper.
    let tables = n * l * ACCESS * real + labels * tokens * d * fma;
    let rows = n * picked;
    let pass =
        n * (read + SAMPLE + forward) + products + sums + if m > 0.0 { rows } else { tables.min(rows) };
    let softmax = n * l * EXPONENTIAL;
    let rounds = count(config.rounds);
    let limit = pass + rounds * (2.0 * pass + softmax + n * (forward + m * d * fma));
    let train = match config.regime {
        Regime::Infinitesimal => limit,
        // Logits and residuals twice, in full unless the first-order form holds. Step 3 takes less where attention locks, which is
        // not known here.
        Regime::Exact => {
            // How long the rows of Z_out M1 are, squared: from the facts, and from finite data.
            let row = (1.0 + labels / d) / (labels * labels * l * l) + 1.0 / (d * n * l);
            let small = config.eta * config.eta * row <= 1.5e-8 * d;
            let linear = m == 0.0 && real == 1.0 && small && 16.0 * d * d <= n * labels;
            let each =
                if linear { 2.0 * d * d * fma } else { labels * (2.0 * (p + d) * fma + 2.0 * EXPONENTIAL) };
            let round = n * (2.0 * (read + forward) + each + d * p * fma + 3.0 * picked) + softmax;
            pass + rounds * round
        }
    };

    // The memory steps and that of placed attention: some 40 products of a matrix with its Gram matrix, or four factorisations and
    // the second moment of the features, all in 64 bits.
    let (small, wide, steps) = (d.min(p), 2.0 * FMA, rounds + 2.0);
    let rule = match config.early_rule {
        EarlyRule::Gradient => 0.0,
        EarlyRule::Sign => steps * d * p,
        EarlyRule::Muon => steps * 40.0 * small * d * p * wide,
        EarlyRule::Newton => {
            // Each of the two factors is inverted twice: to remove rounding errors, and with the ridge.
            let solve = 2.0 * (d + p) * (d * d + p * p) * SOLVE;
            let moment = n * (read + picked + forward + p * p * fma);
            steps * (solve + labels * d * d * wide) + (rounds + 1.0) * moment
        }
    };

    let asked = if asks_all(config) { vocab } else { test };
    let answer = forward + labels * (p * fma + READ);
    let recall = test * (read + SAMPLE + l * EXPONENTIAL + picked + answer);
    let placed = vocab * (forward + d * p * fma)
        + if config.regime == Regime::Exact { vocab * labels * (2.0 * p * fma + EXPONENTIAL) } else { 0.0 };
    let evaluate = recall + 2.0 * asked * answer + placed + 3.0 * products + n * SAMPLE;

    let again = if config.regime == Regime::Exact { limit } else { 0.0 };
    let queries = test.min(BUDGET_SEQUENCES as f64) * vocab * (p * fma + 8.0 * EXPONENTIAL);
    let budget = if noise && config.early_rule == EarlyRule::Gradient {
        1.5 * (again + 2.0 * pass + queries + 2.0 * vocab * d * d * fma)
    } else {
        0.0
    };
    // A step: scores and weights, values picked and their derivatives, logits and residuals; a reading now and then.
    let training = config.training.as_ref().map_or(0.0, |training| {
        let (h, batch) = (count(training.heads), count(training.batch_size(config.samples)));
        let embeddings = if training.train_embeddings { labels * d * fma + 4.0 * l * d * entry } else { 0.0 };
        let logits = labels * ((h * p + d) * fma + EXPONENTIAL);
        let through = 2.0 * h * (forward + d * p * fma + picked + l * (ACCESS + EXPONENTIAL));
        let step = batch * (read + through + logits + embeddings) + 16.0 * h * d * (p + 4.0 * d);
        let steps = count(training.steps);
        let readings = steps.min(steps / count(training.record_every()) + 1.0);
        steps * step + readings * (recall + asked * answer)
    });
    1e-9 * (CELL + draw + train + rule + evaluate + budget + training)
}
