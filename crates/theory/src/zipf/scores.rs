//! The scores of step 2 under Zipf's law (theory: Zipf).
//!
//! The direction of step 2 is `u = sum_w W_w z_w + W_trig z_trig`. A token's score is `z_w . u`: its own coefficient, whose mean grows
//! with the token's frequency, plus overlaps with all other tokens, which are the same for rare and frequent ones.

use super::classes::{Class, classes};
use crate::noise::ScoreNoise;
use crate::point::Point;

/// The scores of a class of tokens. With the squared length a of its embedding, a token's score has the mean
/// `linear a + square a^2 + shift` and the variance `variance`.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenScore {
    pub linear: f64,
    pub square: f64,
    pub shift: f64,
    pub variance: f64,
}

impl TokenScore {
    /// The mean over embeddings, to leading order.
    pub fn mean(&self) -> f64 {
        self.linear + self.square + self.shift
    }
}

/// The scores of step 2.
#[derive(Clone, Debug)]
pub(super) struct Scores {
    pub classes: Vec<Class>,
    pub tokens: Vec<TokenScore>,
    /// Mean score of the trigger and its variance from run to run.
    pub trigger: f64,
    pub trigger_variance: f64,
    /// Squared lengths of embeddings are chi-square over this number; absent: 1.
    pub freedom: Option<f64>,
    noise: ScoreNoise,
}

impl Scores {
    /// The scores at a point.
    pub fn of(point: &Point) -> Scores {
        let Point { vocab, dim, length, samples, .. } = *point;
        let t = point.trigger.t();
        let classes = classes(point);
        let sum = |f: &dyn Fn(&Class) -> f64| classes.iter().map(|class| class.count * f(class)).sum::<f64>();
        let rest = 1.0 - 1.0 / length;
        let lengths = if point.lengths_vary() { 1.0 } else { 0.0 };
        // Mean square of a fact's share of the samples, and that share times the label's part of the sum of all output embeddings.
        let square = |class: &Class| class.fact * (class.fact + (1.0 - class.fact) / samples);
        let pull = |class: &Class| square(class) - class.fact / vocab;
        let (noise2, noise3) = (sum(&|c| c.noise.powi(2)), sum(&|c| c.noise.powi(3)));
        let (squares, both) = (sum(&square), sum(&|c| c.fact * c.noise));
        let labels = squares - 1.0 / vocab;
        let tilt = sum(&|c| square(c) * c.noise) - both / vocab;
        // What a fact's samples add to the trigger's coefficient, times L.
        let gain = |c: &Class| {
            let pairs = c.fact * c.fact * (1.0 - 1.0 / samples) + t * pull(c) - square(c) * c.noise;
            rest * pull(c) * (c.noise - noise2) + (pairs + c.fact * both / vocab) / length
        };
        let gains = sum(&gain);
        let own = |c: &Class| {
            let along = rest * labels * (c.noise - noise2) + (pull(c) - tilt) / length;
            rest * ((gain(c) - c.noise * gains) / length + rest * c.noise * along)
        };
        let trigger = rest * gains / length;
        let unit = rest.powi(3) * labels;

        // Sampling noise of how often a token occurs, weighted by labels; of pairs of samples; of the label overlaps.
        let (fact2, fact3) = (sum(&|c| c.fact.powi(2)), sum(&|c| c.fact.powi(3)));
        let uneven = sum(&|c| c.fact * (c.fact - 1.0 / vocab).powi(2))
            + 3.0 * fact2 / samples
            + 1.0 / samples.powi(2)
            + squares / dim;
        let drawn = |c: &Class| rest * uneven * c.noise / (samples * length);
        let pair = (squares + 1.0 / dim) / (samples * length).powi(2);
        let spread = |q: f64| (q - noise2).powi(2);
        let others =
            sum(&|c| drawn(c) * (spread(2.0 * c.noise) + 3.0 * noise2 / dim + 1.0 / (dim * dim))) / dim;
        let all_drawn = sum(&drawn) / dim;

        // Overlaps with other tokens. Terms beyond the sum of squares: products of the mean token with all pairs of tokens.
        let long = 1.0 + 6.0 * lengths / dim;
        let product = unit
            * unit
            * (noise2 * noise2 / dim
                + noise2 / (dim * dim)
                + 2.0 / dim * (noise3 - noise2 * noise2).max(0.0))
            * (1.0 + 2.0 / dim);
        let squared = sum(&|c| own(c).powi(2));
        let along = sum(&|c| own(c) * c.noise);
        let pulls = sum(&|c| pull(c).powi(2));
        let bias = |c: &Class| {
            let (w, q) = (own(c), c.noise);
            (long * (squared - w * w)
                + 2.0 * unit * q * (along - w * q)
                + (unit * q).powi(2) * (noise2 - q * q)
                + product)
                / dim
        };
        let coefficient = |c: &Class| {
            let (p, q) = (c.fact, c.noise);
            let keys = (pulls - pull(c).powi(2)) / dim + t * labels * labels / dim;
            let own_label = p * p * squares / dim * rest * rest * (spread(q) + noise2 / dim);
            (rest * rest * q / length).powi(2) * keys + (rest / length).powi(2) * own_label
        };
        let gradient = |c: &Class| {
            let q = c.noise;
            drawn(c) * ((2.0 * q - noise2 + 1.0 / dim).powi(2) + noise2 / dim)
                + others
                + q * q * all_drawn
                + pair * (1.0 / dim + 2.0 * noise2) * (q + 1.0 / dim)
        };
        let token = |c: &Class| {
            let square = unit * c.noise * c.noise;
            let variance = (bias(c) + trigger * trigger / dim).max(0.0) + coefficient(c) + gradient(c);
            TokenScore { linear: own(c) - square, square, shift: unit * c.noise / dim, variance }
        };
        let tokens: Vec<TokenScore> = classes.iter().map(token).collect();
        let counts = rest * rest / length.powi(4)
            * (1.0 + t).powi(2)
            * (2.0 * fact2 / samples.powi(2) + 4.0 * (fact3 - fact2 * fact2).max(0.0) / samples);
        let trigger_variance = (long * squared + product) / dim
            + 2.0 * lengths / dim * trigger * trigger
            + others
            + counts
            + (1.0 + t) * (1.0 / dim + noise2) * pair / length
            + t * (rest * rest / length * labels).powi(2) * noise2 / dim;
        let seen = |f: &dyn Fn(&Class, &TokenScore) -> f64| {
            classes.iter().zip(&tokens).map(|(c, token)| c.count * c.noise * f(c, token)).sum::<f64>()
        };
        let mean = seen(&|_, token| token.mean());
        let trigger = trigger + rest * rest * t * labels / (length * dim);
        let noise = ScoreNoise {
            signal: trigger * trigger,
            mean_bias: seen(&|c, token| (token.mean() - mean).powi(2) + bias(c).max(0.0)),
            gradient_noise: seen(&|c, _| gradient(c)),
            mlp_noise: 0.0,
            output_overlap: trigger * trigger / dim,
        };
        let freedom = point.lengths_vary().then_some(dim);
        Scores { tokens, trigger, trigger_variance, freedom, noise, classes }
    }

    /// The squared signal and variances over the tokens of a sequence.
    pub fn noise(&self) -> ScoreNoise {
        self.noise
    }
}
