//! Image-GPT as a target: nothing in, 784 grey levels, a 28x28 picture out. The other trained model of the
//! same size, or the model itself, can draft.

use std::{path::Path, rc::Rc};

use specimen_catalog::{Part, entry};
use specimen_decode::{dist::TokenId, drafter::DraftModel, pipeline::Sampling};
use specimen_hub::Places;
use specimen_weights::{Checkpoint, LoadError};
use tch::{Device, Kind, Tensor};

use super::{IgptBackbone, IgptConfig, Palette};
use crate::{
    draft_time::DraftTime,
    generation::ModelGeneration,
    model_draft::{ModelDraft, VocabularyMap},
    published_files::{AbsentHead, find_all},
    target::{DrafterKind, ModelError, Picture, TargetModel, WeightsId},
    token_tables::{TokenTables, vectors_of},
};

/// Which published weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IgptWeights {
    /// Trained on MNIST.
    Mnist,
    /// Trained on Fashion-MNIST.
    FashionMnist,
}

impl IgptWeights {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Mnist, Self::FashionMnist];

    /// The model's name in specs.
    #[must_use]
    pub fn model_name(self) -> &'static str {
        match self {
            Self::Mnist => "igpt-mnist",
            Self::FashionMnist => "igpt-fmnist",
        }
    }

    /// The weights file, below a folder of this program.
    #[must_use]
    pub fn file(self) -> &'static str {
        match self {
            Self::Mnist => "weights/igpt/mnist_gen.safetensors",
            Self::FashionMnist => "weights/igpt/fmnist_gen.safetensors",
        }
    }

    fn part(self) -> &'static Part {
        &entry(self.model_name()).expect("the catalog has both").parts[0]
    }

    fn other(self) -> Self {
        match self {
            Self::Mnist => Self::FashionMnist,
            Self::FashionMnist => Self::Mnist,
        }
    }
}

/// One network with its grey levels.
struct Loaded {
    backbone: Rc<IgptBackbone>,
    palette: Palette,
    digest: String,
}

impl Loaded {
    fn open(path: &Path, kind: Kind, device: Device) -> Result<Self, LoadError> {
        let _guard = tch::no_grad_guard();
        let (backbone, palette, digest) = read(path, kind, device)?;
        Ok(Self { backbone: Rc::new(backbone), palette, digest })
    }
}

fn read(path: &Path, kind: Kind, device: Device) -> Result<(IgptBackbone, Palette, String), LoadError> {
    let config = IgptConfig::XXS;
    let mut checkpoint = Checkpoint::open(path, Some(kind), device)?;
    let digest = checkpoint.digest().to_owned();
    let backbone = IgptBackbone::new(&mut checkpoint, &config)?;
    // The classifier over the ten digits is not part of the generative model; the palette is read below.
    checkpoint.ignore(|name| name.starts_with("gpt.clf_head.") || name == "centroids");
    checkpoint.finish()?;
    // Grey levels stay in f32 whatever the network runs in.
    let mut checkpoint = Checkpoint::open(path, Some(Kind::Float), Device::Cpu)?;
    let palette = Palette::load(&mut checkpoint, config.n_vocab)?;
    Ok((backbone, palette, digest))
}

/// A loaded Image-GPT.
pub struct IgptModel {
    which: IgptWeights,
    network: Loaded,
    tables: TokenTables,
    /// The model of the other data set, where its weights are there too.
    other: Result<Loaded, AbsentHead>,
    device: Device,
}

impl IgptModel {
    /// Loads the weights found in `places`, and those of the other model to draft with if they are there; the
    /// networks run in `kind`.
    ///
    /// # Errors
    /// Absent or damaged weights, damaged weights of the other model included.
    pub fn open(which: IgptWeights, places: &Places, kind: Kind, device: Device) -> Result<Self, ModelError> {
        let [target] = &find_all(places, which.model_name(), &[which.part()])?[..] else {
            unreachable!("one part was looked for");
        };
        let network = Loaded::open(&target[0], kind, device)?;
        let (entry, part) = (which.other().model_name(), which.other().part());
        let other = match places.part(part) {
            Some(found) => Ok(Loaded::open(&found[0], kind, device)?),
            None => Err(AbsentHead { entry, part, places: places.clone() }),
        };
        let grey = Tensor::from_slice(network.palette.centroids()).unsqueeze(1);
        let tables = TokenTables::of_values(
            vectors_of(which.file(), &grey)?,
            vectors_of(which.file(), network.backbone.token_table())?,
        );
        Ok(Self { which, network, tables, other, device })
    }

