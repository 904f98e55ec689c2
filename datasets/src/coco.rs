//! COCO captions: the official `captions_*.json`, plain or gzipped, and files in the same schema with fewer
//! captions. Neither `images` nor `annotations` is sorted by id, and the two orders differ.
//!
//! Papers differ in the caption they take for an image, and it matters (first and longest differ on 3,981
//! of the 5,000 images of val2017), so the policy is an option and results record it:
//! - `longest`: as LANTERN's code (arXiv 2410.03355): the most code points, untrimmed, compared with a
//!   strict `<` so that the first of equals wins; images in order of first appearance in `annotations`.
//! - `first`: the first in file order; same order of images.
//! - `sjd`: as the evaluation code of SJD (arXiv 2410.01699), **with its bug**: it means the longest, but
//!   running maximum and caption index are never reset between images (sorted by image id), so an image
//!   gets its caption number *k*, where *k* is the index at which the longest caption *so far over all
//!   images* stood. On val2017 that is caption 3 of every image from id 296634 on, and another caption
//!   than the longest on 4,035 of 5,000 images. Images in order of id.
//! - `all`: every annotation in file order.
//!
//! Prompt ids are image ids, for `all` annotation ids; `image_id` is always the image.

use crate::caption::CaptionPolicy;
use crate::error::{DatasetError, Place, Result};
use crate::json::malformed_json;
use crate::prompt::{Prompt, PromptId};
use crate::prompt_set::PromptSet;
use crate::read::{self, SourceFile};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A caption file, read and checked.
#[derive(Clone, Debug)]
pub struct CocoCaptions {
    // Invariant: annotation ids are unique and no caption is blank.
    path: PathBuf,
    source: SourceFile,
    annotations: Vec<Annotation>,
}

/// One caption.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Annotation {
    /// Annotation id, unique in the file.
    pub id: u64,
    /// The image that it describes.
    pub image_id: u64,
    /// The text, untrimmed; may contain line breaks.
    pub caption: String,
}

/// The parts of the file that are read; other keys (`info`, `licenses`, `type`) are ignored.
#[derive(Deserialize)]
struct CaptionFile {
    images: Option<Vec<Image>>,
    annotations: Vec<Annotation>,
}

#[derive(Deserialize)]
struct Image {
    id: u64,
}

impl CocoCaptions {
    /// Reads a caption file.
    pub fn read(path: &Path) -> Result<Self> {
        let (text, source) = read::text(path)?;
        let file: CaptionFile =
            serde_json::from_str(&text).map_err(|e| malformed_json(path, &text, 0, &e))?;
        let listed: Option<BTreeSet<u64>> = file.images.map(|images| images.iter().map(|i| i.id).collect());
        let mut place_of = BTreeMap::new();
        for (idx, annotation) in file.annotations.iter().enumerate() {
            let place = Place::Item(format!("annotations[{idx}]"));
            if annotation.caption.trim().is_empty() {
                return Err(crate::error::blank_prompt(path, place));
            }
            if listed.as_ref().is_some_and(|ids| !ids.contains(&annotation.image_id)) {
                let found = format!("image_id {}, which is not there", annotation.image_id);
                return Err(DatasetError::malformed(path, place, "an image listed under `images`", found));
            }
            if let Some(first) = place_of.insert(annotation.id, place.clone()) {
                return Err(crate::error::duplicate_id(path, annotation.id, first, place));
            }
        }
        Ok(Self { path: path.to_path_buf(), source, annotations: file.annotations })
    }

    /// The captions in file order.
    pub fn annotations(&self) -> &[Annotation] {
        &self.annotations
    }

    /// The annotations that a policy takes, in the policy's order.
    pub fn select(&self, policy: CaptionPolicy) -> Result<Vec<&Annotation>> {
        match policy {
            CaptionPolicy::Longest => {
                Ok(self.by_first_appearance().iter().map(|group| longest(group)).collect())
            }
            CaptionPolicy::First => Ok(self.by_first_appearance().iter().map(|group| group[0]).collect()),
            CaptionPolicy::Sjd => self.select_as_sjd(),
            CaptionPolicy::All => Ok(self.annotations.iter().collect()),
        }
    }

