//! Methods of others fit: rules nest and lend, a drafter learns through `observe`, a scheduler skips the
//! target. The ones here are minimal and share no code with those in `methods`.

use std::rc::Rc;

use specimen_decode::{
    decoder::Method,
    dist::{Dist, TokenId},
    drafter::Drafter,
    generation::Scores,
    methods::sd::Lossless,
    rng::{Purpose, Uniforms, slot},
    schedule::{AlwaysVerify, Decision, Scheduler},
    tree::{NodeId, Proposal, TokenTree},
    verify::{AcceptanceRule, Level, Mass, Taken},
};

use crate::support::{
    CHAIN_3, DYNAMIC, N_TOKENS, N_VOCAB, P_MIN, STATIC_321, check_distribution, distribution_of, drafter,
    image, method, target,
};

/// Lends a candidate the mass of its siblings within a budget per step, as CASCADE's interchangeability
/// does, and optionally lets the lenders leave on rejection, as LANTERN does.
struct Borrow {
    inner: Box<dyn AcceptanceRule>,
    budget: f32,
    lenders_leave: bool,
    spent: f32,
    lenders: Vec<TokenId>,
}

impl AcceptanceRule for Borrow {
    fn begin_step(&mut self) {
        self.spent = 0.0;
        self.inner.begin_step();
    }

    fn mass(&mut self, level: &Level<'_>, candidate: NodeId) -> Mass {
        let mut mass = self.inner.mass(level, candidate);
        let siblings = level.tree.children(level.parent).filter(|&other| other != candidate);
        let lenders: Vec<TokenId> = siblings.map(|other| level.tree[other].token).collect();
        let lent: f32 = lenders.iter().map(|&token| level.q.prob(token)).sum();
        self.lenders.clear();
        if self.spent + lent <= self.budget {
            self.spent += lent;
            mass.target += lent;
            if self.lenders_leave {
                self.lenders = lenders;
            }
        }
        mass
    }

    fn taken(&mut self, level: &Level<'_>, candidate: NodeId) -> Taken {
        let mut taken = self.inner.taken(level, candidate);
        taken.lenders.extend(&self.lenders);
        taken
    }

    fn tvd_spent(&self) -> f64 {
        self.inner.tvd_spent() + f64::from(self.spent)
    }
}

/// Grouped masses over all tokens at or below the candidate's id, as GSD compares clusters.
struct Grouped;

impl AcceptanceRule for Grouped {
    fn mass(&mut self, level: &Level<'_>, candidate: NodeId) -> Mass {
        let cluster = || (0..=level.tree[candidate].token.0).map(TokenId);
        let target = cluster().map(|token| level.q.prob(token)).sum();
        Mass { target, draft: cluster().map(|token| level.draft_prob(candidate, token)).sum() }
    }
}

fn relaxed(drafter_table: &str, budget: f32, lenders_leave: bool) -> Method {
    let borrow = |inner, budget, lenders_leave| -> Box<dyn AcceptanceRule> {
        Box::new(Borrow { inner, budget, lenders_leave, spent: 0.0, lenders: Vec::new() })
    };
    let rule = borrow(borrow(Box::new(Lossless), 0.0, true), budget, lenders_leave);
    Method { rule, ..method(drafter_table, drafter()) }
}

#[test]
fn nested_rules_without_a_budget_equal_the_lossless_one_token_by_token() {
    for drafter_table in [CHAIN_3, STATIC_321, DYNAMIC] {
        for seed in 0..500 {
            let naive = image(method(drafter_table, drafter()), target(), N_TOKENS, seed);
            let nested = image(relaxed(drafter_table, 0.0, false), target(), N_TOKENS, seed);
            assert_eq!(nested, naive);
        }
    }
}

#[test]
fn a_budget_is_spent_within_bounds_accepts_more_and_changes_the_distribution() {
    for drafter_table in [STATIC_321, DYNAMIC] {
        for lenders_leave in [false, true] {
            let (mut n_naive, mut n_relaxed) = (0, 0);
            for seed in 0..2_000 {
                let relaxed = image(relaxed(drafter_table, 0.5, lenders_leave), target(), N_TOKENS, seed);
                assert!(relaxed.tvd_spent <= 0.5 * relaxed.steps.len() as f64 + 1e-6);
                n_relaxed += relaxed.steps[0].n_accepted;
                n_naive +=
                    image(method(drafter_table, drafter()), target(), N_TOKENS, seed).steps[0].n_accepted;
            }
            assert!(n_naive < n_relaxed, "{n_naive} accepted without, {n_relaxed} with a budget");
            let distribution = distribution_of(|seed| {
                image(relaxed(drafter_table, 0.5, lenders_leave), target(), N_TOKENS, seed).tokens
            });
            assert!(distribution.p_value < P_MIN, "a relaxed rule went unnoticed: {distribution:?}");
        }
    }
}

