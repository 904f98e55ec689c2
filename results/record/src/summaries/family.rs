//! Which methods are of one kind, so that a report can show them alike.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of a method, in reading order. Of a method of several kinds the last one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Plain autoregressive decoding.
    Plain,
    /// A chain of draft tokens, from a head or a small model.
    Chain,
    /// A static draft tree.
    StaticTree,
    /// A draft tree that grows with the drafter's confidence.
    DynamicTree,
    /// Jacobi iteration, without a drafter.
    Jacobi,
    /// GSD.
    Grouped,
    /// LANTERN and LANTERN++.
    Lantern,
    /// CASCADE.
    Cascade,
    /// A scheduler that skips or replaces verifications.
    Skipping,
    /// Several rows of the picture at once (ZipAR, PJD).
    Rows,
    /// Another program, whatever it does.
    External,
}
