//! What a training of a head will take, before anything runs: images, tokens, steps, disk, and the time of a GPU.

use std::fmt;

use serde::Serialize;
use specimen_catalog::entry;
use specimen_experiments::{
    bandwidth::{DEVICES, Device},
    estimate::{human_bytes, human_time},
};
use specimen_models::{catalog::sizes, heads::described_head::HeadKind};

use crate::{
    head_spec::HeadSpec,
    memory_estimate::{OfTraining, TrainingMemory},
    model_images::TOKEN_BYTES,
};

/// What a training will take.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrainingEstimate {
    /// Name of the training.
    pub name: String,
    /// The target.
    pub model: String,
    /// Kind of the head, as specs write it.
    pub head: &'static str,
    /// Images that the target draws, held-out ones included.
    pub n_images: u64,
    /// Those that are held out.
    pub n_held_out: u64,
    /// Tokens of an image.
    pub n_tokens: u64,
    /// Tokens that the target draws.
    pub n_drawn: u64,
    /// Optimiser steps.
    pub n_steps: u64,
    /// Images of a step.
    pub batch: u64,
    /// Tokens that the head is trained on, a token of an image once a pass; both guidance rows count as one.
    pub n_trained: u64,
    /// What it writes at most.
    pub disk: Disk,
    /// Bytes of an export of the target's features; `None` where the catalog does not say what the model keeps.
    pub features: Option<u64>,
    /// What it takes on its device; `None` where the catalog does not say.
    pub memory: Option<TrainingMemory>,
    /// Time by device; empty on a CPU, and where the catalog does not say what the model reads.
    pub time: Vec<TrainingTime>,
}

/// Bytes on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Disk {
    /// Of the images.
    pub images: u64,
    /// Of the saved state, while the next one is written beside it; `None` where the size of the head is unknown.
    pub state: Option<u64>,
    /// Of the head.
    pub head: Option<u64>,
}

/// Time on one device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrainingTime {
    /// The device.
    pub device: &'static str,
    /// Seconds of drawing the images.
    pub draw_s: f64,
    /// Seconds of the steps.
    pub train_s: f64,
}

/// Share of a device's peak arithmetic that training is taken to reach.
const SHARE_OF_PEAK: f64 = 0.3;

/// What [`TrainingTime`] takes for granted, in words.
pub const ASSUMED: &str = "images are drawn one after the other at the limit of memory, as in the bound of an experiment; \
                           steps reach 30 % of the device's peak (bf16, dense), for each token and row with 2 operations a \
                           parameter of the target, and for each draft 6 a parameter of the head, 8 where the draft is \
                           made twice";

/// Bytes of a parameter in the state: the f32 master copy and two moments.
const STATE_BYTES: u64 = 12;

