//! Opens any model of the catalog by its name: one arm a family.

use std::{
    path::{Path, PathBuf},
    rc::Rc,
};

use specimen_catalog::{Ability, Family, Target, entry, hub::places::Given};
use specimen_foundation::{fail, names::edit_distance};
use specimen_weights::cuda_graph;
use tch::{Device, Kind};

use crate::{
    families::{
        chameleon::{self, Chameleon, ChameleonConfig, Recipe, Source, VqganConfig},
        emu3::{Emu3, Emu3Config, Emu3VqConfig, Emu3Weights},
        igpt,
        janus::{Janus, JanusConfig, JanusWeights},
        liquid::{Liquid, LiquidConfig, LiquidWeights},
        llamagen::{self, LlamaGen, LlamaGenConfig, LlamaGenWeights},
        stub, tiny,
    },
    files::published_files::{compared, places},
    heads::{described_head::HeadKind, head_sources::OpenedHeads, llama_heads::Headed},
    llama::image_llama::StackShape,
    picture::vq16::Vq16Config,
    seam::{
        loaded_model::{LoadedModel, PromptCut},
        model_error::ModelError,
        static_steps::StepBuffers,
    },
};

/// Whether weights from a seed take the place of the published ones. Models without files have their own in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// No.
    Not,
    /// Of the published sizes: costs are those of the model, images mean nothing.
    Published,
    /// A narrow network of the same family, vocabulary of image tokens, grammar and heads, whose pictures have few tokens:
    /// everything of the model runs, in milliseconds.
    Narrow {
        /// Tokens along an edge of the picture, even and above 1; Image-GPT keeps its own.
        side: u32,
    },
}

impl Made {
    /// Tokens along an edge of a narrow picture.
    fn side(self) -> Option<i64> {
        match self {
            Self::Narrow { side } => Some(i64::from(side)),
            Self::Not | Self::Published => None,
        }
    }
}

/// How to open a model.
#[derive(Clone, Debug)]
pub struct OpenModel {
    /// Element kind of the transformer: f32, or bf16 where the device multiplies it natively.
    pub kind: Kind,
    /// Where the tensors are.
    pub device: Device,
    /// The folder `SPECIMEN_DATA` names, for models whose weights are not in the binary.
    pub data_root: Option<PathBuf>,
    /// The model's own weights where a user names them: one file of tensors, or a folder with all its files. What it
    /// needs from other entries of the catalog, and its heads, are looked for as always.
    pub weights: Option<PathBuf>,
    /// Heads that a user names, each a file of tensors with its `config.json` beside it, in place of the standard ones of
    /// their kind.
    pub heads: Vec<(HeadKind, PathBuf)>,
    /// Weights from a seed in place of the published ones.
    pub made: Made,
    /// Word ids of a caption, or what is wrong with it; the vocabulary belongs to the data set of the embedded
    /// model.
    pub encode_caption: fn(&str) -> Result<Vec<u16>, String>,
    /// Whether guidance has Anole's third row.
    pub three_way_guidance: bool,
    /// Whether steps run over buffers that stay where they are, on a GPU as CUDA graphs; absent: on a GPU that can.
    pub graphs: Option<bool>,
}

