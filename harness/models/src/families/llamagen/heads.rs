//! The heads that draft for a LlamaGen: EAGLE-1 as LANTERN publishes it, the same trained otherwise (CASCADE, arXiv
//! 2605.07230, weighs its loss), and EAGLE-3 in the layout of its authors. Those that nobody publishes are looked for
//! below the data folder, where whoever trained them put them.
//!
//! A head has read the features of all slots before the image, pads included. In LANTERN's code a pad sees the pads
//! before it, in LlamaGen's itself alone; the features differ in the row without a caption. What a head was trained on
//! is in its `config.json`: `"prefix_pads": "earlier"` (LANTERN, and where nothing is said) or `"itself"`.

use std::{path::Path, rc::Rc};

use specimen_catalog::Part;
use specimen_hub::Places;
use specimen_weights::LoadError;
use tch::{Device, Kind};

use super::LlamaGenConfig;
use crate::{
    files::{
        placed::Placed, published_files::AbsentHead, published_names::Mixed, several_files::SeveralFiles,
        sidecar::Sidecar,
    },
    heads::{
        drafters::{DrafterKind, StartDraft},
        eagle::{EagleConfig, EaglePrefix},
        eagle_draft::EagleDraft,
        eagle3::Eagle3Config,
        lantern_head::LanternHead,
    },
    llama::{image_llama::ImageLlama, padded::PadView},
    seam::loaded_model::WeightsId,
};

/// Epsilon of a head's norms where its `config.json` says nothing: LANTERN's heads differ from the target there.
pub(super) const HEAD_EPS: f64 = 1e-6;

/// How a head is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadLayout {
    /// One layer behind the last feature, with an embedding of its own.
    Eagle1,
    /// One layer behind three inner layers, with an output head of its own.
    Eagle3,
}

/// A head by its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadSource {
    /// How it is built.
    pub layout: HeadLayout,
    /// `weights` in specs.
    pub weights: &'static str,
    /// The entry of the catalog that says how to come by it.
    pub entry: &'static str,
    /// The ways it can be on a disk.
    pub part: &'static Part,
}

impl HeadSource {
    /// What drafts by it.
    fn kind(&self) -> DrafterKind {
        let weights = Some(self.weights.to_owned());
        match self.layout {
            HeadLayout::Eagle1 => DrafterKind::Eagle1(weights),
            HeadLayout::Eagle3 => DrafterKind::Eagle3(weights),
        }
    }
}

/// What LANTERN's heads for a LlamaGen of these sizes are like; `norm_eps` is in the `config.json` beside a head.
#[must_use]
pub fn drafter_config(config: &LlamaGenConfig, norm_eps: f64) -> EagleConfig {
    EagleConfig {
        bias: true,
        input_norm: false,
        output_norm: false,
        prefix: EaglePrefix::Whole,
        n_heads: config.n_heads,
        d_head: config.d_head(),
        d_ffn: config.d_ffn,
        norm_eps,
    }
}

/// What an EAGLE-3 head for a LlamaGen of these sizes is like: it taps layers 2, `n / 2` and `n - 3` (of a toy of few
/// layers the first, the middle and the last), and sees the prefix as an EAGLE-1 head does.
#[must_use]
pub fn eagle3_config(config: &LlamaGenConfig, norm_eps: f64) -> Eagle3Config {
    let n = usize::try_from(config.n_layers).expect("a network has few layers");
    Eagle3Config {
        taps: if n < 6 { [0, n / 2, n - 1] } else { [2, n / 2, n - 3] },
        prefix: EaglePrefix::Whole,
        n_heads: config.n_heads,
        d_head: config.d_head(),
        d_ffn: config.d_ffn,
        norm_eps,
    }
}

/// A head by kind and name, or where it was looked for.
pub(super) type NamedHead = (DrafterKind, Result<LanternHead, AbsentHead>);

