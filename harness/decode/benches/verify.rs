//! Time of one acceptance walk and of one draft at V = 16,384.
//!
//! Run with `cargo bench -p specimen-decode`. Plain wall time, best and median of many walks; the budget is
//! 1 ms a step. The worst cases are trees of 60 nodes of which every tested sibling is rejected.
#![allow(clippy::print_stdout)] // Printing is what this program is for.

use std::{hint::black_box, rc::Rc, time::Instant};

use specimen_decode::{
    dist::{Dist, TokenId},
    drafter::{DraftModel, Drafter},
    generation::Scores,
    methods::{
        eagle1::{StaticTree, StaticTreeDrafter},
        eagle2::{DynamicTree, DynamicTreeDrafter},
        sd::Lossless,
    },
    rng::{Purpose, Uniforms},
    tree::{NodeId, Proposal, TokenTree},
    trees::named_tree,
    verify::verify,
};

const N_VOCAB: usize = 16_384;
const N_REPEATS: u32 = 400;

/// The same row at every node.
struct Rows(Rc<Dist>);

impl Scores for Rows {
    fn dist(&self, _: NodeId) -> Rc<Dist> {
        Rc::clone(&self.0)
    }

    fn feature(&self, _: NodeId) -> Rc<[f32]> {
        Rc::from([])
    }
}

/// The same law after every token.
struct Constant(Rc<Dist>);

impl DraftModel for Constant {
    fn begin(&mut self, _: &[TokenId]) -> Rc<Dist> {
        Rc::clone(&self.0)
    }

    fn expand(&mut self, _: &TokenTree, nodes: &[NodeId]) -> Vec<Rc<Dist>> {
        vec![Rc::clone(&self.0); nodes.len()]
    }
}

/// A flat law like those of image models: exponential weights, all positive.
fn flat(seed: u64) -> Rc<Dist> {
    let uniforms = Uniforms::new(seed);
    let weight = |v| -(1.0 - uniforms.uniform(Purpose::Init, 0, v)).ln() as f32;
    Rc::new(Dist::from_weights((0..N_VOCAB as u32).map(weight).collect()).expect("weights are positive"))
}

/// `law` without the tokens of `tree`, so that every candidate is rejected.
fn rejecting(law: &Dist, tree: &TokenTree) -> Rc<Dist> {
    let tokens: Vec<TokenId> = tree.ids().skip(1).map(|node| tree[node].token).collect();
    Rc::new(law.without(&tokens).expect("a tree holds few of the tokens"))
}

fn report(name: &str, mut run: impl FnMut(u32)) {
    let mut times_ns: Vec<u128> = (0..N_REPEATS)
        .map(|step| {
            let start = Instant::now();
            run(step);
            start.elapsed().as_nanos()
        })
        .collect();
    times_ns.sort_unstable();
    println!("{name:44} best {:>9} ns   median {:>9} ns", times_ns[0], times_ns[times_ns.len() / 2]);
}

fn report_walk(name: &str, tree: &TokenTree, q: &Rc<Dist>) {
    let (uniforms, scores) = (Uniforms::new(5), Rows(Rc::clone(q)));
    report(name, |step| {
        black_box(verify(black_box(tree), &scores, &mut Lossless, &uniforms, step, 99));
    });
}

fn main() {
    let (q, p, uniforms) = (flat(1), flat(2), Uniforms::new(3));
    let paths = named_tree("naive_extend_57").expect("the tree is in the table");
    let shape = StaticTree::from_paths(&paths).expect("the table holds trees");
    let mut eagle1 = StaticTreeDrafter::new(Box::new(Constant(Rc::clone(&p))), shape);
    let dynamic = DynamicTree { top_k: 10, depth: 4, total_token: 60 };
    let mut eagle2 = DynamicTreeDrafter::new(Box::new(Constant(Rc::clone(&p))), dynamic);
    let sampled = eagle1.draft(&[TokenId(0)], 99, 0, &uniforms);
    let chosen = eagle2.draft(&[TokenId(0)], 99, 0, &uniforms);
    let mut wide = TokenTree::new(TokenId(0));
    for token in p.top_k(59) {
        wide.push(TokenTree::ROOT, token, Proposal::Chosen);
    }
    println!("V = {N_VOCAB}; static tree {} nodes, dynamic tree {} nodes", sampled.len(), chosen.len());
    report_walk("walk, static, p unlike q", &sampled, &q);
    report_walk("walk, static, p = q (all accepted)", &sampled, &p);
    report_walk("walk, static, all siblings rejected", &sampled, &rejecting(&q, &sampled));
    report_walk("walk, dynamic, p unlike q", &chosen, &q);
    report_walk("walk, 59 chosen siblings, worst case", &wide, &q);
    report("draft, static (58 nodes, laws given)", |step| {
        black_box(eagle1.draft(&[TokenId(0)], 99, step, &uniforms));
    });
    report("draft, dynamic (60 nodes, laws given)", |step| {
        black_box(eagle2.draft(&[TokenId(0)], 99, step, &uniforms));
    });
}
