//! What `train-drafter` and `data features` open alike: the prompts and the target of a training specification.

use std::rc::Rc;

use specimen_datasets::PromptSet;
use specimen_experiments::prompts;
use specimen_models::seam::loaded_model::LoadedModel;
use specimen_runner::images::load::{Models, device_of, kind_of};
use specimen_train::{head_spec::HeadSpec, head_trainer::HeadTraining};

use crate::{console::Console, spec_args::data_root};

/// The prompts and the target of a training.
pub(crate) struct Opened {
    set: PromptSet,
    model: Rc<LoadedModel>,
}

impl Opened {
    /// Those of `spec`.
    pub(crate) fn of(spec: &HeadSpec, console: &Console) -> anyhow::Result<Self> {
        let root = data_root();
        let set = prompts::open(&spec.dataset, root.as_ref())?;
        let model = Models::new(root).get(&spec.model)?;
        model.warnings.iter().for_each(|what| console.warn(what));
        Ok(Self { set, model })
    }

    /// The training by `spec`, for which they were opened.
    pub(crate) fn training<'a>(&'a self, spec: &'a HeadSpec) -> anyhow::Result<HeadTraining<'a>> {
        Ok(HeadTraining {
            spec,
            model: &self.model,
            kind: kind_of(spec.model.dtype),
            device: device_of(&spec.model.device)?,
            prompts: self.set.prompts().iter().map(|prompt| prompt.text.as_str()).collect(),
            dataset: format!("{} {}", self.set.name(), self.set.digest()),
        })
    }
}
