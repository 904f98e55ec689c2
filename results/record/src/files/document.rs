//! What every file and row of a run has in common: a kind, a schema number, and a check of its own
//! consistency that runs before it is written and after it is read.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The schema number this program writes, and the newest it reads.
pub const SCHEMA: u32 = 1;

/// A row or file with a schema number.
pub trait Document: Serialize + DeserializeOwned {
    /// What error messages call it.
    const KIND: &'static str;

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
