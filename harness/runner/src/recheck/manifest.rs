//! What a manifest says of dataset, weights, machine and program, against the dataset, this program and the attempts.

use std::collections::BTreeSet;

use specimen_catalog::entry::entry;
use specimen_datasets::PromptSet;
use specimen_experiments::spec::{ModelSpec, Spec};
use specimen_foundation::failure;
use specimen_record::{
    DatasetDigest, Environment, FileDigest, Git, Manifest, ModelSteps, PlanFile, RunDir, WeightsDigest,
    compare_json, described, read_document,
};

use super::Rechecked;
use crate::{
    driver::open_run::dataset_of,
    error::RunError,
    images::load::{ANY_GPU, CPU, Models},
    machine::{self, provenance::Provenance},
    plan::stored_plan::word_of,
};

/// What the manifest is compared with.
pub(super) struct Sources<'a> {
    pub(super) run: &'a RunDir,
    pub(super) spec: &'a Spec,
    pub(super) file: &'a PlanFile,
    /// The dataset that the spec names, where it could be read.
    pub(super) prompts: Option<&'a PromptSet>,
    /// The sources of this program.
    pub(super) git: &'a Git,
}

impl Sources<'_> {
    /// Compares all that something else says.
    pub(super) fn check(&self, manifest: &Manifest, found: &mut Rechecked) -> Result<(), RunError> {
        let mut expected = manifest.clone();
        if let Some(dataset) = self.dataset(manifest)? {
            expected.datasets = vec![dataset];
        }
        let makers = self.makers()?;
        self.weights(&mut expected, &makers, found)?;
        self.made(&mut expected, &makers, found)?;
        let [expected, stored] =
            [&expected, manifest].map(|one| serde_json::to_value(one).unwrap_or_default());
        let path = self.run.manifest();
        if let Some(differences) = described(&compare_json(&expected, &stored)) {
            found
                .complaints
                .push(format!("{}: other facts follow from the run: {differences}", path.display()));
        }
        // Both keep the name that the run began under, whatever a spec that continues it is called.
        if self.file.name != manifest.name {
            let (path, name, other) = (self.run.plan(), &self.file.name, &manifest.name);
            found
                .complaints
                .push(format!("{}: `name` is `{name}`, the manifest says `{other}`", path.display()));
        }
        Ok(())
    }

    /// The dataset as it is read here; of an import, the table that the spec names. `None` where it cannot be read.
    fn dataset(&self, manifest: &Manifest) -> Result<Option<DatasetDigest>, RunError> {
        let Some(imported) = self.spec.cells.iter().find_map(|cell| cell.imported.as_ref()) else {
            return self.prompts.map(dataset_of).transpose();
        };
        let blake3: specimen_record::Digest =
            imported.table_blake3.parse().map_err(|why| failure!(Spec: "{why}"))?;
        let prompts: BTreeSet<&str> = self.file.items.iter().map(|item| item.prompt_id.as_str()).collect();
        Ok(Some(DatasetDigest {
            // The name is that of the dataset that was given, or stands for none.
            name: manifest.datasets.first().map(|dataset| dataset.name.clone()).unwrap_or_default(),
            digest: blake3.clone(),
            n: prompts.len() as u64,
            caption: None,
            files: vec![FileDigest { file: imported.table.clone(), blake3 }],
        }))
    }

    /// The weights that are part of this program, where it made all.
    fn weights(
        &self,
        expected: &mut Manifest,
        makers: &[Environment],
        found: &mut Rechecked,
    ) -> Result<(), RunError> {
        if !is_by_this_program(makers) {
            let what = "weights that are part of a program: another one made images";
            found.not_checked.push(what.to_owned());
            return Ok(());
        }
        let mut models = Models::new(None);
        for spec in self.spec.models() {
            let name = &spec.name;
            let is_part = entry(name).is_ok_and(|entry| entry.files.is_empty());
            if !is_part || spec.weights.is_some() || !spec.heads.is_empty() {
                let what =
                    format!("the weights of `{name}`: they are files; --replay compares those that it loads");
                if !found.not_checked.contains(&what) {
                    found.not_checked.push(what);
                }
                continue;
            }
            let model = models.get(&ModelSpec { device: CPU.to_owned(), graphs: None, ..spec.clone() })?;
            for file in &model.weights {
                let (name, blake3) = (
                    format!("{name} {}", file.role),
                    file.digest.parse().map_err(|why| failure!(Spec: "{why}"))?,
                );
                let now = WeightsDigest { name, file: file.file.clone(), blake3 };
                match expected.weights.iter_mut().find(|then| then.name == now.name) {
                    Some(then) => *then = now,
                    None => expected.weights.push(now),
                }
            }
        }
        Ok(())
    }

    /// What the attempts note of machine and program.
    fn makers(&self) -> Result<Vec<Environment>, RunError> {
        let mut makers: Vec<Environment> = Vec::new();
        for shard in self.run.shards()? {
            for attempt in self.run.attempts(shard)? {
                let path = self.run.attempt_env(shard, attempt);
                if path.is_file() {
                    makers.push(read_document(&path)?);
                }
            }
        }
        Ok(makers)
    }

    /// Machine and programs as the attempts note them, and the rest of this program where it is the one that made all.
    fn made(
        &self,
        expected: &mut Manifest,
        makers: &[Environment],
        found: &mut Rechecked,
    ) -> Result<(), RunError> {
        let models = self.spec.models();
        for steps in makers.iter().flat_map(|maker| maker.steps.iter().flatten()) {
            // A worker has put the cells of any GPU on one.
            let is_on = |device: &str| {
                steps.device == device || device == ANY_GPU && steps.device.starts_with(ANY_GPU)
            };
            let mut named = models.iter().filter(|model| model.name == steps.model && is_on(&model.device));
            if !named.any(|model| word_of(&model.dtype).is_ok_and(|dtype| dtype == steps.dtype)) {
                let ModelSteps { model, dtype, device, .. } = steps;
                let path = self.run.shards_dir();
                found.complaints.push(format!(
                    "{}: env.json of an attempt has steps of `{model}` in {dtype} on {device}, the spec no such model",
                    path.display()
                ));
            }
        }
        let Some(first) = makers.first() else { return Ok(()) };
        if self.run.submissions().exists() || makers.iter().any(|maker| maker.allocation.is_some()) {
            let what = "machine and versions in the manifest: they are those of the driver, and a cluster made the images";
            found.not_checked.push(what.to_owned());
            return Ok(());
        }
        // A run may be continued elsewhere: one of its attempts is the driver's own.
        let is_noted = |of: &dyn Fn(&Environment) -> bool| makers.iter().any(of);
        let (hardware, software) = (&mut expected.hardware, &mut expected.software);
        if !is_noted(&|maker| maker.host_cpu == hardware.cpu_model) {
            hardware.cpu_model.clone_from(&first.host_cpu);
        }
        if let Some(features) = &first.cpu_features
            && !is_noted(&|maker| maker.cpu_features.as_ref() == Some(&hardware.cpu_features))
        {
            hardware.cpu_features.clone_from(features);
        }
        if first.libtorch.is_some() && !is_noted(&|maker| maker.libtorch == software.libtorch) {
            software.libtorch.clone_from(&first.libtorch);
        }
        if is_by_this_program(makers) {
            let libtorch = software.libtorch.take();
            *software = specimen_record::Software { libtorch, ..machine::software() };
            expected.git = self.git.clone();
        }
        Ok(())
    }
}

/// Whether this program made all that is there.
fn is_by_this_program(makers: &[Environment]) -> bool {
    let this = Provenance::this().program;
    this.is_some() && makers.iter().all(|maker| maker.program == this)
}
