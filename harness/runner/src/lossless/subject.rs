//! What the methods decode: a toy whose joint distribution is known exactly, or the beginning of a model's
//! image for one prompt, whose conditional distributions are.

use std::rc::Rc;

use specimen_decode::{
    clock::Clock,
    decoder::{Method, decode},
    dist::TokenId,
    method::{MethodConfig, Parts},
    pipeline::{FilterOrder, Sampling},
    rng::Uniforms,
    toy::{ToyDraftModel, ToyGeneration, ToyModel},
    vectors::{Neighbours, TokenVectors},
};
use specimen_foundation::failure;
use specimen_models::seam::{likelihood::conditional_distributions, loaded_model::LoadedModel};

use super::{
    Case,
    first_tokens::FirstTokens,
    goodness_of_fit::{Drawn, FitTests, of_conditionals, of_joint},
};
use crate::{error::RunError, images::method::method_on};

/// Something that decodes and knows the distribution of what it should have decoded.
pub trait Subject {
    /// What it is, in words.
    fn describe(&self) -> String;

    /// Tokens of an image.
    fn n_tokens(&self) -> usize;

    /// Decodes one image.
    fn image(&self, case: &Case, seed: u64) -> Result<Vec<TokenId>, RunError>;

    /// Tests images against their distribution.
    fn test(&self, images: &[Vec<TokenId>]) -> Result<FitTests, RunError>;

    /// Tests of one method, each of which may reject.
    fn n_tests(&self) -> usize;

    /// The test of the table whose total variation is shown, and its observations for `n_images` images.
    fn counted(&self, n_images: u64) -> (&'static str, u64);
}

/// Images of seven tokens out of four in rows of three, top-k 3, guidance 3: 2,187 of 16,384 images are possible. In shorter ones
/// a Jacobi window has no tail whose faults add up, and with two rows none is decoded next to one that is under way.
pub struct Toy {
    target: ToyModel,
    joint: Vec<f64>,
    /// Where the tokens lie; stands for codebook and embeddings.
    places: Rc<TokenVectors>,
    neighbours: Rc<Neighbours>,
}

/// Tokens of the toy's vocabulary.
const TOY_VOCAB: usize = 4;
/// Tokens of its images.
const TOY_TOKENS: usize = 7;
/// Tokens of a row of them.
const TOY_ROW: usize = 3;

impl Default for Toy {
    fn default() -> Self {
        Self::new()
    }
}

impl Toy {
    /// The same toy every time.
    pub fn new() -> Self {
        let sampling = Sampling {
            guidance: 3.0,
            temperature: 1.0,
            top_k: 3,
            top_p: 1.0,
            filter_order: FilterOrder::TopKThenTopP,
            coupled: false,
        };
        let target = ToyModel { seed: 11, n_vocab: TOY_VOCAB, spread: 1.0, sampling };
        // 0 and 2 lie near each other on the unit circle, and so do 1 and 3.
        let angle = |v: usize| (v % 2) as f32 * 0.8 + (v / 2) as f32 * 0.3;
        let rows = (0..TOY_VOCAB).flat_map(|v| [angle(v).cos(), angle(v).sin()]).collect();
        let places = Rc::new(TokenVectors::new(rows, 2).expect("two finite numbers a token"));
        let neighbours = Rc::new(Neighbours::of_vectors(&places, TOY_VOCAB));
        Self { joint: target.joint(TOY_TOKENS), target, places, neighbours }
    }

    fn method_on(&self, config: &MethodConfig) -> Result<Method, RunError> {
        let drafter = ToyModel { seed: self.target.seed + 1, ..self.target.clone() };
        let needs = config.needs();
        let parts = Parts {
            draft_model: needs.draft_model.then(|| Box::new(ToyDraftModel::new(drafter)) as _),
            neighbours: Some(self.neighbours.clone()),
            codebook: Some(self.places.clone()),
            embeddings: Some(self.places.clone()),
        };
        config.build_with(parts).map_err(|e| failure!(Spec: "the toy: {e}").into())
    }
}

impl Subject for Toy {
    fn describe(&self) -> String {
        format!(
            "toy, {TOY_TOKENS} tokens of {TOY_VOCAB} in rows of {TOY_ROW}, its joint distribution counted whole"
        )
    }

