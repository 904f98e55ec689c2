//! What a step asks of the device: kernels, and copies between host and device. Budgets that hold on any machine; a change
//! that needs more says so here.
#![allow(clippy::print_stdout, reason = "the tables are read with `--nocapture`")]

use specimen_catalog::{Family, entry};
use specimen_decode::{
    dist::TokenId,
    drafter::DraftModel,
    generation::Generation,
    tree::{NodeId, Proposal, TokenTree},
};
use specimen_foundation::processor;
use specimen_models::{
    heads::model_draft::ModelDraft,
    seam::{
        draft_time::DraftTime,
        generation::ModelGeneration,
        transfers::{Crossings, crossings},
    },
};
use specimen_operators::{Kernels, count};
use tch::Kind;

use crate::support::{
    EVERY_HEAD, EVERY_NETWORK, GUIDED, MAX_TREE, OpenWith, PLAIN, both_ways, draft_for, emu3_with, igpt_with,
    janus_with, liquid_with, llamagen_with, tiny, tiny_with,
};

/// Kernels of a plain step, and of a verification of a tree of 13 nodes whose distributions are all read.
type Budget = [u64; 2];

/// Budgets in f32 and in bf16, of steps that make their tensors anew, then of steps over buffers.
type Budgets = [[Budget; 2]; 2];

/// A network at toy width: two layers, of Image-GPT three.
struct Network {
    name: &'static str,
    family: Family,
    open: OpenWith,
    /// Kernels of one layer in f32 and in bf16. Two fewer of LLaMA's would need the residuals inside their products, whose sums
    /// are rounded otherwise.
    layer: [u64; 2],
    plain: Budgets,
    /// Absent for a network that has no guidance.
    guided: Option<Budgets>,
}

const NETWORKS: [Network; 6] = [
    Network {
        name: "tiny",
        family: Family::Tiny,
        open: tiny_with,
        layer: [13, 15],
        plain: [[[36, 36], [41, 41]], [[37, 37], [42, 42]]],
        guided: Some([[[40, 40], [45, 45]], [[41, 41], [46, 46]]]),
    },
    Network {
        name: "Image-GPT",
        family: Family::Igpt,
        open: igpt_with,
        layer: [11, 13],
        plain: [[[40, 40], [47, 47]], [[41, 41], [48, 48]]],
        guided: None,
    },
    Network {
        name: "LlamaGen",
        family: Family::Llamagen,
        open: llamagen_with,
        layer: [13, 15],
        plain: [[[36, 36], [41, 41]], [[37, 37], [42, 42]]],
        guided: Some([[[40, 40], [45, 45]], [[41, 41], [46, 46]]]),
    },
    Network {
        name: "Janus",
        family: Family::Janus,
        open: janus_with,
        layer: [13, 15],
        plain: [[[38, 38], [43, 43]], [[39, 39], [44, 44]]],
        guided: Some([[[42, 42], [47, 47]], [[43, 43], [48, 48]]]),
    },
    Network {
        name: "Emu3",
        family: Family::Emu3,
        open: emu3_with,
        layer: [13, 15],
        plain: [[[38, 43], [43, 48]], [[39, 44], [44, 49]]],
        guided: Some([[[42, 48], [47, 53]], [[44, 49], [49, 54]]]),
    },
    Network {
        name: "Liquid",
        family: Family::Liquid,
        open: liquid_with,
        layer: [13, 19],
        plain: [[[36, 36], [51, 51]], [[37, 37], [52, 52]]],
        guided: Some([[[40, 41], [55, 56]], [[42, 42], [57, 57]]]),
    },
];

/// Noise, which computes nothing, and what `tests/chameleon/kernels.rs` has budgets for.
const ELSEWHERE: [Family; 2] = [Family::Stub, Family::Chameleon];

const KINDS: [(&str, Kind); 2] = [("f32", Kind::Float), ("bf16", Kind::BFloat16)];

/// Kernels of taking in a token, and of a level of the tree.
const DRAFTS: [(&str, [u64; 2]); 2] = [("eagle1", [29, 31]), ("eagle3", [30, 31])];

/// One copy each way: ids, positions and mask go up together, all distributions come back together.
const ONE: Crossings = Crossings { n_uploads: 1, n_downloads: 1 };

/// A root and 12 nodes below it on three levels.
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
    let (((), crossings), kernels) = count(|| crossings(read));
    (kernels, crossings)
}

#[test]
fn every_family_of_the_catalog_has_budgets() {
    let has = |family: Family| {
        ELSEWHERE.contains(&family) || NETWORKS.iter().any(|network| network.family == family)
    };
    let without = entry::targets().filter(|(_, target)| !has(target.family));
    assert_eq!(without.map(|(model, _)| &*model.name).collect::<Vec<_>>(), [""; 0]);
}

/// Prints the table of what steps cost, seen with `--nocapture`.
#[test]
fn a_step_stays_within_its_kernels_and_waits_for_one_copy() {
    let mut beyond = Vec::new();
    println!(
        "| kernels of a plain step, of 13 nodes | f32 | bf16 | f32, buffers | bf16, buffers |\n|---|---|---|---|---|"
    );
    for Network { name, open, plain, guided, .. } in NETWORKS {
        beyond.extend(beyond_steps(name, |kind| open(kind, 0, PLAIN), plain));
        if let Some(guided) = guided {
            let name = format!("{name}, guidance");
            beyond.extend(beyond_steps(&name, |kind| open(kind, 0, GUIDED), guided));
        }
    }
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
}

