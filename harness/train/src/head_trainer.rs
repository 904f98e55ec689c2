//! Training a head of any model: images of the target's own, its features on the fly or exported, a head built anew in
//! every step from the tensors of its file, and a file in the published layout at the end.

use std::{collections::BTreeMap, path::Path};

use anyhow::Context;
use specimen_foundation::{failure, failure::FailureMessage};
use specimen_models::{
    heads::{
        described_head::{DescribedHead, RepeatedTensor},
        draft_head::Head,
        head_file::HeadFile,
    },
    seam::{
        loaded_model::{LoadedModel, Prefix},
        model_error::ModelError,
    },
};
use specimen_weights::{Checkpoint, Init, LoadError, ParamSource, use_threads};
use tch::{Device, Kind, Tensor};

use crate::{
    corpus::{StepDraws, epoch_batch},
    engine::Engine,
    head_loss::{HeadLoss, Measured},
    head_spec::HeadSpec,
    lesson::{ImageFeatures, Lesson},
    model_images::{DrawnBy, ModelImages},
    stage::{Save, Stage, StageFiles},
    target_features::TargetFeatures,
    trial::{Trial, TrialResult},
};

/// What is trained, and on what.
pub struct HeadTraining<'a> {
    /// The training specification.
    pub spec: &'a HeadSpec,
    /// The target.
    pub model: &'a LoadedModel,
    /// Kind of its numbers and of the head's replica; the master copy is f32.
    pub kind: Kind,
    /// Where both are.
    pub device: Device,
    /// The prompts of the dataset, in its order.
    pub prompts: Vec<&'a str>,
    /// What the prompts are, such as the digest of the dataset.
    pub dataset: String,
}

/// What training gave.
pub struct HeadResult {
    /// Measures on held-out images, by name.
    pub values: Vec<(String, f64)>,
    /// Accepted tokens a step, of the head that training began with and of the trained one.
    pub trial: TrialResult,
}

/// The tensors of a head's file: those that are trained, and those that the file repeats from the target.
struct Leaves {
    named: BTreeMap<String, Tensor>,
}

impl ParamSource for &Leaves {
    fn param(&mut self, name: &str, _: &[i64], _: Init) -> Result<Tensor, LoadError> {
        Ok(self.named.get(name).expect("a head asks for the same tensors every time").shallow_clone())
    }
}

/// A source that answers with what the file repeats, and writes down everything.
struct Recording<'a> {
    source: &'a mut dyn ParamSource,
    repeated: &'a [RepeatedTensor],
    named: BTreeMap<String, Tensor>,
}

impl ParamSource for Recording<'_> {
    fn param(&mut self, name: &str, shape: &[i64], init: Init) -> Result<Tensor, LoadError> {
        let tensor = match self.repeated.iter().find(|repeated| repeated.name == name) {
            Some(repeated) => repeated.tensor.shallow_clone(),
            None => self.source.param(name, shape, init)?,
        };
        self.named.insert(name.to_owned(), tensor.shallow_clone());
        Ok(tensor)
    }
}

/// Trains the head to the end of its schedule, from its saved state if `out` has one, and writes it there:
/// `model.safetensors` and `config.json` in the layout of its publisher, `model.csv` with the curve, `model.results.json`.
/// Features that the specification names take the place of the target's forwards, and change no byte on a CPU in f32.
pub fn train_head(training: &HeadTraining<'_>, out: &Path) -> anyhow::Result<HeadResult> {
    use_threads(1);
    let &HeadTraining { spec, model, kind, device, .. } = training;
    let described = training.describe()?;
    let exported = training.exported(&described)?;
    let mut engine = Engine::on(device, spec.rest.seed, 1, kind, |source| {
        let mut recording = Recording { source, repeated: &described.repeated, named: BTreeMap::new() };
        (described.build)(&mut recording)?;
        Ok(Leaves { named: recording.named })
    })?;
    let begun = training.start(&described, &mut engine)?;
    let untrained = engine.weights(kind);
    engine.identify(training.identity(begun.as_deref()));
    let files = StageFiles::new("model", out, out)?.with_config(out.join("config.json"));
    let loss = spec.loss();
    let drawn = Drawn {
        source: match exported {
            Some(features) => Source::Exported(Box::new(features)),
            None => Source::Drawn(training.images(out)?),
        },
        prompts: training.prompts_of_images(),
    };
    let save = Save::Steps(spec.rest.save_every);
    let mut stage = Stage::resume(&files, &mut engine, &loss.names(), spec.rest.schedule.n_steps, save)?;
    while engine.step < spec.rest.schedule.n_steps {
        let items = training.items(drawn.prompts.len(), engine.step);
        let report = engine.train_alone(&spec.rest.schedule, items, |leaves, item| {
            training.learn(&described, leaves, &drawn, &item, &loss)
        })?;
        stage.after_step(&engine, &report)?;
    }
    let mut tensors = engine.weights(kind);
    let stored = |tensor: &Tensor| match tensor.is_floating_point() {
        true => tensor.to_device(Device::Cpu).to_kind(kind),
        false => tensor.to_device(Device::Cpu),
    };
    let repeated = described.repeated.iter();
    tensors.extend(repeated.map(|repeated| (repeated.name.clone(), stored(&repeated.tensor))));
    stage.finish_with(&engine, &tensors, &described.config)?;
    let values = training.measure(&described, engine.model(), &drawn, &loss)?;
    let prompts = &training.prompts[..spec.rest.n_validation];
    let trial = Trial { spec, model, described: &described, device, prompts };
    let trial = trial.compare(&untrained, &engine.weights(kind))?;
    let all = values.iter().cloned().chain(trial.named()).collect::<Vec<_>>();
    stage.journal().result(&all)?;
    Ok(HeadResult { values, trial })
}

