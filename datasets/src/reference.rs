//! Pairing what was generated with what it is compared to: by id, never by order.
//!
//! Code in the field zips naturally sorted file names with a list of captions; one image that is missing
//! shifts every pair behind it, silently. Here an id without a partner is reported by name.

use crate::error::{DatasetError, Result, Unpaired};
use crate::image_folder::ImageFolder;
use crate::prompt::{Prompt, PromptId};
use crate::prompt_set::PromptSet;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The outcome of pairing two sides: the pairs, and what has no partner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairing<L, R> {
    /// Pairs in the order of the side that sets it (see the functions that pair).
    pub pairs: Vec<Pair<L, R>>,
    /// What is left over on either side.
    pub unpaired: Unpaired,
}

/// Two things with one id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair<L, R> {
    /// The prompt's id (the image's id when two image folders are paired).
    pub id: PromptId,
    /// From the left side.
    pub left: L,
    /// From the right side.
    pub right: R,
}

impl<L, R> Pairing<L, R> {
    /// The pairs when both sides are complete; otherwise an error that lists the ids without a partner.
    ///
    /// # Errors
    /// The ids without a partner, of both sides.
    pub fn complete(self) -> Result<Vec<Pair<L, R>>> {
        if self.unpaired.left_only.is_empty() && self.unpaired.right_only.is_empty() {
            Ok(self.pairs)
        } else {
            Err(DatasetError::Unpaired(Box::new(self.unpaired)))
        }
    }
}

/// Generated images and reference images of the same id, in the order of the generated ones.
#[must_use]
pub fn generated_with_reference<'a>(
    generated: &'a ImageFolder,
    reference: &'a ImageFolder,
) -> Pairing<&'a Path, &'a Path> {
    let left = generated.entries().iter().map(|e| (e.id.clone(), e.id.clone(), e.path.as_path()));
    pair(["generated images", "reference images"], left, by_id(reference))
}

/// Prompts and the images generated for them, in the order of the prompts.
#[must_use]
pub fn prompts_with_generated<'a>(
    prompts: &'a PromptSet,
    generated: &'a ImageFolder,
) -> Pairing<&'a Prompt, &'a Path> {
    let left = prompts.prompts().iter().map(|p| (p.id.clone(), p.id.clone(), p));
    pair(["prompts", "generated images"], left, by_id(generated))
}

/// Prompts and the reference images that they describe, in the order of the prompts: by a prompt's
/// `image_id`, or by its id where it has none. Several prompts may share an image.
#[must_use]
pub fn prompts_with_reference<'a>(
    prompts: &'a PromptSet,
    reference: &'a ImageFolder,
) -> Pairing<&'a Prompt, &'a Path> {
    let left =
        prompts.prompts().iter().map(|p| (p.id.clone(), p.image_id.as_ref().unwrap_or(&p.id).clone(), p));
    pair(["prompts", "reference images"], left, by_id(reference))
}

fn by_id(images: &ImageFolder) -> Vec<(PromptId, &Path)> {
    images.entries().iter().map(|entry| (entry.id.clone(), entry.path.as_path())).collect()
}

