//! Opens any model of the catalog by its name: one arm a family.

use std::{path::PathBuf, rc::Rc};

use specimen_catalog::{Ability, Family, Target, entry};
use specimen_foundation::names::edit_distance;
use tch::{Device, Kind};

use crate::{
    chameleon::{self, Recipe, VqganConfig},
    igpt::{IgptModel, IgptWeights},
    janus::{JanusModel, JanusWeights},
    llamagen::{LlamaGenModel, LlamaGenWeights},
    published_files::places,
    stub::StubModel,
    target::{ModelError, TargetModel},
    tiny::TinyModel,
};

/// How to open a model.
#[derive(Clone, Debug)]
pub struct OpenModel {
    /// Element kind of the transformer: f32, or bf16 where the device multiplies it natively.
    pub kind: Kind,
    /// Where the tensors lie.
    pub device: Device,
    /// The folder `SPECIMEN_DATA` names, for models whose weights are not in the binary.
    pub data_root: Option<PathBuf>,
    /// Word ids of a caption, or what is wrong with it; the vocabulary belongs to the data set of the embedded
    /// model.
    pub encode_caption: fn(&str) -> Result<Vec<u16>, String>,
    /// Whether guidance has Anole's third row.
    pub three_way_guidance: bool,
}

/// Loads the model called `name`.
///
/// # Errors
/// An unknown name; weights that are absent or damaged.
pub fn open(name: &str, options: &OpenModel) -> Result<Rc<dyn TargetModel>, ModelError> {
    let Some((model, target)) = entry::target(name) else {
        return Err(ModelError::Unknown {
            found: name.into(),
            nearest: nearest(name),
            known: names(|_| true).join(", "),
        });
    };
    if options.three_way_guidance && !target.gives(Ability::ThreeWayGuidance) {
        let able = names(|target| target.gives(Ability::ThreeWayGuidance));
        let reason = format!("its guidance has two rows; a third one have: {}", able.join(", "));
        return Err(ModelError::Sampling { model: name.to_owned(), reason });
    }
    let &OpenModel { kind, device, ref data_root, encode_caption, three_way_guidance } = options;
    let is_toy = model.files.is_empty();
    let root = data_root.as_deref();
    Ok(match target.family {
        Family::Tiny => Rc::new(TinyModel::embedded(kind, device, Box::new(encode_caption))?),
        Family::Stub => Rc::new(StubModel::new(kind, device)?),
        Family::Igpt => {
            let mut both = IgptWeights::ALL.into_iter();
            let which = both.find(|which| which.model_name() == name).expect("the family has two models");
            Rc::new(IgptModel::open(which, &places(root), kind, device)?)
        }
        Family::Llamagen if is_toy => Rc::new(LlamaGenModel::toy(model, kind, device)?),
        Family::Llamagen => Rc::new(LlamaGenModel::open(&LlamaGenWeights::of(model), root, kind, device)?),
        Family::Janus if is_toy => Rc::new(JanusModel::toy(model, kind, device)?),
        Family::Janus => Rc::new(JanusModel::open(&JanusWeights::of(model), root, kind, device)?),
        Family::Chameleon => {
            let vqgan = if is_toy { chameleon::toy::vqgan() } else { VqganConfig::chameleon() };
            let recipe = Recipe::of(model, vqgan);
            let recipe = if three_way_guidance { recipe.with_image_row() } else { recipe };
            if is_toy {
                Rc::new(chameleon::toy::open(recipe, kind, device)?)
            } else {
                Rc::new(chameleon::open_published(model, recipe, &places(root), kind, device)?)
            }
        }
    })
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
}
