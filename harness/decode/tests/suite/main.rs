//! What must hold for every method, checked on a toy whose joint distribution is known exactly.
//!
//! `laws`: lossless methods keep the target's law; `rates`: they accept as often as the formula says;
//! `mutations`: both checks find the classic mistakes; `golden`: nothing changed unnoticed; `seams`:
//! methods still to come fit; `traces`, `config`: the numbers and texts others read.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

mod chi_square;
mod config;
mod golden;
mod laws;
mod mutations;
mod rates;
mod reference;
mod seams;
mod support;
mod traces;
