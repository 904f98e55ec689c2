//! VVS: which steps are skipped, which path is taken, what the drafter continues from, and that the target
//! sees what was skipped.

use std::rc::Rc;

use specimen_decode::{
    decoder::{Method, decode},
    dist::{Dist, TokenId},
    drafter::DraftModel,
    generation::{Generation, Scores},
    method::{MethodConfig, Parts},
    methods::{
        redundancy::{Redundancy, RedundancyConfig},
        vvs::{Selector, Trigger, Vvs, VvsConfig, path_similarity, rows},
    },
    rng::Uniforms,
    schedule::{Decision, Scheduler, Verified},
    toy::{ToyDraftModel, ToyGeneration, ToyModel},
    tree::{NodeId, Proposal, TokenTree},
    vectors::TokenVectors,
    verify::Verdict,
};

use crate::{
    cascade::alpha,
    relaxed::{TREES, check_detected},
    support::{
        AR, CHAIN_3, DYNAMIC, N_TOKENS, P_MIN, STATIC_321, Ticks, built, check_distribution, distribution_of,
        drafter, greedy, image, method, parsed, target, with_schedule,
    },
};

fn interval(every: u32, more: &str) -> String {
    format!(r#"{{ kind = "vvs", trigger = "interval", every = {every}{more} }}"#)
}

fn similarity(s: f64, more: &str) -> String {
    format!(r#"{{ kind = "vvs", trigger = "similarity", s = {s:?}{more} }}"#)
}

#[test]
fn without_a_trigger_vvs_is_the_method_under_it() {
    let never = r#"{ kind = "vvs", trigger = "never" }"#.to_owned();
    for schedule in [never, similarity(1.01, ""), similarity(1.01, ", warm_up = 0")] {
        for drafter_table in TREES {
            let text = with_schedule(drafter_table, &schedule);
            for seed in 0..100 {
                let base = image(method(drafter_table, drafter()), target(), 20, seed);
                assert_eq!(image(built(&text, drafter()), target(), 20, seed), base, "{text}");
            }
        }
    }
}

/// The toy's network without features to reuse: being asked for them is a panic.
struct Featureless(ToyDraftModel);

impl DraftModel for Featureless {
    fn begin(&mut self, tokens: &[TokenId]) -> Rc<Dist> {
        self.0.begin(tokens)
    }
    fn expand(&mut self, tree: &TokenTree, nodes: &[NodeId]) -> Vec<Rc<Dist>> {
        self.0.expand(tree, nodes)
    }
}

#[test]
fn a_whole_model_as_drafter_is_not_asked_for_features_after_a_skip() {
    let table = CHAIN_3.replace("eagle1\"", "model\", model = \"tiny\"");
    let config = parsed(&with_schedule(&table, &interval(2, ", warm_up = 0")));
    let method = config.build(Some(Box::new(Featureless(ToyDraftModel::new(drafter()))))).unwrap();
    let decoded = image(method, target(), 20, 5);
    assert!(decoded.steps.iter().any(|step| step.n_target_forwards == 0), "something was skipped");
}

#[test]
#[should_panic(expected = "this draft model has fresh ones only")]
fn a_head_that_cannot_reuse_features_is_no_head_for_a_skipping_schedule() {
    let config = parsed(&with_schedule(CHAIN_3, &interval(2, ", warm_up = 0")));
    let head = Featureless(ToyDraftModel::new(drafter()));
    image(config.build(Some(Box::new(head))).unwrap(), target(), 20, 5);
}

#[test]
fn a_schedule_carries_nothing_from_one_image_to_the_next() {
    let text = with_schedule(CHAIN_3, &interval(2, ", warm_up = 0"));
    let mut n_odd = 0;
    for n_tokens in 4..12 {
        let mut used = built(&text, drafter());
        let mut generation = ToyGeneration::new(target(), n_tokens);
        let before = decode(&mut used, &mut generation, &Uniforms::new(1), &Ticks::new());
        n_odd += usize::from(before.steps.last().unwrap().n_target_forwards == 0);
        used.drafter = built(&text, drafter()).drafter;
        assert_eq!(image(used, target(), 20, 2), image(built(&text, drafter()), target(), 20, 2));
    }
    assert!(0 < n_odd, "some image ended with a skip");
}

#[test]
fn no_skip_follows_a_skip_and_every_step_is_a_forward_or_a_skip() {
    for schedule in [interval(2, ""), interval(3, ""), similarity(-1.0, ""), similarity(0.6, "")] {
        for drafter_table in TREES {
            let text = with_schedule(drafter_table, &schedule);
            let mut n_skips = 0;
            for seed in 0..60 {
                let decoded = image(built(&text, drafter()), target(), 24, seed);
                let forwards: Vec<u32> = decoded.steps.iter().map(|step| step.n_target_forwards).collect();
                assert!(forwards.windows(2).all(|pair| 0 < pair[0] + pair[1]), "{forwards:?}");
                let skips = forwards.iter().filter(|&&n| n == 0).count();
                assert_eq!(decoded.nfe() as usize - 1 + skips, decoded.steps.len());
                n_skips += skips;
            }
            // The chain has one path, so that nothing is like another.
            assert_eq!(0 < n_skips, drafter_table != CHAIN_3 || !schedule.contains("0.6"), "{text}");
        }
    }
}

#[test]
fn vvs_u_skips_at_its_interval_once_warm() {
    for every in [2, 3, 5] {
        let text = with_schedule(STATIC_321, &interval(every, ", warm_up = 4"));
        for seed in 0..100 {
            let decoded = image(built(&text, drafter()), target(), 40, seed);
            let mut n_tokens = 1;
            for (step, trace) in (0_u32..).zip(&decoded.steps) {
                let is_skipped = step % every == 1 && 4 < n_tokens - 1;
                assert_eq!(trace.n_target_forwards == 0, is_skipped, "step {step} at {n_tokens} tokens");
                n_tokens += trace.n_emitted as usize;
            }
        }
    }
}

#[test]
fn vvs_d_alternates_where_everything_is_similar_enough() {
    let text = with_schedule(STATIC_321, &similarity(-1.0, ", warm_up = 0"));
    let decoded = image(built(&text, drafter()), target(), 40, 5);
    let forwards: Vec<u32> = decoded.steps.iter().map(|step| step.n_target_forwards).collect();
    assert_eq!(forwards[0], 1, "nothing is committed yet");
    assert!(forwards[1..].chunks(2).all(|pair| pair[0] == 0), "{forwards:?}");
}

/// Paths 1-4-6, 1-5, 2 and 3 in drafting order; tokens are those of the line below.
fn fork() -> TokenTree {
    let mut tree = TokenTree::new(TokenId(0));
    let a = tree.push(TokenTree::ROOT, TokenId(0), Proposal::Chosen);
    tree.push(TokenTree::ROOT, TokenId(1), Proposal::Chosen);
    tree.push(TokenTree::ROOT, TokenId(2), Proposal::Chosen);
    let b = tree.push(a, TokenId(1), Proposal::Chosen);
    tree.push(a, TokenId(2), Proposal::Chosen);
    tree.push(b, TokenId(0), Proposal::Chosen);
    tree
}

fn nodes(ids: &[usize]) -> Vec<NodeId> {
    ids.iter().copied().map(NodeId).collect()
}

fn decide(trigger: Trigger, selector: Selector, truncation: bool, step: u32, seed: u64) -> Decision {
    // At 0, 60 and 90 degrees.
    let vectors = TokenVectors::new(vec![2.0, 0.0, 0.5, 0.75_f32.sqrt(), 0.0, 3.0], 2).unwrap();
    let config = VvsConfig { trigger, selector, truncation, warm_up: 0 };
    let mut vvs = Vvs::new(config, Some(Rc::new(vectors)));
    vvs.decide(&fork(), &[TokenId(0); 9], step, &Uniforms::new(seed))
}

#[test]
fn the_path_taken_is_random_or_the_drafters_own_and_cut_to_the_mean_length() {
    let every = Trigger::Interval { every: 2 };
    let taken = |selector, truncation, seed| match decide(every, selector, truncation, 1, seed) {
        Decision::Skip(path) => path,
        Decision::Verify => panic!("step 1 is skipped"),
    };
    assert_eq!(taken(Selector::Confidence, false, 0), nodes(&[1, 4, 6]));
    // Rows of 4, 3, 2 and 2 tokens, the root included: 2 on average, so one candidate.
    assert_eq!(taken(Selector::Confidence, true, 0), nodes(&[1]));
    let mut n_of = [0; 4];
    let paths = [nodes(&[1, 4, 6]), nodes(&[1, 5]), nodes(&[2]), nodes(&[3])];
    for seed in 0..2_000 {
        let path = taken(Selector::Random, false, seed);
        n_of[paths.iter().position(|known| *known == path).unwrap()] += 1;
        let cut = taken(Selector::Random, true, seed);
        assert!(cut.len() == 1 && path.starts_with(&cut));
    }
    // Four standard errors of 500 are 77.
    assert!(n_of.iter().all(|&n| (423..578).contains(&n)), "{n_of:?}");
}

#[test]
fn similarity_is_the_weighted_mean_cosine_of_every_second_path() {
    // Of the paths 1-4-6, 1-5, 2, 3 the first and the third are compared: tokens 0 and 1 at the first
    // position, at 60 degrees, and nothing beyond, where the third has ended.
    let weights = 1.0 + 0.9 + 0.81;
    let expected = 0.5 / weights;
    for (s, is_skipped) in [(expected - 1e-6, true), (expected + 1e-6, false)] {
        let trigger = Trigger::Similarity { s, alpha: 0.9 };
        let decision = decide(trigger, Selector::Confidence, true, 0, 0);
        assert_eq!(decision == Decision::Skip(nodes(&[1])), is_skipped, "{decision:?}");
    }
}

/// The rows are 0, 1-0-0 and 1: the first and the third are compared, at the one position they have, so its weight is 1
/// however deep the tree is.
#[test]
fn the_weights_are_those_of_the_longest_path_that_is_compared() {
    let mut tree = TokenTree::new(TokenId(0));
    tree.push(TokenTree::ROOT, TokenId(0), Proposal::Chosen);
    let long = tree.push(TokenTree::ROOT, TokenId(1), Proposal::Chosen);
    tree.push(TokenTree::ROOT, TokenId(1), Proposal::Chosen);
    let deeper = tree.push(long, TokenId(0), Proposal::Chosen);
    tree.push(deeper, TokenId(0), Proposal::Chosen);
    let vectors = TokenVectors::new(vec![1.0, 0.0, 0.6, 0.8], 2).unwrap();
    let found = path_similarity(&tree, &rows(&tree), &vectors, 0.9).unwrap();
    assert!((found - 0.6).abs() < 1e-6, "{found}");
}

#[test]
fn one_path_is_similar_to_nothing() {
    let config = VvsConfig {
        trigger: Trigger::Similarity { s: 0.1, alpha: 0.9 },
        selector: Selector::Random,
        truncation: true,
        warm_up: 0,
    };
    let mut tree = TokenTree::new(TokenId(0));
    tree.push(TokenTree::ROOT, TokenId(0), Proposal::Chosen);
    let vectors = Rc::new(TokenVectors::new(vec![1.0], 1).unwrap());
    let decision = Vvs::new(config, Some(vectors)).decide(&tree, &[TokenId(0); 9], 1, &Uniforms::new(0));
    assert_eq!(decision, Decision::Verify);
}

/// The target itself as a draft model, which needs no features.
struct Blind(ToyDraftModel);

impl DraftModel for Blind {
    fn begin(&mut self, tokens: &[TokenId]) -> Rc<Dist> {
        self.0.begin(tokens)
    }
    fn expand(&mut self, tree: &TokenTree, nodes: &[NodeId]) -> Vec<Rc<Dist>> {
        self.0.expand(tree, nodes)
    }
    fn reuse_features(&mut self, _: &[usize]) {}
    fn is_greedy(&self) -> bool {
        self.0.is_greedy()
    }
}

fn blind(text: &str, model: ToyModel) -> Method {
    let draft_model: Option<Box<dyn DraftModel>> = Some(Box::new(Blind(ToyDraftModel::new(model))));
    parsed(text).build_with(Parts { draft_model, ..Parts::default() }).unwrap()
}

/// A skipped path of a perfect chain is a draw from the target, so skipping leaves the distribution alone.
#[test]
fn skips_of_a_perfect_chain_keep_the_target_distribution() {
    let chain = CHAIN_3.replace("depth = 3", "depth = 1");
    let text = with_schedule(&chain, &interval(2, ", warm_up = 0"));
    check_distribution(|| blind(&text, target()));
    let n_skips = |seed| {
        let decoded = image(blind(&text, target()), target(), N_TOKENS, seed);
        decoded.steps.iter().filter(|step| step.n_target_forwards == 0).count()
    };
    assert!(200 < (0..400).map(n_skips).sum::<usize>());
}

/// A forward after a skip sees the skipped tokens: with a perfect greedy drafter nothing changes.
#[test]
fn greedy_tokens_after_many_skips_are_the_autoregressive_ones() {
    let n_tokens = 32;
    for drafter_table in TREES {
        let text = with_schedule(drafter_table, &interval(2, r#", selector = "confidence""#));
        let expected = image(method(AR, target()), greedy(target()), n_tokens, 0).tokens;
        let decoded = image(blind(&text, greedy(target())), greedy(target()), n_tokens, 0);
        assert_eq!(decoded.tokens, expected, "{drafter_table}");
        assert!(2 < decoded.steps.iter().filter(|step| step.n_target_forwards == 0).count());
    }
}

#[test]
fn skipped_tokens_are_detected() {
    for drafter_table in [CHAIN_3, STATIC_321, DYNAMIC] {
        check_detected(&with_schedule(drafter_table, &interval(2, ", warm_up = 0")));
    }
}

fn stale(drafter_table: &str, s1: i64, s2: i64, after: usize) -> String {
    drafter_table.replace(" }", &format!(", features = {{ s1 = {s1}, s2 = {s2}, after = {after} }} }}"))
}

#[test]
fn stale_features_cost_acceptance_and_keep_the_distribution() {
    for drafter_table in [STATIC_321, DYNAMIC] {
        let text = stale(drafter_table, 0, 2, 0);
        let found = distribution_of(|seed| image(method(&text, drafter()), target(), N_TOKENS, seed).tokens);
        assert!(P_MIN < found.p_value, "{found:?}");
    }
    // A head that is the target itself is always accepted, until it is fed what it does not know.
    let steps =
        |s1: i64, s2: i64| image(method(&stale(CHAIN_3, s1, s2, 0), target()), target(), 41, 1).steps.len();
    let (fresh, half, all) = (steps(-1, -1), steps(-1, 0), steps(0, 0));
    assert!(fresh == 10 && fresh < half && fresh < all, "{fresh} {half} {all}");
}

#[test]
fn fresh_features_are_the_default() {
    for seed in 0..100 {
        let plain = image(method(STATIC_321, drafter()), target(), 40, seed);
        let text = stale(STATIC_321, -1, -1, 0);
        assert_eq!(image(method(&text, drafter()), target(), 40, seed), plain);
        let late = stale(STATIC_321, 0, 3, 39);
        assert_eq!(image(method(&late, drafter()), target(), 40, seed), plain);
    }
}

#[test]
fn redundant_steps_keep_their_length_and_take_the_first_path() {
    let mut generation = ToyGeneration::new(target(), 20);
    generation.prefill();
    let tree = fork();
    let scores: Box<dyn Scores> = generation.score(&tree);
    let uniforms = Uniforms::new(3);
    let revise = |every, resample, step, n_left, path: &[usize], next: Option<u32>| {
        let verified = Verified { tree: &tree, scores: &*scores, step, n_left, uniforms: &uniforms };
        let verdict = Verdict {
            path: nodes(path),
            next: next.map(TokenId),
            n_levels_tested: path.len(),
            n_residual_fallbacks: 0,
            out_of_support: 0,
        };
        let revised = Redundancy(RedundancyConfig { every, resample }).revise(&verified, verdict);
        if revised.path != nodes(path) {
            let is_outside = |&&node: &&NodeId| {
                let before = tree[node].parent.unwrap();
                scores.dist(before).prob(tree[node].token) == 0.0
            };
            assert_eq!(revised.out_of_support as usize, revised.path.iter().filter(is_outside).count());
        }
        (revised.path, revised.next)
    };
    let after = |node: usize| {
        scores.dist(NodeId(node)).sample(uniforms.uniform(specimen_decode::rng::Purpose::Resample, 1, 0))
    };
    assert_eq!(revise(2, false, 1, 9, &[1, 5], Some(4)), (nodes(&[1, 4]), Some(TokenId(4))));
    assert_eq!(revise(2, true, 1, 9, &[1, 5], Some(4)), (nodes(&[1, 4]), Some(after(4))));
    assert_eq!(revise(2, false, 1, 9, &[3], Some(4)), (nodes(&[1]), Some(TokenId(4))));
    assert_eq!(revise(1, false, 0, 2, &[1, 5], None), (nodes(&[1, 4]), None), "the path fills the image");
    assert_eq!(
        revise(2, true, 1, 9, &[1, 4], Some(2)),
        (nodes(&[1, 4]), Some(TokenId(2))),
        "nothing changed"
    );
    assert_eq!(revise(2, true, 1, 9, &[], Some(2)), (nodes(&[]), Some(TokenId(2))));
    assert_eq!(revise(2, true, 2, 9, &[3], Some(2)), (nodes(&[3]), Some(TokenId(2))), "not this step");
}

#[test]
fn redundancy_changes_the_distribution_and_only_at_its_steps() {
    let text =
        |every: u32| with_schedule(STATIC_321, &format!(r#"{{ kind = "redundancy", every = {every} }}"#));
    check_detected(&text(1));
    let mut n_changed = 0;
    for seed in 0..200 {
        let plain = image(method(STATIC_321, drafter()), target(), 12, seed);
        let revised = image(built(&text(2), drafter()), target(), 12, seed);
        assert_eq!(plain.steps[0], revised.steps[0]);
        n_changed += usize::from(plain.tokens != revised.tokens);
        assert_eq!(revised.nfe() as usize, 1 + revised.steps.len());
    }
    assert!(20 < n_changed, "{n_changed}");
}

#[test]
fn tokens_per_forward_rise_with_more_frequent_skips() {
    let per_forward = |schedule: &str| {
        let text = with_schedule(STATIC_321, schedule);
        let (mut n_tokens, mut n_forwards) = (0, 0);
        for seed in 0..200 {
            let decoded = image(built(&text, drafter()), target(), 40, seed);
            n_tokens += decoded.steps.iter().map(|step| step.n_emitted).sum::<u32>();
            n_forwards += decoded.nfe() - 1;
        }
        f64::from(n_tokens) / f64::from(n_forwards)
    };
    let series = [r#"{ kind = "always" }"#.to_owned(), interval(5, ""), interval(3, ""), interval(2, "")]
        .map(|schedule| per_forward(&schedule));
    assert!(series.is_sorted() && series[0] + 0.3 < series[3], "{series:?}");
}

#[test]
fn vvs_composes_with_cascade_over_gsd() {
    let cell = |budget: f64| {
        format!(
            "drafter = {STATIC_321}\naccept = [{{ kind = \"cascade\", tau_pos = 0.2, tau_seq = 0.1, \
             tvd_budget = {budget:?} }}, {{ kind = \"gsd\", group = 2 }}]\nschedule = {}",
            interval(3, "")
        )
    };
    let (without, with) = (alpha(&cell(0.0)), alpha(&cell(0.5)));
    assert!(without < with, "{without} {with}");
}

#[test]
fn a_forward_has_room_for_a_tree_and_for_what_a_skipped_verification_left() {
    let room = |schedule: &str| {
        let drafter = r#"{ proposer = "eagle1", shape = "chain", depth = 3 }"#;
        let text = format!("drafter = {drafter}\nschedule = {{ kind = \"vvs\", {schedule} }}");
        toml::from_str::<MethodConfig>(&text).unwrap().max_step_tokens()
    };
    assert_eq!(room(r#"trigger = "interval", every = 2"#), 7, "three taken unseen, and a tree of four");
    assert_eq!(room(r#"trigger = "never""#), 4);
}
