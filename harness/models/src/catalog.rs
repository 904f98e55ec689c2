//! The models a spec can name. Adding one is a line in [`NAMES`] and one in [`open`].

use std::{path::PathBuf, rc::Rc};

use specimen_foundation::names::edit_distance;
use tch::{Device, Kind};

use crate::{
    chameleon::{self, Recipe},
    igpt::{IgptModel, IgptWeights},
    janus::{self, JanusModel},
    llamagen::{self, LlamaGenModel},
    published_files::places,
    stub::{self, StubModel},
    target::{ModelError, TargetModel},
    tiny::TinyModel,
};

/// Every model's name; each one opens.
pub const NAMES: &[&str] = &[
    "tiny",
    "igpt-mnist",
    "igpt-fmnist",
    "llamagen-c2i-b-256",
    "llamagen-c2i-b-384",
    "llamagen-c2i-l-256",
    "llamagen-c2i-l-384",
    "llamagen-c2i-xl-384",
    "llamagen-t2i-xl-256",
    "llamagen-t2i-xl-512",
    "llamagen-toy",
    "llamagen-c2i-toy",
    "janus-pro-1b",
    "janus-pro-7b",
    "janus-toy",
    "stub",
    "lumina-mgpt-7b-768",
    "lumina-mgpt-7b-512",
    "anole-7b",
    "lumina-toy",
    "anole-toy",
];

/// Models whose guidance can have a third row.
const THREE_WAY: &[&str] = &["anole-7b", "anole-toy"];

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
    let &OpenModel { kind, device, ref data_root, encode_caption, three_way_guidance } = options;
    if three_way_guidance && !THREE_WAY.contains(&name) {
        let reason = format!("its guidance has two rows; a third one have: {}", THREE_WAY.join(", "));
        return Err(ModelError::Sampling { model: name.to_owned(), reason });
    }
    if let Some(which) = llamagen::PUBLISHED.iter().find(|published| published.name == name) {
        return Ok(Rc::new(LlamaGenModel::open(which, data_root.as_deref(), kind, device)?));
    }
    if let Some(which) = janus::PUBLISHED.iter().find(|published| published.name == name) {
        return Ok(Rc::new(JanusModel::open(which, data_root.as_deref(), kind, device)?));
    }
    let places = || places(data_root.as_deref());
    let igpt = |which| IgptModel::open(which, &places(), kind, device);
    let chameleon = |recipe: Recipe| chameleon::open_published(recipe, &places(), kind, device);
    let anole = |recipe: Recipe| if three_way_guidance { recipe.with_image_row() } else { recipe };
    Ok(match name {
        "tiny" => Rc::new(TinyModel::embedded(kind, device, Box::new(encode_caption))?),
        "igpt-mnist" => Rc::new(igpt(IgptWeights::Mnist)?),
        "igpt-fmnist" => Rc::new(igpt(IgptWeights::FashionMnist)?),
        "llamagen-toy" => Rc::new(LlamaGenModel::toy(&llamagen::CAPTION_TOY, kind, device)?),
        "llamagen-c2i-toy" => Rc::new(LlamaGenModel::toy(&llamagen::CLASS_TOY, kind, device)?),
        janus::TOY_NAME => Rc::new(JanusModel::toy(kind, device)?),
        stub::NAME => Rc::new(StubModel::new(kind, device)?),
        "lumina-mgpt-7b-768" => Rc::new(chameleon(Recipe::lumina_768())?),
        "lumina-mgpt-7b-512" => Rc::new(chameleon(Recipe::lumina_512())?),
        "anole-7b" => Rc::new(chameleon(anole(Recipe::anole()))?),
        "lumina-toy" => Rc::new(chameleon::toy::open(chameleon::toy::lumina(), kind, device)?),
        "anole-toy" => Rc::new(chameleon::toy::open(anole(chameleon::toy::anole()), kind, device)?),
        _ => {
            return Err(ModelError::Unknown {
                found: name.into(),
                nearest: nearest(name),
                known: NAMES.join(", "),
            });
        }
    })
}

/// The known name that contains `found`, else the one at the smallest edit distance; ties to the first listed.
fn nearest(found: &str) -> &'static str {
    let found = found.to_lowercase();
    let rank = |name: &&&'static str| (!name.contains(&found), edit_distance(&found, name));
    NAMES.iter().min_by_key(rank).expect("there are models")
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
