//! Time of a prefill, a plain step and a verification of 26 and 58 nodes under guidance, and of a forward of the
//! EAGLE-1 head, as the decoder's clock counts them, of networks with made weights: LlamaGen at toy width, where
//! kernels cost more than they compute, and at the sizes of GPT-B (111 M parameters); with `published` those of GPT-XL
//! for captions at 512 pixels and of Chameleon-7B as Lumina-mGPT uses it at 768, for a GPU.
//!
//! `cargo bench --profile release -p specimen-models --bench llamagen -- [f32|bf16] [cuda:N] [published]
//! [python=PROGRAM]` on an idle machine, with one thread. With a Python that has torch, `llamagen_eager.py` runs the
//! toy and GPT-B in eager PyTorch between our own steps, at the same positions and after the same tokens, and the
//! first distributions are compared.
#![allow(clippy::print_stdout)] // Printing is what this program is for.

mod eager;
mod subjects;
mod timing;

use specimen_models::seam::clock::memory_bandwidth;
use specimen_weights::cuda;
use tch::{Device, Kind};

use eager::Eager;
use subjects::Subject;
use timing::{NODES, Times, median, quartiles};

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str = "arguments are f32 or bf16, cpu or cuda:N, `published`, and python=PROGRAM for the small \
                     networks on cpu";

/// What the command line asks for.
struct Arguments {
    kind: Kind,
    device: Device,
    published: bool,
    python: Option<String>,
}

fn arguments() -> Arguments {
    let mut found = Arguments { kind: Kind::Float, device: Device::Cpu, published: false, python: None };
    // Cargo adds `--bench`.
    for argument in std::env::args().skip(1).filter(|argument| argument != "--bench") {
        match (argument.as_str(), argument.split_once(['=', ':'])) {
            ("f32", _) => found.kind = Kind::Float,
            ("bf16", _) => found.kind = Kind::BFloat16,
            ("cpu", _) => found.device = Device::Cpu,
            ("published", _) => found.published = true,
            (_, Some(("cuda", index))) => {
                let index = index.parse().unwrap_or_else(|_| panic!("{USAGE}"));
                found.device = cuda::device(index).unwrap_or_else(|e| panic!("cuda:{index}: {e}"));
            }
            (_, Some(("python", program))) => found.python = Some(program.to_owned()),
            _ => panic!("`{argument}`: {USAGE}"),
        }
    }
    let by_python = !found.published && found.device == Device::Cpu;
    assert!(found.python.is_none() || by_python, "{USAGE}");
    found
}

/// Medians of one network. `streams`: bytes a second that memory gives.
fn report(subject: &Subject, times: &Times, (kind, device): (Kind, Device), streams: f64) {
    let Subject { name, sizes, .. } = subject;
    let n_prefix = sizes.n_prefix as f64;
    let n_seen = n_prefix + sizes.n_tokens as f64 / 2.0;
    let bound = |n_nodes: f64| sizes.n_bytes(n_nodes, n_seen, kind, device) / streams * 1e3;
    let line = |what: String, ms: &[f64], more: String| println!("  {what:22} {:10.3} ms{more}", median(ms));
    println!("{name}");
    line(format!("prefill of {n_prefix} slots"), &times.prefill, String::new());
    let share = |ms: &[f64], bound: f64| format!(", {:.2} of the bound {bound:.3}", median(ms) / bound);
    line("step".into(), &times.step, share(&times.step, bound(1.0)));
    let of_step = sizes.n_operations(1.0, n_seen, 1.0);
    let of_prefill = sizes.n_operations(n_prefix, n_prefix / 2.0, 1.0);
    for (n_nodes, tree) in NODES.into_iter().zip(&times.trees) {
        let n = n_nodes as f64;
        let weight = (sizes.n_operations(n, n_seen + n / 2.0, n) - of_step) / (of_prefill - of_step);
        let predicted: Vec<f64> = times
            .step
            .iter()
            .zip(&times.prefill)
            .map(|(step, prefill)| step + (prefill - step) * weight)
            .collect();
        let more = format!(
            "{}, {} of the predicted {:.3}, {} steps",
            share(tree, bound(n)),
            ratio(tree, &predicted),
            median(&predicted),
            ratio(tree, &times.step),
        );
        line(format!("{n_nodes} nodes"), tree, more);
    }
    let steps = format!(", {:.3} steps", median(&times.drafter) / median(&times.step));
    line("forward of the head".into(), &times.drafter, steps);
    if !times.eager_step.is_empty() {
        let (prefill, step) = (&times.eager_prefill, &times.eager_step);
        line("prefill in PyTorch".into(), prefill, format!(", {} of ours", ratio(prefill, &times.prefill)));
        line("step in PyTorch".into(), step, format!(", {} of ours", ratio(step, &times.step)));
    }
    if let Some(mib) = times.memory_mib {
        println!("  {:22} {mib:10} MiB", "memory");
    }
}

/// Median and quartiles of the ratio over the blocks.
fn ratio(some: &[f64], others: &[f64]) -> String {
    let ratios: Vec<f64> = some.iter().zip(others).map(|(some, other)| some / other).collect();
    let [low, middle, high] = quartiles(&ratios);
    format!("{middle:.2} [{low:.2}, {high:.2}]")
}

fn main() {
    tch::set_num_threads(1);
    let Arguments { kind, device, published, python } = arguments();
    let streams = memory_bandwidth(device);
    println!("{device:?}, {kind:?}, one thread, {:.1} GB/s from memory", streams / 1e9);
    let mut eager = python.map(|program| Eager::start(&program, kind));
    for make in if published { subjects::PUBLISHED } else { subjects::SMALL } {
        let subject = make(kind, device);
        let times = timing::measure(&subject, eager.as_mut());
        report(&subject, &times, (kind, device), streams);
    }
}
