//! Numbers and causes in words, as sentences in records have them.

use superpose_theory::predict::{Dominant, Part};

/// A whole number with thousands apart. Plans have sizes beyond what a machine could address, so it is a float.
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

/// Which part of the model holds accuracy down, and the noise term there.
pub fn blame(dominant: &Dominant) -> (&'static str, String) {
    let part = match dominant.part {
        Part::Memory => "memory",
        Part::Attention => "attention",
    };
    (part, dominant.term.word().replace('_', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        assert_eq!(grouped(1_234_567.0), "1,234,567");
        assert_eq!(grouped(-1234.0), "-1,234");
        assert_eq!(grouped(999.0), "999");
    }
}
