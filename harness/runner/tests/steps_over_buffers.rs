//! Steps over buffers, as CUDA graphs need them, against steps that make their tensors anew: the same probabilities in every
//! forward of every method, up to rounding.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

use std::{collections::BTreeMap, path::Path, rc::Rc};

use specimen_datasets::scenes::{Scene, VAL_SEED};
use specimen_decode::{
    clock::MonotonicClock,
    decoder::decode,
    dist::{Dist, TokenId},
    frontier::{PictureRows, Placed},
    generation::{Generation, Scores},
    rng::Uniforms,
    tree::{NodeId, TokenTree},
};
use specimen_experiments::{
    parse::SpecText,
    spec::{Cell, Dtype, ModelSpec},
};
use specimen_models::seam::{generation::ModelGeneration, loaded_model::LoadedModel};
use specimen_runner::images::{load::Models, method::method_on};

/// How far apart the probabilities of two networks were at most.
#[derive(Default)]
struct Apart {
    n_rows: usize,
    /// Of a row: half the sum of the differences.
    total_variation: f64,
}

impl Apart {
    fn note(&mut self, one: &Dist, two: &Dist) {
        assert_eq!(one.len(), two.len());
        let of_token = |(&a, &b): (&f32, &f32)| (f64::from(a) - f64::from(b)).abs();
        let apart = 0.5 * one.probs().iter().zip(two.probs()).map(of_token).sum::<f64>();
        self.n_rows += 1;
        self.total_variation = self.total_variation.max(apart);
    }
}

/// One image under way in two generations that get the same calls. What the first says counts.
struct Pair {
    eager: ModelGeneration,
    over_buffers: ModelGeneration,
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
        }
    }
}

impl Generation for Pair {
    fn n_tokens(&self) -> usize {
        self.eager.n_tokens()
    }

    fn n_vocab(&self) -> usize {
        self.eager.n_vocab()
    }

    fn prefill(&mut self) -> Rc<Dist> {
        let [one, two] = [self.eager.prefill(), self.over_buffers.prefill()];
        self.apart.note(&one, &two);
        one
    }

    fn score(&mut self, tree: &TokenTree) -> Box<dyn Scores> {
        let [one, two] = [self.eager.score(tree), self.over_buffers.score(tree)];
        let root = self.root;
        self.compare([&*one, &*two], tree.ids().map(|id| root + tree[id].depth));
        one
    }

    fn commit(&mut self, path: &[NodeId]) {
        self.eager.commit(path);
        self.over_buffers.commit(path);
        self.root += path.len();
    }

    fn queue(&mut self, tokens: &[TokenId]) {
        self.eager.queue(tokens);
        self.over_buffers.queue(tokens);
        self.root += tokens.len();
    }

    fn rows(&self) -> PictureRows {
        self.eager.rows()
    }

    fn score_placed(&mut self, tokens: &[Placed]) -> Box<dyn Scores> {
        let [one, two] = [self.eager.score_placed(tokens), self.over_buffers.score_placed(tokens)];
        self.compare([&*one, &*two], tokens.iter().map(|placed| placed.position));
        one
    }

    fn keep_placed(&mut self, kept: &[NodeId]) {
        self.eager.keep_placed(kept);
        self.over_buffers.keep_placed(kept);
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
    Models::new(None).get(&spec).unwrap()
}

fn compared(models: [&LoadedModel; 2], cell: &Cell) -> Apart {
    let caption = Scene::new(VAL_SEED, 0).caption();
    let opened =
        |model: &LoadedModel| model.open(&caption, &cell.sampling, cell.method.max_tree_nodes()).unwrap();
    let [eager, over_buffers] = models.map(opened);
    let (mut method, _) = method_on(&cell.method, models[0], &eager).unwrap();
    let mut pair = Pair { eager, over_buffers, apart: Apart::default(), root: 0 };
    let decoded = decode(&mut method, &mut pair, &Uniforms::new(7), &MonotonicClock::new());
    assert_eq!(decoded.tokens.len(), pair.n_tokens());
    pair.apart
}

#[test]
fn every_forward_of_every_method_has_the_same_probabilities() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/specs/ci/methods_tiny.toml");
    let spec = SpecText::read(&path).unwrap().resolve().unwrap();
    let models = [tiny(false), tiny(true)];
    let mut n_methods = 0;
    for cell in &spec.cells {
        let apart = compared([&models[0], &models[1]], cell);
        println!("{}: {} rows, {:.2e}", cell.name, apart.n_rows, apart.total_variation);
        assert!(apart.n_rows >= 200, "{}: {} rows", cell.name, apart.n_rows);
        assert!(apart.total_variation < 1e-4, "{}: {:.2e}", cell.name, apart.total_variation);
        n_methods += 1;
    }
    assert!(n_methods > 30, "{n_methods} methods");
}
