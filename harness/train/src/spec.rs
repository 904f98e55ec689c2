//! The training specification: one TOML file names every size, rate and count.

use std::path::Path;

use anyhow::Context;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use specimen_foundation::{bounded_read::read_text, place::Places};
use specimen_models::{
    families::tiny::{TargetConfig, VqConfig},
    heads::{eagle::EagleConfig, eagle3::Eagle3Config},
};

use crate::{
    adam::Clip,
    head_loss::{HeadLoss, Redundancy},
    own_images::OwnImages,
};

/// Bytes of a training specification, at most.
pub(crate) const MAX_SPEC_BYTES: u64 = 4 << 20;

/// A whole training specification.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainSpec {
    /// Seeds initial weights, batch order and noise.
    pub seed: u64,
    /// Scenes rendered from the training seed, `0..n`.
    pub n_scenes: u64,
    /// Scenes held out from the validation seed, `0..n`.
    pub n_validation: u64,
    /// Threads, each with its own copy of the network; part of the result's identity.
    pub n_replicas: usize,
    /// The VQ tokenizer.
    pub tokenizer: TokenizerStage,
    /// The target transformer.
    pub target: TargetStage,
    /// The EAGLE-1 head.
    pub drafter: DrafterStage,
    /// Images of the target's own, on which the next two train.
    pub own_images: OwnImages,
    /// The EAGLE-1 head trained on, with and without CASCADE's weights.
    pub further: FurtherStage,
    /// The EAGLE-3 head.
    pub eagle3: Eagle3Stage,
    /// The network whose features fd-scenes compares.
    pub features: FeaturesStage,
}

/// Length and rate of a stage.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Number of optimiser steps.
    pub n_steps: u64,
    /// Samples a step, over all replicas.
    pub batch: u64,
    /// Peak learning rate; linear warm-up, then cosine to 2 % of it.
    pub learning_rate: f64,
    /// Warm-up steps.
    pub n_warmup: u64,
    /// Decoupled decay of matrices; vectors are not decayed.
    pub weight_decay: f64,
    /// What keeps gradients from being too large; absent: a length of at most 1.
    #[serde(default = "Clip::unit")]
    pub clip: Clip,
}

impl Schedule {
    /// Learning rate of the 0-based `step`.
    pub fn rate(&self, step: u64) -> f64 {
        if step < self.n_warmup {
            return self.learning_rate * (step + 1) as f64 / self.n_warmup as f64;
        }
        let done = (step - self.n_warmup) as f64 / (self.n_steps - self.n_warmup).max(1) as f64;
        let cosine = 0.5 * (1.0 + (std::f64::consts::PI * done.min(1.0)).cos());
        self.learning_rate * (0.02 + 0.98 * cosine)
    }
}

/// How the picture tokenizer is trained.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenizerStage {
    /// Length and rate.
    pub schedule: Schedule,
    /// Sizes.
    pub model: VqConfig,
    /// Weight of the squared error; higher keeps small objects.
    pub mse_weight: f64,
    /// Steps between looks for unused codes, over the first 70 % of the run.
    pub reseed_every: u64,
}

/// How the target is trained.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetStage {
    /// Length and rate.
    pub schedule: Schedule,
    /// Sizes.
    pub model: TargetConfig,
    /// Share of captions replaced by the null caption, for guidance.
    pub caption_dropout: f64,
    /// Cross-entropy weight of tokens whose patch touches an object; others weigh 1.
    pub object_weight: f64,
}

/// How the EAGLE-1 head is trained.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrafterStage {
    /// Length and rate.
    pub schedule: Schedule,
    /// Flags and sizes.
    pub model: EagleConfig,
    /// Draft depths unrolled in training (HASS, EAGLE-3's training-time test).
    pub depth: usize,
    /// Weight of depth `k` relative to depth `k - 1`.
    pub depth_decay: f64,
    /// Half-width of the uniform noise on true features.
    pub feature_noise: f64,
    /// Weight of the feature regression (smooth L1); the soft cross-entropies weigh 1.
    pub feature_weight: f64,
    /// Guidance scale at which the guided distributions of drafter and target are matched.
    pub guidance: f64,
    /// [`HeadLoss::hard_ce_weight`]; 0 where it is not given.
    #[serde(default)]
    pub hard_ce_weight: f64,
}

