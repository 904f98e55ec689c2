//! A Chameleon as a target: a caption in, image tokens, a picture out; its EAGLE-1 head drafts.

use std::{any::Any, path::Path, rc::Rc};

use specimen_weights::{Checkpoint, LoadError, ParamSource};
use tch::{Device, Kind, Tensor};

use super::{
    ChameleonConfig, ChameleonHead, ChameleonImage, ChameleonNetwork, ImageHead, KeyLayout, ModelFiles,
    QkNormShape, Recipe, Vocabulary, Vqgan,
    repeated::{Repeated, compare},
    training,
};
use crate::{
    files::{placed::Placed, published_files::AbsentHead, several_files::SeveralFiles, sidecar::Sidecar},
    heads::{
        drafters::{DrafterKind, Heads, StartDraft},
        eagle_draft::EagleDraft,
    },
    llama::padded::Padding,
    picture::pixels::{Rounding, picture},
    seam::{
        loaded_model::{LoadedModel, Prefix, WeightsId},
        model_error::ModelError,
        token_tables::{TokenTables, vectors_of},
    },
};

/// A Chameleon, read or made.
pub struct Chameleon {
    /// What makes it this model.
    pub recipe: Recipe,
    /// The transformer and its embeddings.
    pub network: Rc<ChameleonNetwork>,
    pub(super) vocabulary: Vocabulary,
    pub(super) vqgan: Vqgan,
    /// The head that drafts for it, or where it was looked for.
    pub(super) head: Result<ChameleonHead, AbsentHead>,
    pub(super) weights: Vec<WeightsId>,
    pub(super) warnings: Vec<String>,
}

impl Chameleon {
    /// Reads `files` strictly; the transformer runs in `kind`, the picture decoder in f32.
    ///
    /// # Errors
    /// Damaged files, tensors that are missing, misshapen or left over, words that are missing.
    pub fn load(recipe: Recipe, files: &ModelFiles, kind: Kind, device: Device) -> Result<Self, LoadError> {
        let _guard = tch::no_grad_guard();
        let vocabulary = Vocabulary::read(&files.tokenizer, recipe.form.n_codes)?;
        let (network, stored, mut weights) = load_network(&recipe, &vocabulary, files, kind, device)?;
        let mut warnings = Vec::new();
        let mut checkpoint = Checkpoint::open(&files.picture, Some(Kind::Float), device)?;
        weights.push(id("picture", &checkpoint));
        let vqgan = Vqgan::new(&mut checkpoint, &recipe.vqgan)?;
        checkpoint.ignore(Vqgan::is_beside);
        checkpoint.finish()?;
        let head = match &files.head {
            Err(absent) => Err(absent.clone()),
            Ok(path) => {
                let (head, id, warning) = load_head(path, &network, stored, kind, device)?;
                weights.push(id);
                warnings.extend(warning);
                Ok(head)
            }
        };
        Ok(Self { recipe, network: Rc::new(network), vocabulary, vqgan, head, weights, warnings })
    }

    /// The model that the runner takes, its prompts and codes on `device`.
    ///
    /// # Errors
    /// A codebook or an embedding with an entry that is not finite.
    pub fn into_model(self, device: Device) -> Result<LoadedModel, LoadError> {
        let Self { recipe, network, vocabulary, vqgan, head, weights, warnings } = self;
        let (name, form) = (recipe.name, recipe.form);
        let mut heads = Heads::default();
        heads.add(DrafterKind::Eagle1(None), head.map(start_draft));
        let tables = TokenTables::of_codebook(
            vqgan.token_vectors(name, form.n_structural())?,
            vectors_of(name, &network.token_table())?,
        );
        Ok(LoadedModel {
            name,
            trainable: training::describe(name, network.clone()),
            n_tokens: form.n_tokens(),
            rows: form.picture_rows(),
            forced: form.forced(),
            heads,
            tables,
            prompt: Box::new(move |prompt, sampling| {
                prefix(&recipe, &vocabulary, &network, prompt, (sampling.guidance != 1.0, device))
            }),
            // Structural tokens are no codes.
            painter: Box::new(move |tokens| {
                let codes = Tensor::from_slice(&form.codes(tokens));
                let codes = codes.view([1, form.rows as i64, form.columns as i64]).to_device(device);
                picture(&vqgan.decode(&codes).get(0), Rounding::Cut)
            }),
            weights,
            warnings,
            steps: None,
        })
    }
}

/// Starts `head`, which continues from the words and the features of the prefix.
pub(super) fn start_draft(head: ChameleonHead) -> StartDraft {
    let head = Rc::new(head);
    Box::new(move |generation, max_run, time| {
        let backbone: Rc<dyn Any> = generation.backbone().clone();
        let image = backbone.downcast::<ChameleonImage>();
        let image = image.expect("a Chameleon's images are decoded by its own network");
        let head = Rc::new(ImageHead::new(head.clone(), image));
        Box::new(EagleDraft::new(head, generation, max_run, time))
    })
}

