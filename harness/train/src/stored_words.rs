//! Words inside a file of tensors that say what it was made for. A file is only taken up again under the same words.

use specimen_foundation::fail;
use specimen_weights::{Checkpoint, LoadError};
use tch::Tensor;

/// `words` as a tensor of a file, UTF-8.
pub(crate) fn tensor_of(words: &str) -> Tensor {
    Tensor::from_slice(words.as_bytes())
}

/// The words that the tensor `name` of `file` has; `None` where it has none.
pub(crate) fn words_of(file: &mut Checkpoint, name: &str) -> Result<Option<String>, LoadError> {
    let n = file.shape(name).and_then(|shape| shape.first().copied()).unwrap_or(0);
    if n == 0 {
        return Ok(None);
    }
    let bytes = Vec::<u8>::try_from(file.take(name, &[n])?).unwrap_or_default();
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Refuses a file that has other words under `name` than `expected`.
pub(crate) fn check_words(file: &mut Checkpoint, name: &str, expected: &str) -> anyhow::Result<()> {
    let found = words_of(file, name)?.unwrap_or_else(|| "nothing it tells of".to_owned());
    if found == expected {
        return Ok(());
    }
    let (path, expected) = (file.path().to_owned(), expected.to_owned());
    fail!(Missing: "{}: it was made for {found}; expected: {expected}. Remove it to begin again, or use \
        another folder", path.display())
}