/// Images of the target's own.
struct Drawn<'a> {
    source: Source,
    /// The prompt of each.
    prompts: Vec<&'a str>,
}

/// Where images and what the target gives on them come from.
enum Source {
    /// The target runs on them in every step.
    Drawn(ModelImages),
    /// It ran once.
    Exported(Box<TargetFeatures>),
}

/// One image of a step: which, and the seed of its noise.
struct Item {
    image: usize,
    noise: u64,
}

impl HeadTraining<'_> {
    /// The head of the specification, if the model has it and there is something to train it on.
    pub(crate) fn describe(&self) -> Result<DescribedHead, FailureMessage> {
        let rest = &self.spec.rest;
        let wrong = |reason: String| failure!(Spec: "{}: {reason}", self.spec.path.display());
        let mut file = HeadFile::tapping(rest.head.taps);
        let described = (self.model.describe_head)(rest.head.kind(), &mut file)
            .map_err(|reason| wrong(format!("head: {reason}")))?;
        let n = self.prompts.len();
        if n <= rest.n_validation {
            return Err(wrong(format!(
                "n_validation is {}, and the dataset has {n} prompts: nothing is left to train on",
                rest.n_validation
            )));
        }
        if self.model.n_tokens <= rest.loss.depth {
            return Err(wrong(format!(
                "loss.depth is {}, expected less than the {} tokens of an image",
                rest.loss.depth, self.model.n_tokens
            )));
        }
        Ok(described)
    }

    /// What decides the weights that come out, in words. `begun`: the digest of the weights that the specification names.
    fn identity(&self, begun: Option<&str>) -> String {
        let begun = begun.map(|digest| format!(", begun with {digest}")).unwrap_or_default();
        format!("{}, dataset {}, {}{begun}", self.target(), self.dataset, self.spec.identity())
    }

    /// The target, in words.
    fn target(&self) -> String {
        let digests: Vec<&str> = self.model.weights.iter().map(|file| file.digest.as_str()).collect();
        let weights = if digests.is_empty() { "from a seed".to_owned() } else { digests.join(" ") };
        format!("model {} with weights {weights}", self.model.name)
    }

    /// Puts the values that the specification names, or that the family gives, in place of random ones. Returns the digest of
    /// the file that the specification names.
    fn start(
        &self,
        described: &DescribedHead,
        engine: &mut Engine<Leaves>,
    ) -> anyhow::Result<Option<String>> {
        let mut digest = None;
        for (name, value) in &described.starts {
            tch::no_grad(|| engine.master(name).copy_(value));
        }
        if let Some(path) = &self.spec.rest.head.from {
            let unfit = |reason: LoadError| {
                failure!(Missing: "{}: these weights do not fit a head of `{}`: {reason}; name those of a \
                    head of this model, or leave head.from out", path.display(), self.model.name)
            };
            let mut file = Checkpoint::open(path, Some(Kind::Float), self.device).map_err(unfit)?;
            file.ignore(|name| described.repeated.iter().any(|repeated| repeated.name == name));
            tch::no_grad(|| engine.start_from(&mut file)).map_err(|error| {
                match error.downcast::<LoadError>() {
                    Ok(reason) => unfit(reason).into(),
                    Err(other) => other,
                }
            })?;
            digest = Some(file.digest().to_owned());
            file.finish().map_err(unfit)?;
        }
        engine.spread();
        Ok(digest)
    }

    /// The features that the specification names, if it names any.
    fn exported(&self, described: &DescribedHead) -> anyhow::Result<Option<TargetFeatures>> {
        let folder = self.spec.rest.features.as_ref();
        let open = |folder| TargetFeatures::open(folder, &self.made_from(described)?, self.device);
        folder.map(|folder| open(folder)).transpose()
    }

    /// The prompt of each image; those of the held-out prompts come first.
    pub(crate) fn prompts_of_images(&self) -> Vec<&str> {
        let samples = self.spec.dataset.samples as usize;
        self.prompts.iter().flat_map(|prompt| std::iter::repeat_n(*prompt, samples)).collect()
    }

    /// Seed of all images.
    pub(crate) fn seed_of_images(&self) -> u64 {
        self.spec.rest.seed ^ 0x0E
    }

    /// What `prompt` becomes.
    pub(crate) fn prefix(&self, prompt: &str) -> Result<Prefix, ModelError> {
        tch::no_grad(|| (self.model.prompt)(prompt, &self.spec.sampling))
    }

    /// Images drawn with one prompt each, kept below `out`.
    pub(crate) fn images(&self, out: &Path) -> anyhow::Result<ModelImages> {
        let prompts = self.prompts_of_images();
        let HeadSpec { sampling, dataset, model, .. } = self.spec;
        let seed = self.seed_of_images();
        let sampled = serde_json::to_string(sampling).context("sampling is plain data")?;
        let origin = format!(
            "{} in {}, dataset {} in {} samples, seed {seed}, sampling {sampled}",
            self.target(),
            model.dtype.name(),
            self.dataset,
            dataset.samples
        );
        DrawnBy { model: self.model, sampling: *sampling, prompts: &prompts, seed, origin }
            .images(&out.join("images"))
    }

    /// Images before the first that is trained on.
    fn n_held_out(&self) -> usize {
        self.spec.rest.n_validation * self.spec.dataset.samples as usize
    }

    /// The images of a step.
    fn items(&self, n_images: usize, step: u64) -> Vec<Item> {
        let rest = &self.spec.rest;
        let n_trained = (n_images - self.n_held_out()) as u64;
        let chosen = epoch_batch(rest.seed ^ 0xD7, n_trained, step, rest.schedule.batch);
        let mut draws = StepDraws::new(rest.seed ^ 0xD7, step);
        let item = |row: i64| Item { image: self.n_held_out() + row as usize, noise: draws.bits() };
        chosen.into_iter().map(item).collect()
    }

    /// Calls `learn` with a lesson on one image; `half_width`: of the noise, seeded by the item.
    fn with_lesson<T>(
        &self,
        described: &DescribedHead,
        head: &dyn Head,
        drawn: &Drawn<'_>,
        (item, half_width): (&Item, f64),
        learn: impl FnOnce(&Lesson<'_>) -> T,
    ) -> anyhow::Result<T> {
        let prefix = self.prefix(drawn.prompts[item.image])?;
        let is_forced: Vec<bool> = self.model.forced.iter().map(Option::is_some).collect();
        let mut noise = |size: &[i64]| {
            tch::manual_seed(item.noise as i64);
            let uniform = |size| Tensor::rand(size, (Kind::Float, Device::Cpu)) * 2.0 - 1.0;
            (half_width > 0.0).then(|| uniform(size) * half_width)
        };
        let (tokens, given) = match &drawn.source {
            Source::Exported(features) => features.of_image(item.image, &prefix)?,
            Source::Drawn(images) => {
                let tokens = images.tokens(item.image);
                let given = ImageFeatures::of(&prefix, described, head.taps(), &tokens);
                (tokens, given)
            }
        };
        Ok(learn(&Lesson::of_image(&prefix, described, head, (&tokens, given), &is_forced, &mut noise)))
    }

    /// Adds the gradient of one image's loss to that of the leaves, and returns what to report.
    fn learn(
        &self,
        described: &DescribedHead,
        leaves: &Leaves,
        drawn: &Drawn<'_>,
        item: &Item,
        loss: &HeadLoss,
    ) -> anyhow::Result<Vec<f64>> {
        let head = (described.build)(&mut &*leaves)?;
        let noise = self.spec.rest.loss.feature_noise;
        self.with_lesson(described, &*head, drawn, (item, noise), |lesson| loss.learn(&*head, lesson))
    }

    /// What the head does on the held-out images.
    fn measure(
        &self,
        described: &DescribedHead,
        leaves: &Leaves,
        drawn: &Drawn<'_>,
        loss: &HeadLoss,
    ) -> anyhow::Result<Vec<(String, f64)>> {
        let _guard = tch::no_grad_guard();
        let head = (described.build)(&mut &*leaves)?;
        let mut measured = Measured::new(loss);
        for image in 0..self.n_held_out() {
            let item = Item { image, noise: 0 };
            self.with_lesson(described, &*head, drawn, (&item, 0.0), |lesson| measured.add(&*head, lesson))?;
        }
        Ok(measured.named())
    }
}
