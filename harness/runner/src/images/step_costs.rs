//! What forwards cost on this machine: verifications of several sizes and forwards of the drafters, each over the plain
//! step at the same place of an image.

use std::{hint::black_box, rc::Rc};

use specimen_decode::{
    clock::Clock,
    dist::TokenId,
    drafter::DraftModel,
    generation::Generation,
    pipeline::Sampling,
    tree::{NodeId, Proposal, TokenTree},
};
use specimen_foundation::fail;
use specimen_models::{
    heads::drafters::DrafterKind,
    seam::{
        captures::Captures, clock::DeviceClock, generation::ModelGeneration, loaded_model::LoadedModel,
        model_error::ModelError, static_steps::StepBuffers,
    },
};
pub use specimen_stats::median_interval::MedianEstimate;
use specimen_stats::{median_interval::median_interval, order_statistics::median};

use crate::error::RunError;

/// Fewest places of an image at which forwards are timed: without the first, six reach an interval at 95 %.
const FEWEST: usize = 7;

/// What forwards cost: medians over several places of one image.
#[derive(Clone, Debug, PartialEq)]
pub struct ForwardCosts {
    /// Seconds of a plain step.
    pub step_s: MedianEstimate,
    /// Cost of a plain step that asks for kernel by kernel, over the plain step at the same place; where steps run over
    /// buffers that stay where they are.
    pub eager_step: Option<MedianEstimate>,
    /// Seconds of a prefill.
    pub prefill_s: MedianEstimate,
    /// Seconds from an image's tokens to its picture.
    pub picture_s: MedianEstimate,
    /// Nodes of a verification, root included, and its cost over the plain step at the same place.
    pub verifications: Vec<(usize, MedianEstimate)>,
    /// The same kernel by kernel, over the same plain step; empty where `eager_step` is absent.
    pub eager_verifications: Vec<(usize, MedianEstimate)>,
    /// What proposes, as specs name it, and the cost of one forward of it over the plain step at the same place. Drafters
    /// always ask for kernel by kernel.
    pub drafters: Vec<(&'static str, MedianEstimate)>,
    /// Image tokens in the cache at the first place and at the last.
    pub context: [usize; 2],
}

/// Level of all intervals.
const LEVEL: f64 = 0.95;

/// Times the forwards of `model` for `prompt`, at about `repetitions` places of an image.
pub fn forward_costs(
    model: &LoadedModel,
    prompt: &str,
    sampling: &Sampling,
    (sizes, repetitions): (&[usize], usize),
    clock: &DeviceClock,
) -> Result<ForwardCosts, RunError> {
    let stride = (model.n_tokens - 1).div_ceil(repetitions).max(1);
    let places: Vec<usize> =
        (1..).map(|nth| nth * stride).take_while(|at| at + stride <= model.n_tokens).collect();
    if places.len() < FEWEST {
        fail!(Spec: "an image of `{}` has {} tokens, too few for times at {FEWEST} places and more",
            model.name, model.n_tokens);
    }
    let max_tree = sizes.iter().copied().chain([stride]).max().expect("the stride is one");
    let open = || model.open(prompt, sampling, max_tree);
    let buffers = model.steps.as_ref();
    let mut walk = Walk { generation: open()?, tokens: Vec::new(), clock, buffers };
    walk.begin(stride);
    let mut eager = match &model.steps {
        Some(_) => {
            let generation = model.open_eager(prompt, sampling, max_tree)?;
            Some(Walk { generation, tokens: Vec::new(), clock, buffers: None })
        }
        None => None,
    };
    eager.iter_mut().for_each(|eager| eager.begin(stride));
    let mut steps = Vec::new();
    let mut eager_steps = Vec::new();
    let mut ratios = vec![Vec::new(); sizes.len()];
    let mut eager_ratios = ratios.clone();
    for nth in 0..places.len() {
        let step = walk.score(1);
        let eager_cost = eager.as_mut().map(|eager| eager.score(1) / step);
        let costs: Vec<f64> = sizes.iter().map(|&n| walk.score(n) / step).collect();
        let eager_costs: Vec<f64> = match &mut eager {
            Some(eager) => sizes.iter().map(|&n| eager.score(n) / step).collect(),
            None => Vec::new(),
        };
        // The first place warms caches and kernels up.
        if nth > 0 {
            steps.push(step);
            eager_steps.extend(eager_cost);
            ratios.iter_mut().zip(costs).for_each(|(ratios, cost)| ratios.push(cost));
            eager_ratios.iter_mut().zip(eager_costs).for_each(|(ratios, cost)| ratios.push(cost));
        }
        // The tree that is scored last is the one that is kept.
        walk.advance(stride);
        eager.iter_mut().for_each(|eager| eager.advance(stride));
    }
    drop(eager);
    let mut drafters: Vec<(&str, MedianEstimate)> = Vec::new();
    for kind in model.heads.here() {
        let proposer = proposer(kind);
        // Heads of one kind differ in their weights only.
        if drafters.iter().all(|(seen, _)| *seen != proposer) {
            let mut walk = Walk { generation: open()?, tokens: Vec::new(), clock, buffers };
            let (mut drafter, _) = model.drafter(kind, &walk.generation, max_tree)?;
            let costs = walk.draft_costs(&mut *drafter, places.len(), stride);
            drafters.push((proposer, median_interval(&costs, LEVEL)?));
        }
    }
    let tokens: Vec<TokenId> =
        (0..model.n_tokens).map(|at| model.forced.get(at).copied().flatten().unwrap_or(TokenId(0))).collect();
    let picture_s = several_times(clock, || Ok(()), |()| drop(black_box(model.picture(&tokens))))?;
    let prefill_s = several_times(clock, open, |mut generation| drop(black_box(generation.prefill())))?;
    let medians = |of_sizes: &[Vec<f64>]| -> Result<Vec<(usize, MedianEstimate)>, RunError> {
        let pairs = sizes.iter().zip(of_sizes);
        pairs.map(|(&n, ratios)| Ok((n, median_interval(ratios, LEVEL)?))).collect()
    };
    Ok(ForwardCosts {
        step_s: median_interval(&steps, LEVEL)?,
        eager_step: match eager_steps.is_empty() {
            true => None,
            false => Some(median_interval(&eager_steps, LEVEL)?),
        },
        prefill_s,
        picture_s,
        verifications: medians(&ratios)?,
        eager_verifications: if eager_steps.is_empty() { Vec::new() } else { medians(&eager_ratios)? },
        drafters,
        context: [places[0], places[places.len() - 1]],
    })
}

/// Places of an image at which [`plain_step_seconds`] times steps, with one before them that warms up.
const PLAIN_STEPS: usize = 16;

/// Seconds of a plain step of each of `models`, in turn at the same first places of an image of `prompt`; medians. `None` for
/// images of too few tokens.
pub(crate) fn plain_step_seconds(
    models: &[&LoadedModel],
    prompt: &str,
    sampling: &Sampling,
    clock: &DeviceClock,
) -> Result<Option<Vec<f64>>, RunError> {
    let n_tokens = models.iter().map(|model| model.n_tokens).min().unwrap_or(0);
    let n_places = n_tokens.saturating_sub(2).min(PLAIN_STEPS + 1);
    if n_places < FEWEST {
        return Ok(None);
    }
    let mut walks = Vec::new();
    for model in models {
        let generation = model.open(prompt, sampling, 1)?;
        let mut walk = Walk { generation, tokens: Vec::new(), clock, buffers: model.steps.as_ref() };
        walk.begin(1);
        walks.push(walk);
    }
    let mut seconds = vec![Vec::new(); models.len()];
    for nth in 0..n_places {
        for (walk, seconds) in walks.iter_mut().zip(&mut seconds) {
            let step = walk.score(1);
            walk.commit(1);
            if nth > 0 {
                seconds.push(step);
            }
        }
    }
    let medians = seconds.iter().map(|seconds| Ok(median(seconds)?));
    Ok(Some(medians.collect::<Result<_, RunError>>()?))
}

/// Seconds of `work`, which follows `begin` each time and runs once an image.
fn several_times<T>(
    clock: &DeviceClock,
    begin: impl Fn() -> Result<T, ModelError>,
    work: impl Fn(T),
) -> Result<MedianEstimate, RunError> {
    let once = |_| {
        let begun = begin()?;
        let started = clock.now_ns();
        work(begun);
        Ok((clock.now_ns() - started) as f64 * 1e-9)
    };
    let seconds: Vec<f64> = (0..FEWEST).map(once).collect::<Result<_, RunError>>()?;
    // The first warms caches and kernels up.
    Ok(median_interval(&seconds[1..], LEVEL)?)
}

/// As specs name it.
fn proposer(kind: &DrafterKind) -> &'static str {
    match kind {
        DrafterKind::Eagle1(_) => "eagle1",
        DrafterKind::Eagle3(_) => "eagle3",
        DrafterKind::Model(_) => "model",
    }
}

