//! Time and memory of the three steps on the first GPU, at the sizes of the book's table.

use std::time::Instant;

use superpose_core::backend::{CancelToken, Device, Problem, Real, Solver};
use superpose_core::config::{Regime, Settings};
use superpose_core::task::Task;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = superpose_cuda::open(0)?;
    let cancel = CancelToken::new();
    for (vocab, samples, dim, length) in
        [(512, 8192, 64, 16), (1024, 65_536, 128, 64), (4096, 131_072, 256, 64)]
    {
        for (regime, eta) in [(Regime::Infinitesimal, 1.0), (Regime::Exact, 1.0), (Regime::Exact, 1000.0)] {
            let config =
                Settings { vocab, samples, dim, length, regime, eta, ..Settings::default() }.check()?;
            report::<f32>(&*device, &config, &cancel, 10)?;
        }
    }
    let config =
        Settings { vocab: 100_000, dim: 1024, samples: 2_000_000, length: 64, ..Settings::default() };
    report::<f32>(&*device, &config.check()?, &cancel, 2)?;
    Ok(())
}

fn report<T: Real>(
    device: &dyn Device,
    config: &superpose_core::Config,
    cancel: &CancelToken,
    repeat: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let task = Task::new(config);
    let problem = Problem { config, task: &task, embeddings: None, stored: None, cancel, observe: &|_| {} };
    let solver: &dyn Solver<T> = T::solver(device);
    let cost = solver.cost(&problem, repeat)?;
    let started = Instant::now();
    solver.solve(&problem)?;
    println!(
        "V {} N {} d {} L {} {} eta {}: train {:.3} ms, {:.3} GiB; with drawing and evaluation {:.3} ms; estimate {:.3} GiB",
        config.vocab,
        config.samples,
        config.dim,
        config.length,
        config.regime,
        config.eta,
        cost.seconds * 1e3,
        cost.bytes / 1024f64.powi(3),
        started.elapsed().as_secs_f64() * 1e3,
        device.needs(config, false) / 1024f64.powi(3),
    );
    Ok(())
}