/// Prints a row of the table; what costs more than its budget.
fn beyond_steps(name: &str, open: impl Fn(Kind) -> ModelGeneration, budgets: Budgets) -> Vec<String> {
    let mut beyond = Vec::new();
    print!("| {name} |");
    for (way, budgets) in ["eager", "over buffers"].into_iter().zip(budgets) {
        for ((kind_name, kind), budget) in KINDS.into_iter().zip(budgets) {
            let found = [TokenTree::new(TokenId(2)), tree()].map(|tree| {
                let [eager, buffered] = both_ways(open(kind)).map(|(_, generation)| generation);
                let (kernels, crossed) = costs(if way == "eager" { eager } else { buffered }, &tree);
                let what = format!("{name}, {kind_name}, {way}, {} nodes", tree.len());
                assert_eq!((crossed, kernels.n_waits()), (ONE, 0), "{what}: {kernels:?}");
                (kernels.n_of_step(kind, processor::is_slow_in_bf16()), kernels)
            });
            print!(" {}, {} |", found[0].0, found[1].0);
            if found.iter().zip(budget).any(|((n, _), budget)| *n > budget) {
                beyond.push(format!("{name}, {kind_name}, {way}, for {budget:?}: {found:?}"));
            }
        }
    }
    println!();
    beyond
}

/// Prints a table as above.
#[test]
fn a_layer_more_costs_its_budget_in_every_family() {
    let mut beyond = Vec::new();
    println!(
        "| kernels of a layer more | f32 | bf16 | f32, buffers | bf16, buffers |\n|---|---|---|---|---|"
    );
    for Network { name, open, layer, .. } in NETWORKS {
        print!("| {name} |");
        for is_buffered in [false, true] {
            for ((kind_name, kind), budget) in KINDS.into_iter().zip(layer) {
                let [few, more] = [0, 1].map(|n_more| {
                    let [eager, buffered] = both_ways(open(kind, n_more, PLAIN)).map(|(_, image)| image);
                    costs(if is_buffered { buffered } else { eager }, &TokenTree::new(TokenId(1)))
                        .0
                        .n_of_step(kind, processor::is_slow_in_bf16())
                });
                print!(" {} |", more - few);
                if more - few != budget {
                    beyond.push(format!("{name}, {kind_name}, over buffers {is_buffered}: {}", more - few));
                }
            }
        }
        println!();
    }
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
}

#[test]
fn features_of_a_tree_cross_together() {
    let mut generation = tiny(GUIDED);
    generation.prefill();
    let tree = tree();
    let scores = generation.score(&tree);
    let read = || tree.ids().for_each(|node| drop(scores.feature(node)));
    let (crossed, kernels) = count(|| crossings(read).1);
    assert_eq!((crossed, kernels.n_waits()), (Crossings { n_uploads: 0, n_downloads: 1 }, 0));
}

#[test]
fn a_commit_crosses_once_at_most() {
    let mut generation = tiny(GUIDED);
    generation.prefill();
    for (path, n_uploads) in [(vec![NodeId(0), NodeId(1)], 0), (vec![NodeId(0), NodeId(2), NodeId(6)], 1)] {
        generation.score(&tree());
        let (crossed, kernels) = count(|| crossings(|| generation.commit(&path)).1);
        let expected = Crossings { n_uploads, n_downloads: 0 };
        assert_eq!((crossed, kernels.n_waits()), (expected, 0), "{path:?}");
    }
}

#[test]
fn a_level_of_a_draft_stays_within_its_kernels_and_crosses_once_each_way() {
    let mut beyond = Vec::new();
    for ((name, head), (named, [of_begin, of_level])) in EVERY_HEAD.into_iter().zip(DRAFTS) {
        assert_eq!(name, named);
        let mut generation = tiny(GUIDED);
        let mut draft = draft_for(head(), &generation);
        generation.prefill();
        let (first, begun) = count(|| crossings(|| draft.begin(&[TokenId(1)])).1);
        let mut tree = TokenTree::new(TokenId(1));
        let level = [2, 3, 5].map(|token| tree.push(TokenTree::ROOT, TokenId(token), Proposal::Chosen));
        let (second, expanded) = count(|| crossings(|| draft.expand(&tree, &level)).1);
        println!("| {name} head: a new token, then a level | {}, {} |", begun.n(), expanded.n());
        for (kernels, budget) in [(begun, of_begin), (expanded, of_level)] {
            if kernels.n() > budget {
                beyond.push(format!("{name}: {} for {budget}: {kernels:?}", kernels.n()));
            }
            assert_eq!(kernels.n_waits(), 0, "{name}: {kernels:?}");
        }
        assert_eq!((first, second), (ONE, ONE), "{name}");
    }
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
}

#[test]
fn another_model_that_drafts_crosses_once_each_way() {
    for (name, open) in EVERY_NETWORK {
        let generation = open();
        let mut draft = ModelDraft::new(
            generation.backbone().clone(),
            generation.prefix().shallow_clone(),
            *generation.sampling(),
            None,
            generation.n_tokens() + MAX_TREE,
            DraftTime::new(tch::Device::Cpu),
        );
        drop(draft.begin(&[TokenId(1)]));
        let (taken, of_taken) = count(|| crossings(|| drop(draft.begin(&[TokenId(1), TokenId(2)]))).1);
        let mut tree = TokenTree::new(TokenId(2));
        let level = [2, 3, 5].map(|token| tree.push(TokenTree::ROOT, TokenId(token), Proposal::Chosen));
        let (expanded, of_expanded) = count(|| crossings(|| draft.expand(&tree, &level)).1);
        assert_eq!((taken, expanded), (ONE, ONE), "{name}");
        assert_eq!((of_taken.n_waits(), of_expanded.n_waits()), (0, 0), "{name}");
    }
}
