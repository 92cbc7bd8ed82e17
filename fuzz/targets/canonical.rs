//! The target `canonical` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| learnkit_fuzz::run(learnkit_fuzz::canonical, data));
