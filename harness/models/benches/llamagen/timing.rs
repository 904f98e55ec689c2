//! What is timed of a network, and what the machine gives.

use std::{fs, hint::black_box, process::Command};

use specimen_decode::{
    clock::Clock,
    dist::TokenId,
    drafter::DraftModel,
    generation::Generation,
    tree::{NodeId, Proposal, TokenTree},
};
use specimen_models::seam::{clock::DeviceClock, generation::ModelGeneration};
use tch::Device;

use crate::{eager::Eager, subjects::Subject};

/// Nodes of the verifications: EAGLE-1's static tree and the largest of the papers.
pub(crate) const NODES: [usize; 2] = [26, 58];
/// Steps of a block, which has a prefill, a verification of each size and a turn of PyTorch's too.
const N_BLOCK: usize = 16;
/// Positions of an image at which a step is timed, at most.
const N_STEPS: usize = 256;
const N_DRAFTS: usize = 33;

/// Milliseconds: one entry a block, the median where a block has several.
#[derive(Default)]
pub(crate) struct Times {
    pub(crate) prefill: Vec<f64>,
    pub(crate) step: Vec<f64>,
    /// As [`NODES`].
    pub(crate) trees: [Vec<f64>; 2],
    /// One forward of the head behind a new token.
    pub(crate) drafter: Vec<f64>,
    /// Of eager PyTorch; empty without it.
    pub(crate) eager_prefill: Vec<f64>,
    pub(crate) eager_step: Vec<f64>,
    /// What an image under way takes, and all before it.
    pub(crate) memory_mib: Option<u64>,
}

/// Times everything of `subject`, and in turns with it what `eager` has of it.
pub(crate) fn measure(subject: &Subject, eager: Option<&mut Eager>) -> Times {
    let mut eager = eager.filter(|_| subject.is_in_eager);
    let mut generation = subject.open();
    let clock = Stopwatch(DeviceClock::new(generation.device()));
    let first = generation.prefill();
    if let Some(eager) = eager.as_mut() {
        eager.open(subject.name, first.probs());
    }
    let (n_tokens, n_vocab) = (generation.n_tokens(), generation.n_vocab());
    let token = |position: usize| TokenId((position * 61 % n_vocab) as u32);
    // Long images are crossed in strides, so that the cache grows as it does while one is drawn.
    let stride = (n_tokens - 1).div_ceil(N_STEPS);
    let positions: Vec<usize> = (1..n_tokens).step_by(stride).collect();
    let mut times = Times { drafter: drafter(subject, &clock, token), ..Times::default() };
    for block in positions.chunks(N_BLOCK).filter(|block| block.len() > N_BLOCK / 2) {
        let mut steps = Vec::new();
        for (at, &position) in block.iter().enumerate() {
            for (n, times) in NODES.iter().zip(&mut times.trees).filter(|_| at == N_BLOCK / 2) {
                // A decoder runs one verification after the other: the second finds the caches as it would there.
                let tree = chain(token(position), *n);
                clock.score(&mut generation, &tree);
                times.push(clock.score(&mut generation, &tree));
            }
            steps.push(clock.score(&mut generation, &chain(token(position), 1)));
            if stride > 1 {
                clock.score(&mut generation, &chain(token(position), stride));
            }
            generation.commit(&(0..stride).map(NodeId).collect::<Vec<_>>());
        }
        times.step.push(median(&steps));
        // libtorch gives nothing back: what is taken after this is not asked for.
        times.memory_mib = times.memory_mib.or_else(|| memory_mib(generation.device()));
        if let Some(eager) = eager.as_mut() {
            times.eager_step.push(median(&eager.steps(block[0], block.len())));
            times.eager_prefill.push(eager.prefill());
        }
        let mut another = subject.open();
        times.prefill.push(clock.ms(|| another.prefill()));
    }
    times
}

/// One forward of the head, in the middle of an image.
fn drafter(subject: &Subject, clock: &Stopwatch, token: impl Fn(usize) -> TokenId) -> Vec<f64> {
    let (mut generation, mut draft) = subject.open_with_drafter();
    generation.prefill();
    let n_before = (generation.n_tokens() - N_DRAFTS) / 2;
    let mut n_committed = 0;
    while n_committed < n_before {
        let n = (n_before - n_committed).min(NODES[1]);
        clock.score(&mut generation, &chain(token(n_committed), n));
        generation.commit(&(0..n).map(NodeId).collect::<Vec<_>>());
        n_committed += n;
    }
    let mut tokens: Vec<TokenId> = (0..=n_before).map(&token).collect();
    draft.begin(&tokens);
    let mut times = Vec::new();
    for _ in 0..N_DRAFTS {
        let last = tokens[tokens.len() - 1];
        clock.score(&mut generation, &chain(last, 1));
        generation.commit(&[NodeId(0)]);
        tokens.push(token(tokens.len()));
        times.push(clock.ms(|| draft.begin(&tokens)));
    }
    times
}

/// `n` nodes in a row: any shape costs the same, only the mask's entries differ.
fn chain(root: TokenId, n: usize) -> TokenTree {
    let mut tree = TokenTree::new(root);
    let mut at = NodeId(0);
    for token in 1..n {
        at = tree.push(at, TokenId(token as u32), Proposal::Chosen);
    }
    tree
}

struct Stopwatch(DeviceClock);

impl Stopwatch {
    fn ms<T>(&self, work: impl FnOnce() -> T) -> f64 {
        let started = self.0.now_ns();
        black_box(work());
        (self.0.now_ns() - started) as f64 / 1e6
    }

    /// A forward over `tree` and the distribution of its root on the host.
    fn score(&self, generation: &mut ModelGeneration, tree: &TokenTree) -> f64 {
        self.ms(|| generation.score(tree).dist(NodeId(0)))
    }
}

/// The upper one of two in the middle.
pub(crate) fn median(values: &[f64]) -> f64 {
    quartiles(values)[1]
}

/// Quartile, median, quartile.
pub(crate) fn quartiles(values: &[f64]) -> [f64; 3] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| sorted[(values.len() * quarter / 4).min(values.len() - 1)])
}

/// The most memory so far: of this process on a CPU; on a GPU what the driver says is taken of the device by everyone.
/// `None` where neither says.
fn memory_mib(device: Device) -> Option<u64> {
    match device {
        Device::Cuda(index) => {
            let arguments = ["--query-gpu=memory.used", "--format=csv,noheader,nounits", "--id"];
            let output = Command::new("nvidia-smi").args(arguments).arg(index.to_string()).output().ok()?;
            String::from_utf8(output.stdout).ok()?.trim().parse().ok()
        }
        _ => {
            let status = fs::read_to_string("/proc/self/status").ok()?;
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
            Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? / 1024)
        }
    }
}