/// The words before an image for `prompt`, on `device`; `guided`: with the rows without the prompt.
fn prefix(
    recipe: &Recipe,
    vocabulary: &Vocabulary,
    network: &Rc<ChameleonNetwork>,
    prompt: &str,
    (guided, device): (bool, Device),
) -> Result<Prefix, ModelError> {
    let unusable = |reason| ModelError::Prompt { model: recipe.name.into(), reason };
    let prompt = recipe.prompt_rows(vocabulary, prompt, guided)?.map_err(unusable)?;
    let (n_rows, n_prefix) = (prompt.rows.len() as i64, prompt.rows[0].len() as i64);
    let (n_tokens, n_positions) = (recipe.form.n_tokens() as i64, network.config().n_positions);
    if n_positions < n_prefix + n_tokens {
        return Err(unusable(format!(
            "it is {n_prefix} words long, and with {n_tokens} image tokens only {n_positions} fit in all"
        )));
    }
    let words = Tensor::from_slice(&prompt.rows.concat()).view([n_rows, n_prefix]).to_device(device);
    let slots = network.embed_words(&words);
    let image = ChameleonImage::new(network.clone(), Padding::new(prompt.n_pads), words);
    Ok(Prefix { backbone: Rc::new(image), slots })
}

/// A whole file as the part `role`.
fn id(role: &str, checkpoint: &Checkpoint) -> WeightsId {
    let file = checkpoint.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    WeightsId { role: role.into(), file, digest: checkpoint.digest().into() }
}

/// `config` with the shape of norms that a file has; `found` is the shape of its tensor `name`. Without that
/// tensor the configuration stays as it is, and reading will name what is missing.
fn with_norms_of(
    config: ChameleonConfig,
    path: &Path,
    name: &str,
    found: Option<&[i64]>,
) -> Result<ChameleonConfig, LoadError> {
    let Some(found) = found else { return Ok(config) };
    let known = QkNormShape::of(found).filter(|shape| {
        let rows = shape.shape(config.d_head)[..found.len() - 1].first().copied().unwrap_or(1);
        rows > 0 && config.n_heads % rows == 0
    });
    let Some(qk_norm) = known else {
        let ChameleonConfig { n_heads, d_head, .. } = config;
        let reason = format!(
            "tensor `{name}` has shape {found:?}, expected [{d_head}] or [rows, {d_head}] with rows that divide {n_heads} heads"
        );
        return Err(LoadError::Config { path: path.to_owned(), reason });
    };
    Ok(ChameleonConfig { qk_norm, ..config })
}

/// The transformer, the kind its embedding is stored in, and what it was read from.
fn load_network(
    recipe: &Recipe,
    vocabulary: &Vocabulary,
    files: &ModelFiles,
    kind: Kind,
    device: Device,
) -> Result<(ChameleonNetwork, Kind, Vec<WeightsId>), LoadError> {
    let config = match &files.config {
        Some(path) => ChameleonConfig::read(path)?,
        None => ChameleonConfig::CHAMELEON_7B,
    };
    vocabulary.check_below(config.n_words)?;
    let mut files_of_target = SeveralFiles::open(&files.target)?;
    let is_meta = files_of_target.has(KeyLayout::Meta.embedding());
    let layout = if is_meta { KeyLayout::Meta } else { KeyLayout::Hf };
    let name = layout.first_query_norm();
    let config = with_norms_of(config, &files.target[0], &name, files_of_target.shape(&name))?;
    let stored = files_of_target.stored_kind(layout.embedding()).unwrap_or(kind);
    let mut placed = Placed::new(&mut files_of_target, kind, device);
    let network = ChameleonNetwork::new(&mut placed, &config, layout, &recipe.image_words(vocabulary)?)?;
    files_of_target.ignore(|name| layout.is_beside(name));
    let weights = files_of_target.ids("target");
    files_of_target.finish()?;
    Ok((network, stored, weights))
}

/// The head in the file `path`, what it was read from, and a warning where its embedding differs from the target's,
/// which is stored in `stored`, by rounding.
fn load_head(
    path: &Path,
    network: &ChameleonNetwork,
    stored: Kind,
    kind: Kind,
    device: Device,
) -> Result<(ChameleonHead, WeightsId, Option<String>), LoadError> {
    let mut checkpoint = Checkpoint::open(path, Some(kind), device)?;
    let name = ChameleonHead::first_query_norm();
    let config = with_norms_of(network.config().clone(), path, &name, checkpoint.shape(&name))?;
    let has_bias = checkpoint.shape("fc.bias").is_some();
    let upscale = Sidecar::beside(path)?.number("embed_upscale").unwrap_or(1.0);
    let head = ChameleonHead::new(&mut checkpoint, &config, has_bias)?.with_upscale(upscale);
    let (name, words) = (ChameleonHead::embedding_name(), network.word_table());
    let stored_here = checkpoint.stored_kind(name).unwrap_or(kind);
    let repeated = checkpoint.param(name, &words.size(), specimen_weights::Init::Constant(0.0))?;
    let kinds = format!("stored as {stored_here:?} here and as {stored:?} there");
    let warning = match compare(words, &repeated, [stored, stored_here]) {
        Repeated::Same => None,
        Repeated::Rounded(largest) => Some(format!(
            "{}: tensor `{name}` is the target's embedding but for rounding ({kinds}): they differ by at most \
             {largest:.1e}; the target's is used",
            path.display()
        )),
        Repeated::Other(largest) => {
            let reason = format!(
                "tensor `{name}` is not the target's embedding: they differ by up to {largest:.1e}, more than rounding \
                 explains ({kinds}); is it the head of another model?"
            );
            return Err(LoadError::Config { path: path.to_owned(), reason });
        }
    };
    let id = id("drafter", &checkpoint);
    checkpoint.finish()?;
    Ok((head, id, warning))
}
