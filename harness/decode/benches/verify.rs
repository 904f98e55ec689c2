//! Time of one acceptance walk and of one draft at V = 16,384.
//!
//! Run with `cargo bench --profile release -p specimen-decode`; `-- window` measures what has that in its name. Plain wall time, best and median of many walks; the budget is
//! 1 ms a step. The worst cases are trees of 60 nodes of which every tested sibling is rejected.
#![allow(clippy::print_stdout)] // Printing is what this program is for.

use std::{hint::black_box, rc::Rc, time::Instant};

use specimen_decode::{
    clock::MonotonicClock,
    decoder::decode,
    dist::{Dist, TokenId},
    drafter::{DraftModel, Drafter},
    frontier::Placed,
    generation::{Generation, Scores},
    method::{MethodConfig, Parts},
    methods::{
        eagle1::{StaticTree, StaticTreeDrafter},
        eagle2::{DynamicTree, DynamicTreeDrafter},
        sd::Lossless,
    },
    rng::{Purpose, Uniforms},
    tree::{NodeId, Proposal, TokenTree},
    trees::named_tree,
    vectors::Neighbours,
    verify::{AcceptanceRule, verify},
};

const N_VOCAB: usize = 16_384;
const N_REPEATS: u32 = 400;

/// The same row at every node.
struct Rows(Rc<Dist>, Rc<[f32]>);

impl Scores for Rows {
    fn dist(&self, _: NodeId) -> Rc<Dist> {
        Rc::clone(&self.0)
    }

    fn feature(&self, _: NodeId) -> Rc<[f32]> {
        self.1.clone()
    }
}

/// The same distribution after every token.
struct Constant(Rc<Dist>);

impl DraftModel for Constant {
    fn begin(&mut self, _: &[TokenId]) -> Rc<Dist> {
        Rc::clone(&self.0)
    }

    fn expand(&mut self, _: &TokenTree, nodes: &[NodeId]) -> Vec<Rc<Dist>> {
        vec![Rc::clone(&self.0); nodes.len()]
    }
}

/// A flat distribution like those of image models: exponential weights, all positive.
fn flat(seed: u64) -> Rc<Dist> {
    let uniforms = Uniforms::new(seed);
    let weight = |v| -(1.0 - uniforms.uniform(Purpose::Init, 0, v)).ln() as f32;
    Rc::new(Dist::from_weights((0..N_VOCAB as u32).map(weight).collect()).expect("weights are positive"))
}

/// `distribution` without the tokens of `tree`, so that every candidate is rejected.
fn rejecting(distribution: &Dist, tree: &TokenTree) -> Rc<Dist> {
    let tokens: Vec<TokenId> = tree.ids().skip(1).map(|node| tree[node].token).collect();
    Rc::new(distribution.without(&tokens).expect("a tree holds few of the tokens"))
}

fn report(name: &str, mut run: impl FnMut(u32)) {
    let wanted = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    if wanted.is_some_and(|wanted| !name.contains(&wanted)) {
        return;
    }
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
    report_rule(name, tree, q, &mut Lossless);
}

fn report_rule(name: &str, tree: &TokenTree, q: &Rc<Dist>, rule: &mut dyn AcceptanceRule) {
    let (uniforms, scores) = (Uniforms::new(5), Rows(Rc::clone(q), vec![0.5; 1280].into()));
    report(name, |step| {
        black_box(verify(black_box(tree), &scores, rule, &uniforms, step, 99));
    });
}

/// A cell's acceptance rules, with a table of neighbours on a ring.
fn rule(accept: &str) -> Box<dyn AcceptanceRule> {
    let config: MethodConfig = toml::from_str(&format!("accept = [{accept}]")).expect("the text is a cell");
    let near = |token: usize| {
        let at = |i: usize| TokenId(((token + i) % N_VOCAB) as u32);
        (1..=1000).map(at).collect()
    };
    let rows: Vec<Vec<TokenId>> = (0..N_VOCAB).map(near).collect();
    let neighbours = Neighbours::from_rows(&rows).expect("a ring has different neighbours");
    let parts = Parts { neighbours: Some(Rc::new(neighbours)), ..Parts::default() };
    config.build_with(parts).expect("nothing else is needed").rule
}

/// Rows of 16 positions in eight iterations, `[8][16]`: base weights of a position, times `e^(spread z)` anew in each iteration,
/// `z` about normal; the 2,000 largest are kept.
fn iterations(spread: f64) -> Vec<Vec<Rc<Dist>>> {
    let row = |iteration: u32, position: u32| {
        let base = Uniforms::new(u64::from(position));
        let anew = Uniforms::new(u64::from(1000 * (iteration + 1) + position));
        let weight = |v: u32| {
            let z = (0..6).map(|i| anew.uniform(Purpose::Init, i, v)).sum::<f64>() - 3.0;
            let base = -(1.0 - base.uniform(Purpose::Init, 9, v)).ln();
            (base * (spread * z * 2_f64.sqrt()).exp()) as f32
        };
        let weights: Vec<f32> = (0..N_VOCAB as u32).map(weight).collect();
        let mut sorted = weights.clone();
        sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        let kept = weights.into_iter().map(|w| if sorted[1999] <= w { w } else { 0.0 }).collect();
        Rc::new(Dist::from_weights(kept).expect("2,000 weights are positive"))
    };
    (0..8).map(|iteration| (0..16).map(|position| row(iteration, position)).collect()).collect()
}

