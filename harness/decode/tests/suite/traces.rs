//! The numbers of a trace mean what their documentation says.

use specimen_decode::{
    clock::{Clock, MonotonicClock},
    decoder::decode,
    dist::{Dist, TokenId},
    generation::{Generation, Scores},
    rng::Uniforms,
    toy::ToyGeneration,
    trace::Decoded,
    tree::{NodeId, TokenTree},
    verify::{AcceptanceRule, Level, Mass},
};
use std::rc::Rc;

use crate::support::{
    ALL, CHAIN_3, STATIC_321, Ticks, built, drafter, greedy, image, method, target, with_schedule,
};

fn sum(decoded: &Decoded, value: impl Fn(&specimen_decode::trace::StepTrace) -> u32) -> usize {
    decoded.steps.iter().map(|step| value(step) as usize).sum()
}

#[test]
fn every_image_has_its_tokens_and_at_most_the_last_bonus_overshoots() {
    let mut n_overshoots = 0;
    for drafter_table in ALL {
        for seed in 0..200 {
            let n_tokens = 2 + (seed as usize) % 9;
            let decoded = image(method(drafter_table, drafter()), target(), n_tokens, seed);
            assert!(decoded.steps.iter().all(|step| step.n_emitted == step.n_accepted + 1));
            let overshoot = 1 + sum(&decoded, |step| step.n_emitted) - n_tokens;
            assert!(overshoot <= 1, "seed {seed}: {overshoot} tokens past the end");
            n_overshoots += overshoot;
        }
    }
    assert!(0 < n_overshoots, "a full last path counts its bonus token: overshoot is kept");
}

#[test]
fn acceptance_by_depth_adds_up_to_the_accepted_candidates() {
    for drafter_table in ALL {
        let decoded = image(method(drafter_table, drafter()), target(), 40, 9);
        assert_eq!(
            decoded.accepted_by_depth.iter().sum::<u32>() as usize,
            sum(&decoded, |step| step.n_accepted)
        );
        let n_drafting = decoded.steps.iter().filter(|step| 0 < step.n_drafted).count() as u32;
        assert_eq!(decoded.tested_by_depth.first().copied().unwrap_or(0), n_drafting);
        for depth in 1..decoded.tested_by_depth.len() {
            assert!(decoded.tested_by_depth[depth] <= decoded.accepted_by_depth[depth - 1]);
        }
        assert_eq!((decoded.n_residual_fallbacks, decoded.out_of_support, decoded.tvd_spent), (0, 0, 0.0));
    }
}

#[test]
fn an_image_of_one_token_needs_no_step() {
    for drafter_table in ALL {
        let decoded = image(method(drafter_table, drafter()), target(), 1, 0);
        assert_eq!((decoded.steps.len(), decoded.nfe()), (0, 1));
    }
}

#[test]
fn every_phase_is_timed_between_two_readings_of_the_clock() {
    let decoded = image(method(CHAIN_3, drafter()), target(), 12, 2);
    for step in &decoded.steps {
        let timed = [step.draft_ns, step.schedule_ns, step.target_ns, step.verify_ns, step.update_ns];
        assert_eq!(timed, [1; 5]);
    }
    assert_eq!(decoded.prefill_ns, 1);
    let phases = 1 + 5 * decoded.steps.len() as u64;
    assert!(phases < decoded.total_ns);
}

#[test]
fn the_monotonic_clock_starts_at_zero_and_never_runs_back() {
    let clock = MonotonicClock::new();
    let (a, b) = (clock.now_ns(), clock.now_ns());
    assert!(a <= b && b < 60_000_000_000);
    while clock.now_ns() <= b {} // A clock that stands still hangs here.
}

/// The toy with a line break, token 0, at every third position.
struct WithBreaks(ToyGeneration, u32);

fn is_break(position: usize) -> bool {
    position % 3 == 2
}

struct BrokenLines(Box<dyn Scores>, Vec<usize>, usize);

impl Scores for BrokenLines {
    fn dist(&self, node: NodeId) -> Rc<Dist> {
        let free = self.0.dist(node);
        if is_break(self.1[node.0] + 1) { Rc::new(Dist::one_hot(self.2, TokenId(0))) } else { free }
    }

    fn feature(&self, node: NodeId) -> Rc<[f32]> {
        self.0.feature(node)
    }
}

impl Generation for WithBreaks {
    fn n_tokens(&self) -> usize {
        self.0.n_tokens()
    }
    fn n_vocab(&self) -> usize {
        self.0.n_vocab()
    }
    fn prefill(&mut self) -> Rc<Dist> {
        self.0.prefill()
    }
    fn score(&mut self, tree: &TokenTree) -> Box<dyn Scores> {
        let root_position = self.1 as usize;
        let positions = tree.ids().map(|node| root_position + tree[node].depth).collect();
        Box::new(BrokenLines(self.0.score(tree), positions, self.0.n_vocab()))
    }
    fn commit(&mut self, path: &[NodeId]) {
        self.1 += path.len() as u32;
        self.0.commit(path);
    }
    fn forced(&self, position: usize) -> Option<TokenId> {
        is_break(position).then_some(TokenId(0))
    }
}

