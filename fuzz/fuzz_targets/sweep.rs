//! Any text as a sweep: read, and its cells made if there are not too many.
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
