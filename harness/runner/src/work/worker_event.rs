//! What a worker reports to its driver.

use serde::{Deserialize, Serialize};
use specimen_record::ItemKey;

use crate::process::disk_wait::{Shortage, Wait};

/// What a worker reports to its driver, one JSON line each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkerEvent {
    /// An image is begun; if the worker dies next, this image may be the cause.
    Begin {
        /// Key of the item.
        key: ItemKey,
    },
    /// An item has its row.
    Item {
        /// Name of its cell.
        cell: String,
        /// Whether it gave an image.
        ok: bool,
        /// Seconds of decoding.
        decode_s: f64,
    },
    /// A warm-up image was made.
    Warmup {
        /// Name of its cell.
        cell: String,
    },
    /// Something that a person should know; the work continues.
    Warning {
        /// In a sentence.
        what: String,
    },
    /// The disk is full, and writes wait.
    DiskFull(Shortage),
    /// The disk has space again.
    DiskFree,
    /// The worker ends with an error. Its log has it too, unless the disk is full.
    Failed {
        /// What stopped it.
        why: String,
    },
}

impl From<Wait> for WorkerEvent {
    fn from(wait: Wait) -> Self {
        match wait {
            Wait::Begins(shortage) => Self::DiskFull(shortage),
            Wait::Ends => Self::DiskFree,
        }
    }
}
