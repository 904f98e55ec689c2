//! A Chameleon as a target: a caption in, image tokens, a picture out; its EAGLE-1 head drafts.

use std::{
    cell::RefCell,
    path::Path,
    rc::{Rc, Weak},
};

use specimen_catalog::Entry;
use specimen_decode::{dist::TokenId, drafter::DraftModel, pipeline::Sampling};
use specimen_hub::Places;
use specimen_weights::{Checkpoint, LoadError, ParamSource};
use tch::{Device, Kind, Tensor};

use super::{
    ChameleonConfig, ChameleonHead, ChameleonImage, ChameleonNetwork, ImageHead, KeyLayout, ModelFiles,
    QkNormShape, Recipe, Source, Vocabulary, Vqgan,
    repeated::{Repeated, compare},
};
use crate::{
    draft_time::DraftTime,
    eagle_draft::EagleDraft,
    generation::ModelGeneration,
    padded::Padding,
    placed::Placed,
    published_files::AbsentHead,
    several_files::SeveralFiles,
    sidecar::Sidecar,
    target::{DrafterKind, ModelError, Picture, TargetModel, WeightsId},
    token_tables::{TokenTables, vectors_of},
};

/// The parts of a model, wherever they come from.
pub(super) struct Parts {
    pub(super) vocabulary: Vocabulary,
    pub(super) network: ChameleonNetwork,
    pub(super) vqgan: Vqgan,
    pub(super) head: Result<ChameleonHead, AbsentHead>,
    pub(super) weights: Vec<WeightsId>,
    pub(super) warnings: Vec<String>,
}

/// A loaded model.
pub struct ChameleonModel {
    recipe: Recipe,
    vocabulary: Vocabulary,
    network: Rc<ChameleonNetwork>,
    vqgan: Vqgan,
    head: Result<Rc<ChameleonHead>, AbsentHead>,
    tables: TokenTables,
    weights: Vec<WeightsId>,
    warnings: Vec<String>,
    device: Device,
    /// Images under way with the words of their prefix, `[b, n_prefix]`: a head continues from both.
    opened: RefCell<Vec<(Weak<ChameleonImage>, Tensor)>>,
}

impl ChameleonModel {
    /// Loads `files` strictly; the transformer runs in `kind`, the picture decoder in f32.
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
        Self::new(recipe, Parts { vocabulary, network, vqgan, head, weights, warnings }, device)
    }

    pub(super) fn new(recipe: Recipe, parts: Parts, device: Device) -> Result<Self, LoadError> {
        let Parts { vocabulary, network, vqgan, head, weights, warnings } = parts;
        let tables = TokenTables::of_codebook(
            vqgan.token_vectors(recipe.name, recipe.form.n_structural())?,
            vectors_of(recipe.name, &network.token_table())?,
        );
        Ok(Self {
            recipe,
            vocabulary,
            network: Rc::new(network),
            vqgan,
            head: head.map(Rc::new),
            tables,
            weights,
            warnings,
            device,
            opened: RefCell::default(),
        })
    }

    /// The transformer.
    #[must_use]
    pub fn network(&self) -> &Rc<ChameleonNetwork> {
        &self.network
    }

    /// What makes it this model.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The image that `generation` decodes, and the words of its prefix.
    fn image_of(&self, generation: &ModelGeneration) -> (Rc<ChameleonImage>, Tensor) {
        let wanted = Rc::as_ptr(generation.backbone()).cast::<()>();
        let mut opened = self.opened.borrow_mut();
        opened.retain(|(image, _)| image.strong_count() > 0);
        let found = opened.iter().find(|(image, _)| image.as_ptr().cast::<()>() == wanted);
        let (image, words) = found.expect("a drafter is asked of the model that opened the image");
        (image.upgrade().expect("images that are gone were just dropped"), words.shallow_clone())
    }

    fn refusal(&self, reason: String) -> ModelError {
        ModelError::Prompt { model: self.recipe.name.into(), reason }
    }
}

