//! The picture decoder against diffusers' VQModel, on an oblong map of codes.

use specimen_models::families::chameleon::{Vqgan, VqganConfig};
use tch::{Kind, no_grad};

use crate::{reference::expected, rule::ByRule};

#[test]
fn pixels_are_those_of_diffusers() {
    let config =
        VqganConfig { n_codes: 16, d_code: 4, d_latent: 8, channels: 32, widths: vec![1, 1, 2], n_blocks: 1 };
    let vqgan = Vqgan::new(&mut ByRule(Kind::Float), &config).unwrap();
    let found = no_grad(|| vqgan.decode(&expected("picture.codes")));
    let expected = expected("picture.pixels");
    assert_eq!(found.size(), [1, 3, 12, 20]);
    assert_eq!(expected.size(), found.size());
    let distance = (&found - &expected).abs().max().double_value(&[]);
    let spread = expected.std(true).double_value(&[]);
    // f32 sums of up to 576 products in 20 convolutions, renormed between; pixels of scale 1.
    assert!(distance < 1e-4 && spread > 0.1, "{distance}, with pixels of spread {spread}");
}
