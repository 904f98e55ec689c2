//! One image, or a batch: prompt to tokens to pixels to a file, with a time for each named phase.

use std::path::Path;

use image::{ColorType, ImageEncoder, codecs::png::PngEncoder};
use specimen_decode::{
    clock::Clock,
    decoder::{Decoding, Method, decode},
    method::MethodConfig,
    pipeline::Sampling,
    rng::Uniforms,
    trace::{Decoded, StepTrace},
    tree::TokenTree,
};
use specimen_models::seam::{
    batch::{BatchSize, score_together},
    draft_time::DraftTime,
    generation::ModelGeneration,
    loaded_model::{LoadedModel, Picture},
};
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
    /// Tokens of the prompt that the model left out.
    pub n_prompt_cut: u64,
    /// Nanoseconds per phase; `save` is still 0.
    pub phases: Phases,
    /// Nanoseconds from the start of the prefill to the last token.
    pub decode_ns: u64,
    /// Nanoseconds from the prompt to the pixels.
    pub e2e_ns: u64,
}

/// Generates one image.
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

    let around = Around {
        text_encode: opened - started,
        vq_decode: painted - done,
        decode_ns: done - ready,
        e2e_ns: painted - started,
    };
    let n_prompt_cut = model.n_cut(prompt);
    Ok(Generated { n_prompt_cut, ..generated(decoded, picture, draft_time.as_ref(), &around) })
}

/// What to generate together: images of one model, method and sampling.
pub struct BatchRequest<'a> {
    /// The target.
    pub model: &'a LoadedModel,
    /// The method; no frontier.
    pub method: &'a MethodConfig,
    /// How logits become distributions.
    pub sampling: Sampling,
    /// Prompt and key of the random source of the image in each lane.
    pub images: Vec<Option<(&'a str, u64)>>,
}

/// One image of a batch under way.
struct Lane<'u> {
    at: usize,
    method: Method,
    draft_time: Option<DraftTime>,
    generation: ModelGeneration,
    decoding: Decoding<'u>,
    tree: Option<TokenTree>,
}

/// Generates the images of a batch, each an equal share of its time; by lane, with what a lane could not be made for. Tokens do
/// not depend on what the other lanes hold.
pub fn generate_together(
    request: &BatchRequest<'_>,
    clock: &dyn Clock,
) -> Vec<Option<Result<Generated, RunError>>> {
    let &BatchRequest { model, method, ref sampling, ref images } = request;
    let started = clock.now_ns();
    let size = BatchSize { max_tree: method.max_tree_nodes(), max_step: method.max_step_tokens() };
    let prompts: Vec<Option<&str>> = images.iter().map(|image| Some(image.as_ref()?.0)).collect();
    let uniforms: Vec<Uniforms> = images
        .iter()
        .map(|image| Uniforms::new(image.map_or(0, |(_, seed)| seed)).coupled(sampling.coupled))
        .collect();
    let mut answers: Vec<Option<Result<Generated, RunError>>> = images.iter().map(|_| None).collect();
    let mut built = Vec::new();
    for (at, opened) in model.open_together(&prompts, sampling, size).into_iter().enumerate() {
        let Some(opened) = opened else { continue };
        let with_method = opened.map_err(RunError::from).and_then(|generation| {
            let (method, draft_time) = method_on(method, model, &generation)?;
            Ok((at, method, draft_time, generation))
        });
        match with_method {
            Ok(image) => built.push(image),
            Err(error) => answers[at] = Some(Err(error)),
        }
    }
    let ready = clock.now_ns();
    let begin = |(at, mut method, draft_time, mut generation): (usize, Method, _, ModelGeneration)| {
        let decoding = Decoding::begin(&mut method, &mut generation, &uniforms[at], clock);
        Lane { at, method, draft_time, generation, decoding, tree: None }
    };
    let mut lanes: Vec<Lane<'_>> = built.into_iter().map(begin).collect();
    while step_together(&mut lanes, clock) {}
    let done = clock.now_ns();
    let n = lanes.len().max(1) as u64;
    let made: Vec<_> = lanes
        .into_iter()
        .map(|lane| {
            let decoded = lane.decoding.finish(&lane.generation);
            (lane.at, model.picture(&decoded.tokens), decoded, lane.draft_time)
        })
        .collect();
    let painted = clock.now_ns();
    let around = Around {
        text_encode: (ready - started) / n,
        vq_decode: (painted - done) / n,
        decode_ns: (done - ready) / n,
        e2e_ns: (painted - started) / n,
    };
    for (at, picture, decoded, draft_time) in made {
        let n_prompt_cut = prompts[at].map_or(0, |prompt| model.n_cut(prompt));
        let made = generated(decoded, picture, draft_time.as_ref(), &around);
        answers[at] = Some(Ok(Generated { n_prompt_cut, ..made }));
    }
    answers
}

/// One forward for all images that have tokens to come; false once there is none.
fn step_together(lanes: &mut [Lane<'_>], clock: &dyn Clock) -> bool {
    for Lane { method, generation, decoding, tree, .. } in lanes.iter_mut() {
        *tree = decoding.ask(method, generation, clock);
    }
    let before = clock.now_ns();
    let mut asked: Vec<(&mut ModelGeneration, &TokenTree)> = lanes
        .iter_mut()
        .filter_map(|Lane { generation, tree, .. }| Some((generation, tree.as_ref()?)))
        .collect();
    if asked.is_empty() {
        return false;
    }
    let n = asked.len() as u64;
    let scores = score_together(&mut asked);
    let target_ns = (clock.now_ns() - before) / n;
    let answered = lanes.iter_mut().filter(|lane| lane.tree.is_some());
    for (Lane { method, generation, decoding, tree, .. }, scores) in answered.zip(scores) {
        let tree = tree.take().expect("it was asked for");
        decoding.answer(method, generation, (&tree, &*scores), target_ns, clock);
    }
    true
}

/// Times of an image besides those of its steps.
struct Around {
    text_encode: u64,
    vq_decode: u64,
    decode_ns: u64,
    e2e_ns: u64,
}

fn generated(
    decoded: Decoded,
    picture: Picture,
    draft_time: Option<&DraftTime>,
    around: &Around,
) -> Generated {
    let sum = |of: fn(&StepTrace) -> u64| decoded.steps.iter().map(of).sum::<u64>();
    let draft = draft_time.map_or(0, DraftTime::ns);
    let phases = Phases {
        text_encode: around.text_encode,
        prefill: decoded.prefill_ns,
        draft,
        schedule: sum(|step| step.schedule_ns),
        target: sum(|step| step.target_ns),
        verify: sum(|step| step.verify_ns),
        // Growing the tree on the host is bookkeeping, not a forward.
        update: sum(|step| step.update_ns) + sum(|step| step.draft_ns).saturating_sub(draft),
        vq_decode: around.vq_decode,
        save: 0,
    };
    let n_draft_forwards = decoded.steps.iter().map(|step| u64::from(step.n_draft_forwards)).sum();
    let &Around { decode_ns, e2e_ns, .. } = around;
    Generated { decoded, picture, n_draft_forwards, n_prompt_cut: 0, phases, decode_ns, e2e_ns }
}

/// Writes `picture` to `path` as PNG, whole or not at all.
pub fn save(picture: &Picture, path: &Path) -> Result<(), RunError> {
    let mut bytes = Vec::new();
    PngEncoder::new(&mut bytes)
        .write_image(&picture.rgb, picture.width, picture.height, ColorType::Rgb8.into())
        .map_err(|e| RunError::io(path, "encode the image")(std::io::Error::other(e)))?;
    Ok(write_atomic(path, &bytes)?)
}
