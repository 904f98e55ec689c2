//! LlamaGen and Janus-Pro against references in Python, in both layouts of their files: features, logits, trees, the
//! head of LANTERN and pictures.

use std::rc::Rc;

use specimen_decode::{
    dist::TokenId,
    drafter::DraftModel,
    generation::Generation,
    pipeline::Sampling,
    tree::{NodeId, Proposal, TokenTree},
};
use specimen_models::{
    families::{
        janus::{JanusConfig, JanusNames, JanusNetwork},
        llamagen::{Condition, LlamaGenConfig, LlamaGenNames, LlamaGenNetwork, drafter_config},
    },
    files::{placed::Placed, published_names::Mixed},
    heads::{
        draft_head::DraftHead,
        eagle_draft::{EagleDraft, Front},
        lantern_head::LanternHead,
    },
    llama::{layer::causal_mask, padded::Padded},
    picture::vq16::{Vq16, Vq16Config, Vq16Names},
    seam::{
        distributions::distributions,
        draft_time::DraftTime,
        generation::ModelGeneration,
        kv::{KvCache, KvShape},
        likelihood::teacher_forced,
    },
};
use tch::{Device, Kind, Tensor, no_grad};

use crate::{
    golden::{Recipe, by_recipe, check_close, numbers, tensor},
    support::{GUIDED, both_ways, check_distribution, row_values},
};

/// Two f32 ways to one number of about 3: sums of at most 100 products in another order, three layers deep.
pub(crate) const F32: f64 = 1e-4;

pub(crate) const MAX_TREE: usize = 16;

pub(crate) const LLAMAGEN: LlamaGenConfig = LlamaGenConfig {
    n_layers: 3,
    n_heads: 2,
    d_model: 32,
    d_ffn: 48,
    n_vocab: 40,
    grid: 3,
    condition: Condition::Caption { n_slots: 6, d_caption: 10 },
    rope_base: 10_000.0,
    norm_eps: 1e-5,
};

pub(crate) const JANUS: JanusConfig = JanusConfig {
    n_layers: 2,
    n_heads: 2,
    d_model: 32,
    d_ffn: 48,
    n_words: 50,
    n_vocab: 40,
    d_code: 8,
    grid: 3,
    n_positions: 64,
    pad: 7,
    rope_base: 10_000.0,
    norm_eps: 1e-6,
};

pub(crate) const VQ: Vq16Config =
    Vq16Config { n_codes: 40, d_code: 8, d_latent: 16, channels: &[64, 32, 32] };

const LLAMAGEN_FILES: [(&str, LlamaGenNames); 2] = [
    ("llamagen_original.safetensors", LlamaGenNames::Original),
    ("llamagen_hugging_face.safetensors", LlamaGenNames::HuggingFace),
];
const JANUS_FILES: [(&str, JanusNames); 2] = [
    ("janus_original.safetensors", JanusNames::Original),
    ("janus_hugging_face.safetensors", JanusNames::HuggingFace),
];

/// An image of LlamaGen under way behind four features in six slots.
pub(crate) fn llamagen(names: LlamaGenNames, sampling: Sampling, kind: Kind) -> ModelGeneration {
    let mut recipe = Recipe;
    let mut placed = Placed::new(&mut recipe, kind, Device::Cpu);
    let network = LlamaGenNetwork::new(&mut placed, &LLAMAGEN, names).unwrap();
    let features = by_recipe("caption embed", &[4, 10]);
    let prefix = no_grad(|| network.caption_prefix(&features, true));
    let padded = Padded::new(network.backbone().clone(), vec![2, 2]);
    ModelGeneration::new(Rc::new(padded), sampling, prefix, 9, MAX_TREE)
}

fn janus(file: &str, names: JanusNames, sampling: Sampling, kind: Kind) -> ModelGeneration {
    let mut recipe = Recipe;
    let mut placed = Placed::new(&mut recipe, kind, Device::Cpu);
    let network = JanusNetwork::new(&mut placed, &JANUS, names).unwrap();
    let prefix = no_grad(|| network.prefix(&numbers(file, "words"), true));
    ModelGeneration::new(network.backbone().clone(), sampling, prefix, 9, MAX_TREE)
}

/// Every model in both layouts, in `kind`.
fn every_model(kind: Kind) -> Vec<(&'static str, ModelGeneration)> {
    let llamagens = LLAMAGEN_FILES.map(|(file, names)| (file, llamagen(names, GUIDED, kind)));
    let januses = JANUS_FILES.map(|(file, names)| (file, janus(file, names, GUIDED, kind)));
    llamagens.into_iter().chain(januses).collect()
}

fn tokens(file: &str) -> Vec<TokenId> {
    numbers(file, "tokens").into_iter().map(|id| TokenId(id as u32)).collect()
}

/// Logits of the slots that predict the tokens and the one behind them, `[2, n + 1, v]`, from one forward.
fn logits(generation: &ModelGeneration, tokens: &[TokenId]) -> Tensor {
    no_grad(|| {
        let padded = [tokens, &[TokenId(0)]].concat();
        generation.backbone().logits(&teacher_forced(generation, &padded))
    })
}

#[test]
fn logits_of_both_rows_are_those_of_the_reference() {
    for (file, generation) in every_model(Kind::Float) {
        let (tokens, expected) = (tokens(file), tensor(file, "logits"));
        let n = tokens.len() as i64 + 1;
        let expected = expected.narrow(1, expected.size()[1] - n, n);
        check_close(&logits(&generation, &tokens), &expected, F32, file);
    }
}

