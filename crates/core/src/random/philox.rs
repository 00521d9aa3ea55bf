//! Philox 4x32 with ten rounds (Salmon, Moraes, Dror, Shaw, SC 2011).

use crate::backend::simd;

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: u32 = 10;

#[inline(always)]
fn round(c: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let a = u64::from(MULTIPLIERS[0]) * u64::from(c[0]);
    let b = u64::from(MULTIPLIERS[1]) * u64::from(c[2]);
    [(b >> 32) as u32 ^ c[1] ^ key[0], b as u32, (a >> 32) as u32 ^ c[3] ^ key[1], a as u32]
}

/// Four words from a counter and a key.
#[inline]
pub fn philox4x32(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let (mut c, mut k) = (counter, key);
    for _ in 0..ROUNDS {
        c = round(c, k);
        k = [k[0].wrapping_add(WEYL[0]), k[1].wrapping_add(WEYL[1])];
    }
    c
}

/// Consecutive counters at once, one per lane, so that the rounds vectorise.
const LANES: usize = 16;

simd! {
    /// Fills `out` with the words of blocks `first_block`, `first_block + 1`, ...
    pub(super) fn fill(index: u64, stream: u32, key: [u32; 2], first_block: u32, out: &mut [u32]) {
        let mut block = first_block;
        for part in out.chunks_mut(4 * LANES) {
            let mut c = [[0u32; LANES]; 4];
            for lane in 0..LANES {
                c[0][lane] = index as u32;
                c[1][lane] = (index >> 32) as u32;
                c[2][lane] = block.wrapping_add(lane as u32);
                c[3][lane] = stream;
            }
            let mut k = key;
            for _ in 0..ROUNDS {
                let mut next = [[0u32; LANES]; 4];
                for lane in 0..LANES {
                    let words = round([c[0][lane], c[1][lane], c[2][lane], c[3][lane]], k);
                    for word in 0..4 {
                        next[word][lane] = words[word];
                    }
                }
                c = next;
                k = [k[0].wrapping_add(WEYL[0]), k[1].wrapping_add(WEYL[1])];
            }
            for (lane, words) in part.chunks_mut(4).enumerate() {
                words.iter_mut().enumerate().for_each(|(word, out)| *out = c[word][lane]);
            }
            block = block.wrapping_add(LANES as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known-answer vectors published with Random123 for philox4x32, 10 rounds.
    #[test]
    fn known_answers() {
        assert_eq!(philox4x32([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(
            philox4x32([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox4x32([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }
}
