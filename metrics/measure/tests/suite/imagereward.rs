//! ImageReward through its protocol, by a stand-in whose score is a function of the pixels and the prompt.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use specimen_measure::MeasureError;
use specimen_measure::captions::{Captions, Choice};
use specimen_measure::meter::{Meter, Settings};
use specimen_measure::metrics::clip_score::ClipScoreRule;
use specimen_measure::metrics::{CaptionsOf, Outcome, Sides, imagereward::imagereward};
use specimen_measure::network::{
    Batch, NetworkFault, NetworkRule, Networks, NoNetworks, Opened, OpenedPrompted, PromptedNetwork,
    Provenance, TextNetwork,
};
use specimen_measure::protocol::Protocol;

use crate::stand_in::{folder_of, pictures};

/// Counts pictures that went through.
#[derive(Default)]
struct Judges {
    n_pictures: Arc<AtomicUsize>,
}

struct Judge(Arc<AtomicUsize>);

impl PromptedNetwork for Judge {
    fn identity(&self) -> String {
        "judge-f32@0123456789ab".to_owned()
    }

    fn counts(&self, prompts: &[String]) -> Vec<(&'static str, usize)> {
        vec![("captions_cut", prompts.iter().filter(|prompt| prompt.len() > 20).count())]
    }

    fn scores(&self, batch: &Batch, prompts: &[&str]) -> Result<Vec<f32>, NetworkFault> {
        self.0.fetch_add(batch.n, Ordering::SeqCst);
        assert_eq!(prompts.len(), batch.n);
        let n = 3 * batch.height * batch.width;
        let mean = |picture: &[f32]| picture.iter().sum::<f32>() / n as f32;
        Ok(batch
            .values
            .chunks_exact(n)
            .zip(prompts)
            .map(|(x, prompt)| mean(x) + prompt.len() as f32)
            .collect())
    }
}

impl Networks for Judges {
    fn images(&self, rule: &NetworkRule, _: &[&str]) -> Result<Opened, MeasureError> {
        panic!("{} makes no features", rule.name)
    }

    fn prompted(&self, rule: &NetworkRule, n_tokens: usize) -> Result<OpenedPrompted, MeasureError> {
        assert_eq!((rule.name.as_str(), n_tokens), ("imagereward", 35));
        let made =
            Provenance { file: "folder/w.safetensors".into(), words: "made".into(), is_published: false };
        Ok(OpenedPrompted { network: Box::new(Judge(self.n_pictures.clone())), provenance: Some(made) })
    }

    fn texts(&self, rule: &NetworkRule, _: &ClipScoreRule) -> Result<Box<dyn TextNetwork>, MeasureError> {
        panic!("{} has no tower of texts", rule.name)
    }
}

impl Judges {
    fn meter(&self, settings: Settings) -> Meter<'_> {
        Meter::with(Protocol::named("imagereward").unwrap(), self, settings)
    }

    /// Pictures that went through since the last call.
    fn passed(&self) -> usize {
        self.n_pictures.swap(0, Ordering::SeqCst)
    }
}

const PLAIN: Settings = Settings { cache: None, keep_going: false, interval: false, batch: 4 };

/// The score of the pictures in `folder` with a caption each by name.
fn by_name(judges: &Judges, settings: Settings, folder: &Path, caption: impl Fn(usize) -> String) -> Outcome {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let captions: BTreeMap<String, String> =
        names.into_iter().enumerate().map(|(at, name)| (name, caption(at))).collect();
    let sides = Sides { captions: Some(CaptionsOf::Names(&captions)), ..Sides::one(folder) };
    imagereward(&mut judges.meter(settings), &sides).unwrap()
}

#[test]
fn the_value_is_the_mean_over_pictures_each_with_its_own_caption() {
    let root = tempfile::tempdir().unwrap();
    let folder = folder_of(root.path(), "pictures", 9);
    let judges = Judges::default();
    let outcome = by_name(&judges, PLAIN, &folder, |at| "x".repeat(at));
    let without = by_name(&judges, PLAIN, &folder, |_| String::new());
    for (at, (with, without)) in outcome.pictures.iter().zip(&without.pictures).enumerate() {
        assert!((with.score - without.score - at as f64).abs() < 1e-5, "{at}");
        assert_eq!(with.caption, "x".repeat(at));
    }
    let [measured] = &outcome.values[..] else { panic!("one value") };
    let mean = outcome.pictures.iter().map(|picture| picture.score).sum::<f64>() / 9.0;
    assert!((measured.value - mean).abs() < 1e-12 && measured.ci95.is_none());
    assert_eq!(measured.extractor.as_deref(), Some("judge-f32@0123456789ab"));
    assert!(measured.protocol.starts_with("imagereward@"), "{}", measured.protocol);
    let note = "judge-f32@0123456789ab: no published digest vouches for its weights: w.safetensors: made";
    assert_eq!(measured.notes, [note]);
    assert_eq!((measured.n.clone(), &measured.details["captions_cut"]), (vec![Some(9)], &0.into()));
}