impl DrafterStage {
    /// Its loss, every slot weighing 1.
    pub fn loss(&self) -> HeadLoss {
        let &Self { depth, depth_decay, feature_weight, guidance, hard_ce_weight, .. } = self;
        let soft = HeadLoss::soft(depth, depth_decay, guidance);
        HeadLoss { feature_weight: Some(feature_weight), hard_ce_weight, ..soft }
    }
}

/// Training of the EAGLE-1 head beyond its first end; sizes, noise and loss are those of [`DrafterStage`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FurtherStage {
    /// Length and rate.
    pub schedule: Schedule,
    /// Threads of this stage; part of the result's identity.
    pub n_replicas: usize,
    /// Images of the target's own that it is trained on, after those that are held out.
    pub n_images: u64,
    /// CASCADE's weights; the plain head is trained with `c = 1`.
    pub redundancy: Redundancy,
}

/// Training of the EAGLE-3 head: soft cross-entropy alone, unrolled on its own predictions.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Eagle3Stage {
    /// Length and rate.
    pub schedule: Schedule,
    /// Threads of this stage; part of the result's identity.
    pub n_replicas: usize,
    /// Images of the target's own that it is trained on, after those that are held out.
    pub n_images: u64,
    /// Taps and sizes.
    pub model: Eagle3Config,
    /// Draft depths unrolled in training; 7 in the paper.
    pub depth: usize,
    /// Weight of depth `k` relative to depth `k - 1`; 0.8 in the paper.
    pub depth_decay: f64,
    /// Half-width of the uniform noise on the target's features; 0 in the paper.
    pub feature_noise: f64,
    /// Guidance scale at which the guided distributions of drafter and target are matched.
    pub guidance: f64,
    /// [`HeadLoss::hard_ce_weight`]; 0 where it is not given.
    #[serde(default)]
    pub hard_ce_weight: f64,
}

impl Eagle3Stage {
    /// The loss that trains the head.
    pub fn loss(&self) -> HeadLoss {
        let &Self { depth, depth_decay, guidance, hard_ce_weight, .. } = self;
        HeadLoss { hard_ce_weight, ..HeadLoss::soft(depth, depth_decay, guidance) }
    }
}

/// How the network of fd-scenes is trained.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeaturesStage {
    /// Length and rate.
    pub schedule: Schedule,
}

impl TrainSpec {
    /// Reads `path`.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = read_text(path, MAX_SPEC_BYTES)
            .with_context(|| format!("{}: cannot read the training specification", path.display()))?;
        let spec: Self = toml::from_str(&text).map_err(|error| {
            let (place, reason) =
                Places::file(&path.display().to_string(), &text).said(error.span(), error.message());
            anyhow::anyhow!("{place}: not a training specification: {reason}")
        })?;
        let n = spec.n_replicas;
        for (name, schedule, n_replicas) in [
            ("tokenizer", &spec.tokenizer.schedule, n),
            ("target", &spec.target.schedule, n),
            ("drafter", &spec.drafter.schedule, n),
            ("further", &spec.further.schedule, spec.further.n_replicas),
            ("eagle3", &spec.eagle3.schedule, spec.eagle3.n_replicas),
            ("features", &spec.features.schedule, n),
        ] {
            anyhow::ensure!(n_replicas >= 1, "{}: n_replicas must be at least 1", path.display());
            anyhow::ensure!(
                schedule.batch.is_multiple_of(n_replicas as u64) && schedule.batch > 0,
                "{}: {name}.schedule.batch is {}, expected a positive multiple of n_replicas ({n_replicas})",
                path.display(),
                schedule.batch,
            );
        }
        if let Err(reason) = spec.eagle3.model.check_taps(spec.target.model.n_layers) {
            anyhow::bail!("{}: eagle3.model.{reason}", path.display());
        }
        for (name, n) in [
            ("own_images.n_validation", spec.own_images.n_validation),
            ("further.n_images", spec.further.n_images),
            ("eagle3.n_images", spec.eagle3.n_images),
        ] {
            anyhow::ensure!(n > 0, "{}: {name} is 0, expected at least 1", path.display());
        }
        Ok(spec)
    }
}
