//! A Chameleon as a target: a caption in, image tokens, a picture out.

use std::rc::Rc;

use specimen_catalog::hub::Places;
use specimen_weights::{Checkpoint, LoadError};
use tch::{Device, Kind, Tensor};

use super::{
    ChameleonConfig, ChameleonImage, ChameleonNetwork, KeyLayout, ModelFiles, QkNormShape, Recipe,
    Vocabulary, Vqgan, heads,
};
use crate::{
    files::{placed::Placed, several_files::SeveralFiles},
    heads::head_sources::{HeadSource, OpenedHeads},
    llama::padded::Padding,
    picture::pixels::{Rounding, picture},
    seam::{
        loaded_model::{LoadedModel, Prefix, WeightsId},
        model_error::ModelError,
        token_tables::{TokenTables, code_vectors, vectors_of},
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
    /// Kind in which the embedding is stored.
    pub(super) stored: Kind,
    pub(super) heads: OpenedHeads,
    pub(super) weights: Vec<WeightsId>,
}

impl Chameleon {
    /// Reads `files` strictly, and the heads of `sources` that are in `places`; the transformer runs in `kind`, the picture
    /// decoder in f32.
    pub fn load(
        recipe: Recipe,
        files: &ModelFiles,
        (sources, places): (&[HeadSource], &Places),
        (kind, device): (Kind, Device),
    ) -> Result<Self, LoadError> {
        let _guard = tch::no_grad_guard();
        let vocabulary = Vocabulary::read(&files.tokenizer, recipe.form.n_codes)?;
        let (network, stored, mut weights) = load_network(&recipe, &vocabulary, files, kind, device)?;
        let mut checkpoint = Checkpoint::open(&files.picture, Some(Kind::Float), device)?;
        weights.push(id("picture", &checkpoint));
        let vqgan = Vqgan::new(&mut checkpoint, &recipe.vqgan)?;
        checkpoint.ignore(Vqgan::is_beside);
        checkpoint.finish()?;
        let network = Rc::new(network);
        let describe = heads::describe(network.clone(), stored);
        let heads = OpenedHeads::open(sources, places, &describe, (kind, device))?;
        Ok(Self { recipe, network, vocabulary, vqgan, stored, heads, weights })
    }

    /// The model that the runner takes, its prompts and codes on `device`.
    pub fn into_model(self, device: Device) -> Result<LoadedModel, LoadError> {
        let Self { recipe, network, vocabulary, vqgan, stored, heads, mut weights } = self;
        weights.extend(heads.weights);
        let (name, form) = (recipe.name, recipe.form);
        let tables = TokenTables::of_codebook(
            code_vectors(name, vqgan.codebook(), form.n_structural())?,
            vectors_of(name, &network.token_table())?,
        );
        Ok(LoadedModel {
            name,
            describe_head: heads::describe(network.clone(), stored),
            n_tokens: form.n_tokens(),
            rows: form.picture_rows(),
            forced: form.forced(),
            heads: heads.heads,
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
            warnings: heads.warnings,
            steps: None,
            cut: None,
        })
    }
}

/// The words before an image for `prompt`, on `device`; `guided`: with the rows without the prompt.
fn prefix(
    recipe: &Recipe,
    vocabulary: &Vocabulary,
    network: &Rc<ChameleonNetwork>,
    prompt: &str,
    (guided, device): (bool, Device),
) -> Result<Prefix, ModelError> {
    let unusable = |reason| crate::seam::model_error::prompt(recipe.name, reason);
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
    let image = ChameleonImage::new(network.clone(), Padding::new(prompt.n_pads));
    Ok(Prefix { backbone: Rc::new(image), slots })
}

/// A whole file as the part `role`.
fn id(role: &str, checkpoint: &Checkpoint) -> WeightsId {
    let file = checkpoint.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    WeightsId { role: role.into(), file, digest: checkpoint.digest().into() }
}

/// `config` with the shape of norms that a file has; `found` is the shape of its tensor `name`. Without that
/// tensor the configuration stays as it is, and reading will name what is missing.
pub(super) fn norms_of(
    config: ChameleonConfig,
    name: &str,
    found: Option<&[i64]>,
) -> Result<ChameleonConfig, String> {
    let Some(found) = found else { return Ok(config) };
    let known = QkNormShape::of(found).filter(|shape| {
        let rows = shape.shape(config.d_head)[..found.len() - 1].first().copied().unwrap_or(1);
        rows > 0 && config.n_heads % rows == 0
    });
    let Some(qk_norm) = known else {
        let ChameleonConfig { n_heads, d_head, .. } = config;
        return Err(format!(
            "tensor `{name}` has shape {found:?}, expected [{d_head}] or [rows, {d_head}] with rows that divide {n_heads} heads"
        ));
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
    let config = norms_of(config, &name, files_of_target.shape(&name))
        .map_err(|reason| LoadError::Config { path: files.target[0].clone(), reason })?;
    let stored = files_of_target.stored_kind(layout.embedding()).unwrap_or(kind);
    let mut placed = Placed::new(&mut files_of_target, kind, device);
    let network = ChameleonNetwork::new(&mut placed, &config, layout, &recipe.image_words(vocabulary)?)?;
    files_of_target.ignore(|name| layout.is_beside(name));
    let weights = files_of_target.ids("target");
    files_of_target.finish()?;
    Ok((network, stored, weights))
}
