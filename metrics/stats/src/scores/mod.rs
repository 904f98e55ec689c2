//! Statistics of one set, and of what a run counted.

pub mod accuracy;
pub mod clip_scalings;
pub mod cosine_score;
pub mod decode_metrics;
pub mod inception_score;
pub mod predicted_speedup;
pub mod vendi;
