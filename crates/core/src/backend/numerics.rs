//! [`Numerics`]: which arithmetic computed a result.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The arithmetic that computed a result, as a word. Equal configurations give equal bits on all CPUs of one word, and on one GPU. GPUs
/// of one word may differ in the last bits where their numbers of multiprocessors or their versions of cuBLAS or NVRTC do. It is part of the
/// key of every cell and of every checkpoint, so that results of different words are kept apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Numerics(Cow<'static, str>);

impl Numerics {
    /// CPUs with fused multiply-add: x86-64 with AVX2 or AVX-512, and aarch64.
    pub const CPU: Numerics = Numerics(Cow::Borrowed("cpu"));
    /// CPUs without fused multiply-add.
    pub const CPU_NO_FMA: Numerics = Numerics(Cow::Borrowed("cpu-nofma"));

    /// The arithmetic of the CPU that this program runs on.
    pub fn this_cpu() -> Numerics {
        #[cfg(target_arch = "x86_64")]
        let fused = std::arch::is_x86_feature_detected!("fma");
        #[cfg(not(target_arch = "x86_64"))]
        let fused = cfg!(target_arch = "aarch64");
        if fused { Numerics::CPU } else { Numerics::CPU_NO_FMA }
    }

    /// Whether it is that of a GPU.
    pub fn is_gpu(&self) -> bool {
        self.word().starts_with("cuda")
    }

    /// The word.
    pub fn word(&self) -> &str {
        &self.0
    }
}

/// That of results written before there was a choice.
impl Default for Numerics {
    fn default() -> Numerics {
        Numerics::CPU
    }
}

impl fmt::Display for Numerics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl TryFrom<String> for Numerics {
    type Error = &'static str;
    fn try_from(word: String) -> Result<Numerics, Self::Error> {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        match word.len() {
            1..=32 if word.bytes().all(allowed) => Ok(Numerics(word.into())),
            _ => Err("numerics must have 1 to 32 lower-case letters, digits and hyphens"),
        }
    }
}

impl From<Numerics> for String {
    fn from(numerics: Numerics) -> String {
        numerics.0.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        for numerics in [Numerics::CPU, Numerics::CPU_NO_FMA, Numerics::this_cpu()] {
            assert_eq!(Numerics::try_from(numerics.to_string()), Ok(numerics));
        }
        let gpu = Numerics::try_from("cuda-sm90".to_string()).unwrap();
        assert!(gpu.word() == "cuda-sm90" && gpu.is_gpu() && !Numerics::CPU.is_gpu());
        for word in ["", "CPU", "cpu\n", "a b", &"x".repeat(33)] {
            assert!(Numerics::try_from(word.to_string()).is_err(), "{word}");
        }
    }
}