/// Loads the model called `name`.
pub fn open(name: &str, options: &OpenModel) -> Result<Rc<LoadedModel>, ModelError> {
    let Some((model, target)) = entry::target(name) else {
        fail!(Usage: "there is no model `{name}`; did you mean `{}`? Known models: {}", nearest(name),
            names(|_| true).join(", "));
    };
    if options.three_way_guidance && !target.gives(Ability::ThreeWayGuidance) {
        let able = names(|target| target.gives(Ability::ThreeWayGuidance));
        let reason = format!("its guidance has two rows; a third one have: {}", able.join(", "));
        return Err(crate::seam::model_error::sampling(name, reason));
    }
    let &OpenModel { kind, device, ref data_root, ref weights, encode_caption, three_way_guidance, .. } =
        options;
    let is_made = options.made != Made::Not || model.files.is_empty();
    let narrow = options.made.side().filter(|_| !model.files.is_empty());
    let mut places = places(data_root.as_deref());
    if let Some(path) = weights {
        if is_made {
            fail!(Spec: "model `{name}` takes no `weights`, found {}: its own are part of the program; leave \
                the key out", path.display());
        }
        places.given = Some(Given::of(model, path.clone()));
    }
    let odd = if is_made { Vec::new() } else { compared(&places, model)? };
    let mut loaded = match target.family {
        Family::Tiny => tiny::embedded(kind, device, Box::new(encode_caption))?,
        Family::Stub => stub::open(kind, device)?,
        Family::Igpt if narrow.is_some() => igpt::narrow(model, kind, device)?,
        Family::Igpt if is_made => fail!(Spec: "model `{name}` cannot have made weights: only LlamaGen, \
            Janus-Pro, Lumina-mGPT, Anole, Emu3 and Liquid can; fetch its own: specimen data fetch {name}"),
        Family::Igpt => igpt::open(model, &places, kind, device)?,
        Family::Llamagen if is_made => LlamaGen::made(model, narrow, kind, device)?.into_model(device)?,
        Family::Llamagen => {
            LlamaGen::open(&LlamaGenWeights::of(model), &places, kind, device)?.into_model(device)?
        }
        Family::Janus if is_made => Janus::made(model, narrow, kind, device)?.into_model(device)?,
        Family::Janus => {
            let which = JanusWeights::of(model, Vq16Config::PUBLISHED);
            Janus::open(&which, &places, kind, device)?.into_model(device)?
        }
        Family::Emu3 if is_made => Emu3::made(model, narrow, kind, device)?.into_model(device)?,
        Family::Emu3 => {
            let which = Emu3Weights::of(model, Emu3VqConfig::PUBLISHED);
            Emu3::open(&which, &places, kind, device)?.into_model(device)?
        }
        Family::Liquid if is_made => Liquid::made(model, narrow, kind, device)?.into_model(device)?,
        Family::Liquid => {
            let which = LiquidWeights::of(model, VqganConfig::chameleon());
            Liquid::open(&which, &places, kind, device)?.into_model(device)?
        }
        Family::Chameleon => {
            let recipe = match narrow {
                Some(side) => chameleon::made::narrow_recipe(model, side),
                None if model.files.is_empty() => Recipe::of(model, chameleon::made::vqgan()),
                None => Recipe::of(model, VqganConfig::chameleon()),
            };
            let recipe = if three_way_guidance { recipe.with_image_row() } else { recipe };
            let read = if is_made {
                chameleon::made::made(model, recipe, narrow.is_some(), (kind, device))?
            } else {
                let source = Source::of(model);
                let files = source.locate(&places)?;
                Chameleon::load(recipe, &files, (&source.heads, &places), (kind, device))?
            };
            read.into_model(device)?
        }
    };
    for (of_kind, path) in &options.heads {
        let mut opened = OpenedHeads::default();
        let role = format!("head {}", of_kind.as_written());
        let placed = (kind, device);
        let start =
            opened.read((*of_kind, &role), std::slice::from_ref(path), &loaded.describe_head, placed)?;
        loaded.heads.put(of_kind.drafter(None), start);
        loaded.weights.extend(opened.weights);
        loaded.warnings.extend(opened.warnings);
    }
    loaded.warnings.extend(odd);
    let (steps, why) = steps_on(device, options.graphs, cuda_graph::available);
    loaded.steps = steps;
    // The same for every model: a user reads it once.
    loaded.warnings.extend(why.map(|why| format!("steps run without CUDA graphs and take longer: {why}")));
    Ok(Rc::new(loaded))
}

/// What the model called `name` leaves out of long prompts, without its network; `None` where it reads all of a prompt or
/// refuses it. `data_root`, `weights` and `made` as in [`OpenModel`].
pub fn prompt_cut(
    name: &str,
    data_root: Option<&Path>,
    weights: Option<&Path>,
    made: Made,
) -> Result<Option<PromptCut>, ModelError> {
    let Some((model, _)) = entry::target(name).filter(|(_, target)| target.family == Family::Llamagen) else {
        return Ok(None);
    };
    let mut places = places(data_root);
    places.given = weights.map(|path| Given::of(model, path.to_owned()));
    llamagen::cut(model, made != Made::Not || model.files.is_empty(), &places)
}

/// The buffers of steps on `device`, if they have some, and why there are no graphs where a GPU was to have them. `graphs` as
/// in [`OpenModel`]; `available` says whether steps of a GPU can be captured.
fn steps_on(
    device: Device,
    graphs: Option<bool>,
    available: impl FnOnce() -> Result<(), String>,
) -> (Option<Rc<StepBuffers>>, Option<String>) {
    let refused = if device == Device::Cpu || graphs == Some(false) { None } else { available().err() };
    match (graphs, refused) {
        // The first step says why.
        (Some(true), Some(why)) => (Some(Rc::new(StepBuffers::refused_by(move |_| why.clone()))), None),
        (Some(true), None) => (Some(Rc::default()), None),
        (Some(false), _) => (None, None),
        (None, Some(why)) => (None, Some(why)),
        (None, None) => ((device != Device::Cpu).then(Rc::default), None),
    }
}