#[test]
fn a_relaxed_rule_may_emit_tokens_outside_the_support_and_they_are_counted() {
    let outside = |seed| image(relaxed(STATIC_321, 1.0, false), target(), N_TOKENS, seed);
    let mut n_outside = 0;
    for seed in 0..500 {
        let decoded = outside(seed);
        let impossible =
            |&i: &usize| target().distribution(&decoded.tokens[..i]).prob(decoded.tokens[i]) == 0.0;
        assert_eq!((0..N_TOKENS).filter(impossible).count(), decoded.out_of_support as usize);
        n_outside += decoded.out_of_support;
    }
    assert!(0 < n_outside);
}

/// Accepts with `f = min(1, w g / d)`, in the way of Cool-SD's test at one `w`, and takes `d f`, or as plain rules
/// do, from what is rejected.
struct Weighted {
    w: f32,
    takes_what_it_accepts: bool,
}

impl AcceptanceRule for Weighted {
    fn mass(&mut self, level: &Level<'_>, candidate: NodeId) -> Mass {
        let mass = Lossless.mass(level, candidate);
        Mass { target: self.w * mass.target, ..mass }
    }

    fn taken(&mut self, level: &Level<'_>, candidate: NodeId) -> Taken {
        if !self.takes_what_it_accepts {
            return Taken::plain();
        }
        Taken { mass: Some(level.row(candidate, |g, d| d.min(self.w * g))), ..Taken::plain() }
    }
}

#[test]
fn a_rule_that_accepts_less_and_takes_what_it_accepts_keeps_the_distribution_of_drawn_and_chosen_candidates()
{
    for drafter_table in [CHAIN_3, STATIC_321, DYNAMIC] {
        let weighted = |takes_what_it_accepts| {
            let rule = Box::new(Weighted { w: 0.6, takes_what_it_accepts });
            Method { rule, ..method(drafter_table, drafter()) }
        };
        check_distribution(|| weighted(true));
        let distribution = distribution_of(|seed| image(weighted(false), target(), N_TOKENS, seed).tokens);
        assert!(
            distribution.p_value < P_MIN,
            "the plain residual went unnoticed over {drafter_table}: {distribution:?}"
        );
    }
}

#[test]
fn taking_what_the_lossless_test_accepts_equals_the_plain_residual_token_by_token() {
    for drafter_table in [CHAIN_3, STATIC_321, DYNAMIC] {
        for seed in 0..500 {
            let rule = Box::new(Weighted { w: 1.0, takes_what_it_accepts: true });
            let weighted = Method { rule, ..method(drafter_table, drafter()) };
            let naive = image(method(drafter_table, drafter()), target(), N_TOKENS, seed);
            assert_eq!(image(weighted, target(), N_TOKENS, seed), naive, "seed {seed}, {drafter_table}");
        }
    }
}

#[test]
fn a_row_has_the_drafters_distribution_that_a_candidate_was_drawn_from() {
    struct ChecksRow;
    impl AcceptanceRule for ChecksRow {
        fn mass(&mut self, level: &Level<'_>, candidate: NodeId) -> Mass {
            let one_by_one = |v| level.draft_prob(candidate, TokenId(v));
            let expected: Vec<f32> = (0..N_VOCAB as u32).map(one_by_one).collect();
            assert_eq!(level.row(candidate, |_, d| d), expected);
            assert_eq!(level.row(candidate, |g, _| g), level.q.probs());
            Lossless.mass(level, candidate)
        }
    }
    for drafter_table in [CHAIN_3, STATIC_321, DYNAMIC] {
        for seed in 0..200 {
            let checked = Method { rule: Box::new(ChecksRow), ..method(drafter_table, drafter()) };
            image(checked, target(), N_TOKENS, seed);
        }
    }
}

/// The mass a cluster holds under the distribution a candidate was drawn from.
struct ChecksDrawLaw;

impl AcceptanceRule for ChecksDrawLaw {
    fn mass(&mut self, level: &Level<'_>, candidate: NodeId) -> Mass {
        let tokens = || (0..N_VOCAB as u32).map(TokenId);
        let total: f32 = tokens().map(|token| level.draft_prob(candidate, token)).sum();
        assert!(
            (total - 1.0).abs() < 1e-5,
            "the distribution a candidate was drawn from sums to 1, not {total}"
        );
        assert!(level.tried.iter().all(|&token| level.draft_prob(candidate, token) == 0.0));
        Lossless.mass(level, candidate)
    }
}

#[test]
fn the_distribution_a_candidate_was_drawn_from_is_one_over_the_untried_tokens() {
    for drafter_table in [CHAIN_3, STATIC_321, DYNAMIC] {
        for seed in 0..200 {
            let checked = Method { rule: Box::new(ChecksDrawLaw), ..method(drafter_table, drafter()) };
            image(checked, target(), N_TOKENS, seed);
        }
    }
}

