//! Image-GPT as a target: nothing in, 784 grey levels, a 28x28 picture out. Other models of the same size, or the
//! model itself, can draft: those that the catalog names.

use std::{path::Path, rc::Rc};

use specimen_catalog::{Entry, entry, hub::Places};
use specimen_decode::{frontier::PictureRows, pipeline::Sampling};
use specimen_weights::{Checkpoint, LoadError};
use tch::{Device, Kind, Tensor};

use super::{IgptBackbone, IgptConfig, Palette};
use crate::{
    files::{
        placed::Placed,
        published_files::{AbsentHead, find_all},
        random_weights::RandomWeights,
    },
    heads::{
        described_head::no_heads,
        drafters::{DrafterKind, Heads, StartDraft},
        model_draft::{ModelDraft, VocabularyMap},
    },
    seam::{
        loaded_model::{LoadedModel, Picture, Prefix, WeightsId},
        model_error::ModelError,
        token_tables::{TokenTables, vectors_of},
    },
};

/// One network with its grey levels.
struct Network {
    backbone: Rc<IgptBackbone>,
    palette: Palette,
    /// Absent where its weights are made.
    id: Option<WeightsId>,
}

impl Network {
    /// Reads the weights of `model` in the file `path`, which are the part `role` of the whole.
    fn open(model: &Entry, path: &Path, role: &str, kind: Kind, device: Device) -> Result<Self, LoadError> {
        let _guard = tch::no_grad_guard();
        let config = IgptConfig::of(model);
        let mut checkpoint = Checkpoint::open(path, Some(kind), device)?;
        let id = WeightsId {
            role: role.into(),
            file: file_of(model, path),
            digest: checkpoint.digest().to_owned(),
        };
        let backbone = IgptBackbone::new(&mut checkpoint, &config)?;
        // The classifier over the ten digits is not part of the generative model; the palette is read below.
        checkpoint.ignore(|name| name.starts_with("gpt.clf_head.") || name == "centroids");
        checkpoint.finish()?;
        // Grey levels stay in f32 whatever the network runs in.
        let mut checkpoint = Checkpoint::open(path, Some(Kind::Float), Device::Cpu)?;
        let palette = Palette::load(&mut checkpoint, config.n_vocab)?;
        Ok(Self { backbone: Rc::new(backbone), palette, id: Some(id) })
    }

    /// `model` at toy width with weights from `seed`.
    fn narrow(model: &Entry, seed: u64, kind: Kind, device: Device) -> Result<Self, LoadError> {
        let _guard = tch::no_grad_guard();
        let config = IgptConfig { d_model: 32, n_layers: 2, n_heads: 2, ..IgptConfig::of(model) };
        let mut random = RandomWeights::of(true, seed);
        let backbone = IgptBackbone::new(&mut Placed::new(&mut random, kind, device), &config)?;
        let palette = Palette::load(&mut random, config.n_vocab)?;
        Ok(Self { backbone: Rc::new(backbone), palette, id: None })
    }
}

/// How results name the file at `path`: below a folder of weights where it is the published one, else by its name.
fn file_of(model: &Entry, path: &Path) -> String {
    let converted = model.files[0].converted.as_deref().expect("its files are pickles");
    let published = converted.strip_prefix("weights/").unwrap_or(converted);
    if path.ends_with(published) {
        return published.to_owned();
    }
    path.file_name().expect("weights are a file").to_string_lossy().into_owned()
}

/// `model` of the catalog with the weights found in `places`, and with the other models that can draft for it where
/// theirs are there too; the networks run in `kind`.
///
/// # Panics
/// If `model` is none of the family, which the tests of the catalog's files exclude.
pub fn open(
    model: &'static Entry,
    places: &Places,
    kind: Kind,
    device: Device,
) -> Result<LoadedModel, ModelError> {
    let found = find_all(places, &model.name, &[&model.parts[0]])?;
    let network = Network::open(model, &found[0][0], "target", kind, device)?;
    loaded(model, network, device, |other| {
        let part = &other.parts[0];
        match places.part(part) {
            Some(found) => Ok(Ok(Network::open(other, &found[0], "drafter", kind, device)?)),
            None => Ok(Err(AbsentHead { entry: &other.name, part, places: places.clone() })),
        }
    })
}

