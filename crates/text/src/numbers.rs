//! Numbers as people read them.

use superpose_lab::words::grouped;

/// A share in percent.
pub(crate) fn percent(x: f64) -> String {
    format!("{:.1}%", 100.0 * x)
}

/// Four decimals where that says enough, powers of ten elsewhere.
pub fn number(x: f64) -> String {
    if x == 0.0 {
        "0".into()
    } else if x.abs() < 1e-3 || x.abs() >= 1e6 {
        format!("{x:.2e}")
    } else if x.abs() >= 100.0 {
        format!("{x:.1}")
    } else {
        format!("{x:.4}")
    }
}

pub(crate) fn seconds(x: f64) -> String {
    if x < 1.0 { format!("{:.1} ms", x * 1e3) } else { format!("{x:.2} s") }
}

/// A time for people: 3.1 s, 12 min, 5.2 h.
pub fn duration(x: f64) -> String {
    match x {
        x if x < 1.0 => seconds(x),
        x if x < 120.0 => format!("{x:.1} s"),
        x if x < 7200.0 => format!("{:.0} min", x / 60.0),
        x if x < 48.0 * 3600.0 => format!("{:.1} h", x / 3600.0),
        x => format!("{} days", grouped((x / 86400.0).round())),
    }
}