#[test]
fn grouped_masses_change_the_distribution_of_chains_and_trees() {
    for drafter_table in [CHAIN_3, STATIC_321, DYNAMIC] {
        let grouped = || Method { rule: Box::new(Grouped), ..method(drafter_table, drafter()) };
        let distribution = distribution_of(|seed| image(grouped(), target(), N_TOKENS, seed).tokens);
        assert!(distribution.p_value < P_MIN, "{distribution:?}");
    }
}

/// Speculative Jacobi decoding in miniature: the target's last distributions draft the next window.
struct Jacobi {
    len: usize,
    n_left: usize,
    window: Vec<(TokenId, Rc<Dist>)>,
}

impl Drafter for Jacobi {
    fn draft(&mut self, tokens: &[TokenId], n_left: usize, step: u32, uniforms: &Uniforms) -> TokenTree {
        self.n_left = n_left;
        while self.window.len() < self.len {
            let u = uniforms.uniform(Purpose::Init, step, slot(0, self.window.len()));
            let token = Dist::uniform(N_VOCAB).sample(u);
            self.window.push((token, Rc::new(Dist::one_hot(N_VOCAB, token))));
        }
        let mut tree = TokenTree::new(*tokens.last().unwrap());
        let mut parent = TokenTree::ROOT;
        for (token, distribution) in self.window.iter().take(n_left) {
            let proposal = Proposal::Sampled {
                distribution: Rc::clone(distribution),
                conditional: distribution.prob(*token),
            };
            parent = tree.push(parent, *token, proposal);
        }
        tree
    }

    fn observe(
        &mut self,
        tree: &TokenTree,
        path: &[NodeId],
        scores: Option<&dyn Scores>,
        step: u32,
        uniforms: &Uniforms,
    ) {
        let scores = scores.unwrap();
        // The node at depth `d` predicts position `d + 1` after the root; the one after the accepted path
        // is the new root.
        let depths = path.len() + 1..tree.len().min(self.n_left);
        let fresh = depths.map(|depth| {
            let distribution = scores.dist(NodeId(depth));
            (distribution.sample(uniforms.uniform(Purpose::Draft, step, slot(0, depth))), distribution)
        });
        self.window = fresh.collect();
    }

    fn n_forwards(&self) -> u32 {
        0
    }
}

#[test]
fn a_jacobi_drafter_learns_through_observe_and_keeps_the_distribution() {
    let jacobi = || Method {
        drafter: Box::new(Jacobi { len: 2, n_left: 0, window: Vec::new() }),
        rule: Box::new(Lossless),
        scheduler: Box::new(AlwaysVerify),
        frontier: None,
    };
    check_distribution(jacobi);
    let n_accepted: u32 = image(jacobi(), target(), 60, 1).steps.iter().map(|step| step.n_accepted).sum();
    assert!(5 < n_accepted);
}

/// Skips the target at every `every`-th step, along the first path, as VVS-U does.
struct SkipEvery(u32);

impl Scheduler for SkipEvery {
    fn decide(&mut self, tree: &TokenTree, _: &[TokenId], step: u32, _: &Uniforms) -> Decision {
        match tree.leaves().first() {
            Some(&leaf) if step % self.0 == 1 => Decision::Skip(tree.path_to(leaf)),
            _ => Decision::Verify,
        }
    }
}

#[test]
fn skipped_steps_cost_no_forward_and_their_tokens_stay() {
    for drafter_table in [CHAIN_3, STATIC_321, DYNAMIC] {
        for seed in 0..100 {
            let skipping = Method { scheduler: Box::new(SkipEvery(2)), ..method(drafter_table, drafter()) };
            let decoded = image(skipping, target(), 20, seed);
            let n_skips = decoded.steps.iter().filter(|step| step.n_target_forwards == 0).count();
            assert_eq!(decoded.nfe() as usize - 1 + n_skips, decoded.steps.len());
            assert_eq!(n_skips, decoded.steps.len() / 2);
            for step in decoded.steps.iter().filter(|step| step.n_target_forwards == 0) {
                assert_eq!((step.n_emitted, step.target_ns, step.verify_ns), (step.n_accepted, 0, 0));
            }
        }
    }
}

#[test]
fn tokens_taken_without_the_target_change_the_distribution() {
    let with = |every| Method { scheduler: Box::new(SkipEvery(every)), ..method(CHAIN_3, drafter()) };
    let distribution = distribution_of(|seed| image(with(2), target(), N_TOKENS, seed).tokens);
    assert!(distribution.p_value < P_MIN, "{distribution:?}");
}

/// LANTERN's `drafter_top_k`: with 1 only the drafter's first choice is drafted, and the tokens keep the target's
/// distribution.
#[test]
fn a_drafter_that_keeps_its_best_tokens_only_is_lossless() {
    for (table, k) in [(CHAIN_3, 1), (CHAIN_3, 2), (STATIC_321, 2), (DYNAMIC, 2)] {
        let table = table.replace("eagle1\"", &format!("eagle1\", filter_top_k = {k}"));
        check_distribution(|| method(&table, crate::support::drafter()));
    }
}
