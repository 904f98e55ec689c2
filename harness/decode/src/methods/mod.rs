//! One file per paper: drafters, acceptance rules and schedulers, put together by [`crate::method`].

pub mod ar;

pub mod sd;

pub mod eagle1;
pub mod eagle2;

pub mod cascade;
pub mod lantern;

pub mod gsd;
pub mod sjd;
pub mod sjd_vp;

pub mod redundancy;
pub mod vvs;
