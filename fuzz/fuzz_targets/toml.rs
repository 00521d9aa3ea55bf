//! Reads any text as a configuration file, converts it to settings and validates them.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use superpose_cli::arguments::read_toml;

fuzz_target!(|text: &str| {
    let Ok(arguments) = read_toml(Path::new("fuzz.toml"), text) else { return };
    let _ = arguments.threads();
    if let Ok(settings) = arguments.settings() {
        let _ = settings.check();
    }
});
