//! What every file and row of a run has in common: a kind, a schema number, and a check of its own
//! consistency that runs before it is written and after it is read.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The schema number of all documents that do not name their own.
pub const SCHEMA: u32 = 1;

/// A row or file with a schema number.
pub trait Document: Serialize + DeserializeOwned {
    /// What error messages call it.
    const KIND: &'static str;

    /// The oldest and the newest schema number that this program reads.
    const SCHEMAS: [u32; 2] = [SCHEMA, SCHEMA];

    /// What makes one of an earlier schema anew.
    const RENEWED_BY: &'static str = "read it with the version that wrote it";

    /// The number in its `schema` field.
    fn schema(&self) -> u32;

    /// Whether its fields agree with one another.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Implements [`Document`] for types without a consistency rule.
macro_rules! plain_document {
    ($type:ty, $kind:literal) => {
        impl $crate::Document for $type {
            const KIND: &'static str = $kind;

            fn schema(&self) -> u32 {
                self.schema
            }
        }
    };
}
pub(crate) use plain_document;
