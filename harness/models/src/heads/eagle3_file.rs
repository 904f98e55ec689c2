//! EAGLE-3 heads in the layout of their authors (code of EAGLE cb7e084), for any target: `fc`, `midlayer.`, `norm` and
//! `lm_head`. Input vectors are the target's, unless the file brings an embedding of its own; logits are always the head's.
//! Whatever the layers of the target are, the head's is a LLaMA layer.

use specimen_weights::{LoadError, ParamSource};
use tch::Tensor;

use crate::{
    files::published_names::{LayerNames, Mixed, PublishedNames},
    heads::{
        described_head::{BuildHead, DescribedHead, FrontPairs, HeadKind, NoHead},
        draft_head::DraftHead,
        eagle::EaglePrefix,
        eagle3::{Eagle3Config, Eagle3Head},
        head_file::{HeadFile, config_of},
        lantern_head::LanternHead,
    },
    llama::{layer::LayerShape, padded::PadView},
};

/// A target, as far as an EAGLE-3 head behind it has to know it.
pub struct Eagle3Target {
    /// Sizes of its layers, which the head's has too.
    pub layer: LayerShape,
    /// Layers.
    pub n_layers: i64,
    /// Codes of its pictures, which are the draft vocabulary.
    pub n_codes: i64,
    /// Rows of the embedding that it has for words and pictures.
    pub vocab_size: i64,
    /// Which entries of a head its rotary angles mix.
    pub mixed: Mixed,
    /// Epsilon of the head's norms where its `config.json` says nothing.
    pub norm_eps: f64,
    /// What the head sees before the image.
    pub front: FrontPairs,
    /// What pads of the prefix see while features are made for it.
    pub pad_view: PadView,
    /// Whether a file may bring an embedding of picture codes of its own.
    pub may_bring_tokens: bool,
    /// Where the rows of `lm_head` are not in the order of the codes: the row of each code, `[n_codes]`, i64.
    pub rows: Option<Tensor>,
    /// What parameters start a training with.
    pub starts: Vec<(String, Tensor)>,
    /// Further entries of `config.json`.
    pub more: serde_json::Value,
}

impl Eagle3Config {
    /// A published head for a target of `n_layers` layers of the sizes `layer`: it taps layers 2, `n / 2` and `n - 3` (of a
    /// toy of few layers the first, the middle and the last), and sees the prefix.
    pub fn published(layer: LayerShape, n_layers: i64, norm_eps: f64) -> Self {
        let n = usize::try_from(n_layers).expect("a network has few layers");
        let LayerShape { n_heads, d_head, d_ffn, .. } = layer;
        let n_kv_heads = layer.shared_heads();
        let taps = if n < 6 { [0, n / 2, n - 1] } else { [2, n / 2, n - 3] };
        Self { taps, prefix: EaglePrefix::Whole, n_heads, n_kv_heads, d_head, d_ffn, norm_eps }
    }
}

/// The head of `config` under its published names, for a target of width and draft vocabulary `(d_model, n_codes)`.
pub fn published(
    source: &mut dyn ParamSource,
    config: &Eagle3Config,
    mixed: Mixed,
    (d_model, n_codes): (i64, i64),
) -> Result<Eagle3Head, LoadError> {
    let mut named = PublishedNames::new(source, LayerNames::HuggingFace, mixed, config.d_head)
        .with_kv_heads(config.n_kv_heads);
    Eagle3Head::new(&mut named, config, d_model, n_codes)
}

/// The output head of a target (`[n_codes, d]`) and the norm before it (`[d]`) as an EAGLE-3 head starts with them, by their
/// names in its file.
pub(crate) fn output_starts(head: &Tensor, norm: &Tensor) -> Vec<(String, Tensor)> {
    vec![
        ("lm_head.weight".to_owned(), head.shallow_clone()),
        ("norm.weight".to_owned(), norm.shallow_clone()),
    ]
}

/// The layers that the `config.json` of `file` names, or those of `published`.
pub fn tapped(published: Eagle3Config, file: &HeadFile<'_>, n_layers: i64) -> Result<Eagle3Config, NoHead> {
    let taps = file.sidecar.places("taps").unwrap_or(published.taps);
    let config = published.tapping(taps);
    config.check_taps(n_layers).map_err(|reason| file.of_config(&reason))?;
    Ok(config)
}

/// Describes the head in `file` for `target`.
pub fn describe(target: Eagle3Target, file: &HeadFile<'_>) -> Result<DescribedHead, NoHead> {
    let Eagle3Target { layer, n_layers, n_codes, mixed, front, pad_view, rows, starts, .. } = target;
    let norm_eps = file.sidecar.number("rms_norm_eps").unwrap_or(target.norm_eps);
    let of_head = tapped(Eagle3Config::published(layer, n_layers, norm_eps), file, n_layers)?;
    let mut config = config_of("llama", layer, (target.vocab_size, norm_eps), target.more);
    config["bias"] = false.into();
    config["draft_vocab_size"] = n_codes.into();
    config["taps"] = serde_json::json!(of_head.taps);
    let sizes = (layer.d_model, n_codes);
    let brings_tokens = target.may_bring_tokens && file.has(LanternHead::EMBEDDING, false);
    let build: BuildHead = Box::new(move |source| {
        if brings_tokens {
            return Ok(Box::new(LanternHead::eagle3(source, &of_head, mixed, sizes)?) as Box<dyn DraftHead>);
        }
        let head = published(source, &of_head, mixed, sizes)?;
        Ok(match &rows {
            Some(rows) => Box::new(head.in_order(rows)),
            None => Box::new(head),
        })
    });
    Ok(DescribedHead { kind: HeadKind::Eagle3, front, pad_view, repeated: Vec::new(), starts, config, build })
}
