//! The set of prompts that a run works through.
//!
//! A set is in file order, its ids are unique, and its digest names exactly what the model was asked:
//! blake3 over the lines `id TAB text LF`, where backslash, tab, LF and CR in a text are written `\\`, `\t`,
//! `\n` and `\r` (83 COCO captions contain line breaks).

use crate::caption::CaptionPolicy;
use crate::error::{DatasetError, Place, Result};
use crate::prompt::{Prompt, PromptId};
use crate::read::SourceFile;
use serde::{Deserialize, Serialize};
use specimen_foundation::{digest::Digest, fail};
use std::collections::BTreeMap;
use std::path::Path;

/// The longest prompt a reader accepts, in bytes; more means that the file is not a list of prompts.
pub const MAX_PROMPT_BYTES: usize = 1 << 16;

/// Adds the id at `place` to those of `place_of`. Fails where it is there already.
pub(crate) fn check_once(
    path: &Path,
    place_of: &mut BTreeMap<PromptId, Place>,
    id: &PromptId,
    place: &Place,
) -> Result<()> {
    match place_of.insert(id.clone(), place.clone()) {
        None => Ok(()),
        Some(first) => {
            let (path, id, second) = (path.to_path_buf(), id.to_string(), place.clone());
            Err(crate::error::duplicate_id(&path, id, first, second))
        }
    }
}

/// The prompts of a run, in file order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptSet {
    // Invariant: `prompts` is not empty, its ids are unique, no text is blank unless all are empty,
    // `position_of` maps each id to its index and `digest` is that of `prompts`.
    name: String,
    caption: Option<CaptionPolicy>,
    sources: Vec<SourceFile>,
    prompts: Vec<Prompt>,
    position_of: BTreeMap<PromptId, usize>,
    digest: Digest,
}

/// What results record about a prompt set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The dataset's name, or the file name of a prompt file.
    pub name: String,
    /// Number of prompts, counted.
    pub n_prompts: usize,
    /// Digest of ids and texts.
    pub digest: Digest,
    /// The caption policy, where the dataset has several captions an image.
    pub caption: Option<CaptionPolicy>,
    /// The files that were read; empty for generated sets.
    pub sources: Vec<SourceFile>,
}

impl PromptSet {
    /// A set of prompts made by a program.
    pub fn new(name: &str, prompts: Vec<Prompt>) -> Result<Self> {
        let rows = prompts.into_iter().enumerate();
        let rows = rows.map(|(idx, prompt)| (Place::Item(format!("prompt {idx}")), prompt)).collect();
        Self::from_rows(name, Path::new(name), None, Vec::new(), rows)
    }

    /// `n` prompts without text for models that take none: ids `0` to `n - 1`.
    pub fn unconditional(name: &str, n: usize) -> Result<Self> {
        let prompts = (0..n as u64).map(|idx| Prompt::new(PromptId::number(idx), "")).collect();
        Self::assembled(name, Path::new(name), None, Vec::new(), prompts)
    }

    /// The rows of a file, each with its place for error messages. Fails as [`PromptSet::new`] does.
    pub(crate) fn from_rows(
        name: &str,
        path: &Path,
        caption: Option<CaptionPolicy>,
        sources: Vec<SourceFile>,
        rows: Vec<(Place, Prompt)>,
    ) -> Result<Self> {
        let mut place_of: BTreeMap<PromptId, Place> = BTreeMap::new();
        for (place, prompt) in &rows {
            if prompt.text.trim().is_empty() {
                return Err(crate::error::blank_prompt(path, place.clone()));
            }
            if prompt.text.len() > MAX_PROMPT_BYTES {
                let expected = format!("a prompt of at most {MAX_PROMPT_BYTES} bytes");
                let found = format!("{} bytes", prompt.text.len());
                return Err(DatasetError::malformed(path, place.clone(), expected, found));
            }
            check_once(path, &mut place_of, &prompt.id, place)?;
        }
        Self::assembled(name, path, caption, sources, rows.into_iter().map(|(_, prompt)| prompt).collect())
    }

    /// The same dataset with only some of its prompts, given by position in ascending order. Fails when
    /// nothing is left.
    pub(crate) fn restricted_to(&self, positions: &[usize]) -> Result<Self> {
        let prompts = positions.iter().map(|position| self.prompts[*position].clone()).collect();
        Self::assembled(&self.name, Path::new(&self.name), self.caption, self.sources.clone(), prompts)
    }

