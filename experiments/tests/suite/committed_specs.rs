//! Every spec in `specs/` resolves, explains itself, and plans what it says.

use specimen_datasets::{DatasetError, PromptSet, data_root::DataRoot};
use specimen_experiments::{
    error::PlanError, parse::SpecText, plan::Plan, prompts, spec::Spec, warnings::Warning,
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

fn spec_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        // These train a head; the trainer's tests read them.
        .filter(|path| !path.ends_with("specs/train"))
        .flat_map(|path| if path.is_dir() { spec_files(&path) } else { vec![path] })
        .collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
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
        ("quickstart.toml", 8 * 32, 8),
        ("full.toml", 8 * 500, 125),
        ("ci/smoke.toml", 4 * 4, 2),
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

#[test]
fn the_full_spec_repeats_the_quickstart_on_more_prompts() {
    let specs = specs();
    let (quick, full) = (&specs["quickstart.toml"], &specs["full.toml"]);
    assert_eq!((quick.seed, &quick.cells, quick.timing), (full.seed, &full.cells, full.timing));
    assert_eq!(quick.metrics, full.metrics);
}

/// The prompts of `spec`; `None` where their files are not at hand, which `test` says.
fn prompts_of(test: &str, spec: &Spec) -> Option<PromptSet> {
    let root = DataRoot::find(Path::new(env!("CARGO_MANIFEST_DIR")));
    match prompts::open(&spec.dataset, root.as_ref()) {
        Err(error @ DatasetError::Absent { .. }) => {
            specimen_testdata::skip(test, &error.to_string());
            None
        }
        opened => Some(opened.unwrap()),
    }
}

#[test]
fn specs_over_published_prompts_plan_all_of_them() {
    let specs = specs();
    for (file, n_items) in
        [("real/coco_plan.toml", 5000), ("real/parti_plan.toml", 1632), ("ci/models_toy.toml", 6 * 7 * 4)]
    {
        let spec = &specs[file];
        let Some(set) = prompts_of("specs_over_published_prompts_plan_all_of_them", spec) else { continue };
        let plan = Plan::new(spec.clone(), &set).unwrap();
        assert_eq!(plan.items.len(), n_items, "{file}");
        // The two templates name the embedded model, which knows the words of few of these prompts.
        let templates = file.starts_with("real/");
        let reported = plan.warnings();
        let is_about_words =
            |reported: &Warning| matches!(reported, Warning::PromptsNotTaken { n, .. } if *n > n_items / 2);
        assert_eq!(reported.len(), usize::from(templates), "{file}: {reported:?}");
        assert!(reported.iter().all(is_about_words), "{file}: {reported:?}");
    }
}

#[test]
fn every_spec_of_a_paper_plans_all_images_and_none_of_its_values_will_be_missing() {
    let (mut n_full, mut n_skipped) = (0, 0);
    for (file, spec) in specs().into_iter().filter(|(file, _)| file.starts_with("paper/")) {
        let name = "every_spec_of_a_paper_plans_all_images_and_none_of_its_values_will_be_missing";
        let Some(set) = prompts_of(name, &spec) else {
            n_skipped += 1;
            continue;
        };
        let plan = Plan::new(spec.clone(), &set).unwrap_or_else(|error| panic!("{file}: {error}"));
        let n_prompts = spec.dataset.limit.unwrap_or(set.n_prompts());
        assert_eq!(plan.items.len(), spec.cells.len() * n_prompts, "{file}");
        if spec.models()[0].name == "tiny" {
            continue;
        }
        // At full size: on a GPU, and with as many images as its distances need.
        assert_eq!(plan.warnings(), [], "{file}");
        assert!(spec.models().iter().all(|model| model.device == "cuda"), "{file}");
        assert!(spec.analysis.contains("`specimen plan` lists what is missing"), "{file}");
        assert!(!spec.sources.is_empty(), "{file} names no source");
        n_full += 1;
    }
    assert!(n_full + n_skipped >= 24, "{n_full} specs at full size, {n_skipped} skipped");
}

#[test]
fn the_toys_run_every_family_of_methods_on_every_model_that_takes_a_caption() {
    let spec = &specs()["ci/models_toy.toml"];
    let models: Vec<&str> = spec.models().iter().map(|model| model.name.as_str()).collect();
    assert_eq!(models, ["llamagen-toy", "janus-toy", "lumina-toy", "anole-toy", "emu3-toy", "liquid-toy"]);
    let bases = ["ar", "eagle1-static", "eagle2-dynamic", "sjd", "lantern", "cascade", "vvs"];
    for model in models {
        let of: Vec<&str> = spec.cells.iter().filter(|c| c.model.name == model).map(|c| &*c.base).collect();
        assert_eq!(of, bases, "{model}");
    }
}
