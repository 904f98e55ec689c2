//! The best setting inside a budget, by successive halving over prompts. [`schedule`] cuts the prompts into rungs that
//! share none and a part that is held out; [`trial`] is what a rung measured of a setting; [`rung`] decides who goes
//! on; [`tuning`] is the whole with its verdict, and its table. Runs are made elsewhere; here is no clock and no file.

pub mod rung;
pub mod schedule;
mod show;
pub mod trial;
pub mod tuning;
