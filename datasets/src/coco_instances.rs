//! Objects of COCO's images (`instances_val2017.json`): of which supercategories an image has objects. The file lists
//! categories (id, name, supercategory) and annotations (image, category); outlines and boxes are not read.

use crate::error::{DatasetError, Place, Result};
use crate::json::malformed_json;
use crate::read;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The supercategories of each image's objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supercategories {
    of_image: BTreeMap<u64, BTreeSet<String>>,
    n_annotations: usize,
}

#[derive(Deserialize)]
struct InstancesFile {
    categories: Vec<Category>,
    annotations: Vec<Instance>,
}

#[derive(Deserialize)]
struct Category {
    id: u64,
    supercategory: String,
}

#[derive(Deserialize)]
struct Instance {
    image_id: u64,
    category_id: u64,
}

impl Supercategories {
    /// Reads a file of instances, plain or gzipped.
    pub fn read(path: &Path) -> Result<Self> {
        let (text, _) = read::text(path)?;
        let file: InstancesFile =
            serde_json::from_str(&text).map_err(|e| malformed_json(path, &text, 0, &e))?;
        let mut name_of: BTreeMap<u64, &str> = BTreeMap::new();
        for (idx, category) in file.categories.iter().enumerate() {
            if category.supercategory.trim().is_empty() {
                let place = Place::Item(format!("categories[{idx}]"));
                return Err(DatasetError::malformed(path, place, "a supercategory", "a blank text"));
            }
            name_of.insert(category.id, &category.supercategory);
        }
        let mut of_image: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
        for (idx, instance) in file.annotations.iter().enumerate() {
            let Some(name) = name_of.get(&instance.category_id) else {
                let place = Place::Item(format!("annotations[{idx}]"));
                let found = format!("category_id {}, which is not there", instance.category_id);
                return Err(DatasetError::malformed(
                    path,
                    place,
                    "a category listed under `categories`",
                    found,
                ));
            };
            of_image.entry(instance.image_id).or_default().insert((*name).to_owned());
        }
        Ok(Self { of_image, n_annotations: file.annotations.len() })
    }

    /// Those of the image with this id, sorted; none for an image without objects.
    pub fn of_image(&self, id: &str) -> Vec<String> {
        let found = id.parse().ok().and_then(|id: u64| self.of_image.get(&id));
        found.into_iter().flatten().cloned().collect()
    }

    /// Objects in the file.
    pub fn n_annotations(&self) -> usize {
        self.n_annotations
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Supercategories> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("instances.json");
        std::fs::write(&path, text).unwrap();
        Supercategories::read(&path)
    }

    #[test]
    fn an_image_has_each_supercategory_of_its_objects_once() {
        let found = read_text(
            r#"{"categories": [{"id": 17, "name": "cat", "supercategory": "animal"},
                {"id": 18, "name": "dog", "supercategory": "animal"}, {"id": 2, "name": "bicycle", "supercategory": "vehicle"}],
                "annotations": [{"image_id": 139, "category_id": 17, "bbox": [1, 2, 3, 4]},
                {"image_id": 139, "category_id": 2}, {"image_id": 139, "category_id": 18},
                {"image_id": 285, "category_id": 2}]}"#,
        )
        .unwrap();
        assert_eq!(found.of_image("139"), ["animal", "vehicle"]);
        assert_eq!(found.of_image("285"), ["vehicle"]);
        assert!(found.of_image("1").is_empty() && found.of_image("x").is_empty());
        assert_eq!(found.n_annotations(), 4);
    }

    #[test]
    fn malformed_files_are_refused_with_their_place() {
        for (text, parts) in [
            (r#"{"categories": []}"#, ["annotations", "line 1"]),
            (
                r#"{"categories": [], "annotations": [{"image_id": 1, "category_id": 9}]}"#,
                ["annotations[0]", "category_id 9"],
            ),
            (
                r#"{"categories": [{"id": 1, "supercategory": ""}], "annotations": []}"#,
                ["categories[0]", "a blank text"],
            ),
        ] {
            let message = read_text(text).unwrap_err().to_string();
            for part in parts {
                assert!(message.contains(part), "`{part}` is not in `{message}`");
            }
        }
    }
}
