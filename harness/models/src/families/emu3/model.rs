//! Emu3-Gen as a target: a caption in, picture codes with their structural tokens, a picture out.

use specimen_catalog::hub::Places;
use specimen_weights::LoadError;
use tch::{Device, Kind};

use super::{
    Emu3Config, Emu3Names, Emu3Prompt, Emu3Vq, Emu3VqConfig, VqNames, prompt::words_of_tokens, tiktoken,
};
use crate::{
    families::{published::Published, text_tokenizer::TextTokenizer, word_model::WordModel},
    files::{
        placed::Placed,
        published_files::{find_all, of_tensors},
        several_files::SeveralFiles,
    },
    heads::head_sources::OpenedHeads,
    llama::word_llama::WordLlama,
    seam::{
        loaded_model::{LoadedModel, WeightsId},
        model_error::ModelError,
    },
};

/// A published Emu3: the transformer, the picture decoder and the text tokenizer, in this order. Nobody publishes a head; those
/// that it names are in folders of the model's below the data folder.
pub type Emu3Weights = Published<Emu3Config, Emu3VqConfig>;

/// A mark and a letter that are one word of the published tokenizer.
const ONE_WORD: &str = "(a";

/// An Emu3, read or made.
pub struct Emu3 {
    /// Its name in specs.
    pub name: &'static str,
    /// Its sizes.
    pub config: Emu3Config,
    /// The transformer.
    pub network: WordLlama,
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
            let shape = config.shape(names);
            let network = WordLlama::new(&mut Placed::new(files, kind, device), &shape, &tokens)?;
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
        let describe = config.headed().describe(network.backbone().clone());
        let heads = OpenedHeads::open(&which.heads, places, &describe, (kind, device))?;
        let prompt = Emu3Prompt::new(which.name, config, text)?;
        Ok(Self { name: which.name, config, network, prompt, vq, heads, weights, warnings })
    }

    /// The model that the runner takes, its codes decoded on `device`.
    pub fn into_model(self, device: Device) -> Result<LoadedModel, LoadError> {
        let Self { name, config, network, prompt, vq, heads, weights, warnings } = self;
        let model = WordModel {
            name,
            network,
            form: config.form(),
            headed: config.headed(),
            prompt: Box::new(move |caption, guided| prompt.rows(caption, guided)),
            codebook: vq.codebook().shallow_clone(),
            decode: Box::new(move |codes| vq.decode(codes)),
            heads,
            weights,
            warnings,
        };
        model.into_model(device)
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