/// The seconds that `run` takes when it captures nothing: it runs again where `captures` rose.
fn without_captures(captures: impl Fn() -> Option<Captures>, mut run: impl FnMut() -> f64) -> f64 {
    let before = captures();
    let seconds = run();
    if captures() == before { seconds } else { run() }
}

/// An image under way, of tokens that nobody drew.
struct Walk<'c> {
    generation: ModelGeneration,
    /// All tokens so far, the root of the next tree last.
    tokens: Vec<TokenId>,
    clock: &'c DeviceClock,
    /// Those of its steps, where they are captured.
    buffers: Option<&'c Rc<StepBuffers>>,
}

impl Walk<'_> {
    /// Prefill and the tokens before the first place.
    fn begin(&mut self, n: usize) {
        black_box(self.generation.prefill());
        self.tokens.push(self.token());
        self.advance(n);
    }

    fn token(&self) -> TokenId {
        TokenId((self.tokens.len() * 61 % self.generation.n_vocab()) as u32)
    }

    /// Seconds of a forward over a chain of `n` nodes with the distribution of its root on the host. Any shape costs the
    /// same: only the entries of the mask differ. A forward that was captured is timed when it is replayed.
    fn score(&mut self, n: usize) -> f64 {
        let mut tree = TokenTree::new(self.tokens[self.tokens.len() - 1]);
        let mut at = NodeId(0);
        for nth in 1..n {
            let token = (self.tokens.len() + nth - 1) * 61 % self.generation.n_vocab();
            at = tree.push(at, TokenId(token as u32), Proposal::Chosen);
        }
        let captures = || self.buffers.map(|buffers| buffers.captures());
        without_captures(captures, || {
            let started = self.clock.now_ns();
            black_box(self.generation.score(&tree).dist(NodeId(0)));
            (self.clock.now_ns() - started) as f64 * 1e-9
        })
    }

    /// Keeps the first `n` nodes of the tree that was scored last.
    fn commit(&mut self, n: usize) {
        self.generation.commit(&(0..n).map(NodeId).collect::<Vec<_>>());
        for _ in 0..n {
            self.tokens.push(self.token());
        }
    }

    /// `n` tokens in one forward.
    fn advance(&mut self, n: usize) {
        self.score(n);
        self.commit(n);
    }

    /// Costs of what a drafter computes for each new root, over the plain step before it.
    fn draft_costs(&mut self, drafter: &mut dyn DraftModel, n_places: usize, stride: usize) -> Vec<f64> {
        self.begin(stride);
        drafter.begin(&self.tokens);
        let mut costs = Vec::new();
        for nth in 0..n_places {
            let step = self.score(1);
            self.commit(1);
            let started = self.clock.now_ns();
            black_box(drafter.begin(&self.tokens));
            let draft = (self.clock.now_ns() - started) as f64 * 1e-9;
            if nth > 0 {
                costs.push(draft / step);
            }
            if stride > 1 {
                self.advance(stride - 1);
                drafter.begin(&self.tokens);
            }
        }
        costs
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_forward_that_captured_is_timed_again_and_others_are_not() {
        for (n_captured, expected, n_runs) in [(0, 1.0, 1), (1, 2.0, 2)] {
            let captures = Cell::new(Captures::default());
            let mut n = 0;
            let seconds = without_captures(
                || Some(captures.get()),
                || {
                    n += 1;
                    captures.set(Captures { n_captured, ..captures.get() });
                    f64::from(n)
                },
            );
            assert_eq!((seconds, n), (expected, n_runs));
        }
        assert_eq!(without_captures(|| None, || 3.0), 3.0);
    }
}
