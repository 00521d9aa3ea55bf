//! What a user may pass to sbatch: further flags, a time limit, environment variables.

use anyhow::bail;

/// Long flags that superpose sets itself or does not support.
const RESERVED: [&str; 8] =
    ["--array", "--output", "--open-mode", "--wrap", "--test-only", "--cpus-per-task", "--wait", "--signal"];
/// The same as single letters.
const RESERVED_LETTERS: [(char, &str); 4] =
    [('a', "--array"), ('o', "--output"), ('c', "--cpus-per-task"), ('W', "--wait")];
/// Letters without a value, after which others may follow in one word.
const PLAIN_LETTERS: &str = "HIOQsv";

/// Environment variables that would override the script. Others, such as SBATCH_ACCOUNT, are the user's defaults and are kept.
pub const OVERRIDES: [&str; 7] = [
    "SBATCH_ARRAY_INX",
    "SBATCH_OUTPUT",
    "SBATCH_OPEN_MODE",
    "SBATCH_WAIT",
    "SBATCH_TEST_ONLY",
    "SBATCH_CPUS_PER_TASK",
    "SBATCH_SIGNAL",
];

/// Rejects reserved flags, which may be abbreviated or, as letters, written together.
pub fn check(words: &[String]) -> anyhow::Result<()> {
    for word in words {
        let name = word.split('=').next().unwrap_or_default();
        let reserved = match (name.strip_prefix("--"), name.strip_prefix('-')) {
            (Some(letters), _) if letters.len() >= 2 => {
                RESERVED.into_iter().find(|flag| flag.starts_with(name))
            }
            (None, Some(letters)) => {
                let first = letters.chars().find(|&letter| !PLAIN_LETTERS.contains(letter));
                RESERVED_LETTERS.into_iter().find(|flag| Some(flag.0) == first).map(|flag| flag.1)
            }
            _ => None,
        };
        match reserved {
            Some("--cpus-per-task") => bail!("sbatch flag {word}: set the cores of a task with --cpus"),
            Some(flag) => bail!("sbatch flag {word}: superpose sets {flag} itself or does not support it"),
            None => {}
        }
    }
    Ok(())
}

/// Parses a time limit as Slurm does, into seconds: `30` (minutes), `30:00`, `4:00:00`, `2-12`, `2-12:30`, `2-12:30:00`. Returns
/// `None` for anything else, such as UNLIMITED.
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
    // To Slurm, 0 means no limit.
    (total > 0.0).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_flags_are_rejected() {
        let refused = |word: &str| check(&[word.to_owned()]).is_err();
        for word in ["--array=1-9", "--arr=5", "-a5-9", "-Ha5-9", "-o", "--ou", "-c3", "--wait", "-W"] {
            assert!(refused(word), "{word}");
        }
        for word in ["--account=me", "--mem=8G", "-A", "-Aoc", "-H", "--wait-all-nodes=1", "two words", "-"] {
            assert!(!refused(word), "{word}");
        }
    }

    #[test]
    fn time_limits_are_parsed() {
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
        for text in ["UNLIMITED", "1:2:3:4", "", "0"] {
            assert!(seconds(text).is_none(), "{text}");
        }
    }
}
