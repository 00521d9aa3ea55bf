//! Formatting of numbers for messages.

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

/// A number and the noun that agrees with it.
pub fn plural(number: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number as f64), if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        assert_eq!([1_234_567.0, -1234.0, 999.0].map(grouped), ["1,234,567", "-1,234", "999"]);
    }

    #[test]
    fn one_is_singular() {
        let cells = |number| plural(number, "cell", "cells");
        assert_eq!([0, 1, 1200].map(cells), ["0 cells", "1 cell", "1,200 cells"]);
    }
}