    fn n_tokens(&self) -> usize {
        TOY_TOKENS
    }

    fn image(&self, case: &Case, seed: u64) -> Result<Vec<TokenId>, RunError> {
        let mut method = changed(self.method_on(&case.method)?, case);
        let mut generation = ToyGeneration::new(self.target.clone(), TOY_TOKENS).with_rows(TOY_ROW);
        Ok(decode(&mut method, &mut generation, &Uniforms::new(seed), &Untimed).tokens)
    }

    fn test(&self, images: &[Vec<TokenId>]) -> Result<FitTests, RunError> {
        test_whole(images, TOY_VOCAB, &self.joint)
    }

    fn n_tests(&self) -> usize {
        1
    }

    fn counted(&self, n_images: u64) -> (&'static str, u64) {
        ("joint", n_images)
    }
}

/// The first tokens of a model's image for one prompt.
pub struct ModelPrompt {
    /// The model; in f32, so that a forward over a tree and one over a sequence give the same distribution.
    pub model: Rc<LoadedModel>,
    /// Name of the prompt.
    pub prompt: String,
    /// How tokens are drawn.
    pub sampling: Sampling,
    /// Tokens decoded, at most those of the image.
    pub n_tokens: usize,
}

impl Subject for ModelPrompt {
    fn describe(&self) -> String {
        format!("{}, the first {} tokens for \"{}\"", self.model.name, self.n_tokens, self.prompt)
    }

    fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    fn image(&self, case: &Case, seed: u64) -> Result<Vec<TokenId>, RunError> {
        let mut generation = self.model.open(&self.prompt, &self.sampling, case.method.max_tree_nodes())?;
        let (method, _) = method_on(&case.method, &self.model, &generation)?;
        let mut first = FirstTokens { generation: &mut generation, n_tokens: self.n_tokens };
        Ok(decode(&mut changed(method, case), &mut first, &Uniforms::new(seed), &Untimed).tokens)
    }

    fn test(&self, images: &[Vec<TokenId>]) -> Result<FitTests, RunError> {
        let mut drawn = Vec::with_capacity(images.len());
        for tokens in images {
            let fresh = self.model.open(&self.prompt, &self.sampling, 1)?;
            drawn.push(Drawn {
                distributions: conditional_distributions(&fresh, tokens),
                tokens: tokens.clone(),
            });
        }
        Ok(of_conditionals(&drawn)?)
    }

    fn n_tests(&self) -> usize {
        4
    }

    fn counted(&self, n_images: u64) -> (&'static str, u64) {
        ("ranks", n_images * self.n_tokens as u64)
    }
}

/// Tests images of tokens below `n_vocab` against the probability of every image, `[n_vocab ^ n_tokens]`.
pub(super) fn test_whole(
    images: &[Vec<TokenId>],
    n_vocab: usize,
    joint: &[f64],
) -> Result<FitTests, RunError> {
    let mut counts = vec![0; joint.len()];
    for image in images {
        counts[image.iter().fold(0, |cell, token| cell * n_vocab + token.idx())] += 1;
    }
    let total: f64 = joint.iter().sum();
    let joint: Vec<f64> = joint.iter().map(|mass| mass / total).collect();
    Ok(of_joint(&counts, &joint)?)
}

fn changed(method: Method, case: &Case) -> Method {
    match case.change {
        None => method,
        Some(change) => change(method),
    }
}

/// Nothing is timed here.
struct Untimed;

impl Clock for Untimed {
    fn now_ns(&self) -> u64 {
        0
    }
}
