//! Methods accept exactly as often as the formulas say: a lossless method that wastes drafts keeps its distribution,
//! so only a rate finds it out.

use specimen_decode::{
    dist::{Dist, TokenId},
    drafter::{DraftModel, Drafter},
    methods::{
        eagle1::{StaticTree, StaticTreeDrafter},
        eagle2::{DynamicTree, DynamicTreeDrafter},
    },
    rng::Uniforms,
    toy::{ToyDraftModel, ToyModel},
    tree::{Proposal, TokenTree},
};

use crate::support::{
    AR, CHAIN_3, DYNAMIC, N_IMAGES, N_TOKENS, N_VOCAB, STATIC_321, check_rate, drafter, greedy, image,
    method, target, z_score,
};

fn vocabulary() -> impl Iterator<Item = TokenId> {
    (0..N_VOCAB as u32).map(TokenId)
}

/// Candidates accepted in the first step of each image.
pub(crate) fn first_steps(drafter_table: &str) -> Vec<u32> {
    let first = |seed| image(method(drafter_table, drafter()), target(), N_TOKENS, seed).steps[0].n_accepted;
    (0..N_IMAGES).map(first).collect()
}

/// Averages over the first token, which is the root of the first step.
pub(crate) fn over_roots(mut value: impl FnMut(&[TokenId]) -> f64) -> f64 {
    let first = target().distribution(&[]);
    vocabulary().map(|root| f64::from(first.prob(root)) * value(&[root])).sum()
}

#[test]
fn autoregressive_decoding_costs_one_forward_a_token() {
    for n_tokens in [1, 2, 4, 17] {
        let decoded = image(method(AR, drafter()), target(), n_tokens, 3);
        assert_eq!((decoded.nfe() as usize, decoded.steps.len()), (n_tokens, n_tokens - 1));
        assert!(decoded.steps.iter().all(|step| (step.n_accepted, step.n_emitted) == (0, 1)));
    }
}

/// Chance that at least `n` chained tokens are accepted after `context`: nested `sum min(p, q)`.
fn chain_acceptance(context: &[TokenId], n: usize) -> f64 {
    if n == 0 {
        return 1.0;
    }
    let (q, p) = (target().distribution(context), drafter().distribution(context));
    let overlap = |x: TokenId| f64::from(q.prob(x).min(p.prob(x)));
    let accepted = vocabulary().filter(|&x| 0.0 < overlap(x));
    accepted.map(|x| overlap(x) * chain_acceptance(&[context, &[x]].concat(), n - 1)).sum()
}

#[test]
fn a_chain_is_accepted_with_the_overlap_of_p_and_q_at_each_position() {
    let accepted = first_steps(CHAIN_3);
    for n in 1..=3 {
        let n_hits = accepted.iter().filter(|&&a| n <= a as usize).count() as u64;
        check_rate(n_hits, N_IMAGES, over_roots(|root| chain_acceptance(root, n)));
    }
}

/// Chance that one of `n` siblings, drawn without replacement from `d`, is accepted against `g`: all draws
/// and rejections enumerated in f64.
pub(crate) fn siblings_acceptance(g: &[f64], d: &[f64], n: usize) -> f64 {
    if n == 0 || d.iter().all(|&d| d <= 0.0) {
        return 0.0;
    }
    let norm = |row: Vec<f64>| -> Vec<f64> {
        let total: f64 = row.iter().sum();
        row.iter().map(|&x| if 0.0 < total { x / total } else { 0.0 }).collect()
    };
    let residual = norm(g.iter().zip(d).map(|(g, d)| (g - d).max(0.0)).collect());
    let mut chance = 0.0;
    for x in (0..d.len()).filter(|&x| 0.0 < d[x]) {
        let accept = (g[x] / d[x]).min(1.0);
        let mut rest = d.to_vec();
        rest[x] = 0.0;
        let later = if accept < 1.0 { siblings_acceptance(&residual, &norm(rest), n - 1) } else { 0.0 };
        chance += d[x] * (accept + (1.0 - accept) * later);
    }
    chance
}

pub(crate) fn wide(distribution: &Dist) -> Vec<f64> {
    distribution.probs().iter().map(|&p| f64::from(p)).collect()
}

