//! The heads that draft for a LlamaGen: EAGLE-1 as LANTERN publishes it, the same trained otherwise (CASCADE, arXiv
//! 2605.07230, weighs its loss), and EAGLE-3 in the layout of its authors. Those that nobody publishes are looked for
//! below the data folder, where whoever trained them put them.
//!
//! A head has read the features of all slots before the image, pads included. In LANTERN's code a pad sees the pads before
//! it, in LlamaGen's itself alone; the features differ in the row without a caption. What a head was trained on is in its
//! `config.json`: `"prefix_pads": "earlier"` (LANTERN, and where nothing is said) or `"itself"`.

use std::{path::Path, rc::Rc};

use specimen_catalog::{Part, target::STANDARD};
use specimen_hub::Places;
use specimen_weights::LoadError;
use tch::{Device, Kind};

use super::LlamaGenConfig;
use crate::{
    eagle::{EagleConfig, EaglePrefix},
    eagle3::Eagle3Config,
    image_llama::ImageLlama,
    lantern_head::LanternHead,
    padded::PadView,
    placed::Placed,
    published_files::AbsentHead,
    published_names::Mixed,
    several_files::SeveralFiles,
    sidecar::Sidecar,
    target::{DrafterKind, ModelError, WeightsId},
};

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
    /// The ways it can lie on a disk.
    pub part: &'static Part,
}

/// The heads of one model that are there, and those that are not with where they were looked for.
#[derive(Default)]
pub(super) struct Heads {
    there: Vec<(HeadLayout, &'static str, Rc<LanternHead>)>,
    absent: Vec<(HeadLayout, &'static str, AbsentHead)>,
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

impl Heads {
    /// `heads` alone, which were made and not read.
    pub(super) fn made(heads: Vec<(HeadLayout, LanternHead)>) -> Self {
        let there = heads.into_iter().map(|(layout, head)| (layout, STANDARD, Rc::new(head)));
        Self { there: there.collect(), ..Self::default() }
    }

    /// Those of `sources` that are there, for a target of `config` that is `backbone`; and what they were read from.
    pub(super) fn open(
        sources: &[HeadSource],
        places: &Places,
        config: &LlamaGenConfig,
        backbone: &ImageLlama,
        (kind, device): (Kind, Device),
    ) -> Result<(Self, Vec<WeightsId>), LoadError> {
        let (mut there, mut absent, mut ids) = (Vec::new(), Vec::new(), Vec::new());
        for source in sources {
            let Some(paths) = places.part(source.part) else {
                let &HeadSource { layout, weights, entry, part } = source;
                absent.push((layout, weights, AbsentHead { entry, part, places: places.clone() }));
                continue;
            };
            let sidecar = Sidecar::beside(&paths[0])?;
            let eps = sidecar.number("rms_norm_eps").unwrap_or(1e-6);
            let pad_view = pad_view(&sidecar, &paths[0])?;
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
                        let config = eagle3_config(config, eps);
                        LanternHead::eagle3(placed, &config, Mixed::Pairs, (d_model, n_vocab), tokens)
                    }
                }
            })?;
            ids.extend(read);
            there.push((source.layout, source.weights, Rc::new(head.with_pad_view(pad_view))));
        }
        Ok((Self { there, absent }, ids))
    }

    /// The head of this kind and name for `model`.
    ///
    /// # Errors
    /// A kind or name that the model does not know, or a head that is not there.
    pub(super) fn get(&self, model: &str, kind: &DrafterKind) -> Result<Rc<LanternHead>, ModelError> {
        let asked = match kind {
            DrafterKind::Eagle1(weights) => Some((HeadLayout::Eagle1, weights)),
            DrafterKind::Eagle3(weights) => Some((HeadLayout::Eagle3, weights)),
            DrafterKind::Model(_) => None,
        };
        let asked = asked.map(|(layout, weights)| (layout, weights.as_deref().unwrap_or(STANDARD)));
        let found = self.there.iter().find(|(layout, weights, _)| Some((*layout, *weights)) == asked);
        if let Some((_, _, head)) = found {
            return Ok(head.clone());
        }
        let absent = self.absent.iter().find(|(layout, weights, _)| Some((*layout, *weights)) == asked);
        if let Some((_, _, absent)) = absent {
            return Err(absent.refusal());
        }
        let known = self.there.iter().map(|(layout, weights, _)| (*layout, *weights));
        let known = known.chain(self.absent.iter().map(|(layout, weights, _)| (*layout, *weights)));
        let known: Vec<String> = known.map(|(layout, weights)| described(layout, weights)).collect();
        Err(ModelError::Drafter {
            model: model.into(),
            drafter: kind.as_written(),
            known: if known.is_empty() { "none is published".into() } else { known.join(", ") },
        })
    }
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

fn described(layout: HeadLayout, weights: &str) -> String {
    let proposer = match layout {
        HeadLayout::Eagle1 => "eagle1",
        HeadLayout::Eagle3 => "eagle3",
    };
    if weights == STANDARD { proposer.to_owned() } else { format!("{proposer} with weights {weights}") }
}
