//! What a step of this family and a level of its head ask of the device. As `suite/kernels.rs`.
#![allow(clippy::print_stdout, reason = "the tables are read with `--nocapture`")]

use std::rc::Rc;

use specimen_decode::{
    dist::TokenId,
    generation::Generation,
    pipeline::Sampling,
    tree::{NodeId, Proposal, TokenTree},
};
use specimen_foundation::processor;
use specimen_models::{
    families::chameleon::{
        ChameleonConfig, ChameleonImage, ChameleonNetwork, KeyLayout, QkNormShape, Recipe,
    },
    heads::drafters::DrafterKind,
    llama::padded::Padding,
    seam::{
        generation::ModelGeneration,
        transfers::{Crossings, crossings},
    },
};
use specimen_operators::{Kernels, count};
use tch::{Kind, Tensor, no_grad};

use crate::{
    reference::{config, image_words},
    rule::ByRule,
    support::{GUIDED, MAX_TREE, PLAIN, anole, every_case, model_in, open},
};

/// By rows of guidance, one to three: kernels of taking in a token, and of a level of the tree.
const DRAFT: [[u64; 2]; 3] = [[28, 30], [32, 35], [33, 36]];

/// Kernels of a plain step, and of a verification of a tree of 13 nodes whose distributions are all read.
type Budget = [u64; 2];

/// What an image is of; its budgets in f32 and in bf16, of steps that make their tensors anew, then of steps over buffers.
type Row = (&'static str, fn() -> Recipe, Sampling, [[Budget; 2]; 2]);

const STEPS: [Row; 3] = [
    ("Chameleon", anole, PLAIN, [[[41, 41], [48, 48]], [[42, 42], [49, 49]]]),
    ("Chameleon, guidance", anole, GUIDED, [[[45, 46], [52, 53]], [[47, 47], [54, 54]]]),
    (
        "Chameleon, three rows of guidance",
        || anole().with_image_row(),
        GUIDED,
        [[[48, 49], [55, 56]], [[50, 50], [57, 57]]],
    ),
];

/// Kernels of one layer in f32 and in bf16.
const LAYER: [u64; 2] = [16, 19];

const KINDS: [(&str, Kind); 2] = [("f32", Kind::Float), ("bf16", Kind::BFloat16)];

const ONE: Crossings = Crossings { n_uploads: 1, n_downloads: 1 };

/// One copy to the device, and one back at most: nothing is read where a structural token is forced.
#[track_caller]
fn check_crossed(crossed: Crossings, name: &str) {
    assert!(crossed.n_uploads == 1 && crossed.n_downloads <= 1, "{name}: {crossed:?}");
}

/// A root, and below it 12 nodes on three levels.
fn tree() -> TokenTree {
    let mut tree = TokenTree::new(TokenId(2));
    for parent in [0, 0, 0, 1, 1, 2, 3, 4, 4, 5, 6, 6] {
        tree.push(NodeId(parent), TokenId(3), Proposal::Chosen);
    }
    tree
}

/// What a step of an image costs once another of its size has made what is kept.
fn costs(mut generation: ModelGeneration, tree: &TokenTree) -> (Kernels, Crossings) {
    generation.prefill();
    generation.score(tree);
    generation.commit(&[TokenTree::ROOT]);
    let read = || {
        let scores = generation.score(tree);
        tree.ids().for_each(|node| drop(scores.dist(node)));
    };
    let (((), crossed), kernels) = count(|| crossings(read));
    (kernels, crossed)
}

/// Prints the table of what steps cost, seen with `--nocapture`.
#[test]
fn a_step_stays_within_its_kernels_and_waits_for_one_copy() {
    let mut beyond = Vec::new();
    for (name, recipe, sampling, budgets) in STEPS {
        print!("| {name} |");
        for (is_buffered, budgets) in [false, true].into_iter().zip(budgets) {
            for ((kind_name, kind), budget) in KINDS.into_iter().zip(budgets) {
                let found = [TokenTree::new(TokenId(2)), tree()].map(|tree| {
                    let mut model = model_in(kind, recipe());
                    model.loaded.steps = is_buffered.then(Rc::default);
                    let (kernels, crossed) = costs(open(&model, sampling), &tree);
                    let what = format!("{name}, {kind_name}, over buffers {is_buffered}");
                    assert_eq!((crossed, kernels.n_waits()), (ONE, 0), "{what}: {kernels:?}");
                    (kernels.n_of_step(kind, processor::is_slow_in_bf16()), kernels)
                });
                print!(" {}, {} |", found[0].0, found[1].0);
                if found.iter().zip(budget).any(|((n, _), budget)| *n > budget) {
                    beyond.push(format!(
                        "{name}, {kind_name}, over buffers {is_buffered}, for {budget:?}: {found:?}"
                    ));
                }
            }
        }
        println!();
    }
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
}

#[test]
fn a_layer_more_costs_its_budget() {
    for ((kind_name, kind), budget) in KINDS.into_iter().zip(LAYER) {
        for is_buffered in [false, true] {
            let of = |n_layers: i64| {
                let config = ChameleonConfig { n_layers, ..config(QkNormShape::Rows(2), false) };
                let words = image_words();
                let network =
                    ChameleonNetwork::new(&mut ByRule(kind), &config, KeyLayout::Hf, &words).unwrap();
                let prefix =
                    no_grad(|| network.embed_words(&Tensor::from_slice(&[1_i64, 2, 3]).view([1, 3])));
                let image = Rc::new(ChameleonImage::new(Rc::new(network), Padding::new(vec![0])));
                let buffers = is_buffered.then(Rc::default);
                let sizes = (16, MAX_TREE);
                let image = ModelGeneration::over(image, PLAIN, prefix, sizes, buffers.as_ref());
                costs(image, &TokenTree::new(TokenId(1))).0.n_of_step(kind, processor::is_slow_in_bf16())
            };
            let found = of(3) - of(2);
            println!("a Chameleon layer in {kind_name}, over buffers {is_buffered}: {found}");
            assert_eq!(found, budget, "{kind_name}, over buffers {is_buffered}");
        }
    }
}

/// Where a structural token is forced nothing is read, and elsewhere once.
#[test]
fn every_step_of_a_grammar_crosses_once_each_way_and_does_not_wait() {
    for (name, model, sampling) in every_case() {
        let mut generation = open(&model, sampling);
        generation.prefill();
        drop(generation.score(&TokenTree::new(TokenId(1))).dist(TokenTree::ROOT));
        generation.commit(&[TokenTree::ROOT]);
        let read = || drop(generation.score(&TokenTree::new(TokenId(2))).dist(TokenTree::ROOT));
        let (((), crossed), kernels) = count(|| crossings(read));
        check_crossed(crossed, &name);
        assert_eq!(kernels.n_waits(), 0, "{name}: {kernels:?}");
    }
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
        println!("| {name}, EAGLE-1 head: a new token, then a level | {}, {} |", begun.n(), expanded.n());
        for (kernels, budget) in [(begun, of_one), (expanded, of_many)] {
            if kernels.n() > budget {
                beyond.push(format!("{name}: {} for {budget}: {kernels:?}", kernels.n()));
            }
            assert_eq!(kernels.n_waits(), 0, "{name}: {kernels:?}");
        }
        check_crossed(of_begin, &name);
        check_crossed(of_level, &name);
    }
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
}
