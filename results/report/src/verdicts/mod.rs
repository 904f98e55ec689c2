//! What a run means compared with something else: published numbers, a baseline in the repository, another run.
//!
//! Read in this order: [`papers`] (published numbers), [`gate`] (a baseline in the
//! repository), [`values`] (a run prompt by prompt), [`compare`] (two runs), [`ablation`]
//! (one run by its settings), [`reproduce`] (a paper's table), [`tune`] (the best setting inside a budget). Everything here is arithmetic on
//! the files of a run: no network, no image, no clock.

mod measured;

pub mod papers;

pub mod gate;

pub mod values;

pub mod compare;

pub mod ablation;

pub mod reproduce;

pub mod tune;
