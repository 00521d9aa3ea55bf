//! Reads any text as a configuration file, converts it to settings and validates them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use superpose_core::config::Settings;
use superpose_lab::settings_file;

fuzz_target!(|text: &str| {
    let Ok(file) = settings_file::read(text, &["json", "threads", "export"]) else { return };
    if let Ok(settings) = Settings::given(&file.values) {
        let _ = settings.check();
    }
});
