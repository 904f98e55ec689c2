//! Token ids of captions, by the `tokenizer.json` that a model is published with.

use std::path::{Path, PathBuf};

use specimen_foundation::bounded_read::read_side_file;
use specimen_weights::LoadError;
use tokenizers::Tokenizer;

use crate::seam::loaded_model::WeightsId;

/// A tokenizer without truncation and padding: the models do both themselves.
pub struct TextTokenizer {
    path: PathBuf,
    digest: String,
    inner: Tokenizer,
}

impl TextTokenizer {
    /// Reads the file at `path`.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        let bytes =
            read_side_file(path).map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
        Self::of_bytes(path, &bytes)
    }

    /// Reads the JSON of a tokenizer; `path` stands for it in messages.
    pub fn of_bytes(path: &Path, json: &[u8]) -> Result<Self, LoadError> {
        let wrong = |reason: String| LoadError::Config { path: path.to_owned(), reason };
        let mut inner =
            Tokenizer::from_bytes(json).map_err(|e| wrong(format!("not a tokenizer.json: {e}")))?;
        inner.with_padding(None);
        inner.with_truncation(None).map_err(|e| wrong(e.to_string()))?;
        Ok(Self { path: path.to_owned(), digest: blake3::hash(json).to_hex().to_string(), inner })
    }

    /// The same, made of a file of another form whose blake3 is `digest`, hex.
    pub(crate) fn with_digest(self, digest: String) -> Self {
        Self { digest, ..self }
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `reason` as what is wrong with its file.
    pub fn unfit(&self, reason: String) -> LoadError {
        LoadError::Config { path: self.path.clone(), reason }
    }

    /// Its file, as the part `role` of a model.
    pub fn id(&self, role: &str) -> WeightsId {
        let file = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        WeightsId { role: role.to_owned(), file, digest: self.digest.clone() }
    }

    /// The ids of `text`, with what the tokenizer adds before and behind every text.
    pub fn encode(&self, text: &str) -> Result<Vec<i64>, String> {
        let encoding = self.inner.encode(text, true).map_err(|e| e.to_string())?;
        Ok(encoding.get_ids().iter().map(|&id| i64::from(id)).collect())
    }

    /// Words, those added to the vocabulary included.
    pub fn n_words(&self) -> i64 {
        self.inner.get_vocab_size(true) as i64
    }

    /// The id of the token `name`.
    pub fn special(&self, name: &str) -> Result<i64, LoadError> {
        let reason = || format!("it has no token `{name}`; is it the right model's?");
        self.inner.token_to_id(name).map(i64::from).ok_or_else(|| self.unfit(reason()))
    }
}
