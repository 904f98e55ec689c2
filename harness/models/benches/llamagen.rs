//! Time of a plain step of LlamaGen at the sizes of GPT-B (111 M parameters) with random weights, under guidance, as
//! the decoder's clock counts it; and of a verification of 26 nodes. `llamagen_eager.py` beside it times the same
//! network in eager PyTorch with a preallocated cache.
//!
//! Run with `cargo bench --profile release -p specimen-models --bench llamagen [-- f32|bf16]` on an idle machine, and
//! `python benches/llamagen_eager.py [f32|bf16]`. One thread each; medians over the image.
#![allow(clippy::print_stdout)] // Printing is what this program is for.

use std::{rc::Rc, time::Instant};

use specimen_decode::{
    dist::TokenId,
    generation::Generation,
    pipeline::{FilterOrder, Sampling},
    tree::{NodeId, Proposal, TokenTree},
};
use specimen_models::{
    generation::ModelGeneration,
    llamagen::{LlamaGenConfig, LlamaGenNames, LlamaGenNetwork},
    placed::Placed,
};
use specimen_weights::{Init, LoadError, ParamSource};
use tch::{Device, Kind, Tensor};

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Tokens of the image that are timed: all of them.
const N_TOKENS: usize = 256;
const N_NODES: usize = 26;

/// Weights of the scale of trained ones; their values do not matter for the time.
struct Ramp;

impl ParamSource for Ramp {
    fn param(&mut self, _: &str, shape: &[i64], init: Init) -> Result<Tensor, LoadError> {
        let options = (Kind::Float, Device::Cpu);
        if let Init::Constant(value) = init {
            return Ok(Tensor::full(shape, value, options));
        }
        let n: i64 = shape.iter().product();
        Ok((Tensor::arange(n, options).remainder(997.0) / 997.0 - 0.5).view(shape) * 0.04)
    }
}

fn ms_of<T>(work: impl FnOnce() -> T) -> f64 {
    let started = Instant::now();
    std::hint::black_box(work());
    started.elapsed().as_secs_f64() * 1e3
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    tch::set_num_threads(1);
    let kind = if std::env::args().any(|arg| arg == "bf16") { Kind::BFloat16 } else { Kind::Float };
    let mut placed_from = Ramp;
    let mut placed = Placed::new(&mut placed_from, kind, Device::Cpu);
    let config = LlamaGenConfig::class_b(16);
    let network =
        LlamaGenNetwork::new(&mut placed, &config, LlamaGenNames::Original).expect("its weights are made");
    let sampling = Sampling {
        guidance: 4.0,
        temperature: 1.0,
        top_k: 2000,
        top_p: 1.0,
        filter_order: FilterOrder::TopKFirst,
    };
    let prefix = tch::no_grad(|| network.class_prefix(207, true));
    let backbone = Rc::clone(network.backbone());
    let mut generation = ModelGeneration::new(backbone, sampling, prefix, N_TOKENS, N_NODES);
    generation.prefill();
    let (mut steps, mut trees) = (Vec::new(), Vec::new());
    for position in 1..N_TOKENS {
        let token = TokenId((position * 61 % 16_384) as u32);
        let mut tree = TokenTree::new(token);
        let mut at = NodeId(0);
        for node in 1..N_NODES {
            at = tree.push(at, TokenId(node as u32), Proposal::Chosen);
        }
        if position % 16 == 0 {
            trees.push(ms_of(|| generation.score(&tree).dist(NodeId(0))));
        }
        steps.push(ms_of(|| generation.score(&TokenTree::new(token)).dist(NodeId(0))));
        generation.commit(&[NodeId(0)]);
    }
    println!("step          {:8.2} ms", median(steps));
    println!("{N_NODES} nodes      {:8.2} ms", median(trees));
}