#[test]
fn forced_positions_are_counted_and_left_out_of_the_acceptance_by_depth() {
    let (mut n_accepted, mut n_by_depth) = (0, 0);
    let mut n_later_levels = 0;
    for seed in 0..50 {
        let mut generation = WithBreaks(ToyGeneration::new(target(), 12), 0);
        let mut method = method(STATIC_321, drafter());
        let decoded = decode(&mut method, &mut generation, &Uniforms::new(seed), &Ticks::new());
        assert_eq!(decoded.forced, 4);
        assert!((0..12).filter(|&i| is_break(i)).all(|i| decoded.tokens[i] == TokenId(0)));
        // The same counts from the steps: a level is free if the position of its candidates is.
        let mut accepted = vec![0; decoded.accepted_by_depth.len()];
        let mut root_position = 0;
        for step in &decoded.steps {
            for level in (0..step.n_accepted as usize).filter(|level| !is_break(root_position + 1 + level)) {
                accepted[level] += 1;
                n_later_levels += usize::from(0 < level);
            }
            root_position += step.n_emitted as usize;
        }
        assert_eq!(decoded.accepted_by_depth, accepted);
        n_accepted += sum(&decoded, |step| step.n_accepted);
        n_by_depth += decoded.accepted_by_depth.iter().sum::<u32>() as usize;
    }
    assert!(0 < n_later_levels);
    assert!(0 < n_by_depth && n_by_depth < n_accepted, "{n_by_depth} of {n_accepted}");
}

#[test]
fn the_forwards_of_the_drafter_are_those_of_its_steps() {
    for drafter_table in ALL {
        let mut method = method(drafter_table, drafter());
        let before = method.drafter.n_forwards();
        let mut generation = ToyGeneration::new(target(), 12);
        let decoded = decode(&mut method, &mut generation, &Uniforms::new(3), &Ticks::new());
        let n_forwards = sum(&decoded, |step| step.n_draft_forwards);
        assert_eq!((before, n_forwards), (0, method.drafter.n_forwards() as usize));
    }
}

#[test]
#[should_panic(expected = "cannot take unscored tokens")]
fn a_generation_without_a_queue_is_none_for_a_skipping_schedule() {
    let skipping = r#"{ kind = "vvs", trigger = "interval", every = 2, warm_up = 0 }"#;
    let mut method = built(&with_schedule(CHAIN_3, skipping), drafter());
    let mut generation = WithBreaks(ToyGeneration::new(target(), 12), 0);
    decode(&mut method, &mut generation, &Uniforms::new(1), &Ticks::new());
}

/// Accepts nothing.
struct Never;

impl AcceptanceRule for Never {
    fn mass(&mut self, _: &Level<'_>, _: NodeId) -> Mass {
        Mass { target: 0.0, draft: 1.0 }
    }
}

#[test]
fn rejections_that_leave_nothing_of_the_distribution_add_up_over_an_image() {
    // Greedy drafter and target agree, so a rejected candidate has all of the target's mass.
    let mut method = method(CHAIN_3, greedy(target()));
    method.rule = Box::new(Never);
    let decoded = image(method, greedy(target()), 9, 4);
    assert_eq!((decoded.steps.len(), decoded.n_residual_fallbacks), (8, 8));
}

/// Notes which rows are read.
struct Watched<'a>(&'a dyn Scores, std::cell::RefCell<Vec<NodeId>>);

impl Scores for Watched<'_> {
    fn dist(&self, node: NodeId) -> Rc<Dist> {
        self.1.borrow_mut().push(node);
        self.0.dist(node)
    }
    fn feature(&self, _: NodeId) -> Rc<[f32]> {
        unreachable!("the lossless rule looks at no feature")
    }
}

#[test]
fn a_walk_reads_the_rows_of_the_root_and_the_accepted_path_once() {
    let uniforms = Uniforms::new(6);
    let mut method = method(STATIC_321, drafter());
    let mut generation = ToyGeneration::new(target(), 9);
    let root = generation.prefill().sample(0.5);
    let tree = method.drafter.draft(&[root], 8, 0, &uniforms);
    let scores = generation.score(&tree);
    let mut n_paths = 0;
    for step in 0..40 {
        let watched = Watched(&*scores, Default::default());
        let verdict = specimen_decode::verify::verify(&tree, &watched, &mut *method.rule, &uniforms, step, 8);
        assert_eq!(watched.1.into_inner(), [&[TokenTree::ROOT], &*verdict.path].concat());
        n_paths += usize::from(!verdict.path.is_empty());
    }
    assert!(0 < n_paths);
}
