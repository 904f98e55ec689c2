//! VGG16 against torchvision, on weights by recipe.

use specimen_extract::{
    network::{Dtype, NetworkName},
    open::open_recipe,
};
use specimen_pixels::network::{Batch, FeatureNetwork};

use crate::golden;

#[test]
fn the_second_linear_layer_is_taken_before_its_relu() {
    let net = open_recipe(NetworkName::Vgg16, &["fc2"], Dtype::F32).unwrap();
    let values = golden::by_recipe("pictures", 2 * 3 * 224 * 224, 2.0);
    let found = golden::forward(&net, &Batch { n: 2, height: 224, width: 224, values });
    let expected = golden::features("vgg16/fc2.npy");
    assert!(expected.rows.iter().any(|x| *x < 0.0));
    golden::check_close("fc2", &found, &expected, 1e-4);
    assert_eq!(net.identity(), "vgg16-fc2-f32@recipe");
}
