//! Every model and network that this program knows, each declared once: one TOML file in `models/` says family, sizes,
//! what it can lend a method, its files, the ways they can lie on a disk, licence and memory.
//!
//! Specs and plans ask it what a model can do, [the hub](../specimen_hub/index.html) fetches what it names, the models
//! are built from its sizes. Knows no tensor and no network; reads no file at run time.

pub mod entry;
pub mod memory;
pub mod part;
pub mod target;

pub use entry::{ENTRIES, Entry, entry};
pub use part::{Choice, Part};
pub use target::{Ability, Family, Head, Target};
