//! Distribution functions and tests of significance.

pub mod chi_square_power;
pub mod gamma;
pub mod multiple_tests;
pub mod normal;
pub mod significance;
pub mod student;
pub mod t_power;
