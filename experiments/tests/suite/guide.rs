//! The guide to specs (docs/specs.md) names every key that a spec may have, and its example is one.

use std::path::Path;

use specimen_decode::{
    method::{DRAFTER_KEYS, FRONTIER_KEYS, RULE_KEYS, RULE_KINDS, SCHEDULE_KEYS},
    trees::NAMED_TREES,
};
use specimen_experiments::{
    names::{self, DIAGNOSTICS},
    parse::SpecText,
};

fn guide() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/specs.md")).unwrap()
}

/// The blocks of TOML in the guide, in their order.
fn examples(guide: &str) -> Vec<&str> {
    guide.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_first_example_is_a_spec_with_a_cell_for_each_value() {
    let guide = guide();
    let spec = SpecText::parse("docs/specs.md", examples(&guide)[0]).unwrap().resolve().unwrap();
    let names: Vec<&str> = spec.cells.iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!(names, ["ar", "exact", "casc[tau_pos=0.6]", "casc[tau_pos=0.85]", "casc[tau_pos=0.95]"]);
}

#[test]
fn the_example_of_a_metric_can_be_added_to_it() {
    let guide = guide();
    let [whole, metric] = examples(&guide)[..] else { panic!("two examples") };
    let spec = SpecText::parse("docs/specs.md", &format!("{whole}\n{metric}")).unwrap().resolve().unwrap();
    assert_eq!(spec.metrics.last().unwrap().values(), ["fid:lantern"]);
}

#[test]
fn every_key_and_name_stands_in_it() {
    let guide = guide();
    let trees = NAMED_TREES.iter().map(|tree| tree.name);
    let diagnostics = DIAGNOSTICS.iter().map(|(name, _)| *name);
    let methods =
        [DRAFTER_KEYS, RULE_KINDS, &RULE_KEYS, SCHEDULE_KEYS, FRONTIER_KEYS].into_iter().flatten().copied();
    let words = names::keys().chain(methods).chain(trees).chain(diagnostics);
    let stands =
        |word: &&str| ["`", "[", "[[", "\""].iter().any(|before| guide.contains(&format!("{before}{word}")));
    let lacking: Vec<&str> = words.filter(|word| !stands(word)).collect();
    assert!(lacking.is_empty(), "docs/specs.md does not name {lacking:?}");
}
