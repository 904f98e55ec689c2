//! Image-GPT, the smallest published size (Chen et al., ICML 2020; weights teddykoker/image-gpt, trained on
//! MNIST and Fashion-MNIST): 784 grey pixels of 16 levels in raster order, without prompt and guidance. Real
//! weights that decode in seconds on a CPU; each of the two models drafts for the other.

mod backbone;
mod block;
mod config;
mod model;
mod palette;

pub use backbone::IgptBackbone;
pub use config::IgptConfig;
pub use model::{narrow, open};
pub use palette::Palette;
