//! Whether a run is as good as the baseline in the repository, rule by rule.
//!
//! Counted quantities (forwards, tokens a forward, acceptance) are held to on any machine; times only on a runner that
//! the rule names, and never a ratio alone: both of its legs are held too, since a slower baseline makes every speedup
//! look better. Start with [`rules`], then [`baseline`], then [`check`].

pub mod baseline;
pub mod check;
mod judge;
pub mod rules;
pub mod show;
