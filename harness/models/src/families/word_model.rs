//! A target over one vocabulary of words and picture codes: a caption in, codes with their structural tokens, a picture out.

use specimen_weights::LoadError;
use tch::{Device, Tensor};

use crate::{
    heads::{head_sources::OpenedHeads, llama_heads::Headed},
    llama::{padded::PromptRows, word_llama::WordLlama},
    picture::{
        grammar::ImageForm,
        pixels::{Rounding, picture},
    },
    seam::{
        loaded_model::{LoadedModel, WeightsId},
        model_error::ModelError,
        token_tables::{TokenTables, code_vectors, vectors_of},
    },
};

/// Rows of words before the image of a caption, with the row without it where guidance needs one.
pub(super) type RowsOf = Box<dyn Fn(&str, bool) -> Result<PromptRows, ModelError>>;
/// Codes `[1, rows, columns]`, i64, to `[1, 3, height, width]`.
pub(super) type Decode = Box<dyn Fn(&Tensor) -> Tensor>;

/// What such a target is made of.
pub(super) struct WordModel {
    pub(super) name: &'static str,
    pub(super) network: WordLlama,
    pub(super) form: ImageForm,
    pub(super) headed: Headed,
    pub(super) prompt: RowsOf,
    /// Vectors of the codes, `[n_codes, d_code]`.
    pub(super) codebook: Tensor,
    pub(super) decode: Decode,
    pub(super) heads: OpenedHeads,
    pub(super) weights: Vec<WeightsId>,
    pub(super) warnings: Vec<String>,
}

impl WordModel {
    /// The model that the runner takes, its codes decoded on `device`.
    pub(super) fn into_model(self, device: Device) -> Result<LoadedModel, LoadError> {
        let Self { name, network, form, headed, prompt, codebook, decode, heads, .. } = self;
        let (mut weights, mut warnings) = (self.weights, self.warnings);
        weights.extend(heads.weights);
        warnings.extend(heads.warnings);
        let tables = TokenTables::of_codebook(
            code_vectors(name, &codebook, form.n_structural())?,
            vectors_of(name, network.backbone().token_table())?,
        );
        Ok(LoadedModel {
            name,
            describe_head: headed.describe(network.backbone().clone()),
            n_tokens: form.n_tokens(),
            rows: form.picture_rows(),
            forced: form.forced(),
            heads: heads.heads,
            tables,
            prompt: Box::new(move |caption, sampling| {
                Ok(network.prefix(prompt(caption, sampling.guidance != 1.0)?))
            }),
            // Structural tokens are no codes.
            painter: Box::new(move |tokens| {
                let codes = Tensor::from_slice(&form.codes(tokens));
                let codes = codes.view([1, form.rows as i64, form.columns as i64]).to_device(device);
                picture(&decode(&codes).get(0), Rounding::Cut)
            }),
            weights,
            warnings,
            steps: None,
            cut: None,
        })
    }
}