/// What a window's nodes see: the rows of their positions.
struct Window<'a> {
    rows: &'a [Rc<Dist>],
    /// Position of the first node, counted around.
    start: usize,
}

impl Scores for Window<'_> {
    fn dist(&self, node: NodeId) -> Rc<Dist> {
        Rc::clone(&self.rows[(self.start + node.0) % self.rows.len()])
    }

    fn feature(&self, _: NodeId) -> Rc<[f32]> {
        Rc::from([])
    }
}

/// The drafter of a window of 64; `couple` may be followed by a branch.
fn window(couple: &str) -> Box<dyn Drafter> {
    let couple_key = if couple.contains('"') { couple.to_owned() } else { format!("\"{couple}\"") };
    let text = format!(
        r#"drafter = {{ proposer = "jacobi", window = 64, init = "random", couple = {couple_key} }}"#
    );
    let config: MethodConfig = toml::from_str(&text).expect("the text is a cell");
    let mut drafter = config.build(None).expect("a window needs nothing").drafter;
    drafter.begin_image(9999, N_VOCAB, N_VOCAB);
    drafter
}

/// The walk over a window whose guesses are of the first iteration of `rows`, under the distributions of the second.
fn report_tree(name: &str, couple: &str, rows: &[Vec<Rc<Dist>>]) {
    let (mut drafter, uniforms) = (window(couple), Uniforms::new(3));
    let by_depth = |tree: &TokenTree, rows| ByPosition {
        rows,
        positions: tree.ids().map(|node| tree[node].depth).collect(),
    };
    let unscored = drafter.draft(&[TokenId(0)], 9999, 0, &uniforms);
    drafter.observe(&unscored, &[], Some(&by_depth(&unscored, &rows[0])), 0, &uniforms);
    // The token after the root is settled by the walk, so guesses are one position further.
    let tree = drafter.draft(&[TokenId(0)], 9998, 1, &uniforms);
    let mut scores = by_depth(&tree, &rows[1]);
    scores.positions.iter_mut().for_each(|position| *position += 1);
    report(name, |step| {
        black_box(verify(black_box(&tree), &scores, &mut Lossless, &uniforms, step, 99));
    });
}

/// A window of 64 that moves on by `n_settled` positions in every iteration.
fn report_window(couple: &str, what: &str, rows: &[Vec<Rc<Dist>>], n_settled: usize) {
    let mut drafter = window(couple);
    let uniforms = Uniforms::new(3);
    let path: Vec<NodeId> = (1..n_settled).map(NodeId).collect();
    report(&format!("draft, window of 64, {couple}, {what}"), |step| {
        let start = step as usize * n_settled;
        let tree = drafter.draft(&[TokenId(0)], 9999 - start, step, &uniforms);
        let scores = Window { rows: &rows[step as usize % rows.len()], start };
        drafter.observe(&tree, &path, Some(&scores), step, &uniforms);
    });
}

/// Rows of a picture whose tokens have the distributions of `rows`, by position.
struct Picture<'a> {
    rows: &'a [Rc<Dist>],
    n_tokens: usize,
}

struct ByPosition<'a> {
    rows: &'a [Rc<Dist>],
    positions: Vec<usize>,
}

impl Scores for ByPosition<'_> {
    fn dist(&self, node: NodeId) -> Rc<Dist> {
        Rc::clone(&self.rows[(self.positions[node.0] + 1) % self.rows.len()])
    }

    fn feature(&self, _: NodeId) -> Rc<[f32]> {
        Rc::from([])
    }
}

impl Generation for Picture<'static> {
    fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    fn n_vocab(&self) -> usize {
        N_VOCAB
    }

    fn prefill(&mut self) -> Rc<Dist> {
        Rc::clone(&self.rows[0])
    }

    fn score(&mut self, _: &TokenTree) -> Box<dyn Scores> {
        unreachable!("rows are under way")
    }

    fn commit(&mut self, _: &[NodeId]) {
        unreachable!("rows are under way")
    }

    fn score_placed(&mut self, tokens: &[Placed]) -> Box<dyn Scores> {
        let positions = tokens.iter().map(|placed| placed.position).collect();
        Box::new(ByPosition { rows: self.rows, positions })
    }

    fn keep_placed(&mut self, _: &[NodeId]) {}
}

