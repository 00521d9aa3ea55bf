//! What a logit is made of.
//!
//! With attention on the informative position the logit of label j for query v is `sum_w f_w A(j, w) K(w, v)`
//! (theory section 4). Writing `K = kappa_v + Delta(w, v) + xi_v [w = v]` and `f_w = p_w + delta_w`, with p the
//! token distribution (1/V when uniform), splits it into the parts below; with an MLP, Delta and xi are split once
//! more into their mean over `W_in` and the rest. The leak is what the trained attention changes.

use crate::backend::{Backend, Real, View, product};
use crate::early_phase::EarlyPhase;
use crate::model::{Model, Readout, Workspace, block_rows, centred};
use crate::task::{Block, Samples, Task};

use super::Budget;
use super::kernel::{Hermite, Quadrature};

/// Parts of the logits of a few test sequences: a row per sequence, a column per label, 0 where a part does not
/// apply. They add up to the logits of the trained model.
#[derive(Clone, Debug, Default)]
pub struct LogitParts<T> {
    /// At the right label: `(xi f_v + kappa delta_v) A(j, v)`.
    pub signal: Vec<T>,
    /// `kappa sum_w f_w A(j, w)`, without what the signal has of it.
    pub mean_bias: Vec<T>,
    /// `sum_w p_w Delta A`
    pub interference: Vec<T>,
    /// `sum_w delta_w Delta A`
    pub gradient_noise: Vec<T>,
    /// At wrong labels: `xi f_v A(j, v)`.
    pub output_overlap: Vec<T>,
    /// The part of Delta and xi that a finite width adds.
    pub mlp_noise: Vec<T>,
    /// Trained attention minus attention placed.
    pub attention_leak: Vec<T>,
}

/// Mean squares of the parts over up to 256 test sequences: the signal at the right label, the others at wrong ones.
pub fn logit_budget<T: Real>(
    model: &Model<'_, T>,
    task: &Task,
    phase: &EarlyPhase<T>,
    frequency: &[f64],
    test: &dyn Samples,
    backend: &Backend,
) -> Budget {
    const SEQUENCES: usize = 256;
    const AT_ONCE: usize = 32;
    let count = test.count().min(SEQUENCES);
    let parts = backend.map(count.div_ceil(AT_ONCE), |i| {
        let ids: Vec<u32> = ((i * AT_ONCE) as u32..((i + 1) * AT_ONCE).min(count) as u32).collect();
        let mut block = Block::default();
        test.fill(&ids, &mut block);
        squares(&split_logits(model, task, phase, frequency, &block), &block.labels, model.labels())
    });
    let mut sums = [0.0; 7];
    for part in &parts {
        sums.iter_mut().zip(part).for_each(|(a, b)| *a += b);
    }
    let right = 1.0 / count as f64;
    let wrong = right / (model.labels() - 1).max(1) as f64;
    Budget {
        signal: Some(sums[0] * right),
        mean_bias: Some(sums[1] * wrong),
        interference: Some(sums[2] * wrong),
        gradient_noise: Some(sums[3] * wrong),
        output_overlap: Some(sums[4] * wrong),
        mlp_noise: Some(sums[5] * wrong),
        attention_leak: Some(sums[6] * wrong),
    }
}

/// Sums of squares: of the signal at the right labels, of the others at the wrong ones.
fn squares<T: Real>(parts: &LogitParts<T>, right: &[u32], labels: usize) -> [f64; 7] {
    let noise = |part: &[T]| {
        let rows = part.chunks_exact(labels).zip(right);
        rows.flat_map(|(row, &right)| row.iter().enumerate().filter(move |(j, _)| *j != right as usize))
            .map(|(_, x)| x.to_f64() * x.to_f64())
            .sum()
    };
    [
        parts.signal.iter().map(|x| x.to_f64() * x.to_f64()).sum(),
        noise(&parts.mean_bias),
        noise(&parts.interference),
        noise(&parts.gradient_noise),
        noise(&parts.output_overlap),
        noise(&parts.mlp_noise),
        noise(&parts.attention_leak),
    ]
}

