//! BERT (Devlin et al., arXiv 1810.04805) as BLIP has it: between attention and MLP of each layer the text looks at the tokens
//! of a picture, and there are no kinds of segments. Norms are behind what they follow (post-norm).

use specimen_weights::{Init, LoadError, ParamSource};
use tch::{Kind, Tensor};

use crate::{
    imagereward::shape::ImageRewardShape,
    transformer::{LayerNorm, Linear, attend},
};

const PREFIX: &str = "blip.text_encoder.";

/// The encoder.
pub(super) struct Encoder {
    /// `[n_words, width]`
    words: Tensor,
    /// `[n_positions, width]`
    positions: Tensor,
    norm: LayerNorm,
    layers: Vec<Layer>,
}

struct Layer {
    own: Attention,
    /// To the picture.
    cross: Attention,
    mlp: [Linear; 2],
    norm: LayerNorm,
}

/// Attention with what is added to its input, and the norm of the sum.
struct Attention {
    query: Linear,
    key: Linear,
    value: Linear,
    out: Linear,
    norm: LayerNorm,
    n_heads: i64,
}

impl Encoder {
    pub(super) fn new(
        source: &mut dyn ParamSource,
        shape: &ImageRewardShape,
        kind: Kind,
    ) -> Result<Self, LoadError> {
        let &ImageRewardShape { text, n_words, n_positions, .. } = shape;
        let mut table = |name: &str, n_rows: i64| {
            let made = source.param(name, &[n_rows, text.width], Init::Uniform(0.5))?;
            Ok::<Tensor, LoadError>(made.to_kind(kind))
        };
        Ok(Self {
            words: table(&words(), n_words)?,
            positions: table(&positions(), n_positions)?,
            norm: LayerNorm::new(
                source,
                &format!("{PREFIX}embeddings.LayerNorm"),
                text.width,
                text.eps,
                kind,
            )?,
            layers: (0..text.depth)
                .map(|at| Layer::new(source, at, shape, kind))
                .collect::<Result<_, _>>()?,
        })
    }

    /// The first token behind the last layer, `[n, width]`. `ids`: `[n, n_tokens]`, `is_text`: the same, true where a token
    /// is looked at; `image`: `[n, n_image, vision width]`.
    pub(super) fn first_token(&self, ids: &Tensor, is_text: &Tensor, image: &Tensor) -> Tensor {
        let (n, n_tokens) = ids.size2().expect("ids have two axes");
        let words = self.words.index_select(0, &ids.view([-1])).view([n, n_tokens, -1]);
        let x = self.norm.forward(&(words + self.positions.narrow(0, 0, n_tokens)));
        let seen = is_text.view([n, 1, 1, n_tokens]);
        let run = |x: Tensor, layer: &Layer| layer.forward(&x, &seen, image);
        self.layers.iter().fold(x, run).select(1, 0)
    }
}

impl Layer {
    fn new(
        source: &mut dyn ParamSource,
        at: usize,
        shape: &ImageRewardShape,
        kind: Kind,
    ) -> Result<Self, LoadError> {
        let prefix = layer(at);
        let (text, width) = (&shape.text, shape.text.width);
        let mut attention = |name: &str, n_from: i64| {
            let prefix = format!("{prefix}{name}.");
            let mut linear =
                |part: &str, n_in: i64| Linear::new(source, &format!("{prefix}{part}"), [n_in, width], kind);
            Ok::<Attention, LoadError>(Attention {
                query: linear("self.query", width)?,
                key: linear("self.key", n_from)?,
                value: linear("self.value", n_from)?,
                out: linear("output.dense", width)?,
                norm: LayerNorm::new(source, &format!("{prefix}output.LayerNorm"), width, text.eps, kind)?,
                n_heads: text.n_heads,
            })
        };
        Ok(Self {
            own: attention("attention", width)?,
            cross: attention("crossattention", shape.vision.width)?,
            mlp: [
                Linear::new(source, &format!("{prefix}intermediate.dense"), [width, text.mlp], kind)?,
                Linear::new(source, &format!("{prefix}output.dense"), [text.mlp, width], kind)?,
            ],
            norm: LayerNorm::new(source, &format!("{prefix}output.LayerNorm"), width, text.eps, kind)?,
        })
    }

    fn forward(&self, x: &Tensor, seen: &Tensor, image: &Tensor) -> Tensor {
        let x = self.own.forward(x, x, Some(seen));
        let x = self.cross.forward(&x, image, None);
        let added = self.mlp[1].forward(&self.mlp[0].forward(&x).gelu("none"));
        self.norm.forward(&(added + x))
    }
}

impl Attention {
    /// `x`: `[n, n_to, width]`, `from`: `[n, n_from, width of what is looked at]`.
    fn forward(&self, x: &Tensor, from: &Tensor, seen: Option<&Tensor>) -> Tensor {
        let heads = |rows: Tensor| {
            let (n, n_tokens, width) = rows.size3().expect("tokens have three axes");
            rows.view([n, n_tokens, self.n_heads, width / self.n_heads]).transpose(1, 2)
        };
        let [query, key, value] = [(&self.query, x), (&self.key, from), (&self.value, from)]
            .map(|(layer, x)| heads(layer.forward(x)));
        let added = self.out.forward(&attend([&query, &key, &value], seen, false));
        self.norm.forward(&(added + x))
    }
}

fn layer(at: usize) -> String {
    format!("{PREFIX}encoder.layer.{at}.")
}

/// The name of the table of words.
pub(super) fn words() -> String {
    format!("{PREFIX}embeddings.word_embeddings.weight")
}

/// The name of the positions.
pub(super) fn positions() -> String {
    format!("{PREFIX}embeddings.position_embeddings.weight")
}

/// The name of the first weight of the first MLP.
pub(super) fn mlp() -> String {
    format!("{}intermediate.dense.weight", layer(0))
}

/// The name of a norm that each layer has.
pub(super) fn norm(at: usize) -> String {
    format!("{}output.LayerNorm.weight", layer(at))
}
