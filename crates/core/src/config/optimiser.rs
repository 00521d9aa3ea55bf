//! The names of optimisers and learning-rate schedules. [`crate::train`] implements them.

use crate::words;

words! {
    /// How a gradient becomes a step.
    Optimiser {
        /// Gradient descent, with momentum if that is not 0. Weight decay is added to the gradient.
        Sgd = "sgd",
        /// Adam (Kingma and Ba 2015). Weight decay is added to the gradient.
        Adam = "adam",
        /// Adam with weight decay taken off the parameters instead (Loshchilov and Hutter 2019).
        AdamW = "adamw",
        /// Momentum whose matrix has its singular values set near 1 (Jordan 2024). Vectors take AdamW's step.
        Muon = "muon",
    }
}

words! {
    /// The rate over the course of training.
    Schedule {
        /// The same at every step.
        Constant = "constant",
        /// Half a cosine from the whole rate down to 0.
        Cosine = "cosine",
    }
}
