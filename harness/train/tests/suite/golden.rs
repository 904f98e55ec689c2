//! Losses and gradients of every kind of head against PyTorch, on one batch: `tests/golden/make_gradients.py` has the
//! equations, written without anything of ours.

use std::path::Path;

use specimen_models::{
    families::chameleon::{ChameleonConfig, ChameleonHead, QkNormShape},
    files::published_names::{LayerNames, Mixed, PublishedNames},
    heads::{
        draft_head::Head,
        eagle::{EagleConfig, EagleHead, EaglePrefix},
        eagle3::Eagle3Config,
        eagle3_file,
        lantern_head::LanternHead,
    },
    llama::layer::{Rotary, Turns},
    seam::{
        backbone::{Backbone, BackboneShape, Tapped, with_undrawn},
        kv::KvCache,
    },
};
use specimen_train::{
    head_loss::{HeadLoss, PairSlot, Redundancy},
    lesson::{FrontLesson, Lesson},
};
use specimen_weights::{Checkpoint, Init, LoadError, ParamSource};
use tch::{Device, Kind, Tensor};

const D: i64 = 16;
const VOCAB: i64 = 20;
const N: i64 = 10;

/// Largest difference of a gradient, by its largest entry. Both sides compute on the same f32 numbers, PyTorch in f64.
const TOLERANCE: f64 = 1e-5;

const EAGLE1: HeadLoss = HeadLoss {
    depth: 1,
    depth_decay: 1.0,
    feature_weight: Some(1.0),
    row_weight: 0.1,
    guided_weight: 0.0,
    guidance: 3.0,
    redundancy: None,
    hard_ce_weight: 0.0,
};
const CASCADE: Option<Redundancy> = Some(Redundancy { c: 2.0, tau_seq: 0.1, slot: PairSlot::First });
const EAGLE3: HeadLoss =
    HeadLoss { depth: 7, depth_decay: 0.8, feature_weight: None, row_weight: 1.0, ..EAGLE1 };
const LOSSES: [(&str, HeadLoss); 5] = [
    ("published1", EAGLE1),
    ("cascade1", HeadLoss { redundancy: CASCADE, ..EAGLE1 }),
    (
        "all1",
        HeadLoss {
            depth: 3,
            depth_decay: 0.7,
            guided_weight: 0.8,
            hard_ce_weight: 0.3,
            redundancy: CASCADE,
            ..EAGLE1
        },
    ),
    ("published3", EAGLE3),
    ("cascade3", HeadLoss { redundancy: CASCADE, hard_ce_weight: 0.2, ..EAGLE3 }),
];

const LAYER: EagleConfig = EagleConfig {
    bias: true,
    input_norm: false,
    output_norm: false,
    prefix: EaglePrefix::Whole,
    n_heads: 2,
    n_kv_heads: None,
    d_head: 8,
    d_ffn: 24,
    norm_eps: 1e-6,
};

/// One file of golden values.
struct Golden(Checkpoint);

impl Golden {
    fn open(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
        Self(Checkpoint::open(&path, None, Device::Cpu).unwrap())
    }

    fn target(&mut self) -> Ends {
        Ends { table: self.tensor("given.table"), head: self.tensor("given.target_head") }
    }

    fn tensor(&mut self, name: &str) -> Tensor {
        let shape = self.0.shape(name).unwrap_or_else(|| panic!("{name} is not in the file")).to_vec();
        self.0.take(name, &shape).unwrap()
    }
}

/// The weights of a head, which collect gradients.
struct Weights<'a> {
    golden: &'a mut Golden,
    made: Vec<(String, Tensor)>,
}

impl ParamSource for Weights<'_> {
    fn param(&mut self, name: &str, shape: &[i64], _: Init) -> Result<Tensor, LoadError> {
        if name == LanternHead::EMBEDDING {
            return self.golden.0.take("given.table", shape);
        }
        let tensor = self.golden.0.take(&format!("weight.{name}"), shape)?.set_requires_grad(true);
        self.made.push((name.to_owned(), tensor.shallow_clone()));
        Ok(tensor)
    }
}

