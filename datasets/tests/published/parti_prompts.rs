//! PartiPrompts: 1,632 rows, 12 categories, 11 challenges, and the rows on which readers stumble.

use crate::presence;
use specimen_datasets::catalog::{OpenOptions, open};
use specimen_datasets::{Prompt, PromptSet};
use std::collections::BTreeMap;

fn opened(test: &str) -> Option<PromptSet> {
    let root = presence::root_with(test, &["parti/PartiPrompts.tsv"])?;
    Some(open("parti-prompts", &OpenOptions { root: Some(root), ..OpenOptions::default() }).unwrap())
}

fn counts(set: &PromptSet, value: fn(&Prompt) -> Option<&str>) -> Vec<(usize, String)> {
    let mut counts = BTreeMap::new();
    for prompt in set.prompts() {
        *counts.entry(value(prompt).unwrap().to_owned()).or_insert(0) += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().map(|(value, n)| (n, value)).collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts
}

fn check_counts(found: &[(usize, String)], expected: &[(usize, &str)]) {
    let found: Vec<_> = found.iter().map(|(n, value)| (*n, value.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn there_are_1632_rows_in_12_categories_and_11_challenges() {
    let Some(set) = opened("there_are_1632_rows_in_12_categories_and_11_challenges") else { return };
    assert_eq!(set.n_prompts(), 1_632);
    assert_eq!(set.prompts().iter().filter(|p| p.note.is_some()).count(), 190);
    check_counts(
        &counts(&set, |p| p.category.as_deref()),
        &[
            (314, "Animals"),
            (287, "Artifacts"),
            (214, "World Knowledge"),
            (177, "People"),
            (131, "Outdoor Scenes"),
            (124, "Illustrations"),
            (104, "Vehicles"),
            (74, "Food & Beverage"),
            (66, "Arts"),
            (51, "Abstract"),
            (50, "Produce & Plants"),
            (40, "Indoor Scenes"),
        ],
    );
    check_counts(
        &counts(&set, |p| p.challenge.as_deref()),
        &[
            (312, "Fine-grained Detail"),
            (272, "Basic"),
            (232, "Simple Detail"),
            (206, "Style & Format"),
            (150, "Imagination"),
            (113, "Complex"),
            (91, "Writing & Symbols"),
            (90, "Quantity"),
            (70, "Perspective"),
            (61, "Linguistic Structures"),
            (35, "Properties & Positioning"),
        ],
    );
}

#[test]
fn quotes_numbers_and_outer_blanks_are_kept() {
    let Some(set) = opened("quotes_numbers_and_outer_blanks_are_kept") else { return };
    let texts: Vec<&str> = set.prompts().iter().map(|p| p.text.as_str()).collect();
    // Lines of the file count from 1 and include the header, rows count from 0.
    assert!(texts[1562 - 2].starts_with("\"G I G G L E\" painted"));
    assert!(texts[406 - 2].starts_with(" A sloth in a go kart"));
    assert_eq!(set.prompts()[1562 - 2].id.as_str(), "1560");
    let all: String = texts.concat();
    let notes: String = set.prompts().iter().filter_map(|p| p.note.as_deref()).collect();
    assert_eq!(all.matches('"').count() + notes.matches('"').count(), 58);
    assert_eq!(texts.iter().filter(|text| text.trim() != **text).count(), 10);
    for number in ["0", "42", "101", "300"] {
        assert!(texts.contains(&number), "{number}");
    }
    assert_eq!(texts.iter().map(|text| text.chars().count()).max(), Some(389));
}
