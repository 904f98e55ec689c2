//! Pictures and texts a second of processor time, on one thread, with weights made by recipe: Inception in f32 and
//! bf16, CLIP ViT-B/32 in both, its tower of texts on prompts of 16 and of 77 tokens.
//!
//! Run with `cargo bench --profile release -p specimen-extract`, or with `-- 50 3` at its end for batches of 50 and
//! the best of 3 runs instead of 16 and 2; names of networks behind the numbers (`-- 2 2 clip-vit-h14`) are timed in f32 in
//! place of these. Processor time is known on Linux only; a busy machine changes it less than the
//! wall.
//!
//! `-- --device cuda 256 5` times the first two lines on a GPU, with weights by recipe that go through a file as published ones
//! do, and compares rows with those of the CPU in f32.
//!
//! `-- --turns NAME N` computes one pass over N pictures (or pairs) for every line on its input and answers with its processor
//! seconds: `turns.py` beside this file takes turns with the reference implementation.
#![allow(clippy::print_stdout)] // Printing is what this program is for.

use std::time::Instant;

use specimen_extract::{
    aesthetic::{AestheticHead, AestheticName},
    clip::{
        shape::{ClipLayout, TextShape},
        text::TextTower,
    },
    imagereward::{ImageReward, ImageRewardShape, WordPieces},
    lpips::{LpipsName, OpenLpips},
    network::{Dtype, NetworkName},
    open::{named, open_on, open_recipe, recipe_tensors},
    recipe_weights::{RecipeWeights, uniform},
};
use specimen_pixels::network::{Batch, FeatureNetwork, PairNetwork, PromptedNetwork};
use tch::{Device, Kind, Tensor};

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

/// The features of a metric are Inception's fourth layer, and the only one of the others.
fn measured_layer(network: NetworkName) -> &'static str {
    if network == NetworkName::InceptionFid { "2048" } else { network.layers()[0].name }
}

fn network(network: NetworkName, dtypes: &[Dtype], n: usize, n_runs: usize) {
    let layer = measured_layer(network);
    let side = network.input_side();
    let batch = pictures("pictures", n, side);
    for &dtype in dtypes {
        let net = open_recipe(network, &[layer], dtype).expect("the network has this layer");
        report(&format!("{network} {} {}", layer, dtype.name()), n, n_runs, || {
            net.rows(&batch).expect("the batch has the network's size");
        });
    }
}

