//! A paper's table and a run of its twin: printed values next to ours in the paper's layout, a verdict on each, and on
//! each claim of the paper. Start with [`paper`] (layouts and claims as data), then [`claims`], [`decidable`] (what a
//! spec could decide, before it is run), then
//! [`reproduction`], then [`overview`] (several tables).

pub mod claims;
pub mod decidable;
pub mod overview;
pub mod paper;
pub mod reproduction;
mod show;
