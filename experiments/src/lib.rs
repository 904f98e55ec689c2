//! From a spec to a plan: what is asked, of which models, with which methods, in which order.
//!
//! Read in this order: [`spec`] (what an experiment is), [`parse`] (its text form; [`set`] and [`matrix`]
//! change and multiply it; [`bundled`] has the committed ones; [`schema`] describes it for editors; [`slurm`] is the part about a cluster, [`external`] the cells that another process
//! makes), [`measures`] (what is measured of a cell), [`expect`] and [`names`] (numbers from elsewhere, and known names), [`abilities`]
//! (what models can lend methods), [`warnings`] (what is allowed but probably not meant), [`seeds`] and [`plan`]
//! (items and blocks), [`citations`] (the works it is made of), [`estimate`], [`bandwidth`] and [`array_shape`] (what they will take), [`goal`] (what a tuning
//! looks for). Nothing here generates, measures or touches a run directory.

pub mod abilities;
pub mod array_shape;
mod axes;
pub mod bandwidth;
mod blame;
pub mod bundled;
mod canonical;
mod cells;
pub mod citations;
mod document;
pub mod error;
pub mod estimate;
mod exclude;
pub mod expect;
pub mod external;
mod fields;
pub mod given_heads;
pub mod goal;
mod interleave;
pub mod matrix;
pub mod measures;
pub mod names;
pub mod parse;
pub mod plan;
pub mod prompts;
pub mod schema;
pub mod seeds;
pub mod set;
pub mod slurm;
pub mod spec;
pub mod warnings;

pub use specimen_foundation::place;
