//! The activations of the MLP by name. Their values and derivatives are in [`crate::model`].

use crate::words;

words! {
    /// Activations of the attention-MLP model. Hermite polynomials are normalised: `E[He_q(z)^2] = 1`.
    Activation {
        /// `max(x, 0)`
        Relu = "relu",
        /// `x F(x)`, F the normal CDF (the erf form)
        Gelu = "gelu",
        /// Hyperbolic tangent
        Tanh = "tanh",
        /// `ln(1 + e^x)`
        Softplus = "softplus",
        /// `|x|`
        Abs = "abs",
        /// `(x^2 - 1) / sqrt(2)`
        He2 = "he2",
        /// `(x^3 - 3 x) / sqrt(6)`
        He3 = "he3",
        /// `x`: a random linear map
        Identity = "identity",
    }
}