/// Splits the logits of the given test sequences. Runs on the caller's thread.
pub fn split_logits<T: Real>(
    model: &Model<'_, T>,
    task: &Task,
    phase: &EarlyPhase<T>,
    frequency: &[f64],
    block: &Block,
) -> LogitParts<T> {
    let backend = Backend::single();
    let (rows, vocab, labels, dim) = (block.len(), task.facts().len(), model.labels(), model.dim());
    let queries: Vec<usize> = (0..rows).map(|b| block.informative(b).min(vocab - 1)).collect();
    let probability: Vec<f64> = (0..vocab).map(|w| task.informative().probability(w)).collect();
    let z_centred = centred(&model.embeddings.z_out, dim);
    let fact = |w: usize| &z_centred[task.facts()[w] as usize * dim..][..dim];

    let kernel = Kernel::new(model, &queries, vocab);
    let mut coefficients = Coefficients::new(rows, vocab);
    let mut own = vec![[0.0; 3]; rows];
    for (b, &v) in queries.iter().enumerate() {
        let (full, wide) = kernel.row(b);
        let mean_except = |row: &[f64]| (row.iter().sum::<f64>() - row[v]) / (vocab - 1) as f64;
        let (kappa, kappa_wide) = (mean_except(full), mean_except(wide));
        for w in (0..vocab).filter(|&w| w != v) {
            let smooth = wide[w] - kappa_wide;
            let rough = full[w] - kappa - smooth;
            let at = b * vocab + w;
            coefficients.interference[at] = T::from_f64(probability[w] * smooth);
            coefficients.gradient_noise[at] = T::from_f64((frequency[w] - probability[w]) * smooth);
            coefficients.mlp_noise[at] = T::from_f64(frequency[w] * rough);
        }
        let xi = wide[v] - kappa_wide;
        coefficients.mlp_noise[b * vocab + v] = T::from_f64(frequency[v] * (full[v] - kappa - xi));
        own[b] = [kappa, xi * frequency[v], kappa * (frequency[v] - probability[v])];
    }

    // Every part is Z_out times a weighted sum of centred output embeddings.
    let mut facts = Vec::with_capacity(vocab * dim);
    (0..vocab).for_each(|w| facts.extend_from_slice(fact(w)));
    let facts = View::new(&facts, vocab, dim);
    let spread = |coefficients: &[T]| {
        let mut sums = vec![T::ZERO; rows * dim];
        product(&mut sums, View::new(coefficients, rows, vocab), facts, false);
        let mut logits = vec![T::ZERO; rows * labels];
        product(&mut logits, View::new(&sums, rows, dim), model.z_out().t(), false);
        logits
    };
    let mut one_hot = vec![T::ZERO; rows * vocab];
    queries.iter().enumerate().for_each(|(b, &v)| one_hot[b * vocab + v] = T::ONE);
    let own_fact = spread(&one_hot);
    let counts: Vec<T> = frequency.iter().map(|&f| T::from_f64(f)).cycle().take(rows * vocab).collect();
    let shared = spread(&counts);

    let zero = || vec![T::ZERO; rows * labels];
    let mut parts = LogitParts {
        signal: zero(),
        mean_bias: zero(),
        interference: spread(&coefficients.interference),
        gradient_noise: spread(&coefficients.gradient_noise),
        output_overlap: zero(),
        mlp_noise: spread(&coefficients.mlp_noise),
        attention_leak: trained_logits(model, phase, block, &backend),
    };
    for (b, &[kappa, kept, counted]) in own.iter().enumerate() {
        let (kappa, kept, counted) = (T::from_f64(kappa), T::from_f64(kept), T::from_f64(counted));
        for at in b * labels..(b + 1) * labels {
            parts.mean_bias[at] = kappa * shared[at];
            parts.output_overlap[at] = kept * own_fact[at];
        }
        let right = b * labels + task.facts()[queries[b]] as usize;
        parts.signal[right] = (kept + counted) * own_fact[right];
        parts.mean_bias[right] -= counted * own_fact[right];
        parts.output_overlap[right] = T::ZERO;
    }
    for at in 0..rows * labels {
        let placed = parts.signal[at]
            + parts.mean_bias[at]
            + parts.interference[at]
            + parts.gradient_noise[at]
            + parts.output_overlap[at]
            + parts.mlp_noise[at];
        parts.attention_leak[at] -= placed;
    }
    parts
}