/// A target that is no more than its table and its output head.
struct Ends {
    /// `[n_vocab, d]`
    table: Tensor,
    /// `[n_codes, d]`
    head: Tensor,
}

impl Backbone for Ends {
    fn shape(&self) -> BackboneShape {
        BackboneShape { d_model: D, n_layers: 1, n_heads: 2, d_head: 8, n_vocab: VOCAB, n_positions: 14 }
    }

    fn kind(&self) -> Kind {
        Kind::Float
    }

    fn embed(&self, tokens: &Tensor, _: &Tensor) -> Tensor {
        self.table.index_select(0, tokens)
    }

    fn forward_tapped(
        &self,
        _: &Tensor,
        _: &Tensor,
        _: &mut KvCache,
        _: Option<&Tensor>,
        _: &[usize],
    ) -> Tapped {
        panic!("its features are given")
    }

    fn logits(&self, features: &Tensor) -> Tensor {
        with_undrawn(features.linear(&self.head, None::<&Tensor>), VOCAB)
    }

    fn turns(&self) -> Option<&Turns> {
        None
    }
}

fn lesson<'a>(golden: &mut Golden, target: &'a Ends) -> Lesson<'a> {
    let (cos, sin) = (golden.tensor("given.cos"), golden.tensor("given.sin"));
    let hidden = golden.tensor("given.hidden").unsqueeze(1).unsqueeze(1);
    let drawn = golden.tensor("given.drawn");
    let any = |x: &Tensor| x.sum(Kind::Float).double_value(&[]) > 0.0;
    let mask = hidden.zeros_like().masked_fill(&hidden.gt(0.5), f64::NEG_INFINITY);
    Lesson {
        target,
        tokens: golden.tensor("given.tokens"),
        positions: Tensor::arange(N, (Kind::Int64, Device::Cpu)),
        features: golden.tensor("given.features"),
        read: golden.tensor("given.read"),
        front: Some(FrontLesson {
            embeddings: golden.tensor("given.front_embeddings"),
            read: golden.tensor("given.front_read"),
            hidden: any(&hidden).then_some(mask),
        }),
        rotary: Rotary { cos: cos.repeat([1, 2]), sin: sin.repeat([1, 2]) },
        drawn: any(&(1.0 - &drawn)).then_some(drawn),
    }
}

/// Checks the loss and all gradients of the head in `file` under the losses of the file.
fn check(file: &str, n_losses: usize, build: impl Fn(&mut dyn ParamSource) -> Box<dyn Head>) {
    let mut golden = Golden::open(file);
    let target = golden.target();
    let lesson = lesson(&mut golden, &target);
    let mut n_checked = 0;
    for (name, loss) in LOSSES {
        if golden.0.shape(&format!("{name}.loss")).is_none() {
            continue;
        }
        n_checked += 1;
        // Again for every loss, so that gradients begin at nothing.
        let fresh = |learn: &dyn Fn(&dyn Head) -> f64| {
            let mut weights = Weights { golden: &mut Golden::open(file), made: Vec::new() };
            let head = build(&mut weights);
            (learn(&*head), weights.made)
        };
        let (found, made) = fresh(&|head| loss.learn(head, &lesson)[0]);
        let expected = golden.tensor(&format!("{name}.loss")).double_value(&[0]);
        assert!((found / expected - 1.0).abs() < TOLERANCE, "{file}, {name}: {found}, not {expected}");
        // With the graph of all depths at once the numbers are the same to the bit.
        let (whole, of_whole) = fresh(&|head| {
            let (total, _) = loss.of(head, &lesson);
            total.backward();
            total.double_value(&[])
        });
        assert_eq!(found.to_bits(), whole.to_bits(), "{file}, {name}");
        for ((tensor, leaf), (_, other)) in made.iter().zip(&of_whole) {
            assert_eq!(leaf.grad(), other.grad(), "{file}, {name}, {tensor}");
        }
        for (tensor, leaf) in &made {
            let expected = golden.tensor(&format!("{name}.grad.{tensor}"));
            let largest = expected.abs().max().double_value(&[]);
            let distance = (leaf.grad() - expected).abs().max().double_value(&[]);
            assert!(
                largest > 0.0 && distance < TOLERANCE * largest,
                "{file}, {name}, {tensor}: {distance} of {largest}"
            );
        }
    }
    assert_eq!(n_checked, n_losses);
}

