//! Weights as others publish them: where they are ([`published_files`]), under which names
//! ([`published_names`]), in several files or with a configuration beside them; and weights from a seed.

// One group a line of the reading order above; rustfmt sorts within a group only.
pub mod published_files;
pub mod published_names;
pub mod several_files;
pub mod sidecar;

pub mod inventory;
pub mod placed;
pub mod random_weights;