struct Coefficients<T> {
    interference: Vec<T>,
    gradient_noise: Vec<T>,
    mlp_noise: Vec<T>,
}

impl<T: Real> Coefficients<T> {
    fn new(rows: usize, vocab: usize) -> Self {
        let zero = || vec![T::ZERO; rows * vocab];
        Coefficients { interference: zero(), gradient_noise: zero(), mlp_noise: zero() }
    }
}

fn trained_logits<T: Real>(
    model: &Model<'_, T>,
    phase: &EarlyPhase<T>,
    block: &Block,
    backend: &Backend,
) -> Vec<T> {
    let mut work = Workspace::default();
    work.attend(model, &phase.attention(model, backend), block);
    work.activate(model);
    let readout = Readout::new(model, &phase.m2, block.len(), backend);
    let mut logits = Vec::new();
    readout.logits(model, work.features(model), &mut Vec::new(), &mut logits);
    logits
}

/// `K(w, v)` for the queries v against all facts w: as it is, and its mean over `W_in`.
struct Kernel {
    vocab: usize,
    full: Vec<f64>,
    wide: Option<Vec<f64>>,
}

impl Kernel {
    fn new<T: Real>(model: &Model<'_, T>, queries: &[usize], vocab: usize) -> Kernel {
        let (dim, inputs) = (model.dim(), model.inputs());
        let mut asked = Workspace::default();
        asked.place(model, queries.iter().copied());
        asked.activate(model);
        let expansion = model.w_in().map(|_| {
            let quadrature = Quadrature::new();
            move |key: &[T]| expand(&quadrature, model, key)
        });
        let expand_all = |keys: &[T]| -> Vec<(f64, Hermite)> {
            expansion.as_ref().map_or_else(Vec::new, |expand| keys.chunks_exact(dim).map(expand).collect())
        };
        let asked_wide = expand_all(&asked.head);

        let mut full = vec![0.0; queries.len() * vocab];
        let mut wide = expansion.as_ref().map(|_| full.clone());
        let mut keys = Workspace::default();
        let rows = block_rows(inputs, 1);
        let mut entries = Vec::new();
        for first in (0..vocab).step_by(rows) {
            let tokens = first..(first + rows).min(vocab);
            let size = tokens.len();
            keys.place(model, tokens);
            keys.activate(model);
            entries.resize(queries.len() * size, T::ZERO);
            product(&mut entries, asked.features(model), keys.features(model).t(), false);
            for (b, row) in entries.chunks_exact(size).enumerate() {
                let full = &mut full[b * vocab + first..][..size];
                full.iter_mut().zip(row).for_each(|(k, x)| *k = x.to_f64());
            }
            if let Some(wide) = &mut wide {
                let keys_wide = expand_all(&keys.head);
                let asked_heads = View::new(&asked.head, queries.len(), dim);
                product(&mut entries, asked_heads, View::new(&keys.head, size, dim).t(), false);
                for (b, row) in entries.chunks_exact(size).enumerate() {
                    let (norm, hermite) = &asked_wide[b];
                    for (i, (x, (other_norm, other))) in row.iter().zip(&keys_wide).enumerate() {
                        let cosine = (x.to_f64() / (norm * other_norm)).clamp(-1.0, 1.0);
                        wide[b * vocab + first + i] = hermite.kernel(other, cosine);
                    }
                }
            }
        }
        Kernel { vocab, full, wide }
    }

    fn row(&self, b: usize) -> (&[f64], &[f64]) {
        let part = b * self.vocab..(b + 1) * self.vocab;
        let full = &self.full[part.clone()];
        (full, self.wide.as_ref().map_or(full, |wide| &wide[part]))
    }
}

fn expand<T: Real>(quadrature: &Quadrature, model: &Model<'_, T>, key: &[T]) -> (f64, Hermite) {
    let norm = crate::model::dot(key, key).sqrt();
    (norm.max(f64::MIN_POSITIVE), quadrature.expand(model.activation, norm))
}