#[test]
fn the_cache_keeps_a_score_under_picture_and_prompt() {
    let root = tempfile::tempdir().unwrap();
    let folder = folder_of(root.path(), "pictures", 6);
    let judges = Judges::default();
    let settings = || Settings { cache: Some(root.path().join("cache")), ..PLAIN };
    let caption = |at: usize| format!("caption {at}");
    let first = by_name(&judges, settings(), &folder, caption);
    // Passes of four, the last filled up.
    assert_eq!(judges.passed(), 8);
    assert_eq!(by_name(&judges, settings(), &folder, caption).pictures, first.pictures);
    assert_eq!(judges.passed(), 0);
    let other = |at: usize| if at == 2 { "another".to_owned() } else { caption(at) };
    let changed = by_name(&judges, settings(), &folder, other);
    assert_eq!(judges.passed(), 4);
    let differ = changed.pictures.iter().zip(&first.pictures).filter(|(a, b)| a.score != b.score);
    assert_eq!(differ.count(), 1);
}

#[test]
fn pictures_of_one_caption_are_one_group_of_the_interval() {
    let root = tempfile::tempdir().unwrap();
    let folder = folder_of(root.path(), "pictures", 12);
    let judges = Judges::default();
    let of = |n_captions: usize| {
        let settings = Settings { interval: true, ..PLAIN };
        by_name(&judges, settings, &folder, |at| format!("caption {:02}", at % n_captions)).values.remove(0)
    };
    let ends = of(12).ci95.unwrap();
    assert!(ends[0] < of(12).value && of(12).value < ends[1]);
    assert_ne!(of(6).ci95, of(12).ci95);
    let few = of(5);
    assert!(few.ci95.is_none() && few.notes.iter().any(|note| note.contains("are of 5 captions")), "{few:?}");
}

#[test]
fn captions_of_a_file_are_paired_by_id_and_pictures_without_one_are_passed_over_where_that_is_asked_for() {
    let root = tempfile::tempdir().unwrap();
    let folder = pictures(&root.path().join("pictures"), &["1.ppm", "2.ppm", "3.ppm", "10.ppm"]);
    let file = root.path().join("captions.csv");
    std::fs::write(&file, "id,caption\n1,one\n2,two and two\n3,a caption of many letters\n").unwrap();
    let captions = Captions::read(&file, Choice::Only).unwrap();
    let sides = Sides { captions: Some(CaptionsOf::File(&captions)), ..Sides::one(&folder) };
    let judges = Judges::default();
    let why = imagereward(&mut judges.meter(PLAIN), &sides).unwrap_err().to_string();
    assert!(why.contains("10"), "{why}");
    assert_eq!(judges.passed(), 0);
    let mut meter = judges.meter(Settings { keep_going: true, batch: 3, ..PLAIN });
    let outcome = imagereward(&mut meter, &sides).unwrap();
    assert_eq!(judges.passed(), 3);
    let found: Vec<(&str, &str, &str)> = outcome
        .pictures
        .iter()
        .map(|picture| (picture.id.as_str(), picture.file.as_str(), picture.caption.as_str()))
        .collect();
    let expected =
        [("1", "1.ppm", "one"), ("2", "2.ppm", "two and two"), ("3", "3.ppm", "a caption of many letters")];
    assert_eq!(found, expected);
    let measured = &outcome.values[0];
    assert_eq!(measured.details["captions_cut"], 1);
    assert_eq!((measured.left_out.len(), measured.left_out[0].file.as_str()), (1, "10.ppm"));
}

#[test]
fn what_it_cannot_measure_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let folder = folder_of(root.path(), "pictures", 2);
    let judges = Judges::default();
    let refused = |captions| {
        let sides = Sides { captions, ..Sides::one(&folder) };
        imagereward(&mut judges.meter(PLAIN), &sides).unwrap_err().to_string()
    };
    assert!(refused(None).contains("imagereward"), "{}", refused(None));
    let rows = refused(Some(CaptionsOf::Embeddings(&folder)));
    assert!(rows.contains("imagereward with captions"), "{rows}");
    let without = Meter::new(Protocol::named("imagereward").unwrap(), &NoNetworks);
    assert!(without.check("imagereward").unwrap_err().to_string().contains("imagereward"));
    judges.meter(PLAIN).check("imagereward").unwrap();
    let mine = |n: usize| {
        let text = include_str!("../../../protocols/imagereward.toml")
            .replace("n-tokens = 35", &format!("n-tokens = {n}"));
        Protocol::parse("mine.toml", &text)
    };
    assert!(mine(1).unwrap_err().to_string().contains("[imagereward] n-tokens = 1; "));
    assert_ne!(mine(77).unwrap().digest(), mine(35).unwrap().digest());
}
