//! The device that a user asks for.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use superpose_core::backend::{Device, DeviceError};

use crate::gpu::open;
use crate::lane::Done;

/// The device of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The CPU.
    #[default]
    Cpu,
    /// A GPU by its number.
    Cuda(usize),
    /// The first GPU where one works, else the CPU.
    Auto,
}

impl Choice {
    /// Opens the device; `None` is the CPU.
    ///
    /// # Errors
    /// A GPU was asked for by name and does not work.
    pub fn open(self) -> Done<Option<Arc<dyn Device>>> {
        self.open_saying(&mut |_| {})
    }

    /// The same; `say` receives what [`Choice::Auto`] takes, and why.
    ///
    /// # Errors
    /// A GPU was asked for by name and does not work.
    pub fn open_saying(self, say: &mut dyn FnMut(String)) -> Done<Option<Arc<dyn Device>>> {
        match self {
            Choice::Cpu => Ok(None),
            Choice::Cuda(ordinal) => open(ordinal).map(Some),
            Choice::Auto => {
                let found = open(0);
                say(match &found {
                    Ok(device) => device.word(),
                    Err(DeviceError::Unavailable { reason }) => format!("cpu ({reason})"),
                    Err(error) => format!("cpu ({error})"),
                });
                Ok(found.ok())
            }
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Cpu => f.write_str("cpu"),
            Choice::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
            Choice::Auto => f.write_str("auto"),
        }
    }
}

impl FromStr for Choice {
    type Err = String;
    fn from_str(text: &str) -> Result<Choice, String> {
        // Digits alone, because `parse` also takes a plus sign.
        let digits = text.strip_prefix("cuda:").filter(|number| number.bytes().all(|x| x.is_ascii_digit()));
        match (text, digits.and_then(|number| number.parse().ok())) {
            ("cpu", _) => Ok(Choice::Cpu),
            ("auto", _) => Ok(Choice::Auto),
            ("cuda", _) => Ok(Choice::Cuda(0)),
            (_, Some(ordinal)) => Ok(Choice::Cuda(ordinal)),
            _ => Err("must be cpu, cuda, cuda:N or auto".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        for choice in [Choice::Cpu, Choice::Cuda(0), Choice::Cuda(3), Choice::Auto] {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        assert_eq!("cuda".parse(), Ok(Choice::Cuda(0)));
        for text in ["", "gpu", "cuda:", "cuda:-1", "cuda:+1", "CUDA", "cuda:x"] {
            assert!(text.parse::<Choice>().is_err(), "{text}");
        }
    }

    #[test]
    fn cpu_needs_no_library() {
        assert!(Choice::Cpu.open().unwrap().is_none());
        assert!(Choice::Auto.open().is_ok());
    }
}
