//! Specs: what may stand in them, and the plans that they make.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod bad_specs;
mod citations;
mod committed_specs;
mod external_cells;
mod goals;
mod guide;
mod overrides;
mod plans;
mod slurm;
