//! The metrics, one file each: the table of a protocol that defines it, how it is computed, and its known answers.
//! What is known of a metric without computing it (what it is, what it needs, which values are better) is in its file of
//! `harness/catalog/metrics`. Commands, the runner, `doctor` and the tables iterate over [`METRICS`].

use std::collections::BTreeMap;
use std::path::Path;

use specimen_catalog::metric::Needs;

use crate::captions::Captions;
use crate::error::MeasureError;
use crate::image_metric::ImageMetric;
use crate::known_answers::Known;
use crate::measurement::Measurement;
use crate::meter::Meter;
use crate::network::Networks;
use crate::pair_protocol::PairProtocol;
use crate::pairs::Opened;

pub mod aesthetic;
pub mod attribute_accuracy;
pub mod clip_score;
pub mod cmmd;
pub mod fd_lenet;
pub mod fd_scenes;
pub mod fid;
pub mod fid_infinity;
pub mod imagereward;
pub mod inception_score;
pub mod kid;
pub mod lpips;
pub mod prdc;
pub mod preference;
pub mod psnr;
pub mod realism;
pub mod scene_clip;
pub mod ssim;
pub mod vendi;

/// Every metric under a protocol, in the order in which a protocol's values are shown.
pub const METRICS: [&Metric; 14] = [
    &fid::METRIC,
    &kid::METRIC,
    &prdc::METRIC,
    &inception_score::METRIC,
    &cmmd::METRIC,
    &vendi::METRIC,
    &clip_score::METRIC,
    &aesthetic::METRIC,
    &preference::PICKSCORE,
    &preference::HPS_V20,
    &preference::HPS_V21,
    &imagereward::METRIC,
    &fid_infinity::METRIC,
    &realism::METRIC,
];

/// Every metric of images as they are, by a network of this program's own.
pub const IMAGE_METRICS: [&ImageMetric; 4] =
    [&scene_clip::METRIC, &attribute_accuracy::METRIC, &fd_scenes::METRIC, &fd_lenet::METRIC];

/// Every metric of two pictures under a protocol of pairs.
pub const PAIR_METRICS: [&PairMetric; 3] = [&psnr::METRIC, &ssim::METRIC, &lpips::METRIC];

/// Gives a macro every table that a protocol may have for a metric, in the order in which digests cover them: name in a
/// file, field, type. The order is part of every digest: append.
macro_rules! with_tables {
    ($then:ident) => {
        $then! {
            /// Frechet distance.
            "fid" => fid: crate::metrics::fid::FidRule,
            /// Kernel distance.
            "kid" => kid: crate::metrics::kid::KidRule,
            /// Precision, recall, density and coverage.
            "prdc" => prdc: crate::metrics::prdc::PrdcRule,
            /// Inception Score.
            "is" => is: crate::metrics::inception_score::InceptionScoreRule,
            /// CMMD.
            "cmmd" => cmmd: crate::metrics::cmmd::CmmdRule,
            /// Vendi score.
            "vendi" => vendi: crate::metrics::vendi::VendiRule,
            /// CLIP score.
            "clip-score" => clip_score: crate::metrics::clip_score::ClipScoreRule,
            /// LAION's aesthetic predictor.
            "aesthetic" => aesthetic: crate::metrics::aesthetic::AestheticRule,
            /// PickScore.
            "pickscore" => pickscore: crate::metrics::preference::PreferenceRule,
            /// HPSv2.0.
            "hpsv2.0" => hpsv2_0: crate::metrics::preference::PreferenceRule,
            /// HPSv2.1.
            "hpsv2.1" => hpsv2_1: crate::metrics::preference::PreferenceRule,
            /// ImageReward.
            "imagereward" => imagereward: crate::metrics::imagereward::ImageRewardRule,
        }
    };
}
pub(crate) use with_tables;

/// The same of the tables that a protocol of pairs may have.
macro_rules! with_pair_tables {
    ($then:ident) => {
        $then! {
            /// Peak signal-to-noise ratio.
            "psnr" => psnr: crate::metrics::psnr::PsnrRule,
            /// Structural similarity.
            "ssim" => ssim: crate::metrics::ssim::SsimRule,
            /// LPIPS.
            "lpips" => lpips: crate::metrics::lpips::LpipsRule,
        }
    };
}
pub(crate) use with_pair_tables;

/// A metric under a protocol.
#[derive(Debug)]
pub struct Metric {
    /// Its name in commands, in specs and in the catalog.
    pub name: &'static str,
    /// The table of a protocol that defines it: its own, or that of the metric from which it is derived.
    pub table: &'static str,
    /// Measures it. Fails where a side is not what the metric takes, and where the statistic does.
    pub run: fn(&mut Meter<'_>, &Sides<'_>) -> Result<Outcome, MeasureError>,
    /// Computes it on numbers so small that the answer is exact arithmetic.
    pub(crate) known_answers: fn(&mut Known) -> Result<(), MeasureError>,
}

