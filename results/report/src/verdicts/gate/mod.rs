//! Whether a run is as good as the baseline in the repository, rule by rule.
//!
//! Counted quantities (forwards, tokens a forward, acceptance) are checked on any machine; times only on a runner that
//! the rule names, and never a ratio alone: both of its times are checked too, since a slower baseline makes every speedup
//! look better. Start with [`rules`], then [`baseline`], then [`check`].

pub mod baseline;
pub mod check;
mod judge;
pub mod rules;
mod rules_text;
pub mod show;
pub mod starter;

use std::path::Path;

use specimen_foundation::failure;
use specimen_record::read_given;

/// Bytes of a baseline or of its rules, at most.
const MAX_BYTES: u64 = 64 << 20;

/// The text of the file at `path`.
fn read_text(path: &Path) -> anyhow::Result<String> {
    String::from_utf8(read_given(path, MAX_BYTES)?)
        .map_err(|error| failure!(Missing: "{}: cannot read as text: {}", path.display(), error).into())
}
