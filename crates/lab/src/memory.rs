//! How much memory a run takes, before it takes it.

use superpose_core::config::{Config, Embedding, Precision, Regime};

use crate::run::RunError;

/// An estimate of a run's peak memory in bytes, in floating point so that absurd sizes do not overflow.
/// It counts what grows with the sizes; a few megabytes for the program itself come on top.
pub fn run_bytes(config: &Config, threads: usize, stored_samples: bool, export: bool) -> f64 {
    let real = match config.precision {
        Precision::F32 => 4.0,
        Precision::F64 => 8.0,
    };
    let (n, l) = (config.samples as f64, config.length as f64);
    let (d, p) = (config.dim as f64, config.inputs() as f64);
    let (tokens, labels) = (config.token_count() as f64, config.label_count() as f64);
    let width = config.width.map_or(0.0, |width| width as f64);
    let threads = threads as f64;

    let mut embeddings = (tokens + 2.0 * labels + width) * d * real;
    if config.embedding == Embedding::Orthonormal {
        embeddings += (tokens + labels) * d * 8.0;
    }
    let folded = labels * p * real;
    let matrices = (3.0 * real + 16.0 * 8.0) * d * p;
    // A block of 128 to 512 samples per thread: tokens, weights and dots; features; logits when exact or testing.
    let rows = (2_f64.powi(18) / labels.max(p)).clamp(128.0, 512.0).min((2_f64.powi(20) / l).max(1.0));
    let block = rows * (l * (8.0 + 2.0 * real) + (labels + 3.0 * p + 3.0 * d) * real);
    let tables = 64.0 * tokens * (8.0 + real) + 16.0 * tokens * 8.0;
    // The budget splits 32 sequences at a time.
    let budget = 32.0 * (tokens * (16.0 + 5.0 * real) + 9.0 * labels * real) + tokens * d * real;
    let index = 8.0 * n + 8.0 * tokens;
    let exact = if config.regime == Regime::Exact { folded } else { 0.0 };
    let mut total = embeddings + folded + exact + matrices + index + threads * (block + tables + budget);
    if stored_samples || export {
        total += n * l * 8.0;
    }
    if export {
        total += n * l * 12.0 + d * d * real;
    }
    total
}

/// Refuses a run that would take more memory than is available.
pub fn check(
    config: &Config,
    threads: usize,
    stored: bool,
    export: bool,
    available: f64,
) -> Result<(), RunError> {
    let needed = run_bytes(config, threads, stored, export);
    if needed <= available {
        return Ok(());
    }
    Err(RunError::TooLarge {
        needed,
        available,
        what: if export || stored {
            "samples, length, vocab, dim and width"
        } else {
            "vocab, dim, width and samples"
        },
    })
}

/// A number of bytes for people.
pub fn readable(bytes: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let power = ((bytes.max(1.0).log10() / 3.0) as usize).min(units.len() - 1);
    let value = bytes / 1000_f64.powi(power as i32);
    if value < 10.0 { format!("{value:.1} {}", units[power]) } else { format!("{value:.0} {}", units[power]) }
}
