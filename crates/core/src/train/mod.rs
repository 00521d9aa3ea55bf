//! Training beyond the early phase: the model with all trainable tensors, its gradients, optimisers and schedules, and the loop
//! that records the trajectory.

mod activations;
mod gradient;
mod network;
mod optimiser;
mod pass;
mod positions;
mod reading;
mod schedule;
mod scores;
mod start;
mod trainer;

pub use activations::{Activation, activations, logits};
pub use gradient::{Gradient, gradient, gradient_by_logits, loss};
pub use network::{Network, Tensor};
pub use optimiser::{Moments, Update};
pub use reading::{Reading, TrajectoryPoint, read};
pub use start::warm_start;
pub use trainer::{Counters, Diverged, End, Event, Proposal, Scored, State, TrainError, Trainer};
