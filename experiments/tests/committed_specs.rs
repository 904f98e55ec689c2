//! Every spec in `specs/` resolves, explains itself, and plans what it says.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

use specimen_datasets::{DatasetError, data_root::DataRoot};
use specimen_experiments::{error::PlanError, parse::SpecText, plan::Plan, prompts, spec::Spec};
use std::{
    collections::BTreeMap,
    io::Write,
    path::{Path, PathBuf},
};

fn spec_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .flat_map(|path| if path.is_dir() { spec_files(&path) } else { vec![path] })
        .collect();
    files.sort();
    files
}

/// All committed specs by their path below `specs/`.
fn specs() -> BTreeMap<String, Spec> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs");
    let named = |path: PathBuf| {
        let spec =
            SpecText::read(&path).and_then(|text| text.resolve()).unwrap_or_else(|error| panic!("{error}"));
        (path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned(), spec)
    };
    spec_files(&folder).into_iter().map(named).collect()
}

#[test]
fn every_committed_spec_resolves_under_a_name_of_its_own_and_explains_itself() {
    let specs = specs();
    let expected = [
        "ci/methods_tiny.toml",
        "ci/models_toy_llama.toml",
        "ci/smoke.toml",
        "full.toml",
        "paper/cascade_fig13_tiny.toml",
        "paper/cascade_fig4_tiny.toml",
        "paper/cascade_table1_tiny.toml",
        "paper/cascade_table2_tiny.toml",
        "paper/cascade_table3a_tiny.toml",
        "paper/cascade_table3b_tiny.toml",
        "paper/vvs_d_sweep_tiny.toml",
        "paper/vvs_selector_tiny.toml",
        "paper/vvs_table4_tiny.toml",
        "paper/vvs_table5_tiny.toml",
        "paper/vvs_table6_tiny.toml",
        "paper/vvs_u_sweep_tiny.toml",
        "quickstart.toml",
        "real/anole.toml",
        "real/coco_plan.toml",
        "real/igpt_mnist.toml",
        "real/igpt_mnist_fd.toml",
        "real/lumina_768.toml",
        "real/parti_plan.toml",
        "sweep/drafter_depth.toml",
    ];
    for file in expected {
        assert!(specs.contains_key(file), "{file} is missing");
    }
    let mut names: Vec<&str> = specs.values().map(|spec| spec.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), specs.len());
    for (file, spec) in &specs {
        assert!(spec.analysis.len() > 200, "{file} does not say what it shows and what it cannot");
        assert!(spec.cells.iter().all(|cell| cell.method.validate().is_ok()), "{file}");
        assert!(
            spec.cells.iter().all(|cell| !cell.timed || spec.baseline_of(cell).is_some()),
            "{file} has no baseline"
        );
    }
}

#[test]
fn specs_over_data_that_needs_no_files_plan_as_many_items_as_they_say() {
    let specs = specs();
    for (file, n_items, n_blocks) in [
        ("quickstart.toml", 5 * 32, 8),
        ("full.toml", 5 * 500, 125),
        ("ci/smoke.toml", 4 * 4, 2),
        ("ci/lumina_toy.toml", 5 * 4, 2),
        ("ci/anole_toy.toml", 5 * 4, 2),
        ("real/igpt_mnist.toml", 4 * 16, 4),
        ("real/igpt_mnist_fd.toml", 2000, 40),
        ("sweep/drafter_depth.toml", 7 * 32, 8),
    ] {
        let spec = &specs[file];
        let plan = Plan::new(spec.clone(), &prompts::open(&spec.dataset, None).unwrap()).unwrap();
        assert_eq!((plan.items.len(), plan.blocks.len()), (n_items, n_blocks), "{file}");
    }
}

/// Specs that wait for a head of their model, with what the plan says is missing.
const WAITING: &[(&str, &str)] = &[];

#[test]
fn every_spec_on_the_embedded_model_plans_or_says_what_the_model_lacks() {
    let mut n_planned = 0;
    for (file, spec) in specs() {
        if spec.cells.iter().any(|cell| cell.model.name != "tiny") || spec.dataset.name != "scenes-val" {
            continue;
        }
        let plan = Plan::new(spec.clone(), &prompts::open(&spec.dataset, None).unwrap());
        match (plan, WAITING.iter().find(|(waiting, _)| *waiting == file)) {
            (Ok(plan), None) => {
                assert_eq!(plan.items.len(), spec.cells.len() * spec.dataset.limit.unwrap(), "{file}");
                n_planned += 1;
            }
            (Err(PlanError::Lacking { what, .. }), Some((_, expected))) => {
                assert_eq!(what, *expected, "{file}")
            }
            (plan, waiting) => panic!("{file}: {:?}, expected {waiting:?}", plan.map(|plan| plan.digest)),
        }
    }
    assert!(n_planned > 8, "{n_planned} specs plan");
}

/// The cells of published tables whose rows the paper's twins stand beside.
#[test]
fn the_twin_of_a_table_names_the_published_rows_that_its_cells_stand_beside() {
    for (file, spec) in specs() {
        let is_table = file.starts_with("paper/") && (file.contains("table") || file.contains("fig"));
        assert!(!(is_table && spec.published.is_empty()), "{file} names no published row");
    }
}

#[test]
fn the_full_spec_repeats_the_quickstart_on_more_prompts() {
    let specs = specs();
    let (quick, full) = (&specs["quickstart.toml"], &specs["full.toml"]);
    assert_eq!((quick.seed, &quick.cells, quick.timing), (full.seed, &full.cells, full.timing));
    assert_eq!(quick.metrics, full.metrics);
}

#[test]
fn specs_over_published_prompts_plan_all_of_them() {
    let specs = specs();
    let root = DataRoot::find(Path::new(env!("CARGO_MANIFEST_DIR")));
    for (file, n_items) in [("real/coco_plan.toml", 5000), ("real/parti_plan.toml", 1632)] {
        let spec = &specs[file];
        let set = match prompts::open(&spec.dataset, root.as_ref()) {
            Err(error @ DatasetError::Absent { .. }) => {
                skip("specs_over_published_prompts_plan_all_of_them", &error.to_string());
                continue;
            }
            opened => opened.unwrap(),
        };
        let plan = Plan::new(spec.clone(), &set).unwrap();
        assert_eq!(plan.items.len(), n_items, "{file}");
        assert_eq!(plan.warnings(), [], "{file}");
    }
}

/// Says that a test did not run for want of data; fails instead where data is required.
#[allow(clippy::print_stderr)] // A skipped test must be seen.
fn skip(test: &str, absent: &str) {
    let line = format!("SKIPPED: {test}: {absent}");
    assert!(std::env::var_os("STRICT").is_none_or(|strict| strict != "1"), "{line}");
    eprintln!("{line}");
    if let Some(log) = std::env::var_os("SPECIMEN_SKIP_LOG") {
        let mut log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        writeln!(log, "{line}").unwrap();
    }
}