impl TrainingEstimate {
    /// What the training by `spec` takes with `n_prompts` prompts; `None` where its model is no model of the catalog.
    pub fn of(spec: &HeadSpec, n_prompts: u64) -> Option<Self> {
        let (model, target) = entry::target(&spec.model.name)?;
        let samples = u64::from(spec.dataset.samples);
        let (n_images, n_tokens) = (n_prompts * samples, target.n_tokens as u64);
        let head = spec.rest.head.kind().as_written();
        let of_head = model.head(head, None).and_then(|name| entry(name).ok()?.memory);
        let n_parameters = of_head.and_then(|memory| memory.n_parameters.get().copied());
        let schedule = &spec.rest.schedule;
        let n_trained = schedule.n_steps * schedule.batch * n_tokens;
        let n_drawn = n_images * n_tokens;
        let n_bytes = spec.model.dtype.n_bytes();
        let n_rows: u32 = if spec.sampling.guidance == 1.0 { 1 } else { 2 };
        let work = (spec.model.device != "cpu").then(|| {
            let streamed = model.memory?.n_streamed? as f64;
            let depth = spec.rest.loss.depth as f64;
            // Every draft but the last is made twice.
            let of_head = 6.0 * depth + 2.0 * (depth - 1.0);
            let operations = 2.0 * streamed + of_head * n_parameters? as f64;
            let read = n_drawn as f64 * model.streamed_bytes(n_bytes)? as f64;
            Some((read, n_trained as f64 * f64::from(n_rows) * operations))
        });
        let time = work.flatten().map_or_else(Vec::new, |(read, operations)| {
            let of = |device: &Device| TrainingTime {
                device: device.name,
                draw_s: read / device.bytes_per_second,
                train_s: operations / (SHARE_OF_PEAK * device.operations_per_second),
            };
            DEVICES.iter().map(of).collect()
        });
        // The catalog has keys and values of all layers in 16 bits, for two sequences.
        let n_rows = u64::from(n_rows);
        let placed = sizes(&spec.model.name).and_then(|sizes| {
            let of_position = 2 * 2 * 2 * sizes.n_layers * sizes.d_keys;
            Some((sizes, model.memory?.kv_bytes.get()? / of_position))
        });
        let features = placed.map(|(sizes, n_positions)| {
            let n_streams = if spec.rest.head.kind() == HeadKind::Eagle3 { 4 } else { 1 };
            let stream = n_positions * sizes.d_model * n_rows * n_bytes;
            n_images * (stream * n_streams + n_tokens * TOKEN_BYTES)
        });
        let memory = placed.and_then(|(sizes, n_positions)| {
            let training = OfTraining {
                target: spec.model.need(None, spec.model.dtype)?.total(),
                n_parameters: n_parameters?,
                n_bytes,
                n_rows,
                n_tokens,
                n_positions,
                depth: spec.rest.loss.depth as u64,
            };
            Some(TrainingMemory::of(&sizes, &training))
        });
        Some(Self {
            features,
            memory,
            name: spec.rest.name.clone(),
            model: model.name.clone(),
            head,
            n_images,
            n_held_out: (spec.rest.n_validation as u64 * samples).min(n_images),
            n_tokens,
            n_drawn,
            n_steps: schedule.n_steps,
            batch: schedule.batch,
            n_trained,
            disk: Disk {
                images: n_drawn * TOKEN_BYTES,
                state: n_parameters.map(|n| 2 * STATE_BYTES * n),
                head: n_parameters.map(|n| n * n_bytes),
            },
            time,
        })
    }
}

impl Disk {
    /// All of it; `None` where a part is unknown.
    pub fn total(&self) -> Option<u64> {
        Some(self.images + self.state? + self.head?)
    }
}

impl fmt::Display for TrainingEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n_images, n_held_out, n_tokens, n_drawn, n_steps, batch, n_trained, disk, .. } = self;
        writeln!(f, "train   {}: {} for {}", self.name, self.head, self.model)?;
        writeln!(
            f,
            "images  {n_images}, {n_held_out} held out, of {n_tokens} tokens: {n_drawn} tokens to draw"
        )?;
        let n_passes = (n_steps * batch) as f64 / (n_images - n_held_out).max(1) as f64;
        writeln!(
            f,
            "steps   {n_steps} of {batch} images: {n_trained} tokens, {n_passes:.1} passes over the images"
        )?;
        match disk.total() {
            Some(bytes) => {
                let (images, state) = (human_bytes(disk.images), human_bytes(disk.state.unwrap_or(0)));
                writeln!(f, "disk    at most {}: images {images}, state {state}", human_bytes(bytes))?;
            }
            None => writeln!(
                f,
                "disk    {} of images; the size of the head is not in the catalog",
                human_bytes(disk.images)
            )?,
        }
        match self.features {
            Some(bytes) => writeln!(
                f,
                "        about {} more if the target's features are exported ({} an image)",
                human_bytes(bytes),
                human_bytes(bytes / (*n_images).max(1))
            )?,
            None => writeln!(
                f,
                "        features, if exported: the catalog does not say; the export does before it begins"
            )?,
        }
        if let Some(memory) = &self.memory {
            let TrainingMemory { target, head, graph, kept } = *memory;
            let parts = [target, head, graph, kept].map(human_bytes);
            let [target, head, graph, kept] = parts;
            writeln!(
                f,
                "memory  about {}: target {target}, head with its state {head}, the graph of one draft {graph}, kept \
                 between drafts {kept}",
                human_bytes(memory.total())
            )?;
        }
        for TrainingTime { device, draw_s, train_s } in &self.time {
            let (all, draw, train) =
                (human_time(draw_s + train_s), human_time(*draw_s), human_time(*train_s));
            writeln!(f, "time    {all} ({device}): {draw} to draw, {train} to train")?;
        }
        if self.time.is_empty() {
            return writeln!(
                f,
                "time    unknown: it runs on a CPU, or the catalog does not say what the model reads"
            );
        }
        writeln!(f, "        assumed: {ASSUMED}")
    }
}
