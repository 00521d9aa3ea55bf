//! States, proposals and batches of either precision, for observers that do not depend on it.

use superpose_core::backend::Real;
use superpose_core::train::{Proposal, Scored, State};
use superpose_tensors::Element;

/// Declares an enum over both precisions.
macro_rules! either {
    ($(#[$meta:meta])* $name:ident $([$($life:lifetime),+])? of $kind:ty, $other:ty) => {
        $(#[$meta])*
        pub enum $name $(<$($life),+>)? {
            /// 32 bits.
            F32($kind),
            /// 64 bits.
            F64($other),
        }
    };
}

either! {
    /// A network during or after training.
    #[derive(Clone)]
    AnyState of State<f32>, State<f64>
}
either! {
    /// A step before it is taken.
    AnyProposal['a, 'b] of &'a mut Proposal<'b, f32>, &'a mut Proposal<'b, f64>
}
either! {
    /// The logits of a batch, to which the observer adds a loss.
    AnyScored['a, 'b] of &'a mut Scored<'b, f32>, &'a mut Scored<'b, f64>
}

/// A floating-point type that runs are trained in.
pub trait Precise: Real + Element {
    /// The state of this type as one of either.
    fn state(state: State<Self>) -> AnyState;
    /// The proposal of this type as one of either.
    fn proposal<'a, 'b>(proposal: &'a mut Proposal<'b, Self>) -> AnyProposal<'a, 'b>;
    /// The batch of this type as one of either.
    fn scored<'a, 'b>(scored: &'a mut Scored<'b, Self>) -> AnyScored<'a, 'b>;
}

macro_rules! precise {
    ($kind:ty, $variant:ident) => {
        impl Precise for $kind {
            fn state(state: State<Self>) -> AnyState {
                AnyState::$variant(state)
            }
            fn proposal<'a, 'b>(proposal: &'a mut Proposal<'b, Self>) -> AnyProposal<'a, 'b> {
                AnyProposal::$variant(proposal)
            }
            fn scored<'a, 'b>(scored: &'a mut Scored<'b, Self>) -> AnyScored<'a, 'b> {
                AnyScored::$variant(scored)
            }
        }
    };
}

precise!(f32, F32);
precise!(f64, F64);
