//! Steps over buffers, as CUDA graphs need them, against steps that make their tensors anew: the same probabilities and features
//! in every forward of every method, up to rounding.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic, and says what it measured")]

use std::{collections::BTreeMap, path::Path, rc::Rc, thread};

use specimen_datasets::scenes::{Scene, VAL_SEED};
use specimen_decode::{
    clock::MonotonicClock,
    decoder::decode,
    dist::{Dist, TokenId},
    frontier::{PictureRows, Placed},
    generation::{Generation, Scores},
    method::MethodConfig,
    pipeline::Sampling,
    rng::Uniforms,
    tree::{NodeId, TokenTree},
};
use specimen_experiments::{
    parse::SpecText,
    spec::{Dtype, ModelSpec},
};
use specimen_models::seam::{generation::ModelGeneration, loaded_model::LoadedModel};
use specimen_runner::{
    images::{load::Models, method::method_on},
    lossless::first_tokens::FirstTokens,
};

/// How far apart two networks were at most.
#[derive(Default)]
struct Apart {
    n_rows: usize,
    /// Of a row: half the sum of the differences.
    total_variation: f64,
    /// Of the features of a node: the length of the difference over their length.
    feature: f64,
}

impl Apart {
    fn note_features(&mut self, one: &[f32], two: &[f32]) {
        assert_eq!(one.len(), two.len());
        let length =
            |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
        let difference = length(&mut one.iter().zip(two).map(|(&a, &b)| f64::from(a) - f64::from(b)));
        self.feature = self.feature.max(difference / length(&mut two.iter().map(|&a| f64::from(a))));
    }

    fn note(&mut self, one: &Dist, two: &Dist) {
        assert_eq!(one.len(), two.len());
        let of_token = |(&a, &b): (&f32, &f32)| (f64::from(a) - f64::from(b)).abs();
        let apart = 0.5 * one.probs().iter().zip(two.probs()).map(of_token).sum::<f64>();
        self.n_rows += 1;
        self.total_variation = self.total_variation.max(apart);
    }
}

/// One image under way in two generations that get the same calls. What the one over buffers says counts.
struct Pair {
    over_buffers: ModelGeneration,
    eager: ModelGeneration,
    apart: Apart,
    /// Position of the newest token.
    root: usize,
}

impl Pair {
    fn compare(&mut self, scores: [&dyn Scores; 2], positions: impl Iterator<Item = usize>) {
        let n_tokens = self.n_tokens();
        for (node, _) in positions.enumerate().filter(|&(_, at)| at + 1 < n_tokens) {
            let [one, two] = scores.map(|scores| scores.dist(NodeId(node)));
            self.apart.note(&one, &two);
            let [one, two] = scores.map(|scores| scores.feature(NodeId(node)));
            self.apart.note_features(&one, &two);
        }
    }
}

impl Generation for Pair {
    fn n_tokens(&self) -> usize {
        self.over_buffers.n_tokens()
    }

    fn n_vocab(&self) -> usize {
        self.over_buffers.n_vocab()
    }

    fn prefill(&mut self) -> Rc<Dist> {
        let [one, two] = [self.over_buffers.prefill(), self.eager.prefill()];
        self.apart.note(&one, &two);
        one
    }

    fn score(&mut self, tree: &TokenTree) -> Box<dyn Scores> {
        let [one, two] = [self.over_buffers.score(tree), self.eager.score(tree)];
        let root = self.root;
        self.compare([&*one, &*two], tree.ids().map(|id| root + tree[id].depth));
        one
    }

    fn commit(&mut self, path: &[NodeId]) {
        self.over_buffers.commit(path);
        self.eager.commit(path);
        self.root += path.len();
    }

    fn queue(&mut self, tokens: &[TokenId]) {
        self.over_buffers.queue(tokens);
        self.eager.queue(tokens);
        self.root += tokens.len();
    }

    fn rows(&self) -> PictureRows {
        self.over_buffers.rows()
    }

