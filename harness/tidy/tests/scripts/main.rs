//! The shell scripts of the checkout, run in temporary folders with stubs for what they call.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod sandbox;
mod torch;

mod code_count;
mod cuda_graphs_script;
mod libtorch_script;
mod libtorch_wheels;
mod site_script;
mod supply_chain;
mod test_script;
