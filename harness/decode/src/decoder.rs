//! The loop shared by all methods: draft, decide, score, verify, commit, observe.

use crate::{
    clock::{Clock, Laps},
    dist::{Dist, TokenId},
    drafter::Drafter,
    frontier::Frontier,
    generation::Generation,
    noise::Noise,
    rng::{Purpose, Uniforms},
    schedule::{Decision, Scheduler, Verified},
    trace::{Decoded, StepTrace},
    tree::{NodeId, TokenTree},
    verify::{AcceptanceRule, Verdict, verify},
};

/// A decoding method is one choice on each of three axes, or a frontier.
pub struct Method {
    /// What proposes tokens.
    pub drafter: Box<dyn Drafter>,
    /// How much probability a candidate may claim.
    pub rule: Box<dyn AcceptanceRule>,
    /// When the target looks.
    pub scheduler: Box<dyn Scheduler>,
    /// What decodes several rows at once, in place of the other three.
    pub frontier: Option<Box<dyn Frontier>>,
}

/// Generates one image.
///
/// The loop ends as soon as all tokens are sampled: the last one needs no forward, so autoregressive
/// decoding costs `n_tokens` forwards, the prefill included.
///
/// # Panics
/// If a drafter, scheduler or generation breaks its contract.
pub fn decode(
    method: &mut Method,
    generation: &mut dyn Generation,
    uniforms: &Uniforms,
    clock: &dyn Clock,
) -> Decoded {
    if let Some(frontier) = &mut method.frontier {
        return frontier.decode(generation, uniforms, clock);
    }
    let n_tokens = generation.n_tokens();
    method.drafter.begin_image(n_tokens, generation.n_vocab(), generation.n_codes());
    method.rule.begin_image();
    method.scheduler.begin_image();
    let mut total = Laps::start(clock);
    let mut laps = Laps::start(clock);
    let first = first_token(&generation.prefill(), uniforms, n_tokens);
    let mut image = Decoded { tokens: vec![first], prefill_ns: laps.lap_ns(), ..Decoded::default() };
    while image.tokens.len() < n_tokens {
        let step = decode_step(method, generation, uniforms, &mut laps, &mut image);
        image.steps.push(step);
    }
    image.tokens.truncate(n_tokens);
    image.forced = (0..n_tokens).filter(|&position| generation.forced(position).is_some()).count() as u32;
    image.total_ns = total.lap_ns();
    image
}

/// The first token of an image.
pub(crate) fn first_token(distribution: &Dist, uniforms: &Uniforms, n_tokens: usize) -> TokenId {
    match uniforms.is_coupled() {
        true => Noise::default().first(distribution, uniforms, n_tokens),
        false => distribution.sample(uniforms.uniform(Purpose::Root, 0, 0)),
    }
}

/// One iteration: extends the tokens and the counters of `image`.
fn decode_step(
    method: &mut Method,
    generation: &mut dyn Generation,
    uniforms: &Uniforms,
    laps: &mut Laps<'_>,
    image: &mut Decoded,
) -> StepTrace {
    let step = image.steps.len() as u32;
    let n_left = generation.n_tokens() - image.tokens.len();
    let n_draft_forwards_before = method.drafter.n_forwards();
    laps.lap_ns();
    let tree = method.drafter.draft(&image.tokens, n_left, step, uniforms);
    assert_eq!(image.tokens.last(), Some(&tree[TokenTree::ROOT].token), "a tree hangs off the newest token");
    assert!(
        tree.depth() <= n_left,
        "a draft of depth {} is deeper than the {n_left} tokens left",
        tree.depth()
    );
    let draft_ns = laps.lap_ns();
    let decision = method.scheduler.decide(&tree, &image.tokens, step, uniforms);
    let mut trace = StepTrace {
        n_drafted: tree.n_drafts() as u32,
        n_draft_forwards: method.drafter.n_forwards() - n_draft_forwards_before,
        draft_ns,
        schedule_ns: laps.lap_ns(),
        ..StepTrace::default()
    };
    let path = match decision {
        Decision::Verify => {
            let scores = generation.score(&tree);
            trace.target_ns = laps.lap_ns();
            let verdict = verify(&tree, &*scores, &mut *method.rule, uniforms, step, n_left);
            let verified = Verified { tree: &tree, scores: &*scores, step, n_left, uniforms };
            let verdict = method.scheduler.revise(&verified, verdict);
            trace.verify_ns = laps.lap_ns();
            trace.n_target_forwards = 1;
            trace.n_emitted = verdict.path.len() as u32 + 1;
            image.count(&verdict, method.rule.tvd_spent(), generation);
            image.tokens.extend(tokens_of(&tree, &verdict.path));
            image.tokens.extend(verdict.next);
            generation.commit(&[&[TokenTree::ROOT], &*verdict.path].concat());
            method.drafter.observe(&tree, &verdict.path, Some(&*scores), step, uniforms);
            verdict.path
        }
        Decision::Skip(path) => {
            assert!(tree.path_to(*path.last().expect("a skip takes a token")) == path, "a skip takes a path");
            let root = tree[TokenTree::ROOT].token;
            let tokens: Vec<TokenId> = std::iter::once(root).chain(tokens_of(&tree, &path)).collect();
            trace.n_emitted = path.len() as u32;
            image.tokens.extend_from_slice(&tokens[1..]);
            // The newest token stays out of the KV cache: it is the root of the next tree.
            generation.queue(&tokens[..path.len()]);
            method.drafter.observe(&tree, &path, None, step, uniforms);
            path
        }
    };
    trace.n_accepted = path.len() as u32;
    trace.update_ns = laps.lap_ns();
    trace
}

impl Decoded {
    /// Adds one verification, made while `self.tokens` still ends with the root.
    fn count(&mut self, verdict: &Verdict, tvd_spent: f64, generation: &dyn Generation) {
        let root_position = self.tokens.len() - 1;
        let n_levels = verdict.n_levels_tested.max(self.tested_by_depth.len());
        self.tested_by_depth.resize(n_levels, 0);
        self.accepted_by_depth.resize(n_levels, 0);
        for level in 0..verdict.n_levels_tested {
            if generation.forced(root_position + 1 + level).is_none() {
                self.tested_by_depth[level] += 1;
                self.accepted_by_depth[level] += u32::from(level < verdict.path.len());
            }
        }
        self.n_residual_fallbacks += verdict.n_residual_fallbacks;
        self.out_of_support += verdict.out_of_support;
        self.tvd_spent += tvd_spent;
    }
}

fn tokens_of<'a>(tree: &'a TokenTree, path: &'a [NodeId]) -> impl Iterator<Item = TokenId> + 'a {
    path.iter().map(|&node| tree[node].token)
}
