//! Heads trained on images of the target's own: the EAGLE-1 drafter trained on, plain and with CASCADE's
//! weights (arXiv 2605.07230), and an EAGLE-3 drafter from nothing but the target's output head.
//!
//! The two EAGLE-1 heads start from the same drafter and see the same images in the same order with the same
//! noise: the weight of redundant slots is all they differ in.

use serde::Serialize;
use specimen_datasets::scenes::VAL_SEED;
use specimen_models::{
    families::tiny::{TinyBackbone, Vq},
    heads::{draft_head::Head, eagle::EagleHead, eagle3::Eagle3Head},
};
use specimen_weights::Checkpoint;
use tch::Kind;

use crate::{
    corpus::TokenRows,
    drafter::{Batches, train_to_end},
    engine::Engine,
    head_loss::{HeadLoss, Redundancy},
    own_images::CaptionedRows,
    pair::Pair,
    spec::{Schedule, TrainSpec},
    stage::{Save, Stage, StageFiles},
};

/// What all of these stages are given.
pub struct Given<'a> {
    /// The training specification.
    pub spec: &'a TrainSpec,
    /// The tokenizer, for held-out scenes.
    pub vq: &'a Vq,
    /// Opens the frozen target.
    pub open_target: &'a dyn Fn() -> anyhow::Result<TinyBackbone>,
    /// Images of the target's own.
    pub images: &'a CaptionedRows,
}

/// Trains the EAGLE-1 head of `from` on, with slots weighed by `redundancy`, and writes its weights.
pub fn train_on(
    given: &Given<'_>,
    redundancy: Redundancy,
    mut from: Checkpoint,
    files: &StageFiles,
) -> anyhow::Result<()> {
    let (spec, stage) = (given.spec, &given.spec.further);
    let d_model = spec.target.model.d_model;
    let mut engine = Engine::new(spec.seed + 4, stage.n_replicas, Kind::BFloat16, |source| {
        let head = EagleHead::new(source, &spec.drafter.model, d_model)?;
        Ok(Pair { head, target: (given.open_target)()? })
    })?;
    engine.start_from(&mut from)?;
    from.finish()?;
    let loss = HeadLoss { redundancy: Some(redundancy), ..spec.drafter.loss() };
    let noise = (spec.drafter.feature_noise, d_model);
    run(given, engine, &loss, (&stage.schedule, stage.n_replicas, noise), files, &spec.drafter.model)
}

/// Trains an EAGLE-3 head and writes its weights. Its output head starts as the target's.
pub fn train_eagle3(given: &Given<'_>, files: &StageFiles) -> anyhow::Result<()> {
    let (spec, stage) = (given.spec, &given.spec.eagle3);
    let (d_model, n_vocab) = (spec.target.model.d_model, spec.target.model.n_vocab);
    let mut engine = Engine::new(spec.seed + 5, stage.n_replicas, Kind::BFloat16, |source| {
        let head = Eagle3Head::new(source, &stage.model, d_model, n_vocab)?;
        Ok(Pair { head, target: (given.open_target)()? })
    })?;
    engine.master("lm_head.weight").copy_(engine.model().target.head());
    engine.master("norm.weight").copy_(engine.model().target.norm());
    engine.spread();
    let noise = (stage.feature_noise, 3 * d_model);
    run(given, engine, &stage.loss(), (&stage.schedule, stage.n_replicas, noise), files, &stage.model)
}

/// Trains to the end of the schedule, then measures on held-out images of both kinds.
fn run<H: Head + Send>(
    given: &Given<'_>,
    mut engine: Engine<Pair<H>>,
    loss: &HeadLoss,
    (schedule, n_replicas, noise): (&Schedule, usize, (f64, i64)),
    files: &StageFiles,
    config: &impl Serialize,
) -> anyhow::Result<()> {
    let &Given { spec, vq, images, .. } = given;
    let n_held_out = spec.own_images.n_validation;
    let batches = Batches {
        seed: spec.seed ^ 0xF7,
        first: n_held_out,
        n: images.len() - n_held_out,
        noise,
        n_replicas,
    };
    let mut stage = Stage::resume(files, &mut engine, &loss.names(), schedule.n_steps, Save::TWO_MINUTES)?;
    train_to_end(&mut engine, &mut stage, schedule, |step| batches.of_step(images, schedule, step), loss)?;
    stage.finish(&engine, config)?;
    let scenes = CaptionedRows::of_scenes(&TokenRows::encode(vq, VAL_SEED, spec.n_validation.min(64))?);
    let mut results = engine.model().measure(loss, images.batches(0, n_held_out, 8));
    let of_scenes = engine.model().measure(loss, scenes.batches(0, scenes.len(), 8));
    results.extend(of_scenes.into_iter().map(|(name, value)| (format!("scenes_{name}"), value)));
    stage.journal().result(&results)
}