/// A metric of two pictures of one size.
#[derive(Debug)]
pub struct PairMetric {
    /// Its name in commands, in specs, in the catalog and as a table of a protocol of pairs.
    pub name: &'static str,
    /// Makes what compares pictures under a protocol. Fails where the protocol has no table of it, and where its network
    /// cannot be opened.
    pub open: fn(&PairProtocol, &dyn Networks) -> Opened,
    /// Computes it on pictures so small that the answer is exact arithmetic.
    pub(crate) known_answers: fn(&mut Known) -> Result<(), MeasureError>,
}

impl PairMetric {
    /// What is known of it without computing it.
    ///
    /// # Panics
    /// Where the catalog has no file of its name, which a test excludes.
    pub fn entry(&self) -> &'static specimen_catalog::Metric {
        specimen_catalog::metric(self.name).expect("every metric is tested to have a file in the catalog")
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Sides<'a> {
    /// What the other side is compared with; absent for a metric of one side.
    pub real: Option<&'a Path>,
    /// What is measured.
    pub generated: &'a Path,
    /// Captions of its pictures.
    pub captions: Option<CaptionsOf<'a>>,
    /// Where `fid` writes the statistics of the real side, for the next comparison with it.
    pub save_real: Option<&'a Path>,
}

/// Captions, and how they belong to pictures.
#[derive(Clone, Copy, Debug)]
pub enum CaptionsOf<'a> {
    /// Of a file, paired with pictures by id.
    File(&'a Captions),
    /// By the names of the pictures in their source.
    Names(&'a BTreeMap<String, String>),
    /// Embeddings that were made before, row by row those of the pictures' embeddings.
    Embeddings(&'a Path),
}

/// The values of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// One, or as many as the metric has names.
    pub values: Vec<Measurement>,
    /// Every picture's own, in the order of the pictures' names; empty where the metric has none.
    pub pictures: Vec<PictureScore>,
}

/// The score of one picture.
#[derive(Clone, Debug, PartialEq)]
pub struct PictureScore {
    /// The id by which it was paired.
    pub id: String,
    /// Its name in the source.
    pub file: String,
    /// The caption that it was compared with.
    pub caption: String,
    /// A cosine, from -1 to 1, a share, from 0 to 1, or what the metric says.
    pub score: f64,
}

impl From<Measurement> for Outcome {
    fn from(measured: Measurement) -> Self {
        Self { values: vec![measured], pictures: Vec::new() }
    }
}

impl Metric {
    /// What is known of it without computing it.
    ///
    /// # Panics
    /// Where the catalog has no file of its name, which a test excludes.
    pub fn entry(&self) -> &'static specimen_catalog::Metric {
        specimen_catalog::metric(self.name).expect("every metric is tested to have a file in the catalog")
    }

    /// Whether it compares two sides.
    pub fn compares(&self) -> bool {
        self.entry().needs == Needs::ProtocolAndReal
    }

    /// Whether it is one of the metrics that a protocol is asked for as a whole: one with a table of its own.
    pub(crate) fn has_own_table(&self) -> bool {
        self.name == self.table
    }
}

impl<'a> Sides<'a> {
    /// What a metric of one set measures.
    pub fn one(generated: &'a Path) -> Self {
        Self { real: None, generated, captions: None, save_real: None }
    }

    /// Two sides that are compared.
    pub fn two(real: &'a Path, generated: &'a Path) -> Self {
        Self { real: Some(real), ..Self::one(generated) }
    }

    /// The reference and what is compared with it.
    ///
    /// # Panics
    /// Without a reference, which specs and commands ask for.
    pub(crate) fn both(&self) -> (&'a Path, &'a Path) {
        (self.real.expect("a metric that compares is given a reference"), self.generated)
    }
}

/// The metric called `name`.
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.into_iter().find(|metric| metric.name == name)
}

/// The metric of pairs called `name`.
pub fn pair_metric(name: &str) -> Option<&'static PairMetric> {
    PAIR_METRICS.into_iter().find(|metric| metric.name == name)
}

/// The table of a protocol on which the value called `name` depends; the name itself where it is no value of a metric.
pub(crate) fn table_of(name: &str) -> &str {
    let has =
        |metric: &&&Metric| metric.name == name || metric.entry().values.iter().any(|value| value == name);
    METRICS.iter().find(has).map_or(name, |metric| metric.table)
}
