//! What drafts: [`draft_head`] is what a head offers, [`eagle`], [`eagle3`] and [`lantern_head`] are heads,
//! [`eagle_draft`] drafts one image with a head and [`model_draft`] with another model. [`described_head`] is a head as its
//! family describes it, for training and reading alike, [`eagle3_file`] describes EAGLE-3 for all of them and
//! [`llama_heads`] both for networks of LLaMA layers, [`head_sources`]
//! reads heads from files, and [`drafters`] lists what a model has.

// One group a line of the reading order above; rustfmt sorts within a group only.
pub mod draft_head;

pub mod eagle;
pub mod eagle3;
pub mod lantern_head;

pub mod eagle_draft;
pub mod model_draft;

pub mod described_head;
pub mod eagle3_file;
pub mod head_file;
pub mod llama_heads;

pub mod drafters;
pub mod head_sources;
mod repeated;
