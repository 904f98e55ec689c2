//! The trained scene evaluator behind the extractor seam: features for `fd-scenes`, caption agreement for
//! `scene-clip`, attribute logits for `attribute-accuracy`. The weights ship in the binary.

use specimen_weights::Checkpoint;
use tch::{Device, Kind, Tensor};

use crate::{
    conv::channels_last,
    extractor::{ExtractError, FeatureExtractor, Features, Pictures},
    network::{Batch, FeatureNet, Layer},
    scene_net::{CAPTION_LEN, N_FEATURES, N_JOINT, N_LOGITS, N_WORDS, SIDE, SceneNet},
};

static WEIGHTS: &[u8] = include_bytes!("../weights/features.safetensors");

/// Pictures run at once.
const BATCH: usize = 64;

/// The feature of distances.
const LAYERS: [Layer; 1] = [Layer { name: "feature", n_dims: N_FEATURES as usize }];

/// The scene evaluator, in f32.
pub struct SceneFeatures {
    net: SceneNet,
    digest: String,
}

impl SceneFeatures {
    /// Opens the weights in the binary.
    ///
    /// # Errors
    /// Damaged weights.
    pub fn embedded() -> Result<Self, ExtractError> {
        let mut checkpoint =
            Checkpoint::embedded("scenes/features.safetensors", WEIGHTS, Some(Kind::Float), Device::Cpu)?;
        let digest = checkpoint.digest().to_owned();
        let net = SceneNet::new(&mut checkpoint)?;
        checkpoint.finish()?;
        Ok(Self { net, digest })
    }

    /// Cosine of picture and caption, one per picture, in `[-1, 1]`. `captions`: 20 word ids a picture,
    /// left-padded with 0.
    ///
    /// # Errors
    /// Pictures of another size, captions of another length or vocabulary.
    pub fn caption_cosines(
        &self,
        pictures: &Pictures,
        captions: &[[u16; CAPTION_LEN as usize]],
    ) -> Result<Vec<f64>, ExtractError> {
        if let Some(bad) = captions.iter().find(|ids| ids.iter().any(|&id| i64::from(id) >= N_WORDS)) {
            let expected = CAPTION_LEN as usize;
            return Err(ExtractError::Caption { found: bad.to_vec(), expected, n_words: N_WORDS as usize });
        }
        let _guard = tch::no_grad_guard();
        let images = self.net.embed_features(&self.feature_tensor(pictures)?);
        let ids: Vec<i64> = captions.iter().flatten().map(|&id| i64::from(id)).collect();
        let texts = self.net.embed_captions(&Tensor::from_slice(&ids).view([-1, CAPTION_LEN]));
        debug_assert_eq!(texts.size(), [captions.len() as i64, N_JOINT]);
        Ok(to_vec(&(images * texts).sum_dim_intlist([-1_i64].as_slice(), false, None::<Kind>))
            .into_iter()
            .map(f64::from)
            .collect())
    }

    /// Attribute logits, 47 a picture in the order of [`N_LOGITS`].
    ///
    /// # Errors
    /// Pictures of another size.
    pub fn attribute_logits(
        &self,
        pictures: &Pictures,
    ) -> Result<Vec<[f32; N_LOGITS as usize]>, ExtractError> {
        let _guard = tch::no_grad_guard();
        let flat = to_vec(&self.net.attributes(&self.feature_tensor(pictures)?));
        let row = |chunk: &[f32]| chunk.try_into().expect("a row has 47 logits");
        Ok(flat.chunks_exact(N_LOGITS as usize).map(row).collect())
    }

    /// `x`: `[n, 3, 64, 64]` in `[-1, 1]`, n at least 1; returns `[n, 128]`.
    fn feature_blocks(&self, x: &Tensor) -> Tensor {
        let blocks: Vec<Tensor> = x.split(BATCH as i64, 0).iter().map(|x| self.net.features(x)).collect();
        Tensor::cat(&blocks, 0)
    }

    fn feature_tensor(&self, pictures: &Pictures) -> Result<Tensor, ExtractError> {
        let Pictures { width, height, channels, .. } = *pictures;
        if (width, height, channels) != (SIDE as usize, SIDE as usize, 3) || pictures.is_empty() {
            return Err(ExtractError::Size {
                extractor: "the scene evaluator",
                expected: "64x64 RGB (at least one)",
                found: format!("{} of {width}x{height} with {channels} channels", pictures.len()),
            });
        }
        let size = SIDE as usize * SIDE as usize * 3;
        let blocks: Vec<Tensor> = pictures
            .bytes
            .chunks(BATCH * size)
            .map(|bytes| {
                let x = Tensor::from_slice(bytes).view([-1, SIDE, SIDE, 3]).permute([0, 3, 1, 2]);
                self.net.features(&(x.to_kind(Kind::Float) / 127.5 - 1.0))
            })
            .collect();
        Ok(Tensor::cat(&blocks, 0))
    }
}

impl FeatureExtractor for SceneFeatures {
    fn identity(&self) -> String {
        format!("scenes@64-rgb@{}", &self.digest[..12])
    }

    fn features(&self, pictures: &Pictures) -> Result<Features, ExtractError> {
        let _guard = tch::no_grad_guard();
        Ok(Features { n_dims: N_FEATURES as usize, rows: to_vec(&self.feature_tensor(pictures)?) })
    }
}

/// The scene evaluator among the published networks: it takes pixels in `[-1, 1]`, `byte / 127.5 - 1`.
impl FeatureNet for SceneFeatures {
    fn layers(&self) -> &[Layer] {
        &LAYERS
    }

    fn identity_of(&self, layer_idx: usize) -> String {
        format!("scenes-{}-f32@{}", LAYERS[layer_idx].name, &self.digest[..12])
    }

    fn forward_layers(&self, batch: &Batch) -> Result<Vec<Features>, ExtractError> {
        let _guard = tch::no_grad_guard();
        let x = batch.to_tensor("scenes", SIDE as usize)?;
        Ok(vec![Features {
            n_dims: N_FEATURES as usize,
            rows: to_vec(&self.feature_blocks(&channels_last(&x))),
        }])
    }
}

fn to_vec(x: &Tensor) -> Vec<f32> {
    let flat = x.to_kind(Kind::Float).contiguous();
    let mut values = vec![0.0; flat.numel()];
    let n = values.len();
    flat.copy_data(&mut values, n);
    values
}
