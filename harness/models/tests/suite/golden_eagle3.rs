//! An EAGLE-3 head behind LlamaGen against equations written out in NumPy: the three layers it taps, their mixture,
//! drafts on its own features and a tree of them.

use std::rc::Rc;

use specimen_decode::{
    dist::TokenId,
    drafter::DraftModel,
    generation::Generation,
    tree::{NodeId, Proposal, TokenTree},
};
use specimen_models::{
    families::llamagen::LlamaGenNames,
    files::published_names::Mixed,
    heads::{
        draft_head::{DraftHead, Head},
        eagle_draft::{EagleDraft, Front},
        eagle3::Eagle3Config,
        lantern_head::LanternHead,
    },
    seam::{distributions::distributions, draft_time::DraftTime, generation::ModelGeneration},
};
use tch::{Device, Kind, no_grad};

use crate::{
    golden::{Recipe, check_close, tensor},
    golden_llama::{F32, LLAMAGEN, MAX_TREE, llamagen},
    support::{GUIDED, both_ways, check_distribution, row_values},
};

const FILE: &str = "eagle3.safetensors";
const TOKENS: [u32; 3] = [3, 17, 39];

fn head() -> LanternHead {
    let config = Eagle3Config::published(LLAMAGEN.stack().layer, LLAMAGEN.n_layers, 1e-6);
    let mut head = LanternHead::eagle3(&mut Recipe, &config, Mixed::Pairs, (32, 40)).unwrap();
    head.prepare();
    head
}

/// The image behind all tokens but the last, and its drafter, in both ways to run a step.
fn committed() -> [(&'static str, ModelGeneration, EagleDraft); 2] {
    both_ways(llamagen(LlamaGenNames::HuggingFace, GUIDED, Kind::Float)).map(|(way, mut generation)| {
        let head = head();
        let following = head.token_table().get(0).view([1, 1, 32]).expand([2, 5, 32], false);
        let (time, front) = (DraftTime::new(Device::Cpu), Front { following, pads: Vec::new() });
        let draft = EagleDraft::behind(Rc::new(head), &generation, MAX_TREE, time, Some(front));
        generation.prefill();
        for token in &TOKENS[..2] {
            generation.score(&TokenTree::new(TokenId(*token)));
            generation.commit(&[TokenTree::ROOT]);
        }
        (way, generation, draft)
    })
}

#[test]
fn what_enters_a_low_a_middle_and_a_high_layer_lies_side_by_side_in_this_order() {
    for (way, generation, _draft) in committed() {
        let tapped = generation.tap().borrow_mut().fresh(generation.n_prefix() as usize + 2);
        check_close(&tapped, &tensor(FILE, "taps"), F32, &format!("taps, {way}"));
    }
}

#[test]
fn the_three_layers_are_mixed_as_the_reference_mixes_them() {
    let mixed = no_grad(|| head().admit(&tensor(FILE, "taps")));
    check_close(&mixed, &tensor(FILE, "mixed"), F32, "mixture");
}

#[test]
fn a_tree_on_the_heads_own_features_has_the_distributions_of_the_reference_three_drafts_deep() {
    for (way, _generation, mut draft) in committed() {
        let mut tree = TokenTree::new(TokenId(TOKENS[2]));
        for (parent, token) in [(-1, 5), (-1, 31), (0, 7), (0, 2), (2, 38), (1, 7)] {
            tree.push(NodeId((parent + 1) as usize), TokenId(token), Proposal::Chosen);
        }
        let mut found = vec![draft.begin(&TOKENS.map(TokenId))];
        found.resize(tree.len(), found[0].clone());
        for depth in 1..=3 {
            let level: Vec<NodeId> = tree.ids().filter(|&id| tree[id].depth == depth).collect();
            for (node, distribution) in level.iter().zip(draft.expand(&tree, &level)) {
                found[node.0] = distribution;
            }
        }
        let expected = distributions(&tensor(FILE, "draft_logits"), &GUIDED);
        for (at, distribution) in found.iter().enumerate() {
            check_distribution(
                distribution,
                &row_values(&expected.get(at as i64)),
                1e-5,
                &format!("{way}, node {at}"),
            );
        }
    }
}
