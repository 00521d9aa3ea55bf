//! Statistics of the kernel `K(w, v) = psi(k_w) . psi(k_v)`, the similarity of two facts (theory: memory).
//!
//! `K = kappa_v + Delta(w, v) + xi_v [w = v]`. The statistics of a query v depend on its key: on the key's length and, with
//! the trigger in the values, on its overlap with the trigger. A kernel is therefore a short weighted list of [`Query`]
//! kinds, and an accuracy is an average over them.

mod hermite;
mod linear;
mod measured;
mod mlp;

pub(crate) use hermite::{DEGREES, Feature, polynomial, products};
pub use measured::Measured;

use serde::{Deserialize, Serialize};
use superpose_core::config::Trigger;

use crate::point::Point;
use crate::quadrature::{Rule, chi_square, cosine};

/// The kernel for one kind of query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Query {
    /// Share of queries of this kind; the shares sum to 1.
    pub weight: f64,
    /// Mean of `K(w, v)` over the other facts w.
    pub kappa: f64,
    /// `K(v, v) - kappa`.
    pub xi: f64,
    /// Variance of `K(w, v)` over the other facts w.
    pub s2: f64,
    /// The part of `s2` from the MLP's random first layer, which vanishes at large width.
    pub mlp_noise: f64,
}

/// Averages over queries.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Mean of `K(w, v)` over w != v.
    pub kappa: f64,
    /// Mean of `K(v, v) - kappa`.
    pub xi: f64,
    /// Standard deviation of xi from query to query.
    pub xi_spread: f64,
    /// Variance of `K(w, v)` over w != v, MLP noise included.
    pub s2: f64,
    /// The part of `s2` that is MLP noise.
    pub mlp_noise: f64,
}

/// The kernel of a model.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(crate) queries: Vec<Query>,
}

/// The kernels of a model for all widths, prepared so that changing the width is cheap. They depend on no size but the
/// dimension.
#[derive(Clone, Debug)]
pub(crate) enum Kernels {
    /// Of the head outputs themselves.
    Linear(Kernel),
    /// Of the features of an MLP.
    Mlp(Vec<mlp::Kind>),
}

impl Kernels {
    /// The kernels at a point; of its width only the presence is used.
    pub fn of(point: &Point) -> Kernels {
        match point.width {
            None => Kernels::Linear(Kernel {
                queries: match &point.rows {
                    Some(rows) => rows.queries(point),
                    None => linear::queries(point),
                },
            }),
            Some(_) => Kernels::Mlp(mlp::kinds(point)),
        }
    }

    pub fn at(&self, width: f64) -> Kernel {
        match self {
            Kernels::Linear(kernel) => kernel.clone(),
            Kernels::Mlp(kinds) => {
                Kernel { queries: kinds.iter().flat_map(|kind| kind.queries(width)).collect() }
            }
        }
    }

    /// The kernel at a width with one query per kind, which gives the same averages over queries except for the spread of xi.
    pub fn averaged(&self, width: f64) -> Kernel {
        match self {
            Kernels::Linear(kernel) => kernel.clone(),
            Kernels::Mlp(kinds) => Kernel { queries: kinds.iter().map(|kind| kind.mean(width)).collect() },
        }
    }
}

impl Kernel {
    /// A query with the mean statistics.
    pub(crate) fn mean(&self) -> Query {
        let Summary { kappa, xi, s2, .. } = self.summary();
        Query { weight: 1.0, kappa, xi, s2, mlp_noise: 0.0 }
    }

    /// The kernel at a point: of the head outputs themselves, or of the MLP's features.
    pub fn of(point: &Point) -> Kernel {
        Kernels::of(point).at(point.width.unwrap_or(1.0))
    }

    /// Averages over queries.
    pub fn summary(&self) -> Summary {
        let mean = |f: &dyn Fn(&Query) -> f64| self.queries.iter().map(|q| q.weight * f(q)).sum::<f64>();
        let xi = mean(&|q| q.xi);
        Summary {
            kappa: mean(&|q| q.kappa),
            xi,
            xi_spread: mean(&|q| (q.xi - xi).powi(2)).sqrt(),
            s2: mean(&|q| q.s2),
            mlp_noise: mean(&|q| q.mlp_noise),
        }
    }
}

/// The squared length of an input embedding.
pub(crate) fn lengths(point: &Point) -> Rule {
    if point.lengths_vary() { chi_square(point.dim, 5) } else { Rule::certain(1.0) }
}

/// Squared lengths of input embeddings and their cosines with the trigger, with weights. Without the trigger in the values
/// the cosine is irrelevant; where lengths vary, fewer cosines are enough.
fn key_places(point: &Point) -> Vec<[f64; 3]> {
    let cosines = match (point.orthonormal() || point.trigger == Trigger::Keys, point.lengths_vary()) {
        (true, _) => Rule::certain(0.0),
        (false, true) => cosine(point.dim, 3),
        (false, false) => cosine(point.dim, 5),
    };
    let place = |square: f64, weight: f64| {
        cosines.points.iter().map(move |&(cosine, share)| [square, cosine, weight * share])
    };
    lengths(point).points.into_iter().flat_map(|(square, weight)| place(square, weight)).collect()
}
