//! Features and attributes from images (tch). Knows pictures, knows no method and no statistic.
//!
//! Read in this order: [`extractor`] (the seam of this program's own networks), [`network`] (the seam of published
//! ones), then one file per network.

pub mod extractor;

pub mod network;

pub mod open;

mod conv;
pub mod transformer;

pub mod inception;

pub mod vgg;

pub mod clip;

pub mod dinov2;

pub mod recipe_weights;

pub mod weights_lookup;

pub mod scene_net;

pub mod scene_features;

pub mod lenet;
