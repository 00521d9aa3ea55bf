//! Formatting of numbers and of limiting noise terms for messages and reports.

use superpose_theory::predict::{Dominant, Part};
pub use superpose_theory::words::{grouped, plural};

/// The part of the model that limits recall, and its largest noise term.
pub fn blame(dominant: &Dominant) -> (&'static str, String) {
    let part = match dominant.part {
        Part::Memory => "memory",
        Part::Attention => "attention",
    };
    (part, dominant.term.word().replace('_', " ").replace("mlp", "MLP"))
}

/// The text with a capital first letter.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
