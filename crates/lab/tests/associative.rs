//! Cancellation and memory limits of experiments on associative memories.

use superpose_associative::{MemorySettings, Rule};
use superpose_core::backend::{Backend, CancelToken};
use superpose_lab::associative::{MemoryError, bytes, check_room, run};

#[test]
fn run_stops_between_repeats() {
    let config = MemorySettings { facts: 20, dim: 16, repeats: 200, ..MemorySettings::default() };
    let config = config.check().unwrap();
    let (token, mut heard) = (CancelToken::new(), Vec::new());
    let stopped = run(&config, &Backend::single().with_cancel(token.clone()), &mut |done| {
        heard.push(done);
        token.cancel();
    });
    assert!(matches!(stopped, Err(MemoryError::Cancelled(_))));
    assert_eq!(heard.len(), 1);
    assert!(heard[0] < 200);
}

#[test]
fn memories_that_do_not_fit_are_rejected() {
    let settings = MemorySettings::default();
    assert!(check_room(&settings, 2, 1e9).is_ok());
    let refused = check_room(&settings, 2, 1e3).unwrap_err().to_string();
    assert!(refused.starts_with("facts = 100: needs about "), "{refused}");
    // A batch is held as the numbers of its facts.
    let trained = |batch| MemorySettings { rule: Rule::Trained, batch: Some(batch), ..settings.clone() };
    assert_eq!(bytes(&trained(1 << 20), 2) - bytes(&trained(1), 2), 8.0 * ((1 << 20) - 1) as f64);
}
