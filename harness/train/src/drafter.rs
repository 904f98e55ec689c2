//! Stage 3, the EAGLE-1 drafter, from nothing, on pictures of scenes: feature regression and soft
//! cross-entropy, unrolled a few drafts deep on its own predictions.

use specimen_datasets::scenes::{TRAIN_SEED, VAL_SEED};
use specimen_models::{
    families::tiny::{TinyBackbone, Vq},
    heads::{draft_head::Head, eagle::EagleHead},
};
use tch::{Device, Kind, Tensor};

use crate::{
    corpus::{StepDraws, TokenRows, epoch_batch},
    engine::Engine,
    head_loss::HeadLoss,
    own_images::CaptionedRows,
    pair::{HeadBatch, Pair},
    spec::{Schedule, TrainSpec},
    stage::{Save, Stage, StageFiles},
};

/// Trains the head for the target that `open_target` opens, and writes its weights.
pub fn train(
    spec: &TrainSpec,
    vq: &Vq,
    open_target: &dyn Fn() -> anyhow::Result<TinyBackbone>,
    files: &StageFiles,
) -> anyhow::Result<()> {
    let stage = &spec.drafter;
    let d_model = spec.target.model.d_model;
    let mut engine = Engine::new(spec.seed + 2, spec.n_replicas, Kind::BFloat16, |source| {
        Ok(Pair { head: EagleHead::new(source, &stage.model, d_model)?, target: open_target()? })
    })?;
    let loss = stage.loss();
    let rows = CaptionedRows::of_scenes(&TokenRows::encode(vq, TRAIN_SEED, spec.n_scenes)?);
    let mut run =
        Stage::resume(files, &mut engine, &loss.names(), stage.schedule.n_steps, Save::TWO_MINUTES)?;
    // From the other end of the epoch than the target's first steps.
    let batches = Batches {
        seed: spec.seed ^ 0xD7,
        first: 0,
        n: spec.n_scenes,
        noise: (stage.feature_noise, d_model),
        n_replicas: spec.n_replicas,
    };
    let of_step = |step| batches.of_step(&rows, &stage.schedule, step);
    train_to_end(&mut engine, &mut run, &stage.schedule, of_step, &loss)?;
    run.finish(&engine, &stage.model)?;
    let held_out = CaptionedRows::of_scenes(&TokenRows::encode(vq, VAL_SEED, spec.n_validation.min(64))?);
    run.journal().result(&engine.model().measure(&loss, held_out.batches(0, held_out.len(), 8)))
}

/// Trains a head of the embedded model to the end of its schedule.
pub(crate) fn train_to_end<H: Head + Send>(
    engine: &mut Engine<Pair<H>>,
    run: &mut Stage<'_>,
    schedule: &Schedule,
    batches: impl Fn(u64) -> Vec<HeadBatch>,
    loss: &HeadLoss,
) -> anyhow::Result<()> {
    while engine.step < schedule.n_steps {
        let shards = batches(engine.step);
        let report = engine.train(schedule, shards, |pair, batch| pair.learn(loss, &batch));
        run.after_step(engine, &report)?;
    }
    Ok(())
}

/// Which images a step sees, and the uniform noise on what the head reads of the target.
pub(crate) struct Batches {
    /// Seeds order and noise.
    pub(crate) seed: u64,
    /// First row to use.
    pub(crate) first: u64,
    /// Rows to use.
    pub(crate) n: u64,
    /// Half-width of the noise, and width of what is read.
    pub(crate) noise: (f64, i64),
    /// Shards of a step.
    pub(crate) n_replicas: usize,
}

impl Batches {
    pub(crate) fn of_step(&self, rows: &CaptionedRows, schedule: &Schedule, step: u64) -> Vec<HeadBatch> {
        let n = (schedule.batch / self.n_replicas as u64) as usize;
        let (half_width, width) = self.noise;
        tch::manual_seed(StepDraws::new(self.seed, step).bits() as i64);
        let batch: Vec<i64> = epoch_batch(self.seed, self.n, step, schedule.batch);
        let batch: Vec<i64> = batch.into_iter().map(|row| row + self.first as i64).collect();
        batch
            .chunks(n)
            .map(|chunk| {
                let (tokens, captions) = rows.rows(chunk);
                let size = [2 * n as i64, tokens.size()[1], width];
                let noise = (half_width > 0.0).then(|| {
                    let uniform = Tensor::rand(size, (Kind::Float, Device::Cpu)) * 2.0 - 1.0;
                    (uniform * half_width).to_kind(Kind::BFloat16)
                });
                HeadBatch { tokens, captions, noise }
            })
            .collect()
    }
}
