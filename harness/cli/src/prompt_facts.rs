//! What the dataset of a run says of its prompts: the facts by which images are grouped.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use anyhow::Context;
use specimen_datasets::{Prompt, coco_instances::Supercategories, manifest::item};
use specimen_experiments::{prompts, spec::Spec};
use specimen_record::{Manifest, PlanFile, RunDir, read_document};
use specimen_report::PromptFact;

use crate::spec_args::data_root;

/// Every fact, by its name in `--by`.
pub(crate) const FACTS: [&str; 4] = ["category", "challenge", "task", "supercategory"];

/// The name of the run in `folder`, and these facts of its prompts.
pub(crate) fn facts_of<N: AsRef<str>>(
    folder: &Path,
    names: &[N],
) -> anyhow::Result<(String, Vec<PromptFact>)> {
    let run = RunDir::open(folder)?;
    let manifest: Manifest = read_document(&run.manifest())?;
    let spec: Spec = serde_json::from_value(manifest.spec).with_context(|| {
        format!("{}: another version of the program wrote the manifest's spec", folder.display())
    })?;
    let set = prompts::open(&spec.dataset, data_root().as_ref())?;
    let plan: PlanFile = read_document(&run.plan())?;
    let of_run: BTreeSet<&str> = plan.items.iter().map(|item| item.prompt_id.as_str()).collect();
    let prompts: Vec<&Prompt> =
        set.prompts().iter().filter(|prompt| of_run.contains(prompt.id.as_str())).collect();
    let facts = names.iter().map(|name| {
        let groups = groups(name.as_ref())?;
        let of_prompt = prompts.iter().copied().map(|prompt| (prompt.id.as_str().to_owned(), groups(prompt)));
        let of_prompt: BTreeMap<_, _> = of_prompt.filter(|(_, groups)| !groups.is_empty()).collect();
        Ok::<_, anyhow::Error>(PromptFact { name: name.as_ref().to_owned(), of_prompt })
    });
    Ok((spec.name.to_string(), facts.collect::<anyhow::Result<_>>()?))
}

/// How a fact is read of a prompt.
type Groups = Box<dyn Fn(&Prompt) -> Vec<String>>;

fn groups(name: &str) -> anyhow::Result<Groups> {
    let one = |text: &Option<String>| text.iter().cloned().collect::<Vec<_>>();
    Ok(match name {
        "category" => Box::new(move |prompt: &Prompt| one(&prompt.category)),
        "challenge" => Box::new(move |prompt: &Prompt| one(&prompt.challenge)),
        "task" => Box::new(move |prompt: &Prompt| one(&prompt.task)),
        _ => {
            let path = item("coco2017-val-instances").locate_verified(data_root().as_ref())?;
            let known = Supercategories::read(&path)?;
            Box::new(move |prompt: &Prompt| {
                prompt.image_id.as_ref().map_or_else(Vec::new, |id| known.of_image(id.as_str()))
            })
        }
    })
}
