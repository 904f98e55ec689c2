//! The networks that are timed, with made weights, and the arithmetic and the bytes of their forwards.

use std::rc::Rc;

use specimen_decode::pipeline::{FilterOrder, Sampling};
use specimen_models::{
    families::{
        chameleon::{
            ChameleonConfig, ChameleonHead, ChameleonImage, ChameleonNetwork, ImageWords, KeyLayout,
            QkNormShape,
        },
        llamagen::{Condition, LlamaGenConfig, LlamaGenNames, LlamaGenNetwork, drafter_config},
    },
    files::published_names::Mixed,
    heads::{
        draft_head::DraftHead,
        eagle_draft::{EagleDraft, Front},
        lantern_head::LanternHead,
    },
    llama::padded::Padding,
    seam::{draft_time::DraftTime, generation::ModelGeneration},
};
use specimen_weights::{Init, LoadError, ParamSource};
use tch::{Device, Kind, Tensor};

/// Rows decoded together: under guidance, two.
const N_ROWS: f64 = 2.0;
/// The largest tree, root included.
const MAX_TREE: usize = 64;

/// Sizes that time depends on.
pub(crate) struct Sizes {
    pub(crate) n_layers: f64,
    pub(crate) d_model: f64,
    pub(crate) d_ffn: f64,
    /// Rows of the output head.
    pub(crate) n_vocab: f64,
    /// Slots before the image.
    pub(crate) n_prefix: usize,
    /// Tokens of the image.
    pub(crate) n_tokens: usize,
}

impl Sizes {
    /// Multiplications and additions of a forward over `n` slots that each see `n_seen` others on average, with
    /// distributions for `n_distributions` of them.
    pub(crate) fn n_operations(&self, n: f64, n_seen: f64, n_distributions: f64) -> f64 {
        let &Self { n_layers, d_model: d, d_ffn, n_vocab, .. } = self;
        let layer = 2.0 * (4.0 * d * d + 3.0 * d * d_ffn) + 4.0 * d * n_seen;
        N_ROWS * (n * n_layers * layer + n_distributions * 2.0 * d * n_vocab)
    }

    /// Bytes that a forward over `n` slots behind `n_seen` cached ones reads and writes at least: the weights once,
    /// keys and values of both rows, and those of the new slots. On a CPU keys and values are f32.
    pub(crate) fn n_bytes(&self, n: f64, n_seen: f64, kind: Kind, device: Device) -> f64 {
        let &Self { n_layers, d_model: d, d_ffn, n_vocab, .. } = self;
        let of = |kind: Kind| if kind == Kind::Float { 4.0 } else { 2.0 };
        let weights = n_layers * (4.0 * d * d + 3.0 * d * d_ffn) + d * n_vocab;
        let entries = N_ROWS * n_layers * 2.0 * d * (n_seen + n);
        weights * of(kind) + entries * of(if device == Device::Cpu { Kind::Float } else { kind })
    }
}

/// A network that is timed.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) sizes: Sizes,
    /// Whether `llamagen_eager.py` has it too.
    pub(crate) is_in_eager: bool,
    /// An image, and the head at work on it.
    open: Box<dyn Fn() -> (ModelGeneration, Rc<dyn DraftHead>)>,
    /// What the slots of the prefix but the last are paired with, `[2, n, d]`.
    following: Tensor,
    /// Pads that are hidden from the head.
    pads: Vec<i64>,
}

impl Subject {
    /// An image, nothing of it run.
    pub(crate) fn open(&self) -> ModelGeneration {
        (self.open)().0
    }

    /// An image with what drafts for it.
    pub(crate) fn open_with_drafter(&self) -> (ModelGeneration, EagleDraft) {
        let (generation, head) = (self.open)();
        let time = DraftTime::new(generation.device());
        let front = Front { following: self.following.shallow_clone(), pads: self.pads.clone() };
        let draft = EagleDraft::behind(head, &generation, MAX_TREE, time, Some(front));
        (generation, draft)
    }
}

/// How a subject is made.
pub(crate) type Make = fn(Kind, Device) -> Subject;

/// What a CPU is asked for.
pub(crate) const SMALL: &[Make] = &[toy, gpt_b, chameleon_toy];
/// What a GPU is asked for.
pub(crate) const PUBLISHED: &[Make] = &[gpt_xl, chameleon_7b];

/// Weights of the scale of trained ones, made where they are needed; `llamagen_eager.py` makes the same.
struct Ramp(Kind, Device);

impl ParamSource for Ramp {
    fn param(&mut self, _: &str, shape: &[i64], init: Init) -> Result<Tensor, LoadError> {
        let &mut Self(kind, device) = self;
        if let Init::Constant(value) = init {
            return Ok(Tensor::full(shape, value, (kind, device)));
        }
        Ok(ramp(shape, device).to_kind(kind))
    }
}

fn ramp(shape: &[i64], device: Device) -> Tensor {
    let n: i64 = shape.iter().product();
    (Tensor::arange(n, (Kind::Float, device)).remainder(997.0) / 997.0 - 0.5).view(shape) * 0.04
}

fn sampling(n_vocab: i64) -> Sampling {
    let (guidance, top_k) = (4.0, (n_vocab / 8) as u32);
    Sampling {
        guidance,
        temperature: 1.0,
        top_k,
        top_p: 1.0,
        filter_order: FilterOrder::TopKThenTopP,
        coupled: false,
    }
}

