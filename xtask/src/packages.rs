//! System packages that tests need.
//!
//! Installing them changes the machine, so outside continuous integration the test command prints the one `apt-get` line and
//! runs it only if the user agrees. Everything is asked at once, before the first test.

use std::io::{BufRead, IsTerminal};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{ci, works};

/// A package of Debian, and a check whether its programs are there, however they were installed.
type Package = (&'static str, fn() -> bool);

/// What a part of the tests needs.
#[derive(Clone, Copy)]
pub struct Need {
    /// The part, as the list of skipped tests names it.
    pub part: &'static str,
    packages: &'static [Package],
    /// Whether the tests also need root; without it, installing the packages is no help.
    root: bool,
}

/// Slurm, of which the tests start a cluster.
pub const SLURM: Need = Need {
    part: "sweeps on Slurm",
    packages: &[
        ("slurm-wlm", || {
            ["/usr/bin/sbatch", "/usr/sbin/slurmctld", "/usr/sbin/slurmd"].into_iter().all(exists)
        }),
        ("munge", || exists("/usr/sbin/munged")),
    ],
    root: true,
};

/// A browser and what drives it.
pub const BROWSER: Need = Need {
    part: "the web page in a browser",
    packages: &[
        ("chromium", || exists(&chromium())),
        ("nodejs", || works("node --version")),
        ("npm", || works("npm --version")),
    ],
    root: false,
};

/// A cross compiler for aarch64 and an emulator.
pub const AARCH64: Need = Need {
    part: "pinned cells on aarch64",
    packages: &[
        ("qemu-user", || works("qemu-aarch64 --version")),
        ("gcc-aarch64-linux-gnu", || works("aarch64-linux-gnu-gcc --version")),
        ("libc6-dev-arm64-cross", || exists("/usr/aarch64-linux-gnu/include/stdlib.h")),
    ],
    root: false,
};

impl Need {
    /// Returns whether the packages are there.
    pub fn ready(&self) -> bool {
        self.missing().is_empty()
    }

    /// The packages that are missing. A package whose programs came from elsewhere may be impossible to install beside them.
    fn missing(&self) -> Vec<&'static str> {
        self.packages.iter().filter(|(_, there)| !there()).map(|(package, _)| *package).collect()
    }
}

fn exists(path: &str) -> bool {
    Path::new(path).exists()
}

/// The path of Chromium: the variable `CHROMIUM`, or where Debian installs it.
pub fn chromium() -> String {
    std::env::var("CHROMIUM").unwrap_or_else(|_| "/usr/bin/chromium".to_string())
}

/// Returns whether the user is root.
pub fn root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// Installs the packages that are missing, after asking unless this is continuous integration.
pub fn provide(needs: &[Need]) {
    let root = root();
    let useful = needs.iter().filter(|need| root || !need.root);
    let missing: Vec<Missing> = useful.map(|need| (need.part, need.missing())).collect();
    if missing.iter().all(|(_, packages)| packages.is_empty()) {
        return;
    }
    let install = install_line(&missing, root);
    if ci() || agreed(&missing, &install, std::io::stdin().is_terminal(), &mut std::io::stdin().lock()) {
        let apt = |line: &str| {
            eprintln!("$ {line}");
            let mut words = line.split_whitespace();
            let mut command = Command::new(words.next().unwrap_or_default());
            let command = command.args(words).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        let update = install.split(" install").next().unwrap_or_default().to_string() + " update -qq";
        let _ = apt(&install) || (apt(&update) && apt(&install));
    }
}

/// A part of the tests and the packages that it lacks.
type Missing = (&'static str, Vec<&'static str>);

/// The one line that installs everything that is missing.
fn install_line(missing: &[Missing], root: bool) -> String {
    let packages: Vec<&str> = missing.iter().flat_map(|(_, packages)| packages).copied().collect();
    let sudo = if root { "" } else { "sudo " };
    format!("{sudo}apt-get install -y -qq --no-install-recommends {}", packages.join(" "))
}

/// Prints what is missing and the line that installs it. Asks on a terminal; elsewhere the answer is no.
fn agreed(missing: &[Missing], install: &str, terminal: bool, input: &mut impl BufRead) -> bool {
    for (part, packages) in missing.iter().filter(|(_, packages)| !packages.is_empty()) {
        eprintln!("{part} needs packages that are not installed: {}", packages.join(" "));
    }
    eprintln!("This line installs them:\n  {install}");
    let mut answer = String::new();
    if terminal {
        eprint!("Run it now? Otherwise these tests are skipped. [y/N] ");
        let _ = input.read_line(&mut answer);
    }
    matches!(answer.trim(), "y" | "Y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_installed_only_after_a_yes_on_a_terminal() {
        let missing = [(SLURM.part, vec!["munge"])];
        let answer = |terminal, text: &str| agreed(&missing, "line", terminal, &mut text.as_bytes());
        assert!(answer(true, "y\n") && answer(true, "yes\n"));
        assert!(!answer(true, "\n") && !answer(true, "n\n") && !answer(true, ""));
        assert!(!answer(false, "y\n"));
    }

    #[test]
    fn one_line_installs_what_is_missing() {
        let missing = [(SLURM.part, vec!["slurm-wlm", "munge"]), (BROWSER.part, vec!["chromium"])];
        let line = "apt-get install -y -qq --no-install-recommends slurm-wlm munge chromium";
        assert_eq!(install_line(&missing, true), line);
        assert_eq!(install_line(&missing, false), format!("sudo {line}"));
        // Another Node.js than Debian's is left alone.
        let packages = &[("nodejs", (|| true) as fn() -> bool), ("chromium", || false)];
        assert_eq!(Need { packages, ..BROWSER }.missing(), ["chromium"]);
    }
}
