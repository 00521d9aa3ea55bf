//! Reads any text as a sweep file and expands its cells if there are at most a thousand.
#![no_main]

use libfuzzer_sys::fuzz_target;
use superpose_lab::sweep::Sweep;

fuzz_target!(|text: &str| {
    if let Ok(sweep) = Sweep::read(text)
        && sweep.len() <= 1000
    {
        let _ = sweep.cells();
    }
});