/// The published model that is `model` in the catalog, with the recipe that is made of it, from wherever its files are.
///
/// # Errors
/// Absent files, with all that are missing and where they were looked for; as [`ChameleonModel::load`].
///
/// # Panics
/// If `model` is no published one of the family.
pub fn open_published(
    model: &'static Entry,
    recipe: Recipe,
    places: &Places,
    kind: Kind,
    device: Device,
) -> Result<ChameleonModel, ModelError> {
    let files = Source::of(model).locate(places)?;
    Ok(ChameleonModel::load(recipe, &files, kind, device)?)
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

/// The head in the file `path`, what it was read from, and a warning where its embedding differs from the target's, which
/// is stored in `stored`, by rounding.
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

impl TargetModel for ChameleonModel {
    fn name(&self) -> &str {
        self.recipe.name
    }

    fn weights(&self) -> Vec<WeightsId> {
        self.weights.clone()
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn n_tokens(&self) -> usize {
        self.recipe.form.n_tokens()
    }

    fn open(
        &self,
        prompt: &str,
        sampling: &Sampling,
        max_tree: usize,
    ) -> Result<ModelGeneration, ModelError> {
        let _guard = tch::no_grad_guard();
        let guided = sampling.guidance != 1.0;
        let prompt = self.recipe.prompt_rows(&self.vocabulary, prompt, guided)?;
        let prompt = prompt.map_err(|reason| self.refusal(reason))?;
        let (n_rows, n_prefix) = (prompt.rows.len() as i64, prompt.rows[0].len() as i64);
        let (n_tokens, n_positions) = (self.n_tokens() as i64, self.network.config().n_positions);
        if n_positions < n_prefix + n_tokens {
            return Err(self.refusal(format!(
                "it is {n_prefix} words long, and with {n_tokens} image tokens only {n_positions} fit in all"
            )));
        }
        let words = Tensor::from_slice(&prompt.rows.concat()).view([n_rows, n_prefix]).to_device(self.device);
        let prefix = self.network.embed_words(&words);
        let image = Rc::new(ChameleonImage::new(self.network.clone(), Padding::new(prompt.n_pads), n_prefix));
        self.opened.borrow_mut().retain(|(image, _)| image.strong_count() > 0);
        self.opened.borrow_mut().push((Rc::downgrade(&image), words));
        let generation = ModelGeneration::new(image, *sampling, prefix, self.n_tokens(), max_tree);
        Ok(generation.with_forced(self.recipe.form.forced()))
    }

    fn drafter(
        &self,
        kind: &DrafterKind,
        generation: &ModelGeneration,
        max_run: usize,
    ) -> Result<(Box<dyn DraftModel>, DraftTime), ModelError> {
        let DrafterKind::Eagle1(None) = kind else {
            let (model, drafter) = (self.recipe.name.into(), kind.as_written());
            return Err(ModelError::Drafter { model, drafter, known: "eagle1".into() });
        };
        let head = self.head.as_ref().map_err(AbsentHead::refusal)?;
        let (image, words) = self.image_of(generation);
        let head = Rc::new(ImageHead::new(head.clone(), image, words));
        let time = DraftTime::new(generation.device());
        let draft = EagleDraft::new(head, generation, max_run, time.clone());
        Ok((Box::new(draft), time))
    }

    fn tables(&self) -> &TokenTables {
        &self.tables
    }

    /// Values are clamped to `[-1, 1]` and truncated to 8 bits, as in the published code.
    fn picture(&self, tokens: &[TokenId]) -> Picture {
        let _guard = tch::no_grad_guard();
        let form = &self.recipe.form;
        let codes = Tensor::from_slice(&form.codes(tokens)).view([1, form.rows as i64, form.columns as i64]);
        let pixels = self.vqgan.decode(&codes.to_device(self.device)).get(0).permute([1, 2, 0]);
        let pixels = (pixels.clamp(-1.0, 1.0) + 1.0) / 2.0 * 255.0;
        let pixels = pixels.to_kind(Kind::Uint8).contiguous().to_device(Device::Cpu);
        let mut rgb = vec![0_u8; pixels.numel()];
        let n = rgb.len();
        pixels.copy_data(&mut rgb, n);
        let [width, height] =
            self.recipe.pixels().map(|n| u32::try_from(n).expect("a picture's side is small"));
        Picture { width, height, rgb }
    }
}
