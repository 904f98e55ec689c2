//! The heads of a Chameleon: EAGLE-1 in LANTERN's layout, which repeats the target's embedding, and EAGLE-3 in that of its
//! authors. A head sees the whole prompt but its pads, each word's feature paired with the word behind it.

use std::rc::Rc;

use serde_json::json;
use tch::{Kind, Tensor};

use super::{ChameleonConfig, ChameleonHead, ChameleonNetwork, model::norms_of};
use crate::{
    files::published_names::Mixed,
    heads::{
        described_head::{DescribeHead, DescribedHead, FrontPairs, HeadKind, NoHead, RepeatedTensor},
        draft_head::DraftHead,
        eagle3_file::{self, Eagle3Target},
        head_file::{HeadFile, config_of},
    },
    llama::{
        layer::{Activation, LayerShape},
        padded::PadView,
    },
};

const FRONT: FrontPairs = FrontPairs::NextSlots { hide_pads: true };

/// Describes the heads of the target that is `network`; its file stores the embedding in `stored`.
pub(super) fn describe(network: Rc<ChameleonNetwork>, stored: Kind) -> DescribeHead {
    Box::new(move |kind, file| match kind {
        HeadKind::Eagle1 => eagle1(&network, stored, file),
        HeadKind::Eagle3 => eagle3(&network, stored, file),
    })
}

/// The embedding as a file of a head repeats it.
fn embedding(network: &ChameleonNetwork, stored: Kind) -> RepeatedTensor {
    let name = ChameleonHead::embedding_name().to_owned();
    RepeatedTensor { name, tensor: network.word_table().shallow_clone(), stored }
}

pub(crate) fn layer_of(config: &ChameleonConfig) -> LayerShape {
    let &ChameleonConfig { d_model, n_heads, d_head, d_ffn, .. } = config;
    LayerShape { d_model, n_heads, n_kv_heads: n_heads, d_head, d_ffn, activation: Activation::Silu }
}

fn eagle1(network: &ChameleonNetwork, stored: Kind, file: &HeadFile<'_>) -> Result<DescribedHead, NoHead> {
    let name = ChameleonHead::first_query_norm();
    let config = norms_of(network.config().clone(), &name, file.shape(&name))?;
    let has_bias = file.has("fc.bias", true);
    let upscale = file.sidecar.number("embed_upscale").unwrap_or(1.0);
    let more = json!({ "bias": has_bias, "rope_theta": config.rope_base, "swin_norm": config.swin_norm });
    Ok(DescribedHead {
        kind: HeadKind::Eagle1,
        front: FRONT,
        pad_view: PadView::Itself,
        repeated: vec![embedding(network, stored)],
        starts: Vec::new(),
        config: config_of("chameleon", layer_of(&config), (config.n_words, config.norm_eps), more),
        build: Box::new(move |source| {
            let head = ChameleonHead::new(source, &config, has_bias)?.with_upscale(upscale);
            Ok(Box::new(head) as Box<dyn DraftHead>)
        }),
    })
}

fn eagle3(
    network: &ChameleonNetwork,
    stored: Kind,
    file: &mut HeadFile<'_>,
) -> Result<DescribedHead, NoHead> {
    let config = network.config();
    let words = network.code_words();
    let target = Eagle3Target {
        layer: layer_of(config),
        n_layers: config.n_layers,
        n_codes: words.size()[0],
        vocab_size: config.n_words,
        mixed: Mixed::Halves,
        norm_eps: config.norm_eps,
        front: FRONT,
        pad_view: PadView::Itself,
        may_bring_tokens: false,
        rows: rows_of_codes(file, &words, config.n_words)?,
        starts: network.output_starts(),
        more: json!({ "rope_theta": config.rope_base }),
    };
    let mut described = eagle3_file::describe(target, file)?;
    if file.has(ChameleonHead::embedding_name(), false) {
        described.repeated.push(embedding(network, stored));
    }
    if !file.is_read() {
        let repeat = |name: &str, tensor: Tensor| RepeatedTensor {
            name: name.to_owned(),
            stored: tensor.kind(),
            tensor,
        };
        described.repeated.push(repeat(OFFSETS, &words - counted(&words)));
        described.repeated.push(repeat(IS_DRAFTED, flags(&words, config.n_words)));
    }
    Ok(described)
}

/// How far the word of each row of `lm_head` is from the row's number, `[n_codes]`, i64 (EAGLE's `d2t`).
const OFFSETS: &str = "d2t";
/// Whether a word is drafted, `[n_words]`, bool (EAGLE's `t2d`).
const IS_DRAFTED: &str = "t2d";

/// `0..n` like `words`, `[n]`, i64.
fn counted(words: &Tensor) -> Tensor {
    Tensor::arange(words.size()[0], (Kind::Int64, words.device()))
}

/// Which of `n_words` are among `words`, `[n_words]`, bool.
fn flags(words: &Tensor, n_words: i64) -> Tensor {
    let flags = Tensor::zeros([n_words], (Kind::Bool, words.device()));
    flags.index_fill(0, words, 1)
}

/// The row of `lm_head` of each code, whose words are `words` (`[n_codes]`, i64); absent where the file is to be written, in
/// the order of the codes.
fn rows_of_codes(file: &mut HeadFile<'_>, words: &Tensor, n_words: i64) -> Result<Option<Tensor>, NoHead> {
    let Some(offsets) = file.numbers(OFFSETS, &words.size())? else { return Ok(None) };
    let drafted = offsets.to_device(words.device()) + counted(words);
    let (sorted, order) = drafted.sort(0, false);
    let (codes, place) = words.sort(0, false);
    let given = file.numbers(IS_DRAFTED, &[n_words])?.map(|given| given.to_device(words.device()).ne(0));
    if !sorted.equal(&codes) || given.is_some_and(|given| !given.equal(&flags(words, n_words))) {
        return Err(NoHead::Unfit(format!(
            "its draft vocabulary (`{OFFSETS}`, `{IS_DRAFTED}`) is not the {} picture codes of the model; is it the head of \
             another model?",
            words.size()[0]
        )));
    }
    Ok(Some(order.index_select(0, &place.argsort(0, false))))
}
