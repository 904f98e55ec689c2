//! The trained scenes evaluator: features for `fd-scenes`, caption agreement for
//! `scene-clip`, attribute logits for `attribute-accuracy`. The weights ship in the binary.

use specimen_foundation::fail;
use specimen_pixels::network::{Batch, FeatureNetwork, NetworkFault, Part};
use specimen_weights::Checkpoint;
use tch::{Device, Kind, Tensor};

use crate::{
    conv::channels_last,
    extractor::ExtractError,
    open::{to_tensor, to_vec},
    scene_net::{CAPTION_LEN, N_FEATURES, N_JOINT, N_LOGITS, N_WORDS, SIDE, SceneNet},
};

static WEIGHTS: &[u8] = include_bytes!("../weights/features.safetensors");

/// Pictures in one pass.
pub const BATCH: usize = 64;

/// The scene evaluator, in f32.
pub struct SceneFeatures {
    net: SceneNet,
    digest: String,
}

impl SceneFeatures {
    /// Opens the weights in the binary.
    pub fn embedded() -> Result<Self, ExtractError> {
        let mut checkpoint =
            Checkpoint::embedded("scenes/features.safetensors", WEIGHTS, Some(Kind::Float), Device::Cpu)?;
        let digest = checkpoint.digest().to_owned();
        let net = SceneNet::new(&mut checkpoint)?;
        checkpoint.finish()?;
        Ok(Self { net, digest })
    }

    /// Cosine of picture and caption, one per picture, in `[-1, 1]`. `rows`: the features of the pictures; `captions`: 20
    /// word ids a picture, left-padded with 0.
    pub fn caption_cosines(
        &self,
        rows: &[f32],
        captions: &[[u16; CAPTION_LEN as usize]],
    ) -> Result<Vec<f64>, ExtractError> {
        if let Some(bad) = captions.iter().find(|ids| ids.iter().any(|&id| i64::from(id) >= N_WORDS)) {
            let expected = CAPTION_LEN as usize;
            fail!(Bug: "caption ids {:?} are not {expected} ids below {}", bad.to_vec(), N_WORDS as usize);
        }
        let _guard = tch::no_grad_guard();
        let images = self.net.embed_features(&tensor_of(rows));
        let ids: Vec<i64> = captions.iter().flatten().map(|&id| i64::from(id)).collect();
        let texts = self.net.embed_captions(&Tensor::from_slice(&ids).view([-1, CAPTION_LEN]));
        debug_assert_eq!(texts.size(), [captions.len() as i64, N_JOINT]);
        Ok(to_vec(&(images * texts).sum_dim_intlist([-1_i64].as_slice(), false, None::<Kind>))
            .into_iter()
            .map(f64::from)
            .collect())
    }

    /// Attribute logits, 47 a picture in the order of [`N_LOGITS`]. `rows`: the features of the pictures.
    pub fn attribute_logits(&self, rows: &[f32]) -> Vec<[f32; N_LOGITS as usize]> {
        let _guard = tch::no_grad_guard();
        let flat = to_vec(&self.net.attributes(&tensor_of(rows)));
        let row = |chunk: &[f32]| chunk.try_into().expect("a row has 47 logits");
        flat.chunks_exact(N_LOGITS as usize).map(row).collect()
    }
}

/// It takes pixels in `[-1, 1]`, `byte / 127.5 - 1`.
impl FeatureNetwork for SceneFeatures {
    fn parts(&self) -> Vec<Part> {
        let identity = format!("scenes@64-rgb@{}", &self.digest[..12]);
        vec![Part { identity, n_dims: N_FEATURES as usize }]
    }

    fn rows(&self, batch: &Batch) -> Result<Vec<f32>, NetworkFault> {
        let _guard = tch::no_grad_guard();
        let x = to_tensor(batch, "the scenes evaluator", SIDE as usize, Device::Cpu)?;
        Ok(to_vec(&self.net.features(&channels_last(&x))))
    }
}

/// `[n, 128]` of rows one behind the other.
fn tensor_of(rows: &[f32]) -> Tensor {
    Tensor::from_slice(rows).view([-1, N_FEATURES])
}
