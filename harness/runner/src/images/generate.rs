//! One image: prompt to tokens to pixels to a file, with a time for each named phase.

use std::path::Path;

use image::{ColorType, ImageEncoder, codecs::png::PngEncoder};
use specimen_decode::{
    clock::Clock, decoder::decode, method::MethodConfig, pipeline::Sampling, rng::Uniforms, trace::Decoded,
};
use specimen_models::seam::loaded_model::{LoadedModel, Picture};
use specimen_record::{Phases, write_atomic};

use crate::{error::RunError, images::method::method_on};

/// What to generate with.
pub struct Request<'a> {
    /// The target.
    pub model: &'a LoadedModel,
    /// The method.
    pub method: &'a MethodConfig,
    /// How logits become distributions.
    pub sampling: Sampling,
    /// The prompt; empty for unconditional models.
    pub prompt: &'a str,
    /// Key of the random source.
    pub seed: u64,
}

/// One generated image.
pub struct Generated {
    /// Tokens and traces.
    pub decoded: Decoded,
    /// The pixels.
    pub picture: Picture,
    /// Drafter forwards.
    pub n_draft_forwards: u64,
    /// Nanoseconds per phase; `save` is still 0.
    pub phases: Phases,
    /// Nanoseconds from the start of the prefill to the last token.
    pub decode_ns: u64,
    /// Nanoseconds from the prompt to the pixels.
    pub e2e_ns: u64,
}

/// Generates one image.
///
/// # Errors
/// A prompt or method that the model cannot take.
pub fn generate(request: &Request<'_>, clock: &dyn Clock) -> Result<Generated, RunError> {
    let Request { model, method, sampling, prompt, seed } = request;
    let started = clock.now_ns();
    let mut generation = model.open(prompt, sampling, method.max_tree_nodes())?;
    let opened = clock.now_ns();

    let (mut built, draft_time) = method_on(method, model, &generation)?;
    let ready = clock.now_ns();
    let uniforms = Uniforms::new(*seed).coupled(sampling.coupled);
    let decoded = decode(&mut built, &mut generation, &uniforms, clock);
    let done = clock.now_ns();
    let picture = model.picture(&decoded.tokens);
    let painted = clock.now_ns();

    let sum = |of: fn(&specimen_decode::trace::StepTrace) -> u64| decoded.steps.iter().map(of).sum::<u64>();
    let draft = draft_time.map_or(0, |time| time.ns());
    let phases = Phases {
        text_encode: opened - started,
        prefill: decoded.prefill_ns,
        draft,
        schedule: sum(|step| step.schedule_ns),
        target: sum(|step| step.target_ns),
        verify: sum(|step| step.verify_ns),
        // Growing the tree on the host is bookkeeping, not a forward.
        update: sum(|step| step.update_ns) + sum(|step| step.draft_ns).saturating_sub(draft),
        vq_decode: painted - done,
        save: 0,
    };
    let n_draft_forwards = decoded.steps.iter().map(|step| u64::from(step.n_draft_forwards)).sum();
    Ok(Generated {
        decode_ns: done - ready,
        e2e_ns: painted - started,
        decoded,
        picture,
        n_draft_forwards,
        phases,
    })
}

/// Writes `picture` to `path` as PNG, whole or not at all.
///
/// # Errors
/// A folder that cannot be written.
pub fn save(picture: &Picture, path: &Path) -> Result<(), RunError> {
    let mut bytes = Vec::new();
    PngEncoder::new(&mut bytes)
        .write_image(&picture.rgb, picture.width, picture.height, ColorType::Rgb8.into())
        .map_err(|e| RunError::io(path, "encode the image")(std::io::Error::other(e)))?;
    Ok(write_atomic(path, &bytes)?)
}
