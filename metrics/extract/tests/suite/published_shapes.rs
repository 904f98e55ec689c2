//! Networks of published shape have as many parameters as those of the reference implementations: transformers 5.23
//! (CLIP; DINOv2 without its mask token), torchvision 0.28 (VGG16 without its last layer) and image-reward 1.5 (without the two
//! projections that a score does not take).

use specimen_extract::{
    clip::{
        shape::{ClipLayout, TextShape, VisionShape},
        text::TextTower,
        vision::ClipVision,
    },
    dinov2::{DinoLayout, DinoShape, Dinov2},
    imagereward::{self, ImageRewardShape},
    inception::Inception,
    vgg::Vgg16,
};
use specimen_weights::{Init, LoadError, ParamSource};
use tch::{Device, Kind, Tensor};

/// Counts what is asked of it.
#[derive(Default)]
struct Counter(i64);

impl ParamSource for Counter {
    fn param(&mut self, _: &str, shape: &[i64], _: Init) -> Result<Tensor, LoadError> {
        self.0 += shape.iter().product::<i64>();
        // One number seen from everywhere, so that a billion of them takes no memory.
        Ok(Tensor::zeros([0_i64; 0], (Kind::Float, Device::Cpu)).expand(shape, false))
    }
}

fn count(build: impl FnOnce(&mut Counter) -> Result<(), LoadError>) -> i64 {
    let mut counter = Counter::default();
    build(&mut counter).unwrap();
    counter.0
}

fn clip(layout: ClipLayout, vision: VisionShape, text: TextShape) -> i64 {
    count(|counter| {
        ClipVision::new(counter, layout, &vision, Kind::Float)?;
        TextTower::new(counter, layout, &text, Kind::Float).map(|_| ())
    })
}

#[test]
fn clip_has_the_parameters_of_its_release() {
    for layout in [ClipLayout::OpenAi, ClipLayout::HuggingFace] {
        assert_eq!(clip(layout, VisionShape::B32, TextShape::B), 151_277_313);
        assert_eq!(clip(layout, VisionShape::B16, TextShape::B), 149_620_737);
        assert_eq!(clip(layout, VisionShape::L14, TextShape::L), 427_616_513);
        assert_eq!(clip(layout, VisionShape::L14_AT_336, TextShape::L), 427_944_193);
    }
    // The other layout puts queries, keys and values together, which takes a gigabyte.
    assert_eq!(clip(ClipLayout::OpenAi, VisionShape::H14, TextShape::H), 986_109_441);
}

#[test]
fn dinov2_has_the_parameters_of_its_release() {
    for layout in [DinoLayout::Release, DinoLayout::HuggingFace] {
        let dino = |shape| count(|counter| Dinov2::new(counter, layout, &shape, Kind::Float).map(|_| ()));
        assert_eq!(dino(DinoShape::B14), 86_579_712);
        assert_eq!(dino(DinoShape::L14), 304_367_616);
    }
}

#[test]
fn imagereward_has_the_parameters_of_its_release() {
    let n_published = count(|counter| imagereward::ask(counter, &ImageRewardShape::PUBLISHED));
    assert_eq!(n_published, 446_206_689);
    let memory = imagereward::catalog_entry().memory.unwrap();
    assert_eq!(memory.n_parameters.get(), Some(&446_206_689));
}

#[test]
fn vgg16_and_inception_have_the_parameters_of_theirs() {
    assert_eq!(count(|counter| Vgg16::new(counter, Kind::Float).map(|_| ())), 134_260_544);
    // Those of the official file without its 94 counters of batches.
    let inception = count(|counter| Inception::new(counter, Kind::Float).map(|_| ()));
    assert_eq!(inception, 23_885_486 - 94);
}
