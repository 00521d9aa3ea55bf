//! Training for as long as one likes: optimisers and schedules.

mod optimiser;
mod schedule;

pub use optimiser::{Moments, Optimiser, Update};
pub use schedule::Schedule;