/// The same on `device`, with the largest distance of a row from that of the CPU in f32, over the row's length.
fn network_on(device: Device, network: NetworkName, n: usize, n_runs: usize) {
    const N_COMPARED: usize = 8;
    let layer = measured_layer(network);
    let folder = std::env::temp_dir().join(format!("specimen-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for temporary files is needed");
    let path = folder.join("weights.safetensors");
    let tensors: Vec<(String, Tensor)> = recipe_tensors(network).into_iter().collect();
    Tensor::write_safetensors(&tensors, &path).expect("a folder for temporary files is needed");
    let opened =
        |device, dtype| open_on(device, network, &[layer], dtype, &path).expect("they were just written");
    let [few, many] = [N_COMPARED, n].map(|n| pictures("pictures", n, network.input_side()));
    let expected = opened(Device::Cpu, Dtype::F32).rows(&few).expect("the batch has the network's size");
    for dtype in [Dtype::F32, Dtype::Bf16] {
        let net = opened(device, dtype);
        report(&format!("{network} {layer} {}", dtype.name()), n, n_runs, || {
            net.rows(&many).expect("the batch has the network's size");
        });
        let rows = net.rows(&few).expect("the batch has the network's size");
        let n_dims = rows.len() / N_COMPARED;
        let distance = |(row, expected): (&[f32], &[f32])| {
            let squares = row.iter().zip(expected).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>();
            (squares / expected.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>()).sqrt()
        };
        let furthest = rows.chunks(n_dims).zip(expected.chunks(n_dims)).map(distance).fold(0.0, f64::max);
        println!("{:28} {furthest:.1e} from the CPU in f32", "");
    }
    std::fs::remove_dir_all(&folder).expect("a folder for temporary files is needed");
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

fn pictures(name: &str, n: usize, side: usize) -> Batch {
    let values = uniform(name, n * 3 * side * side).map(|u| u as f32).collect();
    Batch { n, height: side, width: side, values }
}

/// One pass of what is called `name` over `n` pictures, in f32.
fn pass(name: &str, n: usize) -> Box<dyn Fn()> {
    const OPENS: &str = "weights by recipe have every name and shape";
    const TAKES: &str = "the batch has the network's size";
    if let Some(lpips) = LpipsName::ALL.into_iter().find(|lpips| lpips.name() == name) {
        let (net, a, b) =
            (OpenLpips::open_recipe(lpips, Dtype::F32), pictures("a", n, 256), pictures("b", n, 256));
        return Box::new(move || drop(net.distances([&a, &b]).expect(TAKES)));
    }
    if name == "imagereward" {
        // A vocabulary of the published size; which words are in it does not matter for the time.
        let folder = std::env::temp_dir().join(format!("specimen-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for temporary files is needed");
        let path = folder.join("vocab.txt");
        let mut words = WordPieces::of_characters();
        let n_words = ImageRewardShape::PUBLISHED.n_words as usize - WordPieces::ADDED.len();
        (words.lines().count()..n_words).for_each(|at| words.push_str(&format!("word{at}\n")));
        std::fs::write(&path, words).expect("a folder for temporary files is needed");
        let words = WordPieces::read(&path).expect("a vocabulary was written");
        std::fs::remove_dir_all(&folder).expect("a folder for temporary files is needed");
        let net = ImageReward::open_recipe(&ImageRewardShape::PUBLISHED, words, 35).expect(OPENS);
        let batch = pictures("pictures", n, 224);
        return Box::new(move || drop(net.scores(&batch, &vec!["a red car on a street"; n]).expect(TAKES)));
    }
    if name == "clip-vit-h14-text" {
        let mut recipe = RecipeWeights::new();
        let tower = TextTower::new(&mut recipe, ClipLayout::OpenAi, &TextShape::H, Kind::Float).expect(OPENS);
        let texts = vec![(1..77).chain([49_407]).collect::<Vec<u32>>(); n];
        return Box::new(move || drop(tower.embed_ids(&texts).expect("the ids are in the vocabulary")));
    }
    let head = (name == "aesthetic").then(|| AestheticHead::open_recipe(AestheticName::SacLogosAva1Linear));
    let network = NetworkName::ALL.into_iter().find(|network| network.name() == name);
    let network = match network {
        None if name == "aesthetic" => NetworkName::ClipVitL14,
        found => found.unwrap_or_else(|| panic!("no network `{name}`")),
    };
    let net = open_recipe(network, &[network.layers()[0].name], Dtype::F32).expect(OPENS);
    let batch = pictures("pictures", n, network.input_side());
    Box::new(move || {
        let rows = net.rows(&batch).expect(TAKES);
        if let Some(head) = &head {
            head.scores(&rows, rows.len() / n).expect(TAKES);
        }
    })
}

/// Answers every line on the input with the processor seconds of one pass.
fn turns(name: &str, n: usize) {
    let pass = pass(name, n);
    pass();
    println!("ready");
    for line in std::io::stdin().lines() {
        let (Ok(_), Some(start)) = (line, processor_s()) else { return };
        pass();
        println!("{}", processor_s().map_or(f64::NAN, |end| end - start));
    }
}

fn main() {
    // `cargo bench` passes `--bench` too.
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let (n, n_runs) = (numbers.first().copied().unwrap_or(16), numbers.get(1).copied().unwrap_or(2));
    specimen_weights::use_threads(1);
    let asked: Vec<String> = std::env::args().skip(1).collect();
    if let Some(at) = asked.iter().position(|word| word == "--turns") {
        return turns(asked.get(at + 1).map_or("", String::as_str), n);
    }
    if let Some(at) = asked.iter().position(|word| word == "--device") {
        let device = named(asked.get(at + 1).map_or("", String::as_str)).expect("the device is there");
        return [NetworkName::InceptionFid, NetworkName::ClipVitB32]
            .into_iter()
            .for_each(|name| network_on(device, name, n, n_runs));
    }
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