/// Pairs each left item (own id, id of its partner, item) with the right item of the partner's id. Ids on
/// the right are unique. Pairs and the left's leftovers are in the left's order.
fn pair<L, R: Copy>(
    [left_name, right_name]: [&str; 2],
    left: impl Iterator<Item = (PromptId, PromptId, L)>,
    right: Vec<(PromptId, R)>,
) -> Pairing<L, R> {
    let right_of: BTreeMap<&PromptId, R> = right.iter().map(|(id, item)| (id, *item)).collect();
    let (mut pairs, mut left_only, mut used) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (id, partner_id, item) in left {
        match right_of.get(&partner_id) {
            Some(partner) => {
                pairs.push(Pair { id, left: item, right: *partner });
                used.insert(partner_id);
            }
            None => left_only.push(partner_id.to_string()),
        }
    }
    let right_only = right.iter().map(|(id, _)| id).filter(|id| !used.contains(*id)).map(PromptId::to_string);
    let unpaired = Unpaired {
        left: left_name.to_owned(),
        right: right_name.to_owned(),
        n_paired: pairs.len(),
        left_only,
        right_only: right_only.collect(),
    };
    Pairing { pairs, unpaired }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    fn images(names: &[&str]) -> (tempfile::TempDir, ImageFolder) {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let scanned = ImageFolder::scan(folder.path()).unwrap();
        (folder, scanned)
    }

    fn prompts(rows: &[(u64, Option<u64>)]) -> PromptSet {
        let row = |(id, image_id): &(u64, Option<u64>)| {
            let mut prompt = Prompt::new(PromptId::number(*id), format!("text {id}"));
            prompt.image_id = image_id.map(PromptId::number);
            prompt
        };
        PromptSet::new("made", rows.iter().map(row).collect()).unwrap()
    }

    fn names(pairing: &Pairing<&Prompt, &Path>) -> Vec<(String, String)> {
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        pairing.pairs.iter().map(|pair| (pair.left.text.clone(), name(pair.right))).collect()
    }

    /// Natural sorting and zipping would give `text 10` the image of prompt 9 here.
    #[test]
    fn a_missing_image_leaves_the_other_pairs_alone() {
        let set = prompts(&[(8, None), (9, None), (10, None)]);
        let (_folder, generated) = images(&["prompt_10.png", "prompt_8.png"]);
        let pairing = prompts_with_generated(&set, &generated);
        let expected = [("text 8", "prompt_8.png"), ("text 10", "prompt_10.png")];
        assert_eq!(names(&pairing), expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
        assert_eq!(pairing.unpaired.left_only, ["9"]);
        let message = pairing.complete().unwrap_err().to_string();
        assert!(message.contains("2 pairs; 1 prompts without a partner in generated images: 9"), "{message}");
    }

    #[test]
    fn leftovers_on_both_sides_are_reported_by_id() {
        let (_a, generated) = images(&["1.png", "2.png", "4.png"]);
        let (_b, reference) = images(&["000002.jpg", "000003.jpg"]);
        let pairing = generated_with_reference(&generated, &reference);
        assert_eq!(pairing.pairs.len(), 1);
        assert_eq!(pairing.pairs[0].id.as_str(), "2");
        assert_eq!(pairing.unpaired.left_only, ["1", "4"]);
        assert_eq!(pairing.unpaired.right_only, ["3"]);
        assert_eq!(generated_with_reference(&generated, &generated).complete().unwrap().len(), 3);
    }

    #[test]
    fn several_captions_share_their_photo() {
        let set = prompts(&[(70, Some(5)), (71, Some(6)), (72, Some(5)), (6, None)]);
        let (_folder, reference) = images(&["000005.jpg", "000006.jpg"]);
        let pairs = prompts_with_reference(&set, &reference).complete().unwrap();
        let found: Vec<_> = pairs.iter().map(|p| (p.id.as_str(), p.right.file_name().unwrap())).collect();
        let expected =
            [("70", "000005.jpg"), ("71", "000006.jpg"), ("72", "000005.jpg"), ("6", "000006.jpg")];
        assert_eq!(found, expected.map(|(id, name)| (id, std::ffi::OsStr::new(name))));
    }

    #[test]
    fn a_long_list_of_missing_ids_is_cut_in_the_message_and_not_in_the_error() {
        let rows: Vec<_> = (0..50).map(|id| (id, None)).collect();
        let (_folder, generated) = images(&["0.png"]);
        let DatasetError::Unpaired(unpaired) =
            prompts_with_generated(&prompts(&rows), &generated).complete().unwrap_err()
        else {
            panic!("expected the ids without a partner");
        };
        assert_eq!(unpaired.left_only.len(), 49);
        assert!(unpaired.to_string().ends_with("1, 2, 3, 4, 5, 6, 7, 8 and 41 more"), "{unpaired}");
    }
}