    /// The dataset's name, or the file name of a prompt file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Digest of ids and texts, see the module documentation.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The caption policy, where the dataset has several captions an image.
    pub fn caption(&self) -> Option<CaptionPolicy> {
        self.caption
    }

    /// The files that were read; empty for generated sets.
    pub fn sources(&self) -> &[SourceFile] {
        &self.sources
    }

    /// The prompts in file order, at least one.
    pub fn prompts(&self) -> &[Prompt] {
        &self.prompts
    }

    /// Number of prompts, at least 1.
    pub fn n_prompts(&self) -> usize {
        self.prompts.len()
    }

    /// The prompt with this id.
    pub fn get(&self, id: &PromptId) -> Option<&Prompt> {
        self.position_of.get(id).map(|position| &self.prompts[*position])
    }

    /// What results record about this set.
    pub fn provenance(&self) -> Provenance {
        Provenance {
            name: self.name.clone(),
            n_prompts: self.n_prompts(),
            digest: self.digest.clone(),
            caption: self.caption,
            sources: self.sources.clone(),
        }
    }

    fn assembled(
        name: &str,
        path: &Path,
        caption: Option<CaptionPolicy>,
        sources: Vec<SourceFile>,
        prompts: Vec<Prompt>,
    ) -> Result<Self> {
        if prompts.is_empty() {
            fail!(Missing: "{}: there are no prompts in it", path.display());
        }
        let position_of = prompts.iter().enumerate().map(|(idx, prompt)| (prompt.id.clone(), idx)).collect();
        let digest = digest_of(&prompts);
        Ok(Self { name: name.to_owned(), caption, sources, prompts, position_of, digest })
    }
}

fn digest_of(prompts: &[Prompt]) -> Digest {
    let mut lines = String::new();
    for prompt in prompts {
        lines.push_str(prompt.id.as_str());
        lines.push('\t');
        for c in prompt.text.chars() {
            match c {
                '\\' => lines.push_str("\\\\"),
                '\t' => lines.push_str("\\t"),
                '\n' => lines.push_str("\\n"),
                '\r' => lines.push_str("\\r"),
                c => lines.push(c),
            }
        }
        lines.push('\n');
    }
    Digest::of(lines.as_bytes())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    fn prompt(id: &str, text: &str) -> Prompt {
        Prompt::new(PromptId::new(id).unwrap(), text)
    }

    #[test]
    fn the_digest_is_that_of_the_escaped_lines() {
        let set = PromptSet::new("made", vec![prompt("7", "a\tb\n\\c"), prompt("x", " é ")]).unwrap();
        assert_eq!(*set.digest(), Digest::of("7\ta\\tb\\n\\\\c\nx\t é \n".as_bytes()));
        // blake3 of `1 TAB a LF`, with a blake3 written in Python for this test.
        assert_eq!(
            PromptSet::new("made", vec![prompt("1", "a")]).unwrap().digest().as_str(),
            "8f947240a1e90d1ecbef4fb37c0dbdc5cd92732c8f97d6af0cc0148b8654b6b6"
        );
    }

    #[test]
    fn sets_that_only_differ_in_where_a_line_breaks_have_different_digests() {
        let one = PromptSet::new("made", vec![prompt("1", "a\n2\tb")]).unwrap();
        let two = PromptSet::new("made", vec![prompt("1", "a"), prompt("2", "b")]).unwrap();
        assert_ne!(one.digest(), two.digest());
    }

    #[test]
    fn blank_duplicate_oversized_and_missing_prompts_are_refused() {
        let refused = |prompts| PromptSet::new("made", prompts).unwrap_err().to_string();
        assert!(
            refused(vec![prompt("1", "a"), prompt("2", " \t")]).contains("prompt 1: the prompt is blank")
        );
        assert!(
            refused(vec![prompt("1", "a"), prompt("1", "b")])
                .contains("id `1` is at prompt 0 and again at prompt 1")
        );
        assert!(refused(vec![prompt("1", &"a".repeat(70_000))]).contains("at most 65536 bytes"));
        assert!(refused(vec![]).contains("no prompts"));
        assert!(PromptSet::unconditional("unconditional", 0).is_err());
    }

    #[test]
    fn prompts_are_found_by_id_and_ids_are_text() {
        let set = PromptSet::new("made", vec![prompt("042", "a"), prompt("42", "b")]).unwrap();
        assert_eq!(set.get(&PromptId::number(42)).unwrap().text, "b");
        assert_eq!(set.get(&PromptId::number(7)), None);
    }
}
