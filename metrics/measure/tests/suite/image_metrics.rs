//! Metrics of images as they are: each has its file in the catalog, and says what it does not take.

use std::path::{Path, PathBuf};

use specimen_catalog::metric::Needs;
use specimen_datasets::scenes::{Scene, VAL_SEED};
use specimen_measure::error::MeasureError;
use specimen_measure::image_metric::CellImage;
use specimen_measure::metrics::{IMAGE_METRICS, fd_scenes, scene_clip};

/// A binary PPM at `path`.
fn ppm(path: &Path, side: usize, rgb: &[u8]) {
    let file = [format!("P6 {side} {side} 255\n").as_bytes(), rgb].concat();
    std::fs::write(path, file).unwrap();
}

/// Held-out scenes from `first` on, written below `folder`.
fn scenes(folder: &Path, first: u64, n: u64) -> Vec<(String, PathBuf)> {
    let write = |index| {
        let (scene, path) = (Scene::new(VAL_SEED, index), folder.join(format!("{index}.ppm")));
        ppm(&path, 64, &scene.render());
        (scene.caption(), path)
    };
    (first..first + n).map(write).collect()
}

fn cell(scenes: &[(String, PathBuf)]) -> Vec<CellImage<'_>> {
    scenes
        .iter()
        .map(|(prompt, path)| CellImage {
            name: path.file_name().unwrap().to_str().unwrap(),
            path: path.clone(),
            prompt_id: prompt,
            prompt,
        })
        .collect()
}

#[test]
fn every_metric_that_needs_nothing_but_images_is_computed() {
    let known = specimen_catalog::METRICS.iter().filter(|metric| metric.needs == Needs::Nothing);
    // The likelihood of tokens is the models' and the runner's.
    let mut known: Vec<&str> =
        known.map(|metric| &*metric.name).filter(|name| *name != "target-nll").collect();
    let mut computed = IMAGE_METRICS.map(|metric| metric.name).to_vec();
    known.sort_unstable();
    computed.sort_unstable();
    assert_eq!(known, computed);
}

#[test]
fn the_reference_scenes_have_the_distance_0_from_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let all = scenes(folder.path(), 0, 2000);
    let outcome = (fd_scenes::METRIC.open)(None).unwrap().measure(&cell(&all)).unwrap();
    let measured = &outcome.values[0];
    assert!(measured.value.abs() < 1e-9, "{}", measured.value);
    assert_eq!((measured.n[0], measured.details["n_reference"].as_u64()), (Some(2000), Some(2000)));
}

#[test]
fn images_and_prompts_that_a_metric_does_not_take_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = scenes(folder.path(), 0, 2);
    let why = |all: &[(String, PathBuf)]| {
        let Err(MeasureError::DoesNotApply { why }) =
            (scene_clip::METRIC.open)(None).unwrap().measure(&cell(all))
        else {
            panic!("it was measured")
        };
        why
    };
    ppm(&all[1].1, 8, &[0; 8 * 8 * 3]);
    assert_eq!(why(&all), "the scenes evaluator takes images of 64x64, 1.ppm is 8x8");
    assert_eq!(why(&all[1..]), "the scenes evaluator takes images of 64x64, those of this cell are 8x8");
    all[0].0 = "a corgi".into();
    assert!(why(&all).starts_with("a prompt is outside the scenes vocabulary: "));
}

#[test]
fn pictures_that_are_all_equal_are_noted_and_others_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let others = scenes(folder.path(), 0, 3);
    let same = vec![others[0].clone(); 3];
    for name in ["fd-scenes", "scene-clip"] {
        let metric = IMAGE_METRICS.iter().find(|metric| metric.name == name).unwrap();
        let notes = |all| (metric.open)(None).unwrap().measure(&cell(all)).unwrap().values.remove(0).notes;
        let found = notes(&same);
        let of = format!("{name}: all ");
        assert!(found.len() == 1 && found[0].starts_with(&of) && found[0].contains("are equal"), "{found:?}");
        assert_eq!(notes(&others), [""; 0], "{name}");
    }
}
