//! Training beyond the early phase: the model with all trainable tensors, its gradients, optimisers and schedules, and the loop
//! that records the trajectory.

mod activations;
mod gradient;
mod learner;
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
pub use learner::{Counters, CpuLearner, Learner, State};
pub use network::{Network, Tensor};
pub use optimiser::{AdamFactors, MUON_MIN_NORM, MUON_ROUND, MUON_ROUNDS, Moments, Update, is_matrix};
pub use positions::turns;
pub use reading::{Reading, TrajectoryPoint, read};
pub use start::warm_start;
pub use trainer::{Diverged, End, Event, Proposal, Scored, TrainError, Trainer};
