//! What must hold for every method, checked on a toy whose joint distribution is known exactly.
//!
//! `distributions`: lossless methods keep the target's distribution; `rates`: they accept as often as the formula
//! says; `relaxed`: the other rules leave it as their theory says; `second_rules`: those written a second time;
//! `cascade`, `cool_sd`, `couplings`, `gsd`, `jacobi`, `pjd`, `vvs`, `zipar`: the methods with more to say; `forward_sizes`: how
//! many tokens a forward has; `coupled_seeds`: one image for all lossless methods; `mutations`: the checks find the classic mistakes
//! (`../mutants.md` lists those made in the library itself); `golden`: nothing changed unnoticed; `samplers`: filters
//! are those of transformers; `seams`: methods of others fit; `traces`, `config`: the numbers and texts others read.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

mod cascade;
mod chi_square;
mod config;
mod cool_sd;
mod coupled_seeds;
mod couplings;
mod distributions;
mod forward_sizes;
mod golden;
mod gsd;
mod jacobi;
mod mutations;
mod pjd;
mod rates;
mod reference;
mod relaxed;
mod samplers;
mod seams;
mod second_rules;
mod support;
mod traces;
mod vvs;
mod zipar;
