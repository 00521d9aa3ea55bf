//! Formatting of numbers and of limiting noise terms for messages and reports.

use superpose_theory::predict::{Dominant, Part};

/// A whole number with thousands separators. It is a float because plans have sizes that no machine could address.
pub fn grouped(x: f64) -> String {
    let digits = format!("{:.0}", x.abs());
    let mut text = String::from(if x < 0.0 { "-" } else { "" });
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        assert_eq!([1_234_567.0, -1234.0, 999.0].map(grouped), ["1,234,567", "-1,234", "999"]);
    }
}
