//! Files of every network of the metrics with weights by recipe, narrow where its file says the shape.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{collections::BTreeMap, fs};

use specimen_extract::{
    aesthetic::{self, AestheticName},
    clip::shape::{ClipLayout, ClipShapes, TextShape, VisionShape},
    imagereward::{self, ImageRewardShape},
    lpips::{self, LpipsName},
    network::NetworkName,
    open::recipe_tensors,
    recipe_weights::clip_tensors,
    transformer::StackShape,
};
use specimen_weights::write_safetensors;

use crate::support::{Desk, workspace};

/// What the reference tools say of them.
pub(crate) const GOLDEN: &str = "metrics/measure/tests/golden/published_answers/values.toml";

/// Towers of depth 2 and two heads.
fn narrow(ClipShapes { vision, text, .. }: ClipShapes, width: i64, n_joint: i64) -> (VisionShape, TextShape) {
    let narrow =
        |stack: StackShape, width| StackShape { width, depth: 2, n_heads: 2, mlp: 4 * width, ..stack };
    let vision = VisionShape { stack: narrow(vision.stack, width), n_joint, ..vision };
    (vision, TextShape { stack: narrow(text.stack, 128), n_joint, ..text })
}

/// Writes the golden values and the weights that they are of into a folder `golden`; returns the path of the values.
pub(crate) fn golden(desk: &Desk) -> String {
    let write = |name: &str, tensors: &BTreeMap<String, _>| {
        write_safetensors(&desk.path(&format!("golden/{name}.safetensors")), tensors).unwrap();
    };
    let clip = |layout: ClipLayout, shapes: ClipShapes, width: i64, n_joint: i64| {
        let (vision, text) = narrow(shapes, width, n_joint);
        clip_tensors(layout, &vision, &text)
    };
    let values = desk.file("golden/values.toml", &fs::read_to_string(workspace(GOLDEN)).unwrap());
    let (open_clip, hf) = (ClipLayout::OpenAi, ClipLayout::HuggingFace);
    write("inception", &recipe_tensors(NetworkName::InceptionFid));
    write("clip-b32", &clip(open_clip, ClipShapes::B32, 128, 64));
    write("clip-l14-at336", &clip(open_clip, ClipShapes::L14_AT_336, 128, 64));
    for head in [AestheticName::SacLogosAva1Linear, AestheticName::AvaLogosRelu] {
        let mut both = clip(open_clip, ClipShapes::L14, 128, 768);
        both.extend(aesthetic::recipe_tensors(head));
        write(head.name(), &both);
    }
    write("torchmetrics-clip", &clip(hf, ClipShapes::L14, 128, 64));
    write("sjd-clip", &clip(hf, ClipShapes::B16, 128, 64));
    write("pickscore", &clip(hf, ClipShapes::H14, 160, 64));
    write("hps", &clip(open_clip, ClipShapes::H14, 160, 64));
    for name in [LpipsName::Alex, LpipsName::Squeeze] {
        write(name.name(), &lpips::recipe_tensors(name));
    }
    let shape = ImageRewardShape::new([128, 2, 512], [64, 3, 192], 180, 40);
    write("imagereward", &imagereward::recipe_tensors(&shape));
    let words = workspace("metrics/extract/tests/golden/imagereward/vocab.txt");
    fs::copy(words, desk.path("golden/vocab.txt")).unwrap();
    values
}
