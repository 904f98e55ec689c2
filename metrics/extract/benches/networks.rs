//! Pictures and texts a second of processor time, on one thread, with weights made by recipe: Inception in f32 and
//! bf16, CLIP ViT-B/32 in both, its tower of texts on prompts of 16 and of 77 tokens.
//!
//! Run with `cargo bench --profile release -p specimen-extract`, or with `-- 50 3` at its end for batches of 50 and
//! the best of 3 runs instead of 16 and 2; names of networks behind the numbers (`-- 2 2 clip-vit-h14`) are timed in f32 in
//! place of these. Processor time is known on Linux only; a busy machine changes it less than the
//! wall.
#![allow(clippy::print_stdout)] // Printing is what this program is for.

use std::time::Instant;

use specimen_extract::{
    clip::{
        shape::{ClipLayout, TextShape},
        text::TextTower,
    },
    network::{Dtype, NetworkName},
    open::open_recipe,
    recipe_weights::{RecipeWeights, uniform},
};
use specimen_pixels::network::{Batch, FeatureNetwork};
use tch::Kind;

/// Prints how many of `n` things a second `run` does, after one run that does not count.
fn report(name: &str, n: usize, n_runs: usize, run: impl Fn()) {
    run();
    let mut best = (f64::INFINITY, f64::INFINITY);
    for _ in 0..n_runs {
        let (start, start_processor) = (Instant::now(), processor_s());
        run();
        let wall = start.elapsed().as_secs_f64();
        let processor = processor_s().zip(start_processor).map_or(f64::NAN, |(end, start)| end - start);
        best = (best.0.min(wall), best.1.min(processor));
    }
    let n = n as f64;
    println!("{name:28} {:8.2} a processor second  {:8.2} a wall second", n / best.1, n / best.0);
}

/// Processor time of this process so far; `/proc/self/stat` counts it in hundredths of a second.
fn processor_s() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Fields follow the program's name in brackets; user and system time are the 12th and 13th of them.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: Vec<f64> = fields.split_whitespace().skip(11).take(2).filter_map(|n| n.parse().ok()).collect();
    Some(ticks.iter().sum::<f64>() / 100.0)
}

fn network(network: NetworkName, dtypes: &[Dtype], n: usize, n_runs: usize) {
    // The features of a metric are Inception's fourth layer, and the only one of the others.
    let layer = if network == NetworkName::InceptionFid { "2048" } else { network.layers()[0].name };
    let side = network.input_side();
    let values = uniform("pictures", n * 3 * side * side).map(|u| u as f32).collect();
    let batch = Batch { n, height: side, width: side, values };
    for &dtype in dtypes {
        let net = open_recipe(network, &[layer], dtype).expect("the network has this layer");
        report(&format!("{network} {} {}", layer, dtype.name()), n, n_runs, || {
            net.rows(&batch).expect("the batch has the network's size");
        });
    }
}

fn texts(n: usize, n_runs: usize) {
    let mut recipe = RecipeWeights::new();
    let tower = TextTower::new(&mut recipe, ClipLayout::OpenAi, &TextShape::B, Kind::Float);
    let tower = tower.expect("weights by recipe have every name and shape");
    for n_tokens in [16, 77] {
        let text: Vec<u32> = (1..n_tokens).chain([49_407]).collect();
        let texts = vec![text; n];
        report(&format!("clip-text {n_tokens} tokens f32"), n, n_runs, || {
            tower.embed_ids(&texts).expect("the ids are in the vocabulary");
        });
    }
}

fn main() {
    // `cargo bench` passes `--bench` too.
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let (n, n_runs) = (numbers.first().copied().unwrap_or(16), numbers.get(1).copied().unwrap_or(2));
    specimen_weights::use_threads(1);
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let is_asked = |network: &NetworkName| asked.iter().any(|name| name == network.name());
    let named: Vec<NetworkName> = NetworkName::ALL.into_iter().filter(is_asked).collect();
    named.iter().for_each(|&named| network(named, &[Dtype::F32], n, n_runs));
    if !named.is_empty() {
        return;
    }
    let both = [Dtype::F32, Dtype::Bf16];
    network(NetworkName::InceptionFid, &both, n, n_runs);
    network(NetworkName::ClipVitB32, &both, n, n_runs);
    texts(4 * n, n_runs);
}
