//! The tiny model as a target: caption words in, 256 tokens, a 64x64 picture out.

use std::rc::Rc;

use specimen_decode::{dist::TokenId, drafter::DraftModel, pipeline::Sampling};
use specimen_weights::{Checkpoint, LoadError};
use tch::{Device, Kind, Tensor};

use super::{TargetConfig, TinyBackbone, Vq, VqConfig};
use crate::{
    draft_head::DraftHead,
    draft_time::DraftTime,
    eagle::EagleHead,
    eagle_draft::EagleDraft,
    eagle3::{Eagle3Config, Eagle3Head},
    generation::ModelGeneration,
    target::{DrafterKind, ModelError, Picture, TargetModel, WeightsId},
    token_tables::{TokenTables, vectors_of},
};

/// One embedded file with its configuration.
struct Embedded {
    role: &'static str,
    file: &'static str,
    bytes: &'static [u8],
    config: &'static str,
}

macro_rules! embedded {
    ($role:literal) => {
        Embedded {
            role: $role,
            file: concat!("tiny/", $role, ".safetensors"),
            bytes: include_bytes!(concat!("../../weights/tiny/", $role, ".safetensors")),
            config: include_str!(concat!("../../weights/tiny/", $role, ".json")),
        }
    };
}

static TOKENIZER: Embedded = embedded!("tokenizer");
static TARGET: Embedded = embedded!("target");
/// EAGLE-1 heads by their names in specs, the standard one first.
static EAGLE1: [(&str, Embedded); 3] = [
    (STANDARD, embedded!("drafter")),
    ("further", embedded!("drafter-further")),
    ("cascade", embedded!("drafter-cascade")),
];
static EAGLE3: Embedded = embedded!("drafter-eagle3");

/// The head that a spec gets without naming one.
const STANDARD: &str = "standard";

impl Embedded {
    fn config<T: serde::de::DeserializeOwned>(&self) -> Result<T, LoadError> {
        serde_json::from_str(self.config).map_err(|e| LoadError::Config {
            path: self.file.into(),
            reason: format!("bad configuration: {e}"),
        })
    }

    fn open(&self, kind: Kind, device: Device) -> Result<Checkpoint, LoadError> {
        Checkpoint::embedded(self.file, self.bytes, Some(kind), device)
    }

    fn id(&self, checkpoint: &Checkpoint) -> WeightsId {
        WeightsId { role: self.role.into(), file: self.file.into(), digest: checkpoint.digest().into() }
    }
}

/// Turns a caption into word ids; the vocabulary belongs to the dataset, not to the network.
pub type CaptionEncoder = Box<dyn Fn(&str) -> Result<Vec<u16>, String>>;

/// The loaded model.
pub struct TinyModel {
    config: TargetConfig,
    backbone: Rc<TinyBackbone>,
    /// In the order of [`EAGLE1`].
    eagle1: Vec<Rc<EagleHead>>,
    eagle3: Rc<Eagle3Head>,
    vq: Vq,
    tables: TokenTables,
    weights: Vec<WeightsId>,
    encode: CaptionEncoder,
    device: Device,
}

/// Word id that fills the slots of the null caption.
const NULL_WORD: i64 = 1;

impl TinyModel {
    /// Loads the weights in the binary; the transformer runs in `kind`, the picture decoder in f32.
    ///
    /// # Errors
    /// Damaged weights.
    pub fn embedded(kind: Kind, device: Device, encode: CaptionEncoder) -> Result<Self, LoadError> {
        let _guard = tch::no_grad_guard();
        let mut weights = Vec::new();
        let config: TargetConfig = TARGET.config()?;
        let mut checkpoint = TARGET.open(kind, device)?;
        weights.push(TARGET.id(&checkpoint));
        let mut backbone = TinyBackbone::new(&mut checkpoint, &config)?;
        checkpoint.finish()?;
        backbone.prepare();

        let vq_config: VqConfig = TOKENIZER.config()?;
        let mut checkpoint = TOKENIZER.open(Kind::Float, device)?;
        weights.push(TOKENIZER.id(&checkpoint));
        let vq = Vq::new(&mut checkpoint, &vq_config)?;
        checkpoint.finish()?;

        let mut eagle1 = Vec::new();
        for (_, embedded) in &EAGLE1 {
            let mut checkpoint = embedded.open(kind, device)?;
            weights.push(embedded.id(&checkpoint));
            let mut head = EagleHead::new(&mut checkpoint, &embedded.config()?, config.d_model)?;
            checkpoint.finish()?;
            head.layer.prepare();
            eagle1.push(Rc::new(head));
        }
        let mut checkpoint = EAGLE3.open(kind, device)?;
        weights.push(EAGLE3.id(&checkpoint));
        let eagle3_config: Eagle3Config = EAGLE3.config()?;
        eagle3_config
            .check_taps(config.n_layers)
            .map_err(|reason| LoadError::Config { path: EAGLE3.file.into(), reason })?;
        let mut eagle3 = Eagle3Head::new(&mut checkpoint, &eagle3_config, config.d_model, config.n_vocab)?;
        checkpoint.finish()?;
        eagle3.prepare();
        let tables = TokenTables::of_codebook(
            vectors_of(TOKENIZER.file, &vq.unit_codebook())?,
            vectors_of(TARGET.file, backbone.token_table())?,
        );
        let (backbone, eagle3) = (Rc::new(backbone), Rc::new(eagle3));
        Ok(Self { config, backbone, eagle1, eagle3, vq, tables, weights, encode, device })
    }