    /// The prompts that a policy takes, as a set called `name`.
    pub fn prompts(&self, name: &str, policy: CaptionPolicy) -> Result<PromptSet> {
        let row = |annotation: &Annotation| {
            let id = if policy == CaptionPolicy::All { annotation.id } else { annotation.image_id };
            let mut prompt = Prompt::new(PromptId::number(id), annotation.caption.clone());
            prompt.image_id = Some(PromptId::number(annotation.image_id));
            (Place::Item(format!("annotation {}", annotation.id)), prompt)
        };
        let rows = self.select(policy)?.into_iter().map(row).collect();
        PromptSet::from_rows(name, &self.path, Some(policy), vec![self.source.clone()], rows)
    }

    /// The captions of each image in file order; images in order of their first caption.
    fn by_first_appearance(&self) -> Vec<Vec<&Annotation>> {
        let mut group_of = BTreeMap::new();
        let mut groups: Vec<Vec<&Annotation>> = Vec::new();
        for annotation in &self.annotations {
            let group_idx = *group_of.entry(annotation.image_id).or_insert(groups.len());
            if group_idx == groups.len() {
                groups.push(Vec::new());
            }
            groups[group_idx].push(annotation);
        }
        groups
    }

    fn select_as_sjd(&self) -> Result<Vec<&Annotation>> {
        let mut groups = self.by_first_appearance();
        groups.sort_by_key(|group| group[0].image_id);
        let (mut n_chars_max, mut caption_idx) = (0, 0);
        let mut selected = Vec::with_capacity(groups.len());
        for group in groups {
            for (idx, annotation) in group.iter().enumerate() {
                let n_chars = annotation.caption.chars().count();
                if n_chars > n_chars_max {
                    (n_chars_max, caption_idx) = (n_chars, idx);
                }
            }
            let taken = group.get(caption_idx).ok_or_else(|| {
                DatasetError::malformed(
                    &self.path,
                    Place::Item(format!("image {}", group[0].image_id)),
                    format!(
                        "at least {} captions, because policy `sjd` is at caption {caption_idx}",
                        caption_idx + 1
                    ),
                    format!("{} captions", group.len()),
                )
            })?;
            selected.push(*taken);
        }
        Ok(selected)
    }
}

