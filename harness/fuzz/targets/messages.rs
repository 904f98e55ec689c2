//! What an external process says: a stream of bytes as its answers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use specimen_external::{
    Answer,
    lines::{Line, Lines, MAX_LINE},
};

fuzz_target!(|bytes: &[u8]| {
    for (at, line) in Lines::new(bytes).enumerate() {
        let Line::Whole(line, _) = line else { continue };
        assert!(line.len() <= MAX_LINE && !line.contains(&b'\n'), "a line is one line");
        match Answer::parse(&line, at as u64 + 1, "ar/1/0") {
            Ok(Answer::Made(made)) => {
                assert!(made.phases_ns.keys().all(|name| !name.is_empty()), "a phase has a name");
                assert_ne!(made.forwards, Some(0));
            }
            Ok(Answer::Refused(why)) => assert!(!why.contains(char::is_control), "what is shown controls nothing"),
            Err(error) => assert!(!error.to_string().contains(char::is_control), "nor does an error"),
        }
    }
});
