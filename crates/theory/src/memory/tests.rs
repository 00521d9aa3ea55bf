use std::time::Instant;

use super::*;
use crate::normal::{cdf_power, density};
use crate::point::gaussian;
use crate::testing::chi_square_grid;
use superpose_core::config::{Embedding, Trigger};

#[test]
fn timing() {
    for trigger in [Trigger::Keys, Trigger::Values] {
        for samples in [500.0, 5e3, 5e4, 5e6] {
            let point = Point { trigger, ..gaussian(1000.0, 100.0, 16.0, samples) };
            let start = Instant::now();
            let mut memory = Memory::new(&point);
            for _ in 0..99 {
                memory = Memory::new(&point);
            }
            let setup = start.elapsed() / 100;
            let start = Instant::now();
            let mut a = 0.0;
            for _ in 0..100 {
                a += memory.accuracy(samples);
            }
            println!("{trigger} {samples}: setup {setup:?} accuracy {:?} {}", start.elapsed() / 100, a / 100.0);
        }
    }
    for &activation in superpose_core::config::Activation::ALL {
        for trigger in [Trigger::Keys, Trigger::Values] {
            let point = Point { trigger, width: Some(1000.0), activation, ..gaussian(1000.0, 100.0, 16.0, 5e4) };
            let start = Instant::now();
            let mut memory = Memory::new(&point);
            for _ in 0..99 {
                memory = Memory::new(&point);
            }
            let setup = start.elapsed() / 100;
            let start = Instant::now();
            let mut a = 0.0;
            for _ in 0..100 {
                a += memory.accuracy(5e4);
            }
            println!("{activation} {trigger}: setup {setup:?} accuracy {:?} {}", start.elapsed() / 100, a / 100.0);
        }
    }
}