/// Sizes of a published model, as far as its heads and their training depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Layers.
    pub n_layers: u64,
    /// Attention heads of a layer.
    pub n_heads: u64,
    /// Width of the keys of a layer, and of its values.
    pub d_keys: u64,
    /// Width of the residual stream.
    pub d_model: u64,
    /// Hidden width of the feed-forward part.
    pub d_ffn: u64,
    /// Codes of its pictures.
    pub n_codes: u64,
}

impl Sizes {
    fn of(StackShape { layer, n_layers, .. }: StackShape, n_codes: i64) -> Option<Self> {
        let known = |size: i64| u64::try_from(size).ok();
        Some(Self {
            n_layers: known(n_layers)?,
            n_heads: known(layer.n_heads)?,
            d_keys: known(layer.n_kv_heads * layer.d_head)?,
            d_model: known(layer.d_model)?,
            d_ffn: known(layer.d_ffn)?,
            n_codes: known(n_codes)?,
        })
    }
}

/// Those of the published model `name`; `None` for a model of ours, and where only its files say.
pub fn sizes(name: &str) -> Option<Sizes> {
    let (model, target) = entry::target(name).filter(|(model, _)| !model.files.is_empty())?;
    let of_headed = |headed: Headed| Sizes::of(headed.stack, headed.n_codes);
    match target.family {
        Family::Llamagen => {
            let config = LlamaGenConfig::of(model);
            Sizes::of(config.stack(), config.n_vocab)
        }
        Family::Janus => of_headed(JanusConfig::of(model).headed()),
        Family::Emu3 => of_headed(Emu3Config::of(model).headed()),
        Family::Liquid => of_headed(LiquidConfig::of(model).headed()),
        // All published ones of the catalog are of this size.
        Family::Chameleon => {
            let config = ChameleonConfig::CHAMELEON_7B;
            let stack = StackShape {
                layer: chameleon::layer_of(&config),
                n_layers: config.n_layers,
                norm_eps: config.norm_eps,
            };
            Sizes::of(stack, VqganConfig::chameleon().n_codes)
        }
        Family::Tiny | Family::Stub | Family::Igpt => None,
    }
}

/// The names of the models that `has` is true of.
fn names(has: impl Fn(&Target) -> bool) -> Vec<&'static str> {
    entry::targets().filter(|(_, target)| has(target)).map(|(entry, _)| entry.name.as_str()).collect()
}

/// The known name that contains `found`, else the one at the smallest edit distance; ties to the first listed.
fn nearest(found: &str) -> &'static str {
    let found = found.to_lowercase();
    let rank = |name: &&'static str| (!name.contains(&found), edit_distance(&found, name));
    names(|_| true).into_iter().min_by_key(rank).expect("there are models")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_is_answered_with_the_nearest() {
        let nearest = ["igpt-minst", "igpt-fmnits", "IGPT-MNIST", "teny", "fmnist"].map(nearest);
        assert_eq!(nearest, ["igpt-mnist", "igpt-fmnist", "igpt-mnist", "tiny", "igpt-fmnist"]);
    }

    #[test]
    fn a_library_of_graphs_that_is_absent_is_said_once_and_no_error() {
        let absent = || Err("there is no library".to_owned());
        let [cpu, gpu] = [Device::Cpu, Device::Cuda(0)];
        // What is asked for, whether steps have buffers then, and whether the model says why they are no graphs.
        for (device, graphs, has_buffers, says) in [
            (gpu, None, false, true),
            (gpu, Some(true), true, false),
            (gpu, Some(false), false, false),
            (cpu, None, false, false),
            (cpu, Some(true), true, false),
        ] {
            let (steps, why) = steps_on(device, graphs, absent);
            assert_eq!((steps.is_some(), why.is_some()), (has_buffers, says), "{device:?}, {graphs:?}");
        }
        for graphs in [None, Some(true)] {
            let (steps, why) = steps_on(gpu, graphs, || Ok(()));
            assert_eq!((steps.is_some(), why), (true, None), "{graphs:?}");
        }
    }
}