#[test]
fn one_level_of_siblings_is_accepted_as_the_enumeration_says() {
    let mut last = 0.0;
    for (n, tree) in [(1, "[[0]]"), (2, "[[0],[1]]"), (3, "[[0],[1],[2]]")] {
        let table = format!(r#"{{ proposer = "eagle1", shape = "static", tree = {tree} }}"#);
        let n_hits = first_steps(&table).iter().map(|&a| u64::from(a)).sum();
        let distribution = |root: &[TokenId]| {
            siblings_acceptance(&wide(&target().distribution(root)), &wide(&drafter().distribution(root)), n)
        };
        let expected = over_roots(distribution);
        check_rate(n_hits, N_IMAGES, expected);
        assert!(last < expected, "more siblings are accepted more often");
        last = expected;
    }
}

/// Sum over the candidates of a tree of the target's probability of the path to each: with point-mass
/// proposals the walk is a draw from the target, so this is the expected number accepted.
fn expected_accepted(tree: &TokenTree, root: TokenId) -> f64 {
    let path_prob = |node| {
        let mut context = vec![root];
        let mut prob = 1.0;
        for node in tree.path_to(node) {
            prob *= f64::from(target().distribution(&context).prob(tree[node].token));
            context.push(tree[node].token);
        }
        prob
    };
    tree.ids().skip(1).map(path_prob).sum()
}

#[test]
fn a_dynamic_tree_is_accepted_as_often_as_the_target_walks_into_it() {
    let accepted = first_steps(DYNAMIC);
    let shape = DynamicTree { top_k: 3, depth: 2, total_token: 10 };
    let expected = over_roots(|root| {
        let mut drafter = DynamicTreeDrafter::new(Box::new(ToyDraftModel::new(drafter())), shape);
        let tree = drafter.draft(root, N_TOKENS - 1, 0, &Uniforms::new(0));
        assert_eq!(tree.len(), 10);
        expected_accepted(&tree, root[0])
    });
    let n = N_IMAGES as f64;
    let sum: f64 = accepted.iter().map(|&a| f64::from(a)).sum();
    let squares: f64 = accepted.iter().map(|&a| f64::from(a).powi(2)).sum();
    let z = z_score(sum, n, expected, squares / n - (sum / n).powi(2));
    assert!(z.abs() < 4.5, "expected {expected:.4} accepted, found {:.4} (z = {z:.1})", sum / n);
}

#[test]
fn one_level_of_chosen_tokens_is_accepted_with_their_target_mass() {
    let table = r#"{ proposer = "eagle1", shape = "dynamic", top_k = 2, depth = 1, total_token = 3 }"#;
    let n_hits = first_steps(table).iter().filter(|&&a| 0 < a).count() as u64;
    let shape = DynamicTree { top_k: 2, depth: 1, total_token: 3 };
    let expected = over_roots(|root| {
        let mut drafter = DynamicTreeDrafter::new(Box::new(ToyDraftModel::new(drafter())), shape);
        let tree = drafter.draft(root, N_TOKENS - 1, 0, &Uniforms::new(0));
        tree.children(TokenTree::ROOT)
            .map(|x| f64::from(target().distribution(root).prob(tree[x].token)))
            .sum()
    });
    check_rate(n_hits, N_IMAGES, expected);
}

#[test]
fn a_perfect_drafter_is_never_rejected() {
    for (model, table) in [(target(), CHAIN_3), (greedy(target()), CHAIN_3)] {
        let decoded = image(method(table, model.clone()), model, 13, 5);
        // Rooms 12, 8, 4: three full drafts of 3 and their bonus tokens.
        assert!(decoded.steps.iter().all(|step| step.n_accepted == 3), "{:?}", decoded.steps);
        assert_eq!(decoded.nfe(), 4);
    }
}

#[test]
fn a_greedy_tree_is_filled_by_rank_and_accepted_as_far_as_it_holds_the_argmax() {
    let levels = (0..3).flat_map(|i| [vec![i], vec![i, 0], vec![i, 1], vec![i, 0, 0], vec![i, 1, 0]]);
    let shape = StaticTree::from_paths(&levels.collect::<Vec<_>>()).unwrap();
    let mut n_of = [0; 4];
    for seed in 0..40 {
        let target = greedy(ToyModel { seed, ..target() });
        let root = target.distribution(&[]).argmax();
        let model = || ToyDraftModel::new(greedy(drafter()));
        let tree = StaticTreeDrafter::new(Box::new(model()), shape.clone()).draft(
            &[root],
            N_TOKENS - 1,
            0,
            &Uniforms::new(0),
        );
        assert_eq!(tree.n_drafts(), 15);
        let first: Vec<TokenId> = tree.children(TokenTree::ROOT).map(|x| tree[x].token).collect();
        assert_eq!(first, model().begin(&[root]).top_k(3));
        assert!(tree.ids().skip(1).all(|node| matches!(tree[node].proposal, Proposal::Chosen)));
        let (mut at, mut context) = (TokenTree::ROOT, vec![root]);
        while let Some(child) =
            tree.children(at).find(|&x| tree[x].token == target.distribution(&context).argmax())
        {
            at = child;
            context.push(tree[child].token);
        }
        let decoded = image(method(STATIC_321, greedy(drafter())), target, N_TOKENS, seed);
        assert_eq!(decoded.steps[0].n_accepted as usize, tree[at].depth);
        n_of[tree[at].depth] += 1;
    }
    assert!(n_of[..3].iter().all(|&n| 0 < n), "{n_of:?}");
}

#[test]
fn a_drafter_runs_once_per_level_that_has_children() {
    let forwards = |table: &str, n_tokens| {
        image(method(table, drafter()), target(), n_tokens, 1).steps[0].n_draft_forwards
    };
    assert_eq!(forwards(AR, 9), 0);
    assert_eq!(forwards(CHAIN_3, 9), 3);
    assert_eq!(forwards(CHAIN_3, 3), 2, "2 tokens that are left are drafted by 2 forwards");
    assert_eq!(forwards(crate::support::MC_SIM, 9), 5);
    assert_eq!(forwards(DYNAMIC, 9), 3);
    assert_eq!(forwards(DYNAMIC, 2), 1);
}

#[test]
fn a_static_shape_is_filled_completely_when_the_distribution_has_enough_tokens() {
    let wide = ToyModel {
        n_vocab: 12,
        sampling: specimen_decode::pipeline::Sampling { top_k: 0, ..target().sampling },
        ..target()
    };
    for (name, n_drafts, depth) in
        [("mc_sim_7b_63", 25, 5), ("naive_extend_57", 57, 5), ("tiny_13", 13, 5), ("tiny_25", 25, 6)]
    {
        let paths = specimen_decode::trees::named_tree(name).unwrap();
        let shape = StaticTree::from_paths(&paths).unwrap();
        assert_eq!((shape.n_drafts(), shape.depth()), (n_drafts, depth));
        let model = Box::new(ToyDraftModel::new(wide.clone()));
        let mut drafter = StaticTreeDrafter::new(model, shape);
        let tree = drafter.draft(&[TokenId(0)], 99, 0, &Uniforms::new(4));
        assert_eq!((tree.n_drafts(), tree.depth()), (n_drafts, depth), "{name}");
    }
}
