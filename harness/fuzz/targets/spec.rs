//! The text of a spec, and an override of one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use specimen_experiments::parse::SpecText;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // A first line that is a comment is an override, as `--set` takes it.
    let argument = text.lines().next().and_then(|line| line.strip_prefix("#set "));
    let Ok(mut spec) = SpecText::parse("fuzz.toml", text) else { return };
    if let Some(argument) = argument {
        let _ = spec.set(argument);
    }
    if let Ok(resolved) = spec.resolve() {
        let json = serde_json::to_string(&resolved).expect("a resolved spec is plain data");
        let again = serde_json::from_str(&json).expect("what was written can be read");
        assert_eq!(resolved, again, "a resolved spec survives its manifest");
    }
});
