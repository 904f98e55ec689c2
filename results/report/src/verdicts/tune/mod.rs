//! The best setting inside a budget, of a run that has them all. [`sample`] is what was measured of one quantity and how sure
//! its mean is; [`bound`] compares a sample with one bound, and is the only place that says whether a bound is met;
//! [`trial`] is all of that for one setting; [`tuning`] is the whole with its answer and its table. No file is read here.

pub mod bound;
pub mod sample;
mod show;
pub mod trial;
pub mod tuning;
