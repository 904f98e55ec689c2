//! Emu3-Gen as a target: a caption in, picture codes with their structural tokens, a picture out.

use std::rc::Rc;

use specimen_hub::Places;
use specimen_weights::LoadError;
use tch::{Device, Kind, Tensor};

use super::{
    Emu3Names, Emu3Network, Emu3Prompt, Emu3Vq, Emu3Weights, VqNames, heads, prompt::words_of_tokens,
    tiktoken,
};
use crate::{
    families::text_tokenizer::TextTokenizer,
    files::{
        placed::Placed,
        published_files::{find_all, of_tensors},
        several_files::SeveralFiles,
    },
    heads::head_sources::OpenedHeads,
    llama::padded::Padded,
    picture::pixels::{Rounding, picture},
    seam::{
        backbone::Backbone,
        loaded_model::{LoadedModel, Prefix, WeightsId},
        model_error::ModelError,
        token_tables::{TokenTables, code_vectors, vectors_of},
    },
};

/// A mark and a letter that are one word of the published tokenizer.
const ONE_WORD: &str = "(a";

/// An Emu3, read or made.
pub struct Emu3 {
    /// Its name in specs.
    pub name: &'static str,
    /// The transformer.
    pub network: Emu3Network,
    /// Its prompt format.
    pub prompt: Emu3Prompt,
    pub(super) vq: Emu3Vq,
    pub(super) heads: OpenedHeads,
    pub(super) weights: Vec<WeightsId>,
    /// What a user should know of its files, a sentence each.
    pub warnings: Vec<String>,
}

impl Emu3 {
    /// Reads published weights, found in `places`; the transformer runs in `kind`.
    ///
    /// # Errors
    /// Absent or damaged weights.
    pub fn open(
        which: &Emu3Weights,
        places: &Places,
        kind: Kind,
        device: Device,
    ) -> Result<Self, ModelError> {
        let _guard = tch::no_grad_guard();
        let [target, pictures, words]: [Vec<_>; 3] = find_all(places, which.name, &which.parts)?
            .try_into()
            .expect("a model of the family has three parts");
        let (config, is_in_one) = (which.config, target == pictures);
        let mut ids = Vec::new();
        let text = match words.as_slice() {
            [ranks, vision] => {
                let (text, second) = tiktoken::open([ranks, vision])?;
                ids.extend([text.id("text tokenizer"), second]);
                text
            }
            _ => {
                let text = TextTokenizer::open(&words[0])?;
                ids.push(text.id("text tokenizer"));
                text
            }
        };
        let tokens = words_of_tokens(&text, &config)?;
        let read_vq = |files: &mut SeveralFiles| {
            let names = VqNames::of_file(|name| files.has(name));
            let vq = Emu3Vq::new(&mut Placed::new(files, Kind::Float, device), &which.vq, names)?;
            files.ignore(|name| names.is_not_for_painting(name));
            Ok::<_, LoadError>(vq)
        };
        let ((network, vq), mut weights) = SeveralFiles::read(&of_tensors(target), "target", |files| {
            let names = Emu3Names::of_file(|name| files.has(name));
            let network = Emu3Network::new(&mut Placed::new(files, kind, device), &config, names, &tokens)?;
            let vq = if is_in_one { Some(read_vq(files)?) } else { None };
            files.ignore(VqNames::is_of_it);
            Ok((network, vq))
        })?;
        let vq = match vq {
            Some(vq) => vq,
            None => {
                let (vq, files) = SeveralFiles::read(&of_tensors(pictures), "picture decoder", |files| {
                    let vq = read_vq(files)?;
                    files.ignore(Emu3Names::is_of_it);
                    Ok(vq)
                })?;
                weights.extend(files);
                vq
            }
        };
        weights.extend(ids);
        let warnings = splits_otherwise(which.name, &text).into_iter().collect();
        let describe = heads::describe(config, network.backbone().clone());
        let heads = OpenedHeads::open(&which.heads, places, &describe, (kind, device))?;
        let prompt = Emu3Prompt::new(which.name, config, text)?;
        Ok(Self { name: which.name, network, prompt, vq, heads, weights, warnings })
    }

    /// The model that the runner takes, its codes decoded on `device`.
    ///
    /// # Errors
    /// A codebook or an embedding with an entry that is not finite.
    pub fn into_model(self, device: Device) -> Result<LoadedModel, LoadError> {
        let Self { name, network, prompt, vq, heads, mut weights, mut warnings } = self;
        weights.extend(heads.weights);
        warnings.extend(heads.warnings);
        let (config, form) = (*network.config(), network.config().form());
        let tables = TokenTables::of_codebook(
            code_vectors(name, vq.codebook(), form.n_structural())?,
            vectors_of(name, network.backbone().token_table())?,
        );
        Ok(LoadedModel {
            name,
            describe_head: heads::describe(config, network.backbone().clone()),
            n_tokens: form.n_tokens(),
            rows: form.picture_rows(),
            forced: form.forced(),
            heads: heads.heads,
            tables,
            prompt: Box::new(move |caption, sampling| {
                let rows = prompt.rows(caption, sampling.guidance != 1.0)?;
                let (slots, backbone) = (network.embed_words(&rows.rows), network.backbone().clone());
                let is_padded = rows.n_pads.iter().any(|&n| n > 0);
                let backbone: Rc<dyn Backbone> =
                    if is_padded { Rc::new(Padded::new(backbone, rows.n_pads)) } else { backbone };
                Ok(Prefix { backbone, slots })
            }),
            // Structural tokens are no codes.
            painter: Box::new(move |tokens| {
                let codes = Tensor::from_slice(&form.codes(tokens));
                let codes = codes.view([1, config.rows, config.columns]).to_device(device);
                picture(&vq.decode(&codes).get(0), Rounding::Cut)
            }),
            weights,
            warnings,
            steps: None,
        })
    }
}

/// What a user should know of a tokenizer that has a word for a mark with a letter and never finds it.
fn splits_otherwise(model: &str, text: &TextTokenizer) -> Option<String> {
    let word = text.special(ONE_WORD).ok()?;
    let found = text.encode(ONE_WORD).ok()?;
    (found != [word]).then(|| {
        format!(
            "the tokenizer of `{model}` in {} splits texts otherwise than its authors' (`{ONE_WORD}` is a word and comes out as \
             {} words), so some captions are other words; the authors' files are emu3.tiktoken and emu3_vision_tokens.txt of \
             BAAI/Emu3-Gen",
            text.path().display(),
            found.len()
        )
    })
}
