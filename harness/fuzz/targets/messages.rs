//! What an external process says: a stream of bytes as its answers.
#![no_main]

use external::{
    lines::{Line, Lines, MAX_LINE},
    message::Answer,
};
use libfuzzer_sys::fuzz_target;

/// Files of the runner, by their paths: as a crate it needs libtorch, and takes longer to build than all the rest.
#[path = "."]
#[allow(dead_code, unreachable_pub, missing_docs, reason = "the runner uses more of it")]
mod external {
    #[path = "../../runner/src/external/error.rs"]
    pub mod error;
    #[path = "../../runner/src/external/lines.rs"]
    pub mod lines;
    #[path = "../../runner/src/external/message.rs"]
    pub mod message;
}

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