/// A picture of 24 rows of 24 tokens, time by forward.
fn report_frontier(frontier: &str, rows: &'static [Rc<Dist>]) {
    let text = format!("frontier = {frontier}");
    let config: MethodConfig = toml::from_str(&text).expect("the text is a cell");
    let mut method = config.build(None).expect("rows need nothing");
    let mut by_forward = Vec::new();
    report(&format!("image, {frontier}"), |seed| {
        let mut picture = Picture { rows, n_tokens: 576 };
        let decoded =
            decode(&mut method, &mut picture, &Uniforms::new(u64::from(seed)), &MonotonicClock::new());
        by_forward.push(decoded.total_ns / decoded.steps.len() as u64);
    });
    by_forward.sort_unstable();
    if let Some(median) = by_forward.get(by_forward.len() / 2) {
        println!("{:44} a forward, median {median:>9} ns", "");
    }
}

/// `0.5 * sum |p - q|`
fn total_variation(p: &Dist, q: &Dist) -> f32 {
    0.5 * p.probs().iter().zip(q.probs()).map(|(p, q)| (p - q).abs()).sum::<f32>()
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
    let no_children = rejecting(&q, &sampled);
    for accept in [
        r#"{ kind = "lantern", k = 1000, delta = 0.1 }"#,
        r#"{ kind = "gsd", group = 25, delta_p = 0.15 }"#,
        r#"{ kind = "cascade", tau_pos = 0.85, tau_seq = 0.5, tvd_budget = 0.5 }"#,
    ] {
        println!("{accept}");
        report_rule("  static, p unlike q", &sampled, &q, &mut *rule(accept));
        report_rule("  static, all siblings rejected", &sampled, &no_children, &mut *rule(accept));
        report_rule("  dynamic, p unlike q", &chosen, &q, &mut *rule(accept));
    }
    report("draft, static (58 nodes, distributions given)", |step| {
        black_box(eagle1.draft(&[TokenId(0)], 99, step, &uniforms));
    });
    report("draft, dynamic (60 nodes, distributions given)", |step| {
        black_box(eagle2.draft(&[TokenId(0)], 99, step, &uniforms));
    });
    let unlike: Vec<Vec<Rc<Dist>>> =
        [&p, &q].map(|row| Rc::new(row.filtered(2000))).map(|row| vec![row; 64]).into_iter().collect();
    let alike = iterations(0.3);
    println!("from one iteration to the next {:.2} moves", total_variation(&alike[0][0], &alike[1][0]));
    let pac = r#""maximal", branch = { width = 4, depth = 3 }"#;
    report_window(pac, "nothing alike, none accepted", &unlike, 1);
    report_window(pac, "half alike, 4 settled", &alike, 4);
    for (what, rows) in [("half alike", &alike), ("nothing alike", &unlike)] {
        report_tree(&format!("walk, tree 4 x 3 at the front, {what}"), pac, rows);
    }
    let mut chain = TokenTree::new(TokenId(0));
    let mut parent = TokenTree::ROOT;
    for depth in 0..63 {
        let (token, distribution) = (
            alike[0][depth % 16].sample(uniforms.uniform(Purpose::Init, 5, depth as u32)),
            Rc::clone(&alike[0][depth % 16]),
        );
        let conditional = distribution.prob(token);
        parent = chain.push(parent, token, Proposal::Sampled { distribution, conditional });
    }
    for accept in [
        r#"{ kind = "sjd-sv", alpha = 0.8 }"#,
        r#"{ kind = "sjd-sv", alpha = 0.8 }, { kind = "gsd", group = 25, delta_p = 0.15 }"#,
        r#"{ kind = "sjd-sv", alpha = 0.8 }, { kind = "lantern", k = 1000, delta = 0.1 }"#,
        r#"{ kind = "cool-sd", delta = 2.0 }"#,
    ] {
        for (what, rows) in [("half alike", &alike[1]), ("nothing alike", &unlike[1])] {
            let (mut rule, scores) = (rule(accept), Window { rows, start: 0 });
            report(&format!("walk, chain of 63, {accept}, {what}"), |step| {
                black_box(verify(black_box(&chain), &scores, &mut *rule, &uniforms, step, 99));
            });
        }
    }
    let pictures: &'static [Rc<Dist>] = Vec::leak(alike.iter().flatten().cloned().collect());
    for frontier in [
        r#"{ kind = "zipar", window = 4 }"#,
        r#"{ kind = "pjd", window = 16, c = 4 }"#,
        r#"{ kind = "pjd", window = 16, c = 4, tail = "refcode" }"#,
    ] {
        report_frontier(frontier, pictures);
    }
    for couple in ["independent", "maximal", "gumbel"] {
        report_window(couple, "nothing alike, none accepted", &unlike, 1);
        report_window(couple, "half alike, 4 settled", &alike, 4);
    }
    let raw: Vec<Vec<f32>> = alike[0].iter().map(|row| row.probs().to_vec()).collect();
    report("64 rows taken from the host", |_| {
        raw.iter().cycle().take(64).for_each(|row| drop(black_box(Dist::from_probs(row.clone()))));
    });
}
