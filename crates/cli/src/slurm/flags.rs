//! What a user adds to sbatch: further flags, a time limit, variables of the environment.

use anyhow::bail;

/// Long flags that superpose sets itself, or could not work with.
const OWN: [&str; 8] =
    ["--array", "--output", "--open-mode", "--wrap", "--test-only", "--cpus-per-task", "--wait", "--signal"];
/// The same as single letters.
const OWN_LETTERS: [(char, &str); 4] =
    [('a', "--array"), ('o', "--output"), ('c', "--cpus-per-task"), ('W', "--wait")];
/// Letters without a value, after which others may follow in one word.
const PLAIN_LETTERS: &str = "HIOQsv";

/// Variables that would replace what the script says. Others, such as SBATCH_ACCOUNT, are a user's defaults and stay.
pub const OVERRIDES: [&str; 7] = [
    "SBATCH_ARRAY_INX",
    "SBATCH_OUTPUT",
    "SBATCH_OPEN_MODE",
    "SBATCH_WAIT",
    "SBATCH_TEST_ONLY",
    "SBATCH_CPUS_PER_TASK",
    "SBATCH_SIGNAL",
];

/// Refuses flags that are not the user's to set. Long ones may be abbreviated, letters may stand together.
pub fn check(words: &[String]) -> anyhow::Result<()> {
    for word in words {
        let name = word.split('=').next().unwrap_or_default();
        let own = match (name.strip_prefix("--"), name.strip_prefix('-')) {
            (Some(letters), _) if letters.len() >= 2 => OWN.into_iter().find(|own| own.starts_with(name)),
            (None, Some(letters)) => letters
                .chars()
                .find(|&letter| !PLAIN_LETTERS.contains(letter))
                .and_then(|letter| OWN_LETTERS.into_iter().find(|own| own.0 == letter))
                .map(|own| own.1),
            _ => None,
        };
        match own {
            Some("--cpus-per-task") => bail!("sbatch flag {word}: the cores of a task are --cpus here"),
            Some(own) => bail!("sbatch flag {word}: superpose sets {own} itself, or could not work with it"),
            None => {}
        }
    }
    Ok(())
}

/// A time limit in seconds, as Slurm reads it: `30` (minutes), `30:00`, `4:00:00`, `2-12`, `2-12:30`, `2-12:30:00`. Nothing where it
/// is something else, such as UNLIMITED.
pub fn seconds(time: &str) -> Option<f64> {
    let (days, rest) = match time.split_once('-') {
        Some((days, rest)) => (Some(days.parse::<u32>().ok()?), rest),
        None => (None, time),
    };
    let parts: Vec<u32> = rest.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let (hours, minutes, seconds) = match (days, &parts[..]) {
        (Some(_), &[hours]) => (hours, 0, 0),
        (Some(_), &[hours, minutes]) => (hours, minutes, 0),
        (None, &[minutes]) => (0, minutes, 0),
        (None, &[minutes, seconds]) => (0, minutes, seconds),
        (_, &[hours, minutes, seconds]) => (hours, minutes, seconds),
        _ => return None,
    };
    let days = f64::from(days.unwrap_or(0));
    let total = ((days * 24.0 + f64::from(hours)) * 60.0 + f64::from(minutes)) * 60.0 + f64::from(seconds);
    // Nothing is what Slurm calls no limit.
    (total > 0.0).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_others() {
        let refused = |word: &str| check(&[word.to_owned()]).is_err();
        for word in ["--array=1-9", "--arr=5", "-a5-9", "-Ha5-9", "-o", "--ou", "-c3", "--wait", "-W"] {
            assert!(refused(word), "{word}");
        }
        for word in ["--account=me", "--mem=8G", "-A", "-Aoc", "-H", "--wait-all-nodes=1", "two words", "-"] {
            assert!(!refused(word), "{word}");
        }
    }

    #[test]
    fn time_limits() {
        for (text, expected) in [
            ("30", 1800.0),
            ("1:30", 90.0),
            ("4:00:00", 14_400.0),
            ("2-12", 216_000.0),
            ("2-12:30", 217_800.0),
            ("1-0:0:5", 86_405.0),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        assert!(
            seconds("UNLIMITED").is_none()
                && seconds("1:2:3:4").is_none()
                && seconds("").is_none()
                && seconds("0").is_none()
        );
    }
}
