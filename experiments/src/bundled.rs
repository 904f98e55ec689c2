//! The specs of this repository, inside the program: they can be listed, copied and run where no checkout is.

use serde::Serialize;
use toml::Value;

use crate::{error::SpecError, parse::SpecText, prompts::published_number, spec::Spec};

/// One spec of `experiments/specs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundledSpec {
    /// Its path below `experiments/specs` without the ending: `quickstart`, `paper/cascade_table1_tiny`.
    pub name: &'static str,
    /// Its text, TOML.
    pub text: &'static str,
}

/// All of them, in the order of their names.
pub const BUNDLED: &[BundledSpec] = &include!(concat!(env!("OUT_DIR"), "/specs.rs"));

/// What a list of specs says of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SpecSummary {
    /// Its name in the program.
    pub name: &'static str,
    /// The question, or what it shows: the first sentence of its analysis.
    pub question: String,
    /// Tables of published numbers that its cells are compared with.
    pub published: Vec<String>,
    /// Models, in the order of the cells.
    pub models: Vec<String>,
    /// Name of the dataset.
    pub dataset: String,
    /// Cells, axes multiplied out.
    pub n_cells: usize,
    /// Images over all cells; absent where the dataset's size is known only when it is read.
    pub n_images: Option<usize>,
    #[serde(skip)]
    methods: Vec<String>,
}

/// What the specs in the program ask, in the order of their names.
pub fn summaries() -> Result<Vec<SpecSummary>, SpecError> {
    let summary = |spec: &BundledSpec| {
        let resolved = SpecText::parse(spec.name, spec.text)?.resolve()?;
        Ok(SpecSummary::of(spec.name, &resolved))
    };
    BUNDLED.iter().map(summary).collect()
}

impl SpecSummary {
    fn of(name: &'static str, spec: &Spec) -> Self {
        let n_prompts = published_number(&spec.dataset);
        let samples = usize::try_from(spec.dataset.samples).expect("usize has at least 32 bits");
        let mut models: Vec<String> = spec.cells.iter().map(|cell| cell.model.name.clone()).collect();
        models.dedup();
        let mut published: Vec<String> =
            spec.published.iter().map(|row| row.from.trim_end_matches(".csv").to_owned()).collect();
        published.dedup();
        Self {
            name,
            question: first_sentence(&spec.analysis),
            published,
            models,
            dataset: spec.dataset.name.clone(),
            n_cells: spec.cells.len(),
            n_images: n_prompts.map(|n| n * samples * spec.cells.len()),
            methods: spec
                .cells
                .iter()
                .map(|cell| format!("{} {}", cell.name, cell.method.canonical()))
                .collect(),
        }
    }

    /// Whether `word` is in its name, question, dataset, models, methods or tables of published numbers, in any case.
    pub fn mentions(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        let texts = [self.name, &self.question, &self.dataset].into_iter();
        let texts = texts
            .chain([&self.published, &self.models, &self.methods].into_iter().flatten().map(String::as_str));
        texts.into_iter().any(|text| text.to_lowercase().contains(&word))
    }
}

/// Up to the first full stop that ends a sentence, on one line.
fn first_sentence(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let ends = line.match_indices(". ").map(|(at, _)| at);
    // `Fig. 4` and `i.e. x` go on; a sentence is followed by a capital letter or a digit that no abbreviation explains.
    let end = ends.into_iter().find(|&at| {
        let starts_anew = line[at + 2..].starts_with(char::is_uppercase);
        starts_anew && !line[..at].ends_with("Fig")
    });
    end.map_or_else(|| line.trim_end_matches('.').to_owned(), |end| line[..end].to_owned())
}

/// The spec of a name, which may be shortened to its last part (`cascade_table1_tiny`): no two specs share one.
pub fn bundled(name: &str) -> Option<&'static BundledSpec> {
    BUNDLED.iter().find(|spec| spec.name == name || last_part(spec.name) == name)
}

impl BundledSpec {
    /// The names of its cells as written, axes not multiplied out.
    pub fn cell_names(&self) -> Vec<String> {
        self.cells().filter_map(|cell| cell.get("name")?.as_str().map(str::to_owned)).collect()
    }

    /// What it says of the cell `name` besides its name, as an inline table has it: `, drafter = { … }`; empty for plain
    /// decoding, `None` where no cell has the name.
    pub fn cell(&self, name: &str) -> Option<String> {
        let cell = self.cells().find(|cell| cell.get("name").and_then(Value::as_str) == Some(name))?;
        let keys = cell.iter().filter(|(key, _)| *key != "name");
        Some(keys.map(|(key, value)| format!(", {key} = {value}")).collect())
    }

    fn cells(&self) -> impl Iterator<Item = toml::Table> {
        let spec: toml::Table = self.text.parse().expect("a test resolves every spec in the program");
        let cells = match spec.get("cell") {
            Some(Value::Array(cells)) => cells.clone(),
            _ => Vec::new(),
        };
        cells.into_iter().filter_map(|cell| cell.as_table().cloned())
    }
}

/// The name without its folder.
pub fn last_part(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, last)| last)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_first_sentence_ends_where_another_begins() {
        for (text, expected) in [
            ("One. Two.", "One"),
            ("Only\none.", "Only one"),
            ("CASCADE Fig. 4, at full size. More.", "CASCADE Fig. 4, at full size"),
            ("Twin of Fig. Four words. More.", "Twin of Fig. Four words"),
            ("Above 0.5 it is, e.g. here. So.", "Above 0.5 it is, e.g. here"),
            ("", ""),
        ] {
            assert_eq!(first_sentence(text), expected, "{text:?}");
        }
    }

    #[test]
    fn every_file_is_in_the_program_and_resolves() {
        for spec in BUNDLED {
            let path = format!("{}/specs/{}.toml", env!("CARGO_MANIFEST_DIR"), spec.name);
            assert_eq!(spec.text, std::fs::read_to_string(&path).unwrap(), "{path}");
            SpecText::parse(&path, spec.text).unwrap().resolve().unwrap();
        }
        assert!(BUNDLED.len() >= 40, "{}", BUNDLED.len());
    }

    #[test]
    fn a_spec_is_found_by_its_name_or_the_last_part_of_it() {
        assert_eq!(bundled("quickstart").unwrap().name, "quickstart");
        assert_eq!(bundled("paper/cascade_table1_tiny"), bundled("cascade_table1_tiny"));
        assert!(bundled("cascade_table1_tiny").is_some());
        assert_eq!(bundled("cascade"), None);
        let last: BTreeSet<&str> = BUNDLED.iter().map(|spec| last_part(spec.name)).collect();
        assert_eq!(last.len(), BUNDLED.len(), "two specs share the last part of their names");
    }
}
