//! Every model, network and metric that this program knows, each declared once: one TOML file in `models/` says family,
//! sizes, what a model can lend a method, its files, the ways they can be on a disk, licence and memory; one in `metrics/`
//! says what a metric is, what it needs and which values are better; a BibTeX entry in `citations/` is a work to cite.
//!
//! Specs and plans ask it what a model can do, [`hub`] finds and fetches the files that it names, [`convert`] makes
//! safetensors of them, the models are built from its sizes. Knows no network; nothing but [`hub`] and [`convert`] reads
//! a file at run time.

pub mod citation;
pub mod convert;
pub mod entry;
pub mod hub;
pub mod memory;
pub mod metric;
pub mod part;
pub mod target;

pub use citation::{Bibliography, Citation};
pub use entry::{ENTRIES, Entry, entry};
pub use metric::{FEWEST_IMAGES, METRICS, Metric, metric};
pub use part::{Choice, Part};
pub use target::{Ability, Family, Head, Target};

/// Name and text of every built-in protocol of metrics, in the order of the names: the files of `metrics/protocols`, which
/// `specimen-measure` reads.
pub const PROTOCOLS: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/protocols.rs"));

/// The same of the protocols of metrics that compare two pictures: the files of `metrics/protocols/pairs`.
pub const PAIR_PROTOCOLS: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/pair_protocols.rs"));
