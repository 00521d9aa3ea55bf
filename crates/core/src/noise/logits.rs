//! Decomposition of a logit into signal and noise terms.
//!
//! With attention on the informative position the logit of label j for query v is `sum_w f_w A(j, w) K(w, v)` (theory: setting).
//! Writing `K = kappa_v + Delta(w, v) + xi_v [w = v]` and `f_w = p_w + delta_w`, with p the token distribution (1/V when
//! uniform), splits it:
//!
//! | part | at label j |
//! |---|---|
//! | signal | right label only: `(xi f_v + kappa delta_v) A(j, v)` |
//! | mean bias | `kappa sum_w f_w A(j, w)`, at the right label without `kappa delta_v A(j, v)` |
//! | interference | `sum_w p_w Delta A` |
//! | gradient noise | `sum_w delta_w Delta A` |
//! | output overlap | wrong labels only: `xi f_v A(j, v)` |
//! | MLP noise | the logit from Delta and xi, minus the one from their means over `W_in` |
//! | attention leak | logit with trained attention minus the one with placed attention |

use crate::backend::{Backend, Real, Result, View, product};
use crate::early_phase::EarlyPhase;
use crate::model::{Attention, Model, Readout, Workspace, block_rows, centred};
use crate::numeric::dot;
use crate::task::{Block, Samples, Task};

use super::kernel::{Hermite, Quadrature};
use super::{Budget, Parts};

/// Sequences of one parallel task.
const AT_ONCE: usize = 32;

/// Test sequences of a budget, at most.
pub const BUDGET_SEQUENCES: usize = 256;

/// Mean squares of the parts over up to [`BUDGET_SEQUENCES`] test sequences: the signal at the right label, the others at wrong ones.
pub fn logit_budget<T: Real>(
    model: &Model<'_, T>,
    task: &Task,
    phase: &EarlyPhase<T>,
    frequency: &[f64],
    test: &dyn Samples,
    backend: &Backend,
) -> Result<Budget> {
    let count = test.count().min(BUDGET_SEQUENCES);
    let split = Split::new(model, task, phase, frequency, backend)?;
    let sums = backend.try_map(count.div_ceil(AT_ONCE), |i| {
        let ids: Vec<u32> = ((i * AT_ONCE) as u32..((i + 1) * AT_ONCE).min(count) as u32).collect();
        let mut block = Block::default();
        test.fill(&ids, &mut block);
        let parts = split.parts(&block)?;
        let mut sums = parts.map(|part| wrong_squares(part, &block.labels, model.labels()));
        sums.signal = parts.signal.iter().map(|x| x.to_f64() * x.to_f64()).sum();
        Ok(sums)
    })?;
    let total = sums.iter().fold(Parts::default(), |total: Parts<f64>, sum| total.zip(sum, |a, b| a + b));
    let right = 1.0 / count as f64;
    let wrong = right / (model.labels() - 1).max(1) as f64;
    let mut budget = total.map(|sum| Some(sum * wrong));
    budget.signal = Some(total.signal * right);
    Ok(budget)
}

/// Parts of the logits of all samples, as [`split_logits`]: for each sample a row per part, in the order of [`Parts::named`].
///
/// # Errors
/// When the backend's token was cancelled.
pub fn logit_parts<T: Real>(
    model: &Model<'_, T>,
    task: &Task,
    phase: &EarlyPhase<T>,
    frequency: &[f64],
    samples: &dyn Samples,
    backend: &Backend,
) -> Result<Vec<T>> {
    let (count, labels) = (samples.count(), model.labels());
    let split = Split::new(model, task, phase, frequency, backend)?;
    let blocks = backend.try_map(count.div_ceil(AT_ONCE), |i| {
        let ids: Vec<u32> = ((i * AT_ONCE) as u32..((i + 1) * AT_ONCE).min(count) as u32).collect();
        let mut block = Block::default();
        samples.fill(&ids, &mut block);
        let parts = split.parts(&block)?;
        let rows = (0..ids.len()).flat_map(|b| {
            parts.named().into_iter().flat_map(move |(_, part)| part[b * labels..][..labels].iter().copied())
        });
        Ok(rows.collect::<Vec<T>>())
    })?;
    Ok(blocks.concat())
}

fn wrong_squares<T: Real>(part: &[T], right: &[u32], labels: usize) -> f64 {
    let rows = part.chunks_exact(labels).zip(right);
    rows.flat_map(|(row, &right)| row.iter().enumerate().filter(move |(j, _)| *j != right as usize))
        .map(|(_, x)| x.to_f64() * x.to_f64())
        .sum()
}

/// Parts of the logits of the given test sequences: a row per sequence, a column per label. They add up to the
/// logits of the trained model.
pub fn split_logits<T: Real>(
    model: &Model<'_, T>,
    task: &Task,
    phase: &EarlyPhase<T>,
    frequency: &[f64],
    block: &Block,
) -> Result<Parts<Vec<T>>> {
    Split::new(model, task, phase, frequency, &Backend::single())?.parts(block)
}

struct Split<'a, T> {
    model: &'a Model<'a, T>,
    task: &'a Task,
    frequency: &'a [f64],
    probability: Vec<f64>,
    m2: &'a [T],
    attention: Attention<T>,
    /// Centred output embedding of each fact.
    facts: Vec<T>,
    /// `sum_w f_w A(j, w)` for every label.
    shared: Vec<T>,
}

