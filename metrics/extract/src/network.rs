//! The published feature networks: their names, layers and picture sizes.
//!
//! Pixels are the protocol's business: a network neither resizes nor normalises, so the identity of a number is
//! that of the protocol's steps and of the network, together.

use std::fmt;

use serde::{Deserialize, Serialize};
use specimen_catalog::{Entry, entry};
pub use specimen_foundation::dtype::Dtype;
use specimen_foundation::failure;

use crate::extractor::ExtractError;

/// The networks that metrics are published with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkName {
    /// Inception-v3 with the weights of the TensorFlow release of 2015-12-05: FID, KID, IS.
    InceptionFid,
    /// VGG16 of torchvision (ImageNet): precision and recall of LANTERN and VVS.
    Vgg16,
    /// OpenAI CLIP ViT-B/32.
    ClipVitB32,
    /// OpenAI CLIP ViT-B/16.
    ClipVitB16,
    /// OpenAI CLIP ViT-L/14.
    ClipVitL14,
    /// OpenAI CLIP ViT-L/14 at 336 pixels: CMMD.
    ClipVitL14At336,
    /// CLIP ViT-H/14 of LAION.
    ClipVitH14,
    /// The same tuned on preferences of Pick-a-Pic: PickScore.
    #[serde(rename = "pickscore-v1")]
    PickScoreV1,
    /// The same tuned on HPD v2: HPSv2.0.
    #[serde(rename = "hps-v2.0")]
    HpsV20,
    /// The same: HPSv2.1.
    #[serde(rename = "hps-v2.1")]
    HpsV21,
    /// DINOv2 ViT-B/14, without registers.
    Dinov2VitB14,
    /// DINOv2 ViT-L/14, without registers: FD-DINOv2.
    Dinov2VitL14,
}

/// A layer whose output is a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Layer {
    /// Its name in protocols.
    pub name: &'static str,
    /// Width of a row.
    pub n_dims: usize,
}

/// Inception's layers. Those of convolutions are means over the picture; `logits-unbiased` leaves the bias of the
/// last layer out (torch-fidelity's Inception Score).
const INCEPTION_LAYERS: [Layer; 6] = [
    Layer { name: "64", n_dims: 64 },
    Layer { name: "192", n_dims: 192 },
    Layer { name: "768", n_dims: 768 },
    Layer { name: "2048", n_dims: 2048 },
    Layer { name: "logits", n_dims: 1008 },
    Layer { name: "logits-unbiased", n_dims: 1008 },
];
/// The second linear layer, before its ReLU.
const VGG_LAYERS: [Layer; 1] = [Layer { name: "fc2", n_dims: 4096 }];
/// The joint space of pictures and texts, before the vector is scaled to length 1.
const CLIP_512: [Layer; 1] = [Layer { name: "embedding", n_dims: 512 }];
const CLIP_768: [Layer; 1] = [Layer { name: "embedding", n_dims: 768 }];
const CLIP_1024: [Layer; 1] = [Layer { name: "embedding", n_dims: 1024 }];
/// The class token after the last norm.
const DINO_B: [Layer; 1] = [Layer { name: "cls", n_dims: 768 }];
const DINO_L: [Layer; 1] = [Layer { name: "cls", n_dims: 1024 }];

impl NetworkName {
    /// Every network, in the order of their names here.
    pub const ALL: [Self; 12] = [
        Self::InceptionFid,
        Self::Vgg16,
        Self::ClipVitB32,
        Self::ClipVitB16,
        Self::ClipVitL14,
        Self::ClipVitL14At336,
        Self::ClipVitH14,
        Self::PickScoreV1,
        Self::HpsV20,
        Self::HpsV21,
        Self::Dinov2VitB14,
        Self::Dinov2VitL14,
    ];

    /// OpenAI's releases of CLIP.
    pub(crate) const CLIP: [Self; 4] =
        [Self::ClipVitB32, Self::ClipVitB16, Self::ClipVitL14, Self::ClipVitL14At336];

    /// What the catalog has of it: files with sizes and digests.
    ///
    /// # Panics
    /// Without an entry of its name, which a test excludes.
    pub fn entry(self) -> &'static Entry {
        entry(self.name()).expect("every network is tested to be in the catalog")
    }

    /// Its stable name, as protocols and identities spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::InceptionFid => "inception-fid",
            Self::Vgg16 => "vgg16",
            Self::ClipVitB32 => "clip-vit-b32",
            Self::ClipVitB16 => "clip-vit-b16",
            Self::ClipVitL14 => "clip-vit-l14",
            Self::ClipVitL14At336 => "clip-vit-l14-at336",
            Self::ClipVitH14 => "clip-vit-h14",
            Self::PickScoreV1 => "pickscore-v1",
            Self::HpsV20 => "hps-v2.0",
            Self::HpsV21 => "hps-v2.1",
            Self::Dinov2VitB14 => "dinov2-vit-b14",
            Self::Dinov2VitL14 => "dinov2-vit-l14",
        }
    }

    /// Its layers, from the pixels on.
    pub fn layers(self) -> &'static [Layer] {
        match self {
            Self::InceptionFid => &INCEPTION_LAYERS,
            Self::Vgg16 => &VGG_LAYERS,
            Self::ClipVitB32 | Self::ClipVitB16 => &CLIP_512,
            Self::ClipVitL14 | Self::ClipVitL14At336 => &CLIP_768,
            Self::ClipVitH14 | Self::PickScoreV1 | Self::HpsV20 | Self::HpsV21 => &CLIP_1024,
            Self::Dinov2VitB14 => &DINO_B,
            Self::Dinov2VitL14 => &DINO_L,
        }
    }

    /// The layer called `name`.
    pub fn layer(self, name: &str) -> Result<Layer, ExtractError> {
        let known = self.layers();
        known.iter().find(|layer| layer.name == name).copied().ok_or_else(|| {
            failure!(Spec: "{} has no layer `{name}`; it has {}", self.name(),
                known.iter().map(|layer| layer.name).collect::<Vec<_>>().join(", "))
            .into()
        })
    }

    /// Pixels along each edge of the pictures that it takes; pictures are square.
    pub fn input_side(self) -> usize {
        match self {
            Self::InceptionFid => 299,
            Self::ClipVitL14At336 => 336,
            _ => 224,
        }
    }
}

impl fmt::Display for NetworkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

    use super::*;

    #[test]
    fn the_stored_name_of_a_network_is_the_one_it_shows() {
        for network in NetworkName::ALL {
            assert!(network.entry().weights().next().is_some(), "{network}");
            let stored = format!("\"{network}\"");
            assert_eq!(serde_json::to_string(&network).unwrap(), stored);
            assert_eq!(serde_json::from_str::<NetworkName>(&stored).unwrap(), network);
        }
        assert_eq!(serde_json::to_string(&Dtype::Bf16).unwrap(), "\"bf16\"");
    }

    #[test]
    fn an_unknown_layer_is_answered_with_the_known_ones() {
        assert_eq!(NetworkName::InceptionFid.layer("768").unwrap().n_dims, 768);
        let message = NetworkName::InceptionFid.layer("pool3").unwrap_err().to_string();
        assert_eq!(
            message,
            "inception-fid has no layer `pool3`; it has 64, 192, 768, 2048, logits, logits-unbiased"
        );
    }
}