    /// Tokens of a picture. `grey`: `[28, 28]` row by row, 0 (black) to 255.
    ///
    /// # Panics
    /// If there are not 784 bytes.
    #[must_use]
    pub fn tokenize(&self, grey: &[u8]) -> Vec<TokenId> {
        assert_eq!(grey.len(), self.n_tokens(), "one byte a pixel");
        self.network.palette.quantise(grey)
    }

    /// Grey levels of the tokens.
    #[must_use]
    pub fn palette(&self) -> &Palette {
        &self.network.palette
    }

    fn unknown_drafter(&self, drafter: String) -> ModelError {
        let known = IgptWeights::ALL.map(|which| format!("model = \"{}\"", which.model_name())).join(", ");
        ModelError::Drafter { model: self.name().into(), drafter, known }
    }
}

impl TargetModel for IgptModel {
    fn name(&self) -> &str {
        self.which.model_name()
    }

    fn weights(&self) -> Vec<WeightsId> {
        let id = |role: &str, which: IgptWeights, network: &Loaded| WeightsId {
            role: role.into(),
            file: which.file().trim_start_matches("weights/").into(),
            digest: network.digest.clone(),
        };
        let drafter = self.other.iter().map(|other| id("drafter", self.which.other(), other));
        std::iter::once(id("target", self.which, &self.network)).chain(drafter).collect()
    }

    fn n_tokens(&self) -> usize {
        self.network.backbone.config().n_tokens() as usize
    }

    fn open(
        &self,
        prompt: &str,
        sampling: &Sampling,
        max_tree: usize,
    ) -> Result<ModelGeneration, ModelError> {
        if !prompt.is_empty() {
            let reason = format!("it is unconditional and takes an empty prompt only, found {prompt:?}");
            return Err(ModelError::Prompt { model: self.name().into(), reason });
        }
        if sampling.guidance != 1.0 {
            let reason = format!("it is unconditional, so guidance must be 1, found {}", sampling.guidance);
            return Err(ModelError::Sampling { model: self.name().into(), reason });
        }
        let backbone = self.network.backbone.clone();
        let prefix = backbone.prefix();
        Ok(ModelGeneration::new(backbone, *sampling, prefix, self.n_tokens(), max_tree))
    }

    fn drafter(
        &self,
        kind: &DrafterKind,
        generation: &ModelGeneration,
        max_run: usize,
    ) -> Result<(Box<dyn DraftModel>, DraftTime), ModelError> {
        let name = match kind {
            DrafterKind::Model(name) => name,
            head => return Err(self.unknown_drafter(head.as_written())),
        };
        let (network, vocabulary) = if *name == self.which.model_name() {
            (&self.network, None)
        } else if *name == self.which.other().model_name() {
            let other = self.other.as_ref().map_err(AbsentHead::refusal)?;
            let map = VocabularyMap::by_rank(
                self.network.palette.centroids(),
                other.palette.centroids(),
                self.device,
            );
            (other, Some(map))
        } else {
            return Err(self.unknown_drafter(name.clone()));
        };
        let time = DraftTime::new(generation.device());
        let capacity = self.n_tokens() + max_run;
        let draft = ModelDraft::new(
            network.backbone.clone(),
            network.backbone.prefix(),
            *generation.sampling(),
            vocabulary,
            capacity,
            time.clone(),
        );
        Ok((Box::new(draft), time))
    }

    fn tables(&self) -> &TokenTables {
        &self.tables
    }

    fn picture(&self, tokens: &[TokenId]) -> Picture {
        let side = u32::try_from(self.network.backbone.config().side).expect("a picture's side is small");
        let rgb = self.network.palette.grey(tokens).into_iter().flat_map(|grey| [grey; 3]).collect();
        Picture { width: side, height: side, rgb }
    }
}
