//! Features and attributes from images (tch). Knows pictures, knows no method and no statistic.
//!
//! Every network is behind one seam, `specimen_pixels::network::FeatureNetwork`. Read in this order: [`network`] (the
//! published networks), [`open`] (from a name and a file of weights to a network), then one file per network.

pub mod extractor;

pub mod network;

pub mod open;

mod conv;
pub mod transformer;

pub mod inception;

pub mod vgg;

pub mod clip;

pub mod dinov2;

pub mod aesthetic;

pub mod imagereward;

pub mod lpips;

pub mod recipe_weights;

pub mod weights_lookup;

pub mod scene_net;

pub mod scene_features;

pub mod lenet;