    fn score_placed(&mut self, tokens: &[Placed]) -> Box<dyn Scores> {
        let [one, two] = [self.over_buffers.score_placed(tokens), self.eager.score_placed(tokens)];
        self.compare([&*one, &*two], tokens.iter().map(|placed| placed.position));
        one
    }

    fn keep_placed(&mut self, kept: &[NodeId]) {
        self.over_buffers.keep_placed(kept);
        self.eager.keep_placed(kept);
    }
}

fn tiny(graphs: bool) -> Rc<LoadedModel> {
    let spec = ModelSpec {
        name: "tiny".to_owned(),
        dtype: Dtype::F32,
        device: "cpu".to_owned(),
        weights: None,
        three_way_guidance: false,
        graphs: Some(graphs),
        batch: None,
        heads: BTreeMap::new(),
        rehearsed: None,
    };
    let model = Models::new(None).get(&spec).unwrap();
    assert_eq!(model.steps.is_some(), graphs);
    model
}

/// Tokens of an image by most methods. By two of every [`WHOLE`] all 256 are compared: behind a prompt they pass the 256 entries
/// that a buffer of keys and values begins with.
const N_TOKENS: usize = 64;
const WHOLE: usize = 10;
/// Each thread has its own models and a share of the methods.
const N_THREADS: usize = 2;

/// The first `n_tokens` of one image by `method`, whose drafter reads what the steps over buffers give.
fn compared(models: [&LoadedModel; 2], method: &MethodConfig, sampling: &Sampling, n_tokens: usize) -> Apart {
    let caption = Scene::new(VAL_SEED, 0).caption();
    let opened = |model: &LoadedModel| model.open(&caption, sampling, method.max_tree_nodes()).unwrap();
    let [over_buffers, eager] = models.map(opened);
    let (mut built, _) = method_on(method, models[0], &over_buffers).unwrap();
    let mut pair = Pair { over_buffers, eager, apart: Apart::default(), root: 0 };
    let mut first = FirstTokens { generation: &mut pair, n_tokens };
    let decoded = decode(&mut built, &mut first, &Uniforms::new(7), &MonotonicClock::new());
    assert_eq!(decoded.tokens.len(), n_tokens);
    pair.apart
}

#[test]
fn every_forward_of_every_method_has_the_same_probabilities() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/specs/ci/methods_tiny.toml");
    let spec = SpecText::read(&path).unwrap().resolve().unwrap();
    let pjd = r#"{ "frontier": { "kind": "pjd", "window": 8, "c": 5 } }"#;
    let more = ("pjd".to_owned(), serde_json::from_str(pjd).unwrap());
    let methods: Vec<(String, MethodConfig)> = std::iter::once(more)
        .chain(spec.cells.iter().map(|cell| (cell.name.clone(), cell.method.clone())))
        .collect();
    let n_methods = methods.len();
    let sampling = &spec.cells[0].sampling;
    // The farthest that a method was apart.
    let farthest_of = |of_thread: usize| {
        let models = [tiny(true), tiny(false)];
        let mut farthest = 0.0_f64;
        for (at, (name, method)) in methods.iter().enumerate().filter(|(at, _)| at % N_THREADS == of_thread) {
            let n_tokens = if at % WHOLE < N_THREADS { 256 } else { N_TOKENS };
            let Apart { n_rows, total_variation, feature } =
                compared([&models[0], &models[1]], method, sampling, n_tokens);
            println!(
                "{name}: {n_tokens} tokens, {n_rows} rows, {total_variation:.2e}, features {feature:.2e}"
            );
            assert!(3 * n_rows >= n_tokens, "{name}: {n_rows} rows");
            assert!(total_variation < 1e-4, "{name}: {total_variation:.2e}");
            assert!(feature < 1e-4, "{name}: {feature:.2e}");
            farthest = farthest.max(total_variation);
        }
        farthest
    };
    let farthest = thread::scope(|scope| {
        let threads: Vec<_> = (0..N_THREADS).map(|at| scope.spawn(move || farthest_of(at))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).fold(0.0, f64::max)
    });
    assert!(n_methods > 30, "{n_methods} methods");
    // Nothing would be compared if both ran the same way.
    assert!(farthest > 0.0, "every row is the same bits");
}
