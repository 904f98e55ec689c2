//! Features of captions, made once and kept: in memory, and on disk where there is a folder for them. Decoding is
//! timed without the encoder, which runs when an image is opened.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    rc::Rc,
};

use specimen_weights::{Checkpoint, write_safetensors};
use tch::{Device, Kind, Tensor};

use super::{T5Config, T5Encoder, clean_caption};
use crate::{families::text_tokenizer::TextTokenizer, seam::loaded_model::PromptCut};

/// Name of the one tensor of a kept file.
const TENSOR: &str = "features";
/// Captions held in memory: more than the prompts of a block, which every cell asks for again.
const N_HELD: usize = 512;

/// Why a caption has no features.
#[derive(Debug, thiserror::Error)]
pub enum CaptionError {
    /// It cannot be split into words, in words.
    #[error("{0}")]
    Unusable(String),
    /// They cannot be written to the folder in which they are kept.
    #[error("its features cannot be kept in {folder}: {source}")]
    NotKept {
        /// Path of the folder.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Kept features of one encoder.
pub struct FeatureStore {
    folder: PathBuf,
    kind: Kind,
}

impl FeatureStore {
    /// Below `cache`, apart for every encoder (`digests` of its weights and of its tokenizer, its configuration) and
    /// every kind. Below that, apart for every number of slots: it says where a long caption is cut.
    pub fn new(cache: &Path, digests: &[String], config: &T5Config, kind: Kind) -> Self {
        let digest = blake3::hash(format!("{} {config:?}", digests.join(" ")).as_bytes()).to_hex();
        Self { folder: cache.join("captions").join(format!("{}-{kind:?}", &digest[..16])), kind }
    }

    /// Of a cleaned caption and the slots it is cut to.
    fn file(&self, (caption, n_slots): (&str, i64)) -> PathBuf {
        let name = format!("{}.safetensors", blake3::hash(caption.as_bytes()).to_hex());
        self.folder.join(format!("slots-{n_slots}")).join(name)
    }

    /// What is kept of a cleaned caption, `[n, d]`. A file that is not whole is made again.
    fn read(&self, of: (&str, i64), d_model: i64) -> Option<Tensor> {
        let file = self.file(of);
        if !file.is_file() {
            return None;
        }
        let mut checkpoint = Checkpoint::open(&file, Some(self.kind), Device::Cpu).ok()?;
        let n = *checkpoint.shape(TENSOR)?.first()?;
        checkpoint.take(TENSOR, &[n, d_model]).ok()
    }

    /// Keeps the features of a cleaned caption; a worker that writes the same at the same time writes the same bytes.
    fn write(&self, of: (&str, i64), features: &Tensor) -> Result<(), CaptionError> {
        let file = self.file(of);
        let tensors = BTreeMap::from([(TENSOR.to_owned(), features.to_device(Device::Cpu))]);
        fs::create_dir_all(file.parent().expect("a file is in a folder"))
            .and_then(|()| write_safetensors(&file, &tensors))
            .map_err(|source| CaptionError::NotKept { folder: self.folder.clone(), source })
    }
}

/// The way from captions to features.
pub struct CaptionFeatures {
    tokenizer: Rc<TextTokenizer>,
    encoder: T5Encoder,
    store: Option<FeatureStore>,
    /// By cleaned caption and number of slots.
    held: RefCell<BTreeMap<(String, i64), Rc<Tensor>>>,
}

impl CaptionFeatures {
    /// Features by `encoder`, kept in `store` too if there is one.
    pub fn new(tokenizer: TextTokenizer, encoder: T5Encoder, store: Option<FeatureStore>) -> Self {
        Self { tokenizer: Rc::new(tokenizer), encoder, store, held: RefCell::default() }
    }

    /// How many words of a caption are left out where it is cut to `n_slots` with its end.
    pub fn cut(&self, n_slots: i64) -> PromptCut {
        cut_of(self.tokenizer.clone(), n_slots)
    }

    /// The features of `caption`, cleaned and cut to `n_slots` words with its end, `[n, d]`.
    pub fn of(&self, caption: &str, n_slots: i64) -> Result<Rc<Tensor>, CaptionError> {
        let key = (clean_caption(caption), n_slots);
        if let Some(held) = self.held.borrow().get(&key) {
            return Ok(held.clone());
        }
        let caption = key.0.as_str();
        let d_model = self.encoder.config().d_model;
        let kept = self.store.as_ref().and_then(|store| store.read((caption, n_slots), d_model));
        let features = match kept {
            Some(kept) => kept,
            None => {
                let words = self.words(caption, n_slots).map_err(CaptionError::Unusable)?;
                let made = self.encoder.encode(&words);
                if let Some(store) = &self.store {
                    store.write((caption, n_slots), &made)?;
                }
                made
            }
        };
        let features = Rc::new(features);
        let mut held = self.held.borrow_mut();
        if N_HELD <= held.len() {
            held.clear();
        }
        held.insert(key, features.clone());
        Ok(features)
    }

    /// Word ids of a cleaned caption; one that is too long loses words before its end.
    fn words(&self, caption: &str, n_slots: i64) -> Result<Vec<i64>, String> {
        let mut words = self.tokenizer.encode(caption)?;
        let n_words = self.encoder.config().n_words;
        if let Some(foreign) = words.iter().find(|&&word| n_words <= word) {
            return Err(format!("its word id {foreign} is not among the encoder's {n_words}"));
        }
        let end = *words.last().ok_or("the tokenizer adds no end to an empty caption")?;
        if n_slots < words.len() as i64 {
            words.truncate(n_slots as usize - 1);
            words.push(end);
        }
        Ok(words)
    }
}

/// How many words by `tokenizer` a caption loses where it is cut to `n_slots` with its end; none of one that cannot be split.
pub(crate) fn cut_of(tokenizer: Rc<TextTokenizer>, n_slots: i64) -> PromptCut {
    Box::new(move |caption| {
        let n_words = tokenizer.encode(&clean_caption(caption)).map_or(0, |words| words.len());
        (n_words as u64).saturating_sub(n_slots.unsigned_abs())
    })
}
