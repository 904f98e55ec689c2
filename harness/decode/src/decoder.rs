//! The loop shared by all methods: draft, decide, score, verify, commit, observe.

use crate::{
    clock::{Clock, Laps},
    dist::{Dist, TokenId},
    drafter::Drafter,
    frontier::Frontier,
    generation::{Generation, Scores},
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
    let (mut total, mut laps) = (Laps::start(clock), Laps::start(clock));
    let mut decoding = Decoding::begin(method, generation, uniforms, clock);
    while let Some(tree) = decoding.ask(method, generation, clock) {
        laps.lap_ns();
        let scores = generation.score(&tree);
        let target_ns = laps.lap_ns();
        decoding.answer(method, generation, (&tree, &*scores), target_ns, clock);
    }
    Decoded { total_ns: total.lap_ns(), ..decoding.finish(generation) }
}

/// One image under way, from one verification to the next: for callers that run the target over several images at once.
///
/// All calls get the method and the generation that it began with.
pub struct Decoding<'u> {
    image: Decoded,
    uniforms: &'u Uniforms,
    /// The step whose tree the target is looking at.
    asked: Option<StepTrace>,
}

impl<'u> Decoding<'u> {
    /// Begins the image: runs the prompt and draws the first token.
    ///
    /// # Panics
    /// If the method decodes several rows at once: a frontier has its own loop. As [`decode`].
    pub fn begin(
        method: &mut Method,
        generation: &mut dyn Generation,
        uniforms: &'u Uniforms,
        clock: &dyn Clock,
    ) -> Self {
        assert!(method.frontier.is_none(), "a frontier decodes in a loop of its own");
        let n_tokens = generation.n_tokens();
        method.drafter.begin_image(n_tokens, generation.n_vocab(), generation.n_codes());
        method.rule.begin_image();
        method.scheduler.begin_image();
        let mut laps = Laps::start(clock);
        let first = first_token(&generation.prefill(), uniforms, n_tokens);
        let image = Decoded { tokens: vec![first], prefill_ns: laps.lap_ns(), ..Decoded::default() };
        Self { image, uniforms, asked: None }
    }

    /// Drafts up to the next tree that the target has to score; `None` once the image is whole.
    ///
    /// # Panics
    /// If a tree is still unanswered. As [`decode`].
    pub fn ask(
        &mut self,
        method: &mut Method,
        generation: &mut dyn Generation,
        clock: &dyn Clock,
    ) -> Option<TokenTree> {
        assert!(self.asked.is_none(), "a tree is answered before the next one is drafted");
        while self.image.tokens.len() < generation.n_tokens() {
            let (tree, trace) = self.step(method, generation, &mut Laps::start(clock));
            if trace.n_target_forwards > 0 {
                self.asked = Some(trace);
                return Some(tree);
            }
            self.image.steps.push(trace);
        }
        None
    }

    /// Takes in what the target said of the tree, in a forward of `target_ns` nanoseconds.
    ///
    /// # Panics
    /// If no tree was asked for. As [`decode`].
    pub fn answer(
        &mut self,
        method: &mut Method,
        generation: &mut dyn Generation,
        (tree, scores): (&TokenTree, &dyn Scores),
        target_ns: u64,
        clock: &dyn Clock,
    ) {
        let mut laps = Laps::start(clock);
        let mut trace = self.asked.take().expect("a tree was asked for");
        let (step, uniforms, image) = (self.image.steps.len() as u32, self.uniforms, &mut self.image);
        let n_left = generation.n_tokens() - image.tokens.len();
        let verdict = verify(tree, scores, &mut *method.rule, uniforms, step, n_left);
        let verified = Verified { tree, scores, step, n_left, uniforms };
        let verdict = method.scheduler.revise(&verified, verdict);
        (trace.target_ns, trace.verify_ns) = (target_ns, laps.lap_ns());
        (trace.n_accepted, trace.n_emitted) = (verdict.path.len() as u32, verdict.path.len() as u32 + 1);
        image.count(&verdict, method.rule.tvd_spent(), generation);
        image.tokens.extend(tokens_of(tree, &verdict.path));
        image.tokens.extend(verdict.next);
        generation.commit(&[&[TokenTree::ROOT], &*verdict.path].concat());
        method.drafter.observe(tree, &verdict.path, Some(scores), step, uniforms);
        trace.update_ns = laps.lap_ns();
        image.steps.push(trace);
    }

    /// The whole image, but for [`Decoded::total_ns`].
    ///
    /// # Panics
    /// If tokens are missing.
    #[must_use]
    pub fn finish(self, generation: &dyn Generation) -> Decoded {
        let (mut image, n_tokens) = (self.image, generation.n_tokens());
        assert!(image.tokens.len() >= n_tokens, "the image is decoded to its end");
        image.tokens.truncate(n_tokens);
        image.forced = (0..n_tokens).filter(|&position| generation.forced(position).is_some()).count() as u32;
        image
    }

    /// Drafts, and decides whether the target looks. A skipped verification is done; of the other, forward and walk are
    /// still to come.
    fn step(
        &mut self,
        method: &mut Method,
        generation: &mut dyn Generation,
        laps: &mut Laps<'_>,
    ) -> (TokenTree, StepTrace) {
        let (step, uniforms, image) = (self.image.steps.len() as u32, self.uniforms, &mut self.image);
        let n_left = generation.n_tokens() - image.tokens.len();
        let n_draft_forwards_before = method.drafter.n_forwards();
        let tree = method.drafter.draft(&image.tokens, n_left, step, uniforms);
        assert_eq!(
            image.tokens.last(),
            Some(&tree[TokenTree::ROOT].token),
            "a tree hangs off the newest token"
        );
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
        match decision {
            Decision::Verify => trace.n_target_forwards = 1,
            Decision::Skip(path) => {
                let last = *path.last().expect("a skip takes a token");
                assert!(tree.path_to(last) == path, "a skip takes a path");
                let root = tree[TokenTree::ROOT].token;
                let tokens: Vec<TokenId> = std::iter::once(root).chain(tokens_of(&tree, &path)).collect();
                (trace.n_accepted, trace.n_emitted) = (path.len() as u32, path.len() as u32);
                image.tokens.extend_from_slice(&tokens[1..]);
                // The newest token stays out of the KV cache: it is the root of the next tree.
                generation.queue(&tokens[..path.len()]);
                method.drafter.observe(&tree, &path, None, step, uniforms);
                trace.update_ns = laps.lap_ns();
            }
        }
        (tree, trace)
    }
}

/// The first token of an image.
pub(crate) fn first_token(distribution: &Dist, uniforms: &Uniforms, n_tokens: usize) -> TokenId {
    match uniforms.is_coupled() {
        true => Noise::default().first(distribution, uniforms, n_tokens),
        false => distribution.sample(uniforms.uniform(Purpose::Root, 0, 0)),
    }
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