#[test]
fn features_of_all_slots_are_those_of_the_reference_pads_included() {
    for (file, generation) in every_model(Kind::Float) {
        let expected = tensor(file, "features");
        let backbone = generation.backbone();
        let (n_prefix, n) = (generation.n_prefix(), expected.size()[1]);
        let positions = Tensor::arange(n, (Kind::Int64, Device::Cpu));
        let image = Tensor::from_slice(&numbers(file, "tokens"));
        let x = backbone.embed(&image, &positions.narrow(0, n_prefix, n - n_prefix)).unsqueeze(0);
        let x = Tensor::cat(&[generation.prefix(), &x.expand([2, -1, -1], false)], 1);
        let shape = backbone.shape();
        let kv = KvShape {
            n_layers: shape.n_layers,
            n_rows: 2,
            n_heads: shape.n_heads,
            d_head: shape.d_head,
            capacity: n,
        };
        let mut cache = KvCache::new(kv, Kind::Float, Device::Cpu);
        let mask = causal_mask(n, Kind::Float);
        let found = no_grad(|| backbone.forward(&x, &positions, &mut cache, Some(&mask)));
        check_close(&found, &expected, F32, file);
    }
}

/// The tree of the references below `root`.
fn tree(root: TokenId) -> TokenTree {
    let mut tree = TokenTree::new(root);
    for (parent, token) in [(-1, 5), (-1, 31), (0, 7), (0, 2), (2, 38), (1, 7)] {
        tree.push(NodeId((parent + 1) as usize), TokenId(token), Proposal::Chosen);
    }
    tree
}

#[test]
fn a_tree_behind_a_cache_has_the_distributions_of_the_references_plain_forwards() {
    for (file, generation) in every_model(Kind::Float) {
        for (way, mut generation) in both_ways(generation) {
            let tokens = tokens(file);
            generation.prefill();
            for &token in &tokens[..2] {
                generation.score(&TokenTree::new(token));
                generation.commit(&[TokenTree::ROOT]);
            }
            let tree = tree(tokens[2]);
            let scores = generation.score(&tree);
            let expected = distributions(&tensor(file, "tree_logits"), &GUIDED);
            for node in tree.ids() {
                let row = row_values(&expected.get(node.0 as i64));
                check_distribution(&scores.dist(node), &row, 1e-5, &format!("{file}, {way}, {node:?}"));
            }
        }
    }
}

#[test]
fn the_head_of_lantern_drafts_as_the_reference() {
    for (file, names) in LLAMAGEN_FILES {
        for (way, mut generation) in both_ways(llamagen(names, GUIDED, Kind::Float)) {
            let config = drafter_config(&LLAMAGEN, 1e-6);
            let mut head = LanternHead::eagle1(&mut Recipe, &config, Mixed::Pairs, (32, 40)).unwrap();
            head.prepare();
            let following = head.token_table().get(0).view([1, 1, 32]).expand([2, 5, 32], false);
            let (time, front) = (DraftTime::new(Device::Cpu), Front { following, pads: Vec::new() });
            let mut draft = EagleDraft::behind(Rc::new(head), &generation, MAX_TREE, time, Some(front));
            let tokens = tokens(file);
            generation.prefill();
            for &token in &tokens[..2] {
                generation.score(&TokenTree::new(token));
                generation.commit(&[TokenTree::ROOT]);
            }
            let mut chain = TokenTree::new(tokens[2]);
            let first = chain.push(TokenTree::ROOT, TokenId(5), Proposal::Chosen);
            let second = chain.push(first, TokenId(7), Proposal::Chosen);
            let mut found = vec![draft.begin(&tokens[..3])];
            found.extend(draft.expand(&chain, &[first]));
            found.extend(draft.expand(&chain, &[second]));
            let expected = distributions(&tensor(file, "draft_logits"), &GUIDED);
            for (at, distribution) in found.iter().enumerate() {
                check_distribution(
                    distribution,
                    &row_values(&expected.get(at as i64)),
                    1e-5,
                    &format!("{file}, {way}, draft {at}"),
                );
            }
        }
    }
}

#[test]
fn bf16_weights_move_logits_by_their_rounding_and_no_more() {
    // A weight, and every value between layers, is off by at most 2^-9 of itself. A layer adds two branches, each of
    // three products in a row, so that with 3 layers, an embedding and a head about 20 such errors of a value near 1
    // meet; they are independent, hence their root: sqrt(20) * 2^-9 * 3 (three standard deviations), times the spread
    // of the logits, which is below 4.
    let bound = 20_f64.sqrt() * 2_f64.powi(-9) * 3.0 * 4.0;
    for (file, generation) in every_model(Kind::BFloat16) {
        let (tokens, expected) = (tokens(file), tensor(file, "logits"));
        let n = tokens.len() as i64 + 1;
        let expected = expected.narrow(1, expected.size()[1] - n, n);
        check_close(&logits(&generation, &tokens), &expected, bound, file);
    }
}

#[test]
fn pictures_are_those_of_the_reference_on_a_grid_that_is_not_square() {
    for (file, names) in [
        ("vq16_original.safetensors", Vq16Names::Original),
        ("vq16_hugging_face.safetensors", Vq16Names::HuggingFace),
    ] {
        let vq = Vq16::new(&mut Recipe, &VQ, names).unwrap();
        let found = no_grad(|| vq.decode(&tensor(file, "tokens")));
        check_close(&found, &tensor(file, "pixels"), F32, file);
    }
}