fn toy(kind: Kind, device: Device) -> Subject {
    let config = LlamaGenConfig { n_layers: 2, n_heads: 2, d_model: 32, d_ffn: 48, n_vocab: 64, ..small() };
    Subject { is_in_eager: true, ..llamagen("toy", config, kind, device) }
}

fn gpt_b(kind: Kind, device: Device) -> Subject {
    Subject { is_in_eager: true, ..llamagen("GPT-B", small(), kind, device) }
}

fn gpt_xl(kind: Kind, device: Device) -> Subject {
    llamagen("LlamaGen-XL, 512 pixels", sizes("llamagen-t2i-xl-512"), kind, device)
}

fn chameleon_toy(kind: Kind, device: Device) -> Subject {
    let config = ChameleonConfig {
        n_words: 512,
        d_model: 32,
        n_layers: 2,
        n_heads: 2,
        d_head: 16,
        d_ffn: 48,
        qk_norm: QkNormShape::Rows(2),
        ..ChameleonConfig::CHAMELEON_7B
    };
    chameleon("Chameleon toy", &config, 256, kind, device)
}

fn chameleon_7b(kind: Kind, device: Device) -> Subject {
    chameleon("Chameleon-7B, 768 pixels", &ChameleonConfig::CHAMELEON_7B, 2356, kind, device)
}

/// GPT-B behind the slots of a caption.
fn small() -> LlamaGenConfig {
    let condition = Condition::Caption { n_slots: 120, d_caption: 64 };
    LlamaGenConfig { condition, ..sizes("llamagen-c2i-b-256") }
}

fn llamagen(name: &'static str, config: LlamaGenConfig, kind: Kind, device: Device) -> Subject {
    let Condition::Caption { n_slots, d_caption } = config.condition else {
        unreachable!("all of them take captions")
    };
    let mut made = Ramp(kind, device);
    let network =
        LlamaGenNetwork::new(&mut made, &config, LlamaGenNames::Original).expect("its weights are made");
    let (d_model, n_vocab) = (config.d_model, config.n_vocab);
    let of_head = drafter_config(&config, 1e-6);
    let head = LanternHead::eagle1(&mut made, &of_head, Mixed::Pairs, (d_model, n_vocab));
    let mut head = head.expect("its weights are made");
    tch::no_grad(|| head.prepare());
    let head = Rc::new(head);
    let features = (ramp(&[n_slots, d_caption], device) * 25.0).to_kind(kind);
    let following = head.token_table().get(0).view([1, 1, d_model]).expand([2, n_slots - 1, d_model], false);
    let open = move || {
        let prefix = tch::no_grad(|| network.caption_prefix(&features, true));
        let (backbone, n_tokens) = (network.backbone().clone(), config.n_tokens() as usize);
        let head: Rc<dyn DraftHead> = head.clone();
        (ModelGeneration::new(backbone, sampling(n_vocab), prefix, n_tokens, MAX_TREE), head)
    };
    let sizes = Sizes {
        n_layers: config.n_layers as f64,
        d_model: d_model as f64,
        d_ffn: config.d_ffn as f64,
        n_vocab: n_vocab as f64,
        n_prefix: n_slots as usize,
        n_tokens: config.n_tokens() as usize,
    };
    Subject { name, sizes, is_in_eager: false, open: Box::new(open), following, pads: Vec::new() }
}

/// Behind a prompt of 120 words, without the grammar, which forces tokens and costs nothing.
fn chameleon(
    name: &'static str,
    config: &ChameleonConfig,
    n_tokens: usize,
    kind: Kind,
    device: Device,
) -> Subject {
    let (n_prefix, n_codes) = (120, config.n_words / 8);
    let words = ImageWords { codes: (4..4 + n_codes).collect(), structural: Vec::new() };
    let mut made = Ramp(kind, device);
    let network = ChameleonNetwork::new(&mut made, config, KeyLayout::Hf, &words);
    let network = Rc::new(network.expect("its weights are made"));
    let head = Rc::new(ChameleonHead::new(&mut made, config, true).expect("its weights are made"));
    let prompt = Tensor::arange(2 * n_prefix, (Kind::Int64, device)).view([2, n_prefix]);
    let pads = vec![0, n_prefix - 2];
    let following = tch::no_grad(|| network.embed_words(&prompt)).narrow(1, 1, n_prefix - 1);
    let padded = pads.clone();
    let open = move || {
        let prefix = tch::no_grad(|| network.embed_words(&prompt));
        let image = Rc::new(ChameleonImage::new(network.clone(), Padding::new(padded.clone())));
        let head: Rc<dyn DraftHead> = head.clone();
        (ModelGeneration::new(image, sampling(n_codes), prefix, n_tokens, MAX_TREE), head)
    };
    let sizes = Sizes {
        n_layers: config.n_layers as f64,
        d_model: config.d_model as f64,
        d_ffn: config.d_ffn as f64,
        n_vocab: n_codes as f64,
        n_prefix: n_prefix as usize,
        n_tokens,
    };
    Subject { name, sizes, is_in_eager: false, open: Box::new(open), following, pads }
}

/// The sizes of a LlamaGen of the catalog.
fn sizes(name: &str) -> LlamaGenConfig {
    LlamaGenConfig::of(specimen_catalog::entry(name).expect("the catalog has it"))
}