/// `model` of the catalog and the models that can draft for it at toy width, with weights from a seed and pictures of the
/// published size.
pub fn narrow(model: &'static Entry, kind: Kind, device: Device) -> Result<LoadedModel, ModelError> {
    let network = Network::narrow(model, 1, kind, device)?;
    loaded(model, network, device, |other| Ok(Ok(Network::narrow(other, 2, kind, device)?)))
}

/// `network` as the target `model`, with the models that draft for it, which `other` opens where they are there.
fn loaded(
    model: &'static Entry,
    network: Network,
    device: Device,
    other: impl Fn(&'static Entry) -> Result<Result<Network, AbsentHead>, ModelError>,
) -> Result<LoadedModel, ModelError> {
    let target = model.target.as_ref().expect("an Image-GPT draws images");
    let network = Rc::new(network);
    let mut weights: Vec<WeightsId> = network.id.iter().cloned().collect();
    let mut heads = Heads::default();
    for name in &target.draft_models {
        let by = DrafterKind::Model(name.clone());
        if *name == model.name {
            heads.add(by, Ok(start_draft(network.clone(), None)));
            continue;
        }
        let other = match other(entry(name).expect("models that draft are tested to be entries"))? {
            Ok(other) => other,
            Err(absent) => {
                heads.add(by, Err(absent));
                continue;
            }
        };
        weights.extend(other.id.clone());
        let [ours, theirs] = [&network.palette, &other.palette].map(Palette::centroids);
        let vocabulary = Rc::new(VocabularyMap::by_rank(ours, theirs, device));
        heads.add(by, Ok(start_draft(Rc::new(other), Some(vocabulary))));
    }
    let file = network.id.as_ref().map_or_else(|| model.name.clone(), |id| id.file.clone());
    let grey = Tensor::from_slice(network.palette.centroids()).unsqueeze(1);
    let tables =
        TokenTables::of_values(vectors_of(&file, &grey)?, vectors_of(&file, network.backbone.token_table())?);
    let (name, backbone) = (model.name.as_str(), network.backbone.clone());
    Ok(LoadedModel {
        name,
        n_tokens: backbone.config().n_tokens() as usize,
        rows: PictureRows::square(backbone.config().n_tokens() as usize),
        forced: Vec::new(),
        heads,
        describe_head: no_heads(name),
        tables,
        prompt: Box::new(move |prompt, sampling| {
            check_unconditional(name, prompt, sampling)?;
            Ok(Prefix { slots: backbone.prefix(), backbone: backbone.clone() })
        }),
        painter: Box::new(move |tokens| {
            let side = u32::try_from(network.backbone.config().side).expect("a picture's side is small");
            let rgb = network.palette.grey(tokens).into_iter().flat_map(|grey| [grey; 3]).collect();
            Picture { width: side, height: side, rgb }
        }),
        weights,
        warnings: Vec::new(),
        steps: None,
        cut: None,
    })
}

fn check_unconditional(model: &str, prompt: &str, sampling: &Sampling) -> Result<(), ModelError> {
    if !prompt.is_empty() {
        let reason = format!("it is unconditional and takes an empty prompt only, found {prompt:?}");
        return Err(crate::seam::model_error::prompt(model, reason));
    }
    if sampling.guidance != 1.0 {
        let reason = format!("it is unconditional, so guidance must be 1, found {}", sampling.guidance);
        return Err(crate::seam::model_error::sampling(model, reason));
    }
    Ok(())
}

/// Starts drafting by `network`, whose tokens are the target's by `vocabulary`.
fn start_draft(network: Rc<Network>, vocabulary: Option<Rc<VocabularyMap>>) -> StartDraft {
    Box::new(move |generation, max_run, time| {
        let backbone = network.backbone.clone();
        let capacity = backbone.config().n_tokens() as usize + max_run;
        let (prefix, sampling) = (backbone.prefix(), *generation.sampling());
        Box::new(ModelDraft::new(backbone, prefix, sampling, vocabulary.clone(), capacity, time))
    })
}