#[test]
fn a_head_in_lanterns_layout_has_the_losses_and_gradients_of_pytorch() {
    check("eagle1.safetensors", 3, |source| {
        Box::new(LanternHead::eagle1(source, &LAYER, Mixed::Pairs, (D, VOCAB)).unwrap())
    });
}

#[test]
fn a_head_without_an_embedding_has_the_loss_and_gradients_of_pytorch() {
    check("janus.safetensors", 1, |source| {
        let mut named = PublishedNames::new(source, LayerNames::HuggingFace, Mixed::Halves, 8);
        Box::new(EagleHead::new(&mut named, &EagleConfig { input_norm: true, ..LAYER }, D).unwrap())
    });
}

#[test]
fn a_head_whose_keys_serve_several_heads_has_the_losses_and_gradients_of_pytorch() {
    let n_kv_heads = Some(1);
    check("shared.safetensors", 2, |source| {
        let mut named =
            PublishedNames::new(source, LayerNames::HuggingFace, Mixed::Halves, 8).with_kv_heads(n_kv_heads);
        let config = EagleConfig { input_norm: true, n_kv_heads, ..LAYER };
        Box::new(EagleHead::new(&mut named, &config, D).unwrap())
    });
    // Its draft vocabulary lacks the tokens that are forced, which are drawn nowhere.
    let EagleConfig { prefix, n_heads, d_head, d_ffn, norm_eps, .. } = LAYER;
    let config = Eagle3Config { taps: [0, 1, 2], prefix, n_heads, n_kv_heads, d_head, d_ffn, norm_eps };
    check("eagle3_shared.safetensors", 2, |source| {
        Box::new(eagle3_file::published(source, &config, Mixed::Halves, (D, 16)).unwrap())
    });
}

#[test]
fn a_chameleons_head_has_the_losses_and_gradients_of_pytorch_with_pads_and_forced_tokens() {
    let config = ChameleonConfig {
        n_words: VOCAB,
        d_model: D,
        n_layers: 1,
        n_heads: 2,
        d_head: 8,
        d_ffn: 24,
        rope_base: 1e4,
        norm_eps: 1e-6,
        swin_norm: false,
        n_positions: 32,
        qk_norm: QkNormShape::Rows(2),
    };
    check("chameleon.safetensors", 2, |source| Box::new(ChameleonHead::new(source, &config, true).unwrap()));
}

#[test]
fn an_eagle3_head_has_the_losses_and_gradients_of_pytorch_at_a_depth_of_7() {
    let EagleConfig { prefix, n_heads, n_kv_heads, d_head, d_ffn, norm_eps, .. } = LAYER;
    let config = Eagle3Config { taps: [0, 1, 2], prefix, n_heads, n_kv_heads, d_head, d_ffn, norm_eps };
    // As LlamaGen turns, and as Janus-Pro and Chameleon do: with pads and forced tokens.
    for (file, n_losses, mixed) in [
        ("eagle3.safetensors", 2, Mixed::Pairs),
        ("eagle3_halves.safetensors", 1, Mixed::Halves),
        ("eagle3_padded.safetensors", 1, Mixed::Halves),
    ] {
        check(file, n_losses, |source| {
            Box::new(eagle3_file::published(source, &config, mixed, (D, VOCAB)).unwrap())
        });
    }
}
