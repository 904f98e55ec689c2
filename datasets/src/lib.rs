//! What is asked of the model: prompt sets, reference images and small image sets, read strictly, and the
//! embedded data set of procedural scenes.
//!
//! Every reader takes untrusted files and answers with a [`DatasetError`] that names the file, the place
//! in it, what was expected and what was found. Prompts carry ids, and everything that belongs together
//! (prompt, generated image) is paired by id, never by order.
//! Start with [`catalog::open`]; the formats are one file each.

// Opening a dataset.
pub mod catalog;
pub mod data_root;
pub mod manifest;

// What is opened.
pub mod caption;
pub mod prompt;
pub mod prompt_set;
pub mod subset;
pub mod text;

// The formats.
mod cascade_figures;
pub mod coco;
pub mod coco_instances;
pub mod dpg;
pub mod geneval;
pub mod mnist;
pub mod parti;
pub mod prompts_file;
pub mod scenes;

// Images that were made elsewhere.
pub mod image_folder;
pub mod latencies;

// What all of them stand on.
mod delimited;
pub mod error;
mod json;
mod read;

pub use caption::CaptionPolicy;
pub use error::{DatasetError, Place};
pub use prompt::{Prompt, PromptId};
pub use prompt_set::PromptSet;
pub use read::{MAX_CONTENT_BYTES, SourceFile};
pub use specimen_foundation::digest::Digest;
