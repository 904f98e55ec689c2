//! Time of one forward of the embedded target over N tree nodes, as a ratio to one node: what a verification
//! costs beside a plain step. Last, one step of the EAGLE-1 head.
//!
//! Run with `cargo bench --profile release -p specimen-models` on an idle machine. One thread, bf16, guidance 3. The
//! sizes take turns at every token of one image, so that a change of clock frequency or of cache length meets all of
//! them; medians. A step is what the decoder's clock calls `target`: embed, mask, forward, logits, distribution, and
//! the root's row fetched.
#![allow(clippy::print_stdout)] // Printing is what this program is for.

use std::{hint::black_box, time::Instant};

use specimen_decode::{
    dist::TokenId,
    generation::Generation,
    pipeline::{FilterOrder, Sampling},
    tree::{NodeId, Proposal, TokenTree},
};
use specimen_models::{families::tiny, heads::drafters::DrafterKind};
use tch::{Device, Kind};

/// Nodes when the command line names none (`-- 1 14`).
const SIZES: [usize; 9] = [1, 2, 4, 5, 8, 10, 14, 20, 26];
/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const MAX_TREE: usize = 32;

/// A chain of `n` nodes: any shape costs the same, only the mask's entries differ.
fn chain(n: usize) -> TokenTree {
    let mut tree = TokenTree::new(TokenId(1));
    let mut at = NodeId(0);
    for token in 1..n {
        at = tree.push(at, TokenId(token as u32), Proposal::Chosen);
    }
    tree
}

fn ms_of<T>(work: impl FnOnce() -> T) -> f64 {
    let started = Instant::now();
    black_box(work());
    started.elapsed().as_secs_f64() * 1e3
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    tch::set_num_threads(1);
    let (filter_order, guidance) = (FilterOrder::TopKThenTopP, 3.0);
    let sampling =
        Sampling { temperature: 1.0, top_k: 0, top_p: 1.0, guidance, filter_order, coupled: false };
    let captions = Box::new(|_: &str| Ok(vec![2_u16; 20]));
    let model = tiny::embedded(Kind::BFloat16, Device::Cpu, captions).expect("the weights are in the binary");
    let mut generation = model.open("", &sampling, MAX_TREE).expect("the caption fits");
    let (mut drafter, _) = model
        .drafter(&DrafterKind::Eagle1(None), &generation, MAX_TREE)
        .expect("the model has an EAGLE-1 head");
    generation.prefill();
    let mut sizes: Vec<usize> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = SIZES.to_vec();
    }
    let trees: Vec<TokenTree> = sizes.iter().map(|&n| chain(n)).collect();
    let mut times = vec![Vec::new(); trees.len()];
    let mut draft = Vec::new();
    let mut tokens = vec![TokenId(1)];
    for position in 1..model.n_tokens {
        draft.push(ms_of(|| drafter.begin(&tokens)));
        for (tree, times) in trees.iter().zip(&mut times) {
            times.push(ms_of(|| generation.score(tree).dist(NodeId(0))));
        }
        generation.score(&TokenTree::new(tokens[position - 1]));
        generation.commit(&[NodeId(0)]);
        tokens.push(TokenId((position * 37 % 1024) as u32));
    }
    let medians: Vec<f64> = times.into_iter().map(median).collect();
    println!("nodes      ms  ratio");
    for (n, ms) in sizes.iter().zip(&medians) {
        println!("{n:5}  {ms:6.3}  {:5.2}", ms / medians[0]);
    }
    let draft = median(draft);
    println!("draft  {draft:6.3}  {:5.2}", draft / medians[0]);
}
