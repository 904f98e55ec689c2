//! What makes a Chameleon a model with a name: the form of its images, how a prompt becomes a sequence, and what
//! is in the row without the prompt.

use serde::Deserialize;
use specimen_catalog::Entry;
use specimen_weights::LoadError;

use super::{ImageWords, Vocabulary, VqganConfig, names};
use crate::{
    llama::padded::PromptRows,
    picture::grammar::{Grammar, ImageForm},
};

/// How a caption becomes a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptFormat {
    /// A sentence around the caption. Without prompt the sequence begins with the image itself: its first two
    /// tokens are forced, so nothing is drawn before there is a context.
    Lumina,
    /// The caption itself. Without prompt its words are left out.
    Anole,
}

/// The sizes that the catalog has of a model; all others are in the files of the transformer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sizes {
    /// The model whose way of writing prompts and images it has.
    writes: PromptFormat,
    rows: usize,
    columns: usize,
}

/// A model of the family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// Its name in specs.
    pub name: &'static str,
    /// The sequence of its images.
    pub form: ImageForm,
    /// The sequence before them.
    pub prompt: PromptFormat,
    /// What draws them.
    pub vqgan: VqganConfig,
    /// Whether guidance has a third row, `u + 1.2 (i - u) + s (c - i)` with `s` 3 in Anole's own decoder, where `i`
    /// keeps of the prompt what begins a sequence or belongs to pictures. A prompt of text has no pictures: its row is
    /// the one without prompt, and the distribution is that of two rows.
    pub has_image_row: bool,
}

impl Recipe {
    /// The recipe of `model` in the catalog, whose pictures `vqgan` draws.
    ///
    /// # Panics
    /// If `model` has no sizes of this family, which the tests of the catalog's files exclude.
    pub fn of(model: &'static Entry, vqgan: VqganConfig) -> Self {
        let target = model.target.as_ref().expect("a Chameleon draws images");
        let sizes = target.sizes().unwrap_or_else(|error| panic!("{}: [target.sizes]: {error}", model.name));
        let Sizes { writes: prompt, rows, columns } = sizes;
        let grammar = match prompt {
            PromptFormat::Lumina => Grammar::Framed,
            PromptFormat::Anole => Grammar::Plain,
        };
        let form = ImageForm { grammar, rows, columns, n_codes: vqgan.n_codes as usize };
        Self { name: &model.name, form, prompt, vqgan, has_image_row: false }
    }

    /// The same under three-way guidance.
    pub fn with_image_row(self) -> Self {
        Self { has_image_row: true, ..self }
    }

    /// Width and height of a picture, in pixels.
    pub fn pixels(&self) -> [usize; 2] {
        [self.form.columns, self.form.rows].map(|n| n * self.vqgan.scale() as usize)
    }

    /// The words that are tokens of its images.
    pub fn image_words(&self, vocabulary: &Vocabulary) -> Result<ImageWords, LoadError> {
        let ImageForm { grammar, rows, columns, .. } = self.form;
        let size = |n_codes: usize| names::size(n_codes / 2);
        let mut structural = Vec::new();
        if grammar == Grammar::Framed {
            let mut all = vec![names::ROW_END.to_owned(), names::IMAGE_END.into(), names::IMAGE_BEGIN.into()];
            all.push(size(rows));
            all.extend((rows != columns).then(|| size(columns)));
            for name in all {
                structural.push(vocabulary.word(&name)?);
            }
        }
        Ok(ImageWords { codes: vocabulary.codes().to_vec(), structural })
    }

    /// The words before an image of `caption`; with a second row without it if `guided`, and a third of the prompt's
    /// pictures alone under three-way guidance.
    pub fn prompt_rows(
        &self,
        vocabulary: &Vocabulary,
        caption: &str,
        guided: bool,
    ) -> Result<Result<PromptRows, String>, LoadError> {
        let word = |name: &str| vocabulary.word(name);
        let (begin, turn_end) = (word(names::BEGIN)?, word(names::TURN_END)?);
        let (text, end, without) = match self.prompt {
            PromptFormat::Lumina => {
                let [width, height] = self.pixels();
                let sentence = format!(
                    "Generate an image of {width}x{height} according to the following prompt:\n{caption}"
                );
                (sentence, vec![turn_end], Vec::new())
            }
            PromptFormat::Anole => {
                let image_begin = word(names::IMAGE_BEGIN)?;
                (caption.to_owned(), vec![turn_end, image_begin], vec![begin, image_begin])
            }
        };
        let text = match vocabulary.encode(&text) {
            Ok(text) => text,
            Err(reason) => return Ok(Err(reason)),
        };
        let with = [vec![begin], text, end].concat();
        let mut rows = vec![with];
        if guided {
            rows.push(without);
            if self.has_image_row {
                let (opens, closes) = (word(names::IMAGE_BEGIN)?, word(names::IMAGE_END)?);
                let stays =
                    |id: &&i64| [begin, opens, closes].contains(id) || vocabulary.codes().contains(id);
                let pictures = rows[0].iter().filter(stays).copied().collect();
                rows.push(pictures);
            }
        }
        Ok(Ok(PromptRows::padded(rows, word(names::PADDING)?)))
    }
}