    /// The head of this kind and name, if there is one.
    fn head(&self, kind: &DrafterKind) -> Option<Rc<dyn DraftHead>> {
        let name = |weights: &Option<String>| weights.clone().unwrap_or_else(|| STANDARD.to_owned());
        match kind {
            DrafterKind::Eagle1(weights) => {
                let at = EAGLE1.iter().position(|(known, _)| *known == name(weights))?;
                Some(self.eagle1[at].clone())
            }
            DrafterKind::Eagle3(weights) => (name(weights) == STANDARD).then(|| self.eagle3.clone() as _),
            DrafterKind::Model(_) => None,
        }
    }

    /// Tokens of pictures, by the embedded tokenizer. `rgb`: `[n, 64, 64, 3]` bytes; returns `n` rows.
    #[must_use]
    pub fn tokenize(&self, rgb: &[u8]) -> Vec<Vec<TokenId>> {
        let _guard = tch::no_grad_guard();
        let side = self.vq.config().side;
        let x =
            Tensor::from_slice(rgb).view([-1, side, side, 3]).permute([0, 3, 1, 2]).to_device(self.device);
        let tokens = self.vq.quantise(&self.vq.encode(&(x.to_kind(Kind::Float) / 127.5 - 1.0)));
        let n_tokens = self.n_tokens();
        let mut ids = vec![0_i64; tokens.numel()];
        let n = ids.len();
        tokens.reshape([-1]).copy_data(&mut ids, n);
        ids.chunks(n_tokens).map(|row| row.iter().map(|&id| TokenId(id as u32)).collect()).collect()
    }
}

impl TargetModel for TinyModel {
    fn name(&self) -> &str {
        "tiny"
    }

    fn weights(&self) -> Vec<WeightsId> {
        self.weights.clone()
    }

    fn n_tokens(&self) -> usize {
        self.config.n_tokens() as usize
    }

    fn open(
        &self,
        prompt: &str,
        sampling: &Sampling,
        max_tree: usize,
    ) -> Result<ModelGeneration, ModelError> {
        let _guard = tch::no_grad_guard();
        let words = (self.encode)(prompt)
            .map_err(|reason| ModelError::Prompt { model: self.name().into(), reason })?;
        let TargetConfig { caption_len, n_words, .. } = self.config;
        if words.len() as i64 != caption_len || words.iter().any(|&word| n_words <= i64::from(word)) {
            let reason = format!("its caption is not {caption_len} word ids below {n_words}: {words:?}");
            return Err(ModelError::Prompt { model: self.name().into(), reason });
        }
        let mut rows: Vec<i64> = words.iter().map(|&word| i64::from(word)).collect();
        let mut n_rows = 1;
        if sampling.guidance != 1.0 {
            rows.extend(std::iter::repeat_n(NULL_WORD, words.len()));
            n_rows = 2;
        }
        let words = Tensor::from_slice(&rows).view([n_rows, self.config.caption_len]).to_device(self.device);
        let prefix = self.backbone.embed_caption(&words);
        Ok(ModelGeneration::new(self.backbone.clone(), *sampling, prefix, self.n_tokens(), max_tree))
    }

    fn drafter(
        &self,
        kind: &DrafterKind,
        generation: &ModelGeneration,
        max_run: usize,
    ) -> Result<(Box<dyn DraftModel>, DraftTime), ModelError> {
        let head = self.head(kind).ok_or_else(|| {
            let names: Vec<&str> = EAGLE1.iter().map(|(name, _)| *name).collect();
            ModelError::Drafter {
                model: self.name().into(),
                drafter: kind.as_written(),
                known: format!("eagle1 with weights {}; eagle3 with weights {STANDARD}", names.join(", ")),
            }
        })?;
        let time = DraftTime::new(generation.device());
        let draft = EagleDraft::new(head, generation, max_run, time.clone());
        Ok((Box::new(draft), time))
    }

    fn tables(&self) -> &TokenTables {
        &self.tables
    }

    fn picture(&self, tokens: &[TokenId]) -> Picture {
        let _guard = tch::no_grad_guard();
        let ids: Vec<i64> = tokens.iter().map(|token| i64::from(token.0)).collect();
        let grid = self.config.grid;
        let ids = Tensor::from_slice(&ids).view([1, grid, grid]).to_device(self.device);
        let pixels = (self.vq.decode_tokens(&ids).get(0).permute([1, 2, 0]) + 1.0) * 127.5;
        let pixels =
            pixels.round().clamp(0.0, 255.0).to_kind(Kind::Uint8).contiguous().to_device(Device::Cpu);
        let mut rgb = vec![0_u8; pixels.numel()];
        let n = rgb.len();
        pixels.copy_data(&mut rgb, n);
        let side = u32::try_from(self.vq.config().side).expect("a picture's side is small");
        Picture { width: side, height: side, rgb }
    }
}
