//! What drafts: [`draft_head`] is what a head offers, [`eagle`], [`eagle3`] and [`lantern_head`] are heads,
//! [`eagle_draft`] drafts one image with a head and [`model_draft`] with another model, and [`drafters`] lists what a
//! model has and [`trainable`] what can be trained for it.

// One group a line of the reading order above; rustfmt sorts within a group only.
pub mod draft_head;

pub mod eagle;
pub mod eagle3;
pub mod lantern_head;

pub mod eagle_draft;
pub mod model_draft;

pub mod drafters;
pub mod trainable;
