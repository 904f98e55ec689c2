//! The small files of a shard: the lease of the worker that may write to it, and the marker that it is
//! done.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Digest;
use crate::files::document::plain_document;

/// `lease.json`: who may write to the shard. A worker reads it again before each row and stops when a
/// later attempt holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lease {
    /// Schema number.
    pub schema: u32,
    /// Index of the shard.
    pub shard: u32,
    /// The attempt that holds it.
    pub attempt: u32,
    /// Anything that tells this worker from all others.
    pub holder: String,
}

plain_document!(Lease, "lease");

/// `done.json`: every item of the shard has a record, and this is what they hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Done {
    /// Schema number.
    pub schema: u32,
    /// Items with a record.
    pub n_records: u64,
    /// Digest of the shard's winning records, one canonical line each, sorted by key.
    pub records_digest: Digest,
    /// Digest of the lines `<file name> <digest of the file>` of their images, in the same order.
    pub images_digest: Digest,
}

plain_document!(Done, "done marker");
