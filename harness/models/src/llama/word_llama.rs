//! A LLaMA stack over one vocabulary of words and picture codes, as Emu3 and Liquid have it, cut to what painting needs: words
//! go in, and of the output head the rows of picture codes are left. All other tokens are masked wherever one is drawn, so that
//! is exact, and a step reads less.

use std::rc::Rc;

use specimen_weights::{Init, LoadError, ParamSource, Scoped};
use tch::Tensor;

use crate::{
    files::{
        inventory::{Expected, inventory, with_layers},
        published_names::{LayerNames, Mixed, PublishedNames},
    },
    llama::{
        image_llama::{ImageLlama, OutputHead, Stack, StackShape},
        padded::{Padded, PromptRows},
        rotary::rotary_1d,
    },
    seam::{backbone::Backbone, loaded_model::Prefix},
};

/// Sizes of a network, what differs of its arithmetic, and the names of its tensors, which are those of `transformers`.
#[derive(Clone, Copy, Debug)]
pub struct WordShape {
    /// Its layers.
    pub stack: StackShape,
    /// Words of the vocabulary, picture codes among them.
    pub n_words: i64,
    /// Picture codes.
    pub n_codes: i64,
    /// Positions of prompt and image.
    pub n_positions: i64,
    /// Base of the rotary frequencies.
    pub rope_base: f64,
    /// Whether a file says by how much the weight of a norm differs from 1.
    pub offset_norms: bool,
    /// Whether an input vector is the word's row times the root of the width.
    pub scaled_words: bool,
    /// What the names of the table of words, the layers and the last norm begin with.
    pub prefix: &'static str,
    /// Name of the output head; absent where the table of words is that too.
    pub head: Option<&'static str>,
}

impl WordShape {
    /// Name of the table of words, `[n_words, d]`.
    pub fn words(&self) -> String {
        format!("{}embed_tokens.weight", self.prefix)
    }
}

/// The parameters as they are read.
struct Parameters {
    /// `[n_words, d]`
    words: Tensor,
    stack: Stack,
    /// `[n_words, d]`
    head: Tensor,
}

impl Parameters {
    fn new(source: &mut dyn ParamSource, shape: &WordShape) -> Result<Self, LoadError> {
        let layer = shape.stack.layer;
        let (table, unit) = ([shape.n_words, layer.d_model], Init::Normal(0.02));
        let words = source.param(&shape.words(), &table, unit)?;
        let mut scoped = Scoped::new(source, shape.prefix);
        let mut layers =
            PublishedNames::new(&mut scoped, LayerNames::HuggingFace, Mixed::Halves, layer.d_head)
                .with_kv_heads(layer.shared_heads())
                .with_offset_norms(shape.offset_norms);
        let stack = Stack::new(&mut layers, shape.stack)?;
        let head = match shape.head {
            Some(name) => source.param(name, &table, unit)?,
            None => words.shallow_clone(),
        };
        Ok(Self { words, stack, head })
    }
}

/// The network, ready to decode.
pub struct WordLlama {
    backbone: Rc<ImageLlama>,
    /// The table of words, `[n_words, d]`.
    words: Tensor,
    /// What its rows are multiplied by, `[1]`, rounded to their kind as `transformers` does.
    scale: Option<Tensor>,
}

impl WordLlama {
    /// Reads or makes the parameters. `tokens`: the word of every token of an image, codes first.
    ///
    /// # Panics
    /// If there are fewer tokens than codes, or one is no word.
    pub fn new(source: &mut dyn ParamSource, shape: &WordShape, tokens: &[i64]) -> Result<Self, LoadError> {
        let _guard = tch::no_grad_guard();
        assert!(tokens.iter().all(|word| (0..shape.n_words).contains(word)), "tokens are words");
        let Parameters { words, stack, head } = Parameters::new(source, shape)?;
        let layer = shape.stack.layer;
        let scale = shape.scaled_words.then(|| {
            let root = Tensor::from_slice(&[(layer.d_model as f64).sqrt()]);
            root.to_kind(words.kind()).to_device(words.device())
        });
        let tokens = Tensor::from_slice(tokens).to_device(words.device());
        let head = head.index_select(0, &tokens.narrow(0, 0, shape.n_codes));
        let table = entering(&words, scale.as_ref(), &tokens);
        let rotary = rotary_1d(shape.n_positions, layer.d_head, shape.rope_base);
        let backbone = Rc::new(ImageLlama::new(stack, table, OutputHead::Linear(head), &rotary));
        Ok(Self { backbone, words, scale })
    }

    /// The tensors that a file must hold, without those of a picture decoder.
    pub fn expected(shape: &WordShape) -> Result<Vec<Expected>, LoadError> {
        let one = WordShape { stack: StackShape { n_layers: 1, ..shape.stack }, ..*shape };
        let listed = inventory(|source| Parameters::new(source, &one).map(|_| ()))?;
        Ok(with_layers(listed, &format!("{}layers.", shape.prefix), shape.stack.n_layers))
    }

    /// The transformer that makes the features.
    pub fn backbone(&self) -> &Rc<ImageLlama> {
        &self.backbone
    }

    /// Input vectors of `rows` of words of one length, `[b, n, d]`.
    ///
    /// # Panics
    /// If the rows differ in length.
    pub fn embed_words(&self, rows: &[Vec<i64>]) -> Tensor {
        let ids = Tensor::from_slice(&rows.concat()).to_device(self.words.device());
        let vectors = entering(&self.words, self.scale.as_ref(), &ids);
        vectors.view([rows.len() as i64, -1, self.words.size()[1]])
    }

    /// What stands before an image behind `rows`.
    pub fn prefix(&self, rows: PromptRows) -> Prefix {
        let (slots, backbone) = (self.embed_words(&rows.rows), self.backbone.clone());
        let is_padded = rows.n_pads.iter().any(|&n| n > 0);
        let backbone: Rc<dyn Backbone> =
            if is_padded { Rc::new(Padded::new(backbone, rows.n_pads)) } else { backbone };
        Prefix { backbone, slots }
    }
}

/// The rows `ids` (`[n]`, i64) of `words` times `scale`, `[n, d]`.
fn entering(words: &Tensor, scale: Option<&Tensor>, ids: &Tensor) -> Tensor {
    let rows = words.index_select(0, ids);
    match scale {
        Some(scale) => rows * scale,
        None => rows,
    }
}