impl<'a, T: Real> Split<'a, T> {
    fn new(
        model: &'a Model<'a, T>,
        task: &'a Task,
        phase: &'a EarlyPhase<T>,
        frequency: &'a [f64],
        backend: &Backend,
    ) -> Result<Self> {
        let (dim, vocab) = (model.dim(), task.facts().len());
        let centred = centred(&model.embeddings.z_out, dim, backend)?;
        let rows = task.facts().iter().map(|&fact| &centred[fact as usize * dim..][..dim]);
        let facts = rows.flatten().copied().collect();
        let mut split = Split {
            model,
            task,
            frequency,
            probability: (0..vocab).map(|w| task.informative().probability(w)).collect(),
            m2: &phase.m2,
            attention: phase.attention(model, backend)?,
            facts,
            shared: Vec::new(),
        };
        split.shared = split.spread(&frequency.iter().map(|&f| T::from_f64(f)).collect::<Vec<T>>());
        Ok(split)
    }

    /// `Z_out` times weighted sums of the facts' centred output embeddings: a row of weights, a row of logits.
    fn spread(&self, weights: &[T]) -> Vec<T> {
        let (dim, vocab) = (self.model.dim(), self.task.facts().len());
        let rows = weights.len() / vocab;
        let mut sums = vec![T::ZERO; rows * dim];
        product(&mut sums, View::new(weights, rows, vocab), View::new(&self.facts, vocab, dim), false);
        self.logits(&sums)
    }

    /// `Z_out` times every row.
    fn logits(&self, rows: &[T]) -> Vec<T> {
        let count = rows.len() / self.model.dim();
        let mut logits = vec![T::ZERO; count * self.model.labels()];
        product(&mut logits, View::new(rows, count, self.model.dim()), self.model.z_out().t(), false);
        logits
    }

    fn parts(&self, block: &Block) -> Result<Parts<Vec<T>>> {
        let (rows, vocab, labels, dim) =
            (block.len(), self.task.facts().len(), self.model.labels(), self.model.dim());
        let queries: Vec<usize> = (0..rows).map(|b| block.informative(b)).collect();
        let kernel = Kernel::new(self.model, &queries, vocab);

        let zero = || vec![T::ZERO; rows * vocab];
        let (mut interference, mut gradient_noise, mut mlp_noise) = (zero(), zero(), zero());
        let mut own = vec![[T::ZERO; 3]; rows];
        for (b, &v) in queries.iter().enumerate() {
            let (full, wide) = kernel.row(b);
            let mean_except = |row: &[f64]| (row.iter().sum::<f64>() - row[v]) / (vocab - 1) as f64;
            let (kappa, kappa_wide) = (mean_except(full), mean_except(wide));
            let (f, p) = (self.frequency, &self.probability);
            for w in (0..vocab).filter(|&w| w != v) {
                let smooth = wide[w] - kappa_wide;
                let rough = full[w] - kappa - smooth;
                let at = b * vocab + w;
                interference[at] = T::from_f64(p[w] * smooth);
                gradient_noise[at] = T::from_f64((f[w] - p[w]) * smooth);
                mlp_noise[at] = T::from_f64(f[w] * rough);
            }
            let xi = wide[v] - kappa_wide;
            mlp_noise[b * vocab + v] = T::from_f64(f[v] * (full[v] - kappa - xi));
            own[b] = [kappa, xi * f[v], kappa * (f[v] - p[v])].map(T::from_f64);
        }

        let own_facts: Vec<T> =
            queries.iter().flat_map(|&v| &self.facts[v * dim..][..dim]).copied().collect();
        let own_fact = self.logits(&own_facts);
        let zero = || vec![T::ZERO; rows * labels];
        let mut parts = Parts {
            signal: zero(),
            mean_bias: zero(),
            interference: self.spread(&interference),
            gradient_noise: self.spread(&gradient_noise),
            output_overlap: zero(),
            mlp_noise: self.spread(&mlp_noise),
            attention_leak: zero(),
        };
        for (b, &[kappa, kept, counted]) in own.iter().enumerate() {
            for (j, at) in (b * labels..(b + 1) * labels).enumerate() {
                parts.mean_bias[at] = kappa * self.shared[j];
                parts.output_overlap[at] = kept * own_fact[at];
            }
            let right = b * labels + self.task.facts()[queries[b]] as usize;
            parts.signal[right] = (kept + counted) * own_fact[right];
            parts.mean_bias[right] -= counted * own_fact[right];
            parts.output_overlap[right] = T::ZERO;
        }
        let trained = self.trained_logits(block)?;
        parts.attention_leak = (0..rows * labels)
            .map(|at| trained[at] - parts.named()[..6].iter().map(|(_, part)| part[at]).sum::<T>())
            .collect();
        Ok(parts)
    }

    fn trained_logits(&self, block: &Block) -> Result<Vec<T>> {
        let mut work = Workspace::default();
        work.attend(self.model, &self.attention, block);
        work.activate(self.model);
        let readout = Readout::new(self.model, self.m2, block.len(), &Backend::single())?;
        let mut logits = Vec::new();
        readout.logits(work.features(self.model), &mut Vec::new(), &mut logits);
        Ok(logits)
    }
}

/// `K(w, v)` for the queries v and all facts w, and its mean over `W_in`.
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
        let quadrature = model.w_in().map(|_| Quadrature::new());
        let expand_all = |keys: &[T]| -> Vec<(f64, Hermite)> {
            let expand = |key: &[T]| quadrature.as_ref().map(|quadrature| expand(quadrature, model, key));
            keys.chunks_exact(dim).filter_map(expand).collect()
        };
        let asked_wide = expand_all(&asked.head);

        let mut full = vec![0.0; queries.len() * vocab];
        let mut wide = quadrature.as_ref().map(|_| full.clone());
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
    let norm = dot(key, key).sqrt();
    (norm.max(f64::MIN_POSITIVE), quadrature.expand(model.activation, norm))
}
