//! From a caption to the features that condition LlamaGen: cleaning, words, the encoder of flan-t5-xl, and a cache of
//! what it gave.

mod clean;
mod config;
mod encoder;
mod features;

pub use clean::clean_caption;
pub use config::T5Config;
pub use encoder::{T5Encoder, bucket};
pub(crate) use features::cut_of;
pub use features::{CaptionError, CaptionFeatures, FeatureStore};