/// The caption with most code points; the first of equals.
fn longest<'a>(group: &[&'a Annotation]) -> &'a Annotation {
    let mut best = group[0];
    let mut n_chars_best = best.caption.chars().count();
    for annotation in &group[1..] {
        let n_chars = annotation.caption.chars().count();
        if n_chars_best < n_chars {
            (best, n_chars_best) = (annotation, n_chars);
        }
    }
    best
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    fn read(json: &str) -> Result<CocoCaptions> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("captions.json");
        std::fs::write(&path, json).unwrap();
        CocoCaptions::read(&path)
    }

    /// A file with these (image id, annotation id, caption) rows in this order.
    fn captions(rows: &[(u64, u64, &str)]) -> CocoCaptions {
        let row = |(image_id, id, caption): &(u64, u64, &str)| serde_json::json!({"image_id": image_id, "id": id, "caption": caption});
        let annotations: Vec<_> = rows.iter().map(row).collect();
        read(&serde_json::json!({ "annotations": annotations }).to_string()).unwrap()
    }

    fn check_selects(rows: &[(u64, u64, &str)], policy: CaptionPolicy, expected: &[u64]) {
        let file = captions(rows);
        let ids: Vec<u64> = file.select(policy).unwrap().iter().map(|a| a.id).collect();
        assert_eq!(ids, expected, "{policy}");
    }

    #[test]
    fn the_longest_caption_wins_and_images_keep_the_order_of_their_first_caption() {
        let rows = [(9, 1, "aa"), (3, 2, "aaa"), (9, 3, "aaaa"), (3, 4, "a")];
        check_selects(&rows, CaptionPolicy::Longest, &[3, 2]);
        check_selects(&rows, CaptionPolicy::First, &[1, 2]);
        check_selects(&rows, CaptionPolicy::All, &[1, 2, 3, 4]);
    }

    #[test]
    fn the_first_of_equally_long_captions_wins() {
        check_selects(&[(1, 5, "abc"), (1, 6, "xyz"), (1, 7, "abc")], CaptionPolicy::Longest, &[5]);
    }

    #[test]
    fn outer_blanks_count_towards_the_length() {
        check_selects(&[(1, 5, "abc"), (1, 6, "a \n "), (1, 7, "abcd")], CaptionPolicy::Longest, &[6]);
    }

    #[test]
    fn length_is_counted_in_code_points_and_not_in_bytes() {
        check_selects(&[(1, 5, "ééé"), (1, 6, "abcd")], CaptionPolicy::Longest, &[6]);
        check_selects(&[(1, 5, "🙂🙂🙂"), (1, 6, "abcd")], CaptionPolicy::Longest, &[6]);
    }

    #[test]
    fn the_first_caption_is_that_of_the_file_and_not_of_the_lowest_id() {
        check_selects(&[(1, 9, "a"), (1, 2, "b")], CaptionPolicy::First, &[9]);
    }

    /// Image 10 sets the record at its caption 1; image 20 never beats it and is stuck at 1 although its
    /// longest is 0; image 30 sets a new record at caption 2.
    #[test]
    fn sjd_never_resets_its_maximum_or_its_index_between_images() {
        let rows = [
            (30, 1, "a"),
            (20, 2, "aaaa"),
            (10, 3, "aa"),
            (10, 4, "aaaaaa"),
            (20, 5, "a"),
            (30, 6, "aa"),
            (30, 7, "aaaaaaa"),
            (20, 8, "aa"),
        ];
        check_selects(&rows, CaptionPolicy::Sjd, &[4, 5, 7]);
        check_selects(&rows, CaptionPolicy::Longest, &[7, 2, 4]);
    }

    #[test]
    fn sjd_stops_at_an_image_with_too_few_captions_for_its_stuck_index() {
        let file = captions(&[(1, 1, "a"), (1, 2, "aaa"), (2, 3, "aa")]);
        let message = file.select(CaptionPolicy::Sjd).unwrap_err().to_string();
        assert!(message.contains("image 2") && message.contains("at least 2 captions"), "{message}");
    }

    #[test]
    fn prompts_are_named_by_image_or_by_annotation_when_all_are_taken() {
        let file = captions(&[(9, 1, " a\nb "), (9, 2, "c")]);
        let ids = |policy| -> Vec<(String, String)> {
            let set = file.prompts("made", policy).unwrap();
            assert_eq!(set.caption(), Some(policy));
            let ids = |p: &Prompt| (p.id.to_string(), p.image_id.clone().unwrap().to_string());
            set.prompts().iter().map(ids).collect()
        };
        assert_eq!(ids(CaptionPolicy::Longest), [("9".into(), "9".into())]);
        assert_eq!(ids(CaptionPolicy::All), [("1".into(), "9".into()), ("2".into(), "9".into())]);
        assert_eq!(file.prompts("made", CaptionPolicy::First).unwrap().prompts()[0].text, " a\nb ");
    }

    fn check_refused(json: &str, expected_in_message: &[&str]) {
        let message = match read(json) {
            Ok(file) => file.prompts("made", CaptionPolicy::Longest).unwrap_err().to_string(),
            Err(error) => error.to_string(),
        };
        for part in expected_in_message {
            assert!(message.contains(part), "`{part}` is not in `{message}`");
        }
    }

    #[test]
    fn malformed_files_are_refused_with_their_place() {
        check_refused(
            "{\"annotations\": [\n {\"image_id\": 1,, ",
            &["captions.json", "line 2, column 17", "found"],
        );
        check_refused("{\"annotations\": [", &["the end after `{\"annotations\": [`"]);
        check_refused("[]", &["line 1"]);
        check_refused("{\"images\": []}", &["`annotations` is missing"]);
        check_refused("{\"annotations\": []}", &["no prompts"]);
        check_refused("", &["line 1, column 1", "EOF"]);
        check_refused(
            "{\"annotations\": [{\"image_id\": 1, \"id\": 2}]}",
            &["line 1, column", "`caption` is missing"],
        );
        check_refused(
            "{\"annotations\": [{\"image_id\": \"1\", \"id\": 2, \"caption\": \"a\"}]}",
            &["found the text \"1\", expected a whole number of at least 0"],
        );
        check_refused(
            "{\"annotations\": [{\"image_id\": 1, \"id\": 2, \"caption\": \" \\n\"}]}",
            &["annotations[0]: the prompt is blank"],
        );
        check_refused(
            "{\"images\": [{\"id\": 3}], \"annotations\": [{\"image_id\": 1, \"id\": 2, \"caption\": \"a\"}]}",
            &["annotations[0]", "listed under `images`", "image_id 1"],
        );
        check_refused(
            "{\"annotations\": [{\"image_id\": 1, \"id\": 2, \"caption\": \"a\"}, \
             {\"image_id\": 4, \"id\": 2, \"caption\": \"b\"}]}",
            &["id `2` is at annotations[0] and again at annotations[1]"],
        );
    }
}
