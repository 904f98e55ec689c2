//! The aesthetic score through its protocols, by a narrow CLIP ViT-L/14 and a head with weights by recipe.

use std::collections::BTreeMap;
use std::path::Path;

use specimen_extract::aesthetic::{AestheticHead, AestheticName};
use specimen_measure::{
    MeasureError,
    meter::{Meter, Settings},
    metrics::{CaptionsOf, Sides, aesthetic::aesthetic},
    network::{NetworkRule, Networks, NoNetworks, Opened, OpenedHead, RowHead, TextNetwork},
    protocol::Protocol,
};

use crate::stand_in::{N_DIMS, StandIns, folder_of};

/// Features of stand-ins, and the score of a row by its first numbers.
#[derive(Default)]
struct Scored(StandIns);

struct First;

impl RowHead for First {
    fn identity(&self) -> String {
        "first@0123456789ab".to_owned()
    }

    fn scores(
        &self,
        rows: &[f32],
        n_dims: usize,
    ) -> Result<Vec<f64>, specimen_measure::network::NetworkFault> {
        Ok(rows.chunks_exact(n_dims).map(|row| f64::from(row[0])).collect())
    }
}

impl Networks for Scored {
    fn images(&self, rule: &NetworkRule, layers: &[&str]) -> Result<Opened, MeasureError> {
        self.0.images(rule, layers)
    }

    fn head(&self, _: &str) -> Result<OpenedHead, MeasureError> {
        Ok(OpenedHead { head: Box::new(First), provenance: None })
    }

    fn texts(
        &self,
        rule: &NetworkRule,
        texts: &specimen_measure::metrics::clip_score::ClipScoreRule,
    ) -> Result<Box<dyn TextNetwork>, MeasureError> {
        self.0.texts(rule, texts)
    }
}

fn meter(networks: &Scored, interval: bool) -> Meter<'_> {
    let settings = Settings { cache: None, keep_going: false, interval, batch: 4 };
    Meter::with(Protocol::named("aesthetic-ava-logos").unwrap(), networks, settings)
}

#[test]
fn the_value_is_the_mean_of_what_the_head_says_of_each_picture() {
    let root = tempfile::tempdir().unwrap();
    let folder = folder_of(root.path(), "pictures", 9);
    let networks = Scored::default();
    let outcome = aesthetic(&mut meter(&networks, false), &Sides::one(&folder)).unwrap();
    let [measured] = &outcome.values[..] else { panic!("one value") };
    let mean = outcome.pictures.iter().map(|picture| picture.score).sum::<f64>() / 9.0;
    assert!((measured.value - mean).abs() < 1e-12 && measured.ci95.is_none());
    assert_eq!(outcome.pictures[0].file, "pictures_0000.ppm");
    let by = measured.extractor.as_deref().unwrap();
    assert!(by.starts_with("clip-vit-l14-embedding-f32@") && by.ends_with(" + first@0123456789ab"), "{by}");
    assert!(measured.protocol.starts_with("aesthetic-ava-logos@"), "{}", measured.protocol);
    // Embeddings that were made before have no names.
    let rows: Vec<f32> = (0..3 * N_DIMS).map(|at| at as f32).collect();
    let path = root.path().join("rows.npy");
    let bytes =
        specimen_stats::npy_write::write_npy(&[3, N_DIMS], specimen_stats::npy_write::Values::F32(&rows));
    std::fs::write(&path, bytes).unwrap();
    let of_rows = aesthetic(&mut meter(&networks, false), &Sides::one(&path)).unwrap();
    assert_eq!(of_rows.values[0].value, N_DIMS as f64);
    assert!(of_rows.pictures.is_empty());
}

#[test]
fn pictures_of_one_caption_are_one_group_of_the_interval() {
    let root = tempfile::tempdir().unwrap();
    let folder = folder_of(root.path(), "pictures", 12);
    let networks = Scored::default();
    let alone = aesthetic(&mut meter(&networks, true), &Sides::one(&folder)).unwrap().values.remove(0);
    let interval = |n_captions: usize| {
        let name = |at: usize| (format!("pictures_{at:04}.ppm"), format!("caption {}", at % n_captions));
        let captions: BTreeMap<String, String> = (0..12).map(name).collect();
        let sides = Sides { captions: Some(CaptionsOf::Names(&captions)), ..Sides::one(&folder) };
        aesthetic(&mut meter(&networks, true), &sides).unwrap().values.remove(0)
    };
    let ends = alone.ci95.unwrap();
    assert!(ends[0] < alone.value && alone.value < ends[1], "{alone:?}");
    assert_eq!(interval(12).ci95, alone.ci95);
    assert_ne!(interval(6).ci95, alone.ci95);
    assert_eq!((interval(5).ci95, interval(5).value), (None, alone.value));
}

#[test]
fn heads_that_are_not_there_are_named() {
    let without = Meter::new(Protocol::named("aesthetic-sac-logos-ava1").unwrap(), &NoNetworks);
    let why = without.check("aesthetic").unwrap_err().to_string();
    assert!(why.contains("aesthetic-sac-logos-ava1"), "{why}");
    let folder = tempfile::tempdir().unwrap();
    let networks = specimen_measure::published::Published::new(Some(folder.path()), None);
    let Err(why) = networks.head("aesthetic-sac") else { panic!("no head has this name") };
    assert!(
        why.to_string().contains("unknown network `aesthetic-sac`, expected one of aesthetic-sac-logos-ava1")
    );
}

#[test]
fn every_protocol_of_the_score_has_the_head_of_its_name() {
    for name in AestheticName::ALL {
        let protocol = Protocol::named(name.name()).unwrap();
        assert_eq!(protocol.recipe().fetched(), name.name());
        let head = AestheticHead::open_recipe(name);
        assert!(head.identity().starts_with(name.name()) && Path::new(name.name()).extension().is_none());
    }
}
