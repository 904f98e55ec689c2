//! Features and attributes from images (tch). Knows pictures, knows no method and no statistic.
//!
//! Read in this order: [`extractor`] (the seam), then one file per network.

pub mod extractor;

pub mod scene_net;

pub mod scene_features;

pub mod lenet;
