//! Learning-rate schedules.

use crate::config::{Schedule, Training};

impl Training {
    /// The learning rate of a step, counted from 0.
    pub fn rate_at(&self, step: usize) -> f64 {
        self.rate * self.schedule.share(step as u64, self.steps as u64)
    }
}

impl Schedule {
    /// The factor of the rate at step `step` of `steps`, counted from 0.
    pub fn share(self, step: u64, steps: u64) -> f64 {
        match self {
            Schedule::Constant => 1.0,
            // libm's cosine: the same bits on every machine.
            Schedule::Cosine => {
                0.5 * (1.0 + libm::cos(std::f64::consts::PI * (step as f64 / steps.max(1) as f64)))
            }
        }
    }
}
