//! The tiny model as a target: caption words in, 256 tokens, a 64x64 picture out.

use specimen_decode::frontier::PictureRows;
use std::rc::Rc;

use specimen_catalog::target::STANDARD;
use specimen_weights::{Checkpoint, LoadError};
use tch::{Device, Kind, Tensor};

use super::{TargetConfig, TinyBackbone, Vq, VqConfig, heads};
use crate::{
    heads::{
        draft_head::DraftHead,
        drafters::{DrafterKind, Heads},
        eagle::EagleHead,
        eagle3::{Eagle3Config, Eagle3Head},
    },
    picture::pixels::{Rounding, painter},
    seam::{
        loaded_model::{LoadedModel, Prefix, PromptFormat, WeightsId},
        token_tables::{TokenTables, vectors_of},
    },
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
            bytes: include_bytes!(concat!("../../../weights/tiny/", $role, ".safetensors")),
            config: include_str!(concat!("../../../weights/tiny/", $role, ".json")),
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

/// Its name in specs.
const NAME: &str = "tiny";

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

/// Word id that fills the slots of the null caption.
const NULL_WORD: i64 = 1;

/// The model of the weights in the binary; the transformer runs in `kind`, the picture decoder in f32.
pub fn embedded(kind: Kind, device: Device, encode: CaptionEncoder) -> Result<LoadedModel, LoadError> {
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

    let embedded_heads = embedded_heads(&config, (kind, device), &mut weights)?;
    let backbone = Rc::new(backbone);
    let describe_head = heads::describe(backbone.clone(), EAGLE1[0].1.config()?, EAGLE3.config()?);
    let tables = TokenTables::of_codebook(
        vectors_of(TOKENIZER.file, &vq.unit_codebook())?,
        vectors_of(TARGET.file, backbone.token_table())?,
    );
    let grid = [config.grid; 2];
    Ok(LoadedModel {
        name: NAME,
        n_tokens: config.n_tokens() as usize,
        rows: PictureRows::square(config.n_tokens() as usize),
        forced: Vec::new(),
        prompt: prompt_format(backbone, encode, device),
        painter: painter(grid, Rounding::HalfToEven, device, move |ids| vq.decode_tokens(ids)),
        heads: embedded_heads,
        describe_head,
        tables,
        weights,
        warnings: Vec::new(),
        steps: None,
        cut: None,
    })
}

/// The embedded heads for a target of `config`; what they are read from goes to `weights`.
fn embedded_heads(
    config: &TargetConfig,
    (kind, device): (Kind, Device),
    weights: &mut Vec<WeightsId>,
) -> Result<Heads, LoadError> {
    let mut heads = Heads::default();
    for (name, embedded) in &EAGLE1 {
        let mut checkpoint = embedded.open(kind, device)?;
        weights.push(embedded.id(&checkpoint));
        let mut head = EagleHead::new(&mut checkpoint, &embedded.config()?, config.d_model)?;
        checkpoint.finish()?;
        head.layer.prepare();
        heads.add_head(DrafterKind::Eagle1(Some((*name).to_owned())), Rc::new(head));
    }
    let mut checkpoint = EAGLE3.open(kind, device)?;
    weights.push(EAGLE3.id(&checkpoint));
    let eagle3_config: Eagle3Config = EAGLE3.config()?;
    eagle3_config
        .check_taps(config.n_layers)
        .map_err(|reason| LoadError::Config { path: EAGLE3.file.into(), reason })?;
    let mut head = Eagle3Head::new(&mut checkpoint, &eagle3_config, config.d_model, config.n_vocab)?;
    checkpoint.finish()?;
    head.prepare();
    heads.add_head(DrafterKind::Eagle3(None), Rc::new(head));
    Ok(heads)
}

/// Captions as word ids, with a row of null words under guidance.
fn prompt_format(backbone: Rc<TinyBackbone>, encode: CaptionEncoder, device: Device) -> PromptFormat {
    Box::new(move |prompt, sampling| {
        let unusable = |reason| crate::seam::model_error::prompt(NAME, reason);
        let words = encode(prompt).map_err(unusable)?;
        let &TargetConfig { caption_len, n_words, .. } = backbone.config();
        if words.len() as i64 != caption_len || words.iter().any(|&word| n_words <= i64::from(word)) {
            let reason = format!("its caption is not {caption_len} word ids below {n_words}: {words:?}");
            return Err(unusable(reason));
        }
        let mut rows: Vec<i64> = words.iter().map(|&word| i64::from(word)).collect();
        if sampling.guidance != 1.0 {
            rows.extend(std::iter::repeat_n(NULL_WORD, words.len()));
        }
        let words = Tensor::from_slice(&rows).view([-1, caption_len]).to_device(device);
        Ok(Prefix { slots: backbone.embed_caption(&words), backbone: backbone.clone() })
    })
}
