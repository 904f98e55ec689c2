//! Features and attributes from images (tch). Knows pictures, knows no method and no statistic.
//!
//! Read in this order: [`extractor`] (the seam of this program's own networks), [`network`] (the seam of published
//! ones), then one file per network.

pub mod extractor;

pub mod network;

pub mod scene_net;

pub mod scene_features;

pub mod lenet;
