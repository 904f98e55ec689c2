//! The family at toy width under way, and the reference its distributions are compared with.

use std::{ops::Deref, rc::Rc};

use specimen_catalog::entry;
use specimen_decode::{
    dist::{Dist, TokenId},
    generation::Generation,
    pipeline::{FilterOrder, Sampling},
    rng::{Purpose, Uniforms},
    tree::{NodeId, Proposal, TokenTree},
};
use specimen_models::{
    families::chameleon::{Chameleon, ChameleonNetwork, Recipe, made},
    seam::{generation::ModelGeneration, likelihood::conditional_distributions, loaded_model::LoadedModel},
};
use tch::{Device, Kind};

pub(crate) const PLAIN: Sampling = Sampling {
    guidance: 1.0,
    temperature: 1.0,
    top_k: 0,
    top_p: 1.0,
    filter_order: FilterOrder::TopKThenTopP,
    coupled: false,
};
pub(crate) const GUIDED: Sampling = Sampling { guidance: 2.5, temperature: 1.3, ..PLAIN };

pub(crate) const MAX_TREE: usize = 16;
pub(crate) const PROMPT: &str = "a red circle";

/// Oblong images of 4 x 6 codes, written as Lumina-mGPT writes them.
pub(crate) fn lumina() -> Recipe {
    Recipe::of(entry("lumina-toy").unwrap(), made::vqgan())
}

/// Images of 4 x 4 codes, written as Anole writes them.
pub(crate) fn anole() -> Recipe {
    Recipe::of(entry("anole-toy").unwrap(), made::vqgan())
}

/// Both families at toy width, each with its own way to leave the prompt out, and the one with three rows of guidance.
pub(crate) const EVERY_FAMILY: [fn() -> Recipe; 3] = [lumina, anole, || anole().with_image_row()];

/// A model with what it was made of.
pub(crate) struct Model {
    pub(crate) recipe: Recipe,
    pub(crate) network: Rc<ChameleonNetwork>,
    pub(crate) loaded: LoadedModel,
}

impl Deref for Model {
    type Target = LoadedModel;

    fn deref(&self) -> &LoadedModel {
        &self.loaded
    }
}

impl From<Chameleon> for Model {
    fn from(read: Chameleon) -> Self {
        let (recipe, network) = (read.recipe.clone(), read.network.clone());
        Self { recipe, network, loaded: read.into_model(Device::Cpu).unwrap() }
    }
}

/// The model of `recipe`, in f32.
pub(crate) fn model(recipe: Recipe) -> Model {
    model_in(Kind::Float, recipe)
}

pub(crate) fn model_in(kind: Kind, recipe: Recipe) -> Model {
    made::open(recipe, kind, Device::Cpu).unwrap().into()
}

/// Every family with and without guidance, and as a CUDA graph would run it: the model, and what opens one image again and again.
pub(crate) fn every_case() -> impl Iterator<Item = (String, Model, Sampling)> {
    EVERY_FAMILY.into_iter().flat_map(|recipe| {
        [(PLAIN, false), (GUIDED, false), (GUIDED, true)].into_iter().map(move |(sampling, is_static)| {
            let mut model = model(recipe());
            model.loaded.steps = is_static.then(Rc::default);
            let rows = if model.recipe.has_image_row { " of three rows" } else { "" };
            let steps = if is_static { ", static steps" } else { "" };
            (format!("{}, guidance {}{rows}{steps}", model.name, sampling.guidance), model, sampling)
        })
    })
}

pub(crate) fn open(model: &Model, sampling: Sampling) -> ModelGeneration {
    model.open(PROMPT, &sampling, MAX_TREE).unwrap()
}

/// The distribution of the token after `tokens`, from a single forward over them; `generation` is fresh.
pub(crate) fn fresh_distribution(generation: &ModelGeneration, tokens: &[TokenId]) -> Rc<Dist> {
    // A last token is never fed: it only says how many distributions are wanted.
    conditional_distributions(generation, &[tokens, &[TokenId(0)]].concat()).pop().unwrap()
}

#[track_caller]
pub(crate) fn check_distribution(found: &Dist, expected: &Dist, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let distance = found.probs().iter().zip(expected.probs()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(distance < 1e-4, "{what}: distributions differ by {distance}");
}

/// Pseudo-random choices of a test.
pub(crate) struct Choices {
    uniforms: Uniforms,
    n_made: u32,
}

impl Choices {
    pub(crate) fn new(seed: u64) -> Self {
        Self { uniforms: Uniforms::new(seed), n_made: 0 }
    }

    /// One of `0..n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.n_made += 1;
        (self.uniforms.uniform(Purpose::Draft, 0, self.n_made) * n as f64) as usize
    }

    /// What stands at `position`: the forced token, else any code.
    pub(crate) fn token(&mut self, generation: &ModelGeneration, position: usize) -> TokenId {
        let drawn = TokenId(self.below(16) as u32);
        generation.forced(position).unwrap_or(drawn)
    }

    /// A tree of up to `n_drafts` candidates below `root`, which stands at `position`, none deeper than `room`.
    pub(crate) fn tree(
        &mut self,
        generation: &ModelGeneration,
        root: TokenId,
        position: usize,
        n_drafts: usize,
        room: usize,
    ) -> TokenTree {
        let mut tree = TokenTree::new(root);
        for _ in 0..n_drafts {
            let parent = NodeId(self.below(tree.len()));
            if tree[parent].depth < room {
                let token = self.token(generation, position + tree[parent].depth + 1);
                tree.push(parent, token, Proposal::Chosen);
            }
        }
        tree
    }
}

/// Tokens of `tree` from the root down to `node`.
pub(crate) fn path_tokens(tree: &TokenTree, node: NodeId) -> Vec<TokenId> {
    let below = tree.path_to(node).into_iter().map(|id| tree[id].token);
    std::iter::once(tree[TokenTree::ROOT].token).chain(below).collect()
}
