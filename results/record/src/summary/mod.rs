//! From the rows of a run to its summary: speedups with paired intervals, counts, costs and what they
//! predict, metrics next to the baseline's, and how well the run was timed. Reads a run; generates and scores
//! nothing.
//!
//! Read in this order: [`summarise`] (all cells), `cell_data` (the rows of one cell), `cell_summary` (its
//! numbers), `speedups`, `wall_times`, `metrics`, `external_images` (cells of other programs), `method_words`
//! (a method in words), [`hardware`] (what computed), `timing_checks` (whether the times can be trusted),
//! [`cost_table`] (costs of forwards on another machine), [`projection`] (what the counts give under them).

mod cell_data;
mod cell_summary;
pub mod cost_table;
pub mod error;
mod external_images;
pub mod hardware;
mod method_words;
mod metrics;
pub mod projection;
mod speedups;
pub mod summarise;
mod timing_checks;
mod wall_times;
