//! What a step of this family and a level of its head ask of the device. As `suite/kernels.rs`.

use specimen_decode::{
    dist::TokenId,
    generation::Generation,
    tree::{NodeId, Proposal, TokenTree},
};
use specimen_models::{
    heads::drafters::DrafterKind,
    seam::transfers::{Crossings, crossings},
};
use specimen_operators::count;

use crate::support::{MAX_TREE, every_case, open};

/// By rows of guidance, one to three: kernels of a plain step; of taking in a token, and of a level of the tree.
const STEP: [u64; 3] = [78, 82, 85];
const DRAFT: [[u64; 2]; 3] = [[42, 44], [46, 49], [49, 52]];

/// One copy to the device, and one back at most: nothing is read where a structural token is forced.
#[track_caller]
fn check_crossed(crossed: Crossings, name: &str) {
    assert!(crossed.n_uploads == 1 && crossed.n_downloads <= 1, "{name}: {crossed:?}");
}

#[test]
fn a_step_stays_within_its_kernels_and_crosses_once_each_way() {
    let mut beyond = Vec::new();
    for (name, model, sampling) in every_case() {
        let mut generation = open(&model, sampling);
        generation.prefill();
        drop(generation.score(&TokenTree::new(TokenId(1))).dist(TokenTree::ROOT));
        generation.commit(&[TokenTree::ROOT]);
        let read = || drop(generation.score(&TokenTree::new(TokenId(2))).dist(TokenTree::ROOT));
        let (((), crossed), kernels) = count(|| crossings(read));
        let budget = STEP[generation.n_rows() as usize - 1];
        if kernels.n() > budget && model.steps.is_none() {
            beyond.push(format!("{name}: {} for {budget}: {kernels:?}", kernels.n()));
        }
        check_crossed(crossed, &name);
    }
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
}

#[test]
fn a_level_of_a_draft_stays_within_its_kernels_and_crosses_once_each_way() {
    let mut beyond = Vec::new();
    for (name, model, sampling) in every_case() {
        let mut generation = open(&model, sampling);
        let kind = DrafterKind::Eagle1(None);
        let (mut draft, _) = model.drafter(&kind, &generation, MAX_TREE).unwrap();
        generation.prefill();
        let (root, first) = (TokenId(1), TokenId(2));
        drop(draft.begin(&[root]));
        drop(generation.score(&TokenTree::new(root)).dist(TokenTree::ROOT));
        generation.commit(&[TokenTree::ROOT]);
        let (of_begin, begun) = count(|| crossings(|| draft.begin(&[root, first])).1);
        let mut tree = TokenTree::new(first);
        let level: Vec<NodeId> =
            [2, 3, 5].map(|token| tree.push(TokenTree::ROOT, TokenId(token), Proposal::Chosen)).into();
        let (of_level, expanded) = count(|| crossings(|| draft.expand(&tree, &level)).1);
        let [of_one, of_many] = DRAFT[generation.n_rows() as usize - 1];
        for (kernels, budget) in [(begun, of_one), (expanded, of_many)] {
            if kernels.n() > budget {
                beyond.push(format!("{name}: {} for {budget}: {kernels:?}", kernels.n()));
            }
        }
        check_crossed(of_begin, &name);
        check_crossed(of_level, &name);
    }
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
}