/// The heads of `sources` for a target of `config` that is `backbone`, and what they were read from.
pub(super) fn open_heads(
    sources: &[HeadSource],
    places: &Places,
    config: &LlamaGenConfig,
    backbone: &ImageLlama,
    (kind, device): (Kind, Device),
) -> Result<(Vec<NamedHead>, Vec<WeightsId>), LoadError> {
    let (mut heads, mut ids) = (Vec::new(), Vec::new());
    for source in sources {
        let Some(paths) = places.part(source.part) else {
            let &HeadSource { entry, part, .. } = source;
            heads.push((source.kind(), Err(AbsentHead { entry, part, places: places.clone() })));
            continue;
        };
        let sidecar = Sidecar::beside(&paths[0])?;
        let eps = sidecar.number("rms_norm_eps").unwrap_or(HEAD_EPS);
        let pad_view = pad_view(&sidecar, &paths[0])?;
        let taps = taps(&sidecar, &paths[0], config)?;
        let (d_model, n_vocab) = (config.d_model, config.n_vocab);
        let (head, read) = SeveralFiles::read(&paths, &source.part.role, |files| {
            let has_tokens = files.has(LanternHead::EMBEDDING);
            let placed = &mut Placed::new(files, kind, device);
            match source.layout {
                HeadLayout::Eagle1 => {
                    let bias = sidecar.flag("bias").unwrap_or(true);
                    let config = EagleConfig { bias, ..drafter_config(config, eps) };
                    LanternHead::new(placed, &config, Mixed::Pairs, d_model, n_vocab)
                }
                HeadLayout::Eagle3 => {
                    let tokens = (!has_tokens).then(|| backbone.token_table());
                    let published = eagle3_config(config, eps);
                    let taps = taps.unwrap_or(published.taps);
                    let of_head = published.tapping(taps);
                    LanternHead::eagle3(placed, &of_head, Mixed::Pairs, (d_model, n_vocab), tokens)
                }
            }
        })?;
        ids.extend(read);
        heads.push((source.kind(), Ok(head.with_pad_view(pad_view))));
    }
    Ok((heads, ids))
}

/// Starts `head`, which has seen the prefix. LANTERN feeds its heads token 0 in every slot of it.
pub(super) fn start_draft(head: LanternHead) -> StartDraft {
    let head = Rc::new(head);
    Box::new(move |generation, max_run, time| {
        generation.backbone().set_pad_view(head.pad_view());
        let zeroth = head.token_table().get(0).view([1, 1, -1]);
        let following = zeroth.expand([generation.n_rows(), generation.n_prefix() - 1, -1], false);
        Box::new(EagleDraft::with_prefix(head.clone(), generation, max_run, time, following))
    })
}

/// The layers that an EAGLE-3 head in `weights` was trained on, where its `config.json` says so.
fn taps(sidecar: &Sidecar, weights: &Path, config: &LlamaGenConfig) -> Result<Option<[usize; 3]>, LoadError> {
    let Some(taps) = sidecar.places("taps") else { return Ok(None) };
    eagle3_config(config, HEAD_EPS).tapping(taps).check_taps(config.n_layers).map_err(|reason| {
        LoadError::Config {
            path: weights.to_owned(),
            reason: format!("in the config.json beside it {reason}; is it the head of another model?"),
        }
    })?;
    Ok(Some(taps))
}

/// What pads saw when the head in `weights` was trained, as its `config.json` has it.
fn pad_view(sidecar: &Sidecar, weights: &Path) -> Result<PadView, LoadError> {
    match sidecar.text("prefix_pads") {
        None | Some("earlier") => Ok(PadView::EarlierPads),
        Some("itself") => Ok(PadView::Itself),
        Some(other) => {
            let reason = format!(
                "`prefix_pads` in the config.json beside it is `{}`, expected `earlier` (a pad saw the pads before it, \
                 as in LANTERN's code) or `itself` (as in LlamaGen's)",
                other.escape_debug()
            );
            Err(LoadError::Config { path: weights.to_owned(), reason })
        }
    }
}
