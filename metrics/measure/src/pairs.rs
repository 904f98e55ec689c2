//! Pictures in pairs, and the value of a metric over them: the mean over the pairs, each compared as it is decoded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Map, Value};
use specimen_foundation::fail;
use specimen_pixels::{Image, Source, source::EXTENSIONS};
use specimen_stats::StatsError;
use specimen_stats::averages::bootstrap_mean_over_groups;
use specimen_stats::bootstrap::{BootstrapPlan, MIN_RESAMPLES};
use specimen_stats::fewest::FEWEST_OBSERVATIONS;

use crate::error::{InMetric, MeasureError};
use crate::image_id::Listed;
use crate::measurement::SCHEMA;
use crate::meter::{INTERVAL_LEVEL, INTERVAL_SEED};
use crate::metrics::PairMetric;
use crate::network::Provenance;
use crate::pair_protocol::PairProtocol;

/// Pairs that are decoded before they are compared.
const BATCH: usize = 32;

/// A metric that is ready to compare pictures.
pub trait PairMeasure {
    /// The identity of its network, if it has one.
    fn extractor(&self) -> Option<String> {
        None
    }

    /// Where the weights of its network came from.
    fn provenance(&self) -> &[Provenance] {
        &[]
    }

    /// The value of each pair, `None` where it is infinite because the pictures are equal, or why it has none. The
    /// pictures of a pair have one size.
    fn scores(&self, pairs: &[[Image; 2]]) -> Vec<Result<Option<f64>, String>>;

    /// Further numbers about the values of all pairs, by name.
    fn details(&self, _scores: &[Option<f64>]) -> Vec<(&'static str, Value)> {
        Vec::new()
    }
}

/// A metric that is ready, or why it cannot be opened.
pub type Opened = Result<Box<dyn PairMeasure>, MeasureError>;

/// Two sources of pictures, and which picture belongs to which.
// Invariant: there is at least one pair.
#[derive(Debug)]
pub struct Pairs {
    sources: [Source; 2],
    /// Name of each pair, sorted, and its entry in either source.
    pairs: Vec<(String, [usize; 2])>,
    /// Whether messages name the files; otherwise the names of the pairs.
    has_paths: bool,
}

impl Pairs {
    /// The pictures at `a` and `b` that have the same names, folders included and endings left out. Two image files are a
    /// pair whatever they are called.
    pub fn open(a: &Path, b: &Path) -> Result<Self, MeasureError> {
        let sources = [Source::open(a)?, Source::open(b)?];
        let are_files = [a, b].iter().zip(&sources).all(|(path, source)| {
            source.keys().len() == 1
                && stem(&source.keys()[0]) != source.keys()[0]
                && source.entry_path(0) == **path
        });
        if are_files {
            let name = stem(&sources[0].keys()[0]).to_owned();
            return Ok(Self { sources, pairs: vec![(name, [0, 0])], has_paths: true });
        }
        let [in_a, in_b] = [by_name(&sources[0])?, by_name(&sources[1])?];
        let alone = |of: &BTreeMap<&str, usize>, other: &BTreeMap<&str, usize>| {
            Listed(of.keys().filter(|name| !other.contains_key(*name)).map(|&name| name.to_owned()).collect())
        };
        let [only_a, only_b] = [alone(&in_a, &in_b), alone(&in_b, &in_a)];
        if !only_a.0.is_empty() || !only_b.0.is_empty() {
            fail!(Missing: "{a} and {b}: pictures are paired by their names without the ending, and do not \
                match: only in {a}: {only_a}; only in {b}: {only_b}; give both sides the same names",
                a = a.display(), b = b.display());
        }
        let pairs = in_a.iter().map(|(name, &at)| ((*name).to_owned(), [at, in_b[name]])).collect();
        Ok(Self { pairs, sources, has_paths: true })
    }

    /// Pictures anywhere, in pairs: the name of each and its two files. `path` is what messages call all of them, and they
    /// name no file.
    pub fn of_list(path: &Path, pairs: &[(String, [PathBuf; 2])]) -> Result<Self, MeasureError> {
        let side = |side: usize| -> Vec<(String, PathBuf)> {
            pairs.iter().map(|(name, files)| (name.clone(), files[side].clone())).collect()
        };
        let sources = [Source::of_list(path, side(0))?, Source::of_list(path, side(1))?];
        let pairs = sources[0].keys().iter().enumerate().map(|(at, name)| (name.clone(), [at, at])).collect();
        Ok(Self { sources, pairs, has_paths: false })
    }

    /// The names of the pairs, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.pairs.iter().map(|(name, _)| name.as_str())
    }

    /// The names of a pair's pictures in their sources.
    fn files(&self, at: usize) -> [&str; 2] {
        [0, 1].map(|side| self.sources[side].keys()[self.pairs[at].1[side]].as_str())
    }

    fn load(&self, at: usize) -> Result<[Image; 2], MeasureError> {
        let [a, b] = self.pairs[at].1;
        let images = [self.sources[0].load(a)?, self.sources[1].load(b)?];
        let [a, b] = images.each_ref().map(|image| [image.width(), image.height()]);
        if a == b {
            return Ok(images);
        }
        let found = format!("found {}x{} and {}x{}", a[0], a[1], b[0], b[1]);
        Err(self.fault(at, &format!("expected two pictures of one size, {found}; give pictures of one size")))
    }

    fn fault(&self, at: usize, why: &str) -> MeasureError {
        let path = |side: usize| self.sources[side].entry_path(self.pairs[at].1[side]).display().to_string();
        let of =
            if self.has_paths { format!("{} and {}", path(0), path(1)) } else { self.pairs[at].0.clone() };
        MeasureError::DoesNotApply { why: format!("{of}: {why}") }
    }
}

/// `key` without the ending of an image file.
fn stem(key: &str) -> &str {
    match key.rsplit_once('.') {
        Some((stem, ending)) if EXTENSIONS.iter().any(|known| ending.eq_ignore_ascii_case(known)) => stem,
        _ => key,
    }
}

/// The entries of `source` by their names without endings.
fn by_name(source: &Source) -> Result<BTreeMap<&str, usize>, MeasureError> {
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, key) in source.keys().iter().enumerate() {
        if let Some(first) = names.insert(stem(key), at) {
            let [first, second] = [first, at].map(|at| source.keys()[at].clone());
            fail!(Missing: "{}: {first} and {second} have one name without their endings, by which pictures \
                are paired; rename one", source.path().display());
        }
    }
    Ok(names)
}

/// The value of a metric over pairs, in the form that scripts rely on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairMeasurement {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The metric.
    pub metric: &'static str,
    /// Mean over the pairs; absent with a reason in `why`.
    pub value: Option<f64>,
    /// Ends of the 95 % interval, where one was asked for and there are six groups of pairs.
    pub ci95: Option<[f64; 2]>,
    /// `NAME@DIGEST12` of the protocol.
    pub protocol: String,
    /// Pictures of each side.
    pub n: [u64; 2],
    /// The network, if there is one.
    pub extractor: Option<String>,
    /// Why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What a reader must know before comparing the value, in words; absent where there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What else the metric has to say; its keys differ from metric to metric.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

/// What was measured of pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct PairOutcome {
    /// The value over all of them.
    pub measured: PairMeasurement,
    /// Every pair's own, in the order of the names.
    pub pairs: Vec<PairScore>,
}

/// The value of one pair.
#[derive(Clone, Debug, PartialEq)]
pub struct PairScore {
    /// The name that both pictures have.
    pub name: String,
    /// The pictures' names in their sources.
    pub files: [String; 2],
    /// The value; `None` where it is infinite because the pictures are equal.
    pub score: Option<f64>,
}

/// Whether an interval is computed, and which pairs are not independent.
#[derive(Clone, Copy, Debug)]
pub enum Intervals<'a> {
    /// None.
    No,
    /// Over the pairs.
    OverPairs,
    /// Over groups, of which each pair's is named in the order of the pairs.
    OverGroups(&'a [&'a str]),
}

/// Measures `metric` of all pairs. Memory does not grow with the pictures.
pub fn measure_pairs(
    (metric, protocol): (&'static PairMetric, &PairProtocol),
    measure: &dyn PairMeasure,
    pairs: &Pairs,
    intervals: Intervals<'_>,
    mut on_done: impl FnMut(usize),
) -> Result<PairOutcome, MeasureError> {
    let n = pairs.pairs.len();
    let mut scores: Vec<Option<f64>> = Vec::with_capacity(n);
    while scores.len() < n {
        let batch = scores.len()..n.min(scores.len() + BATCH);
        let loaded: Vec<[Image; 2]> =
            batch.clone().into_par_iter().map(|at| pairs.load(at)).collect::<Result<_, _>>()?;
        for (at, score) in batch.zip(measure.scores(&loaded)) {
            scores.push(score.map_err(|why| pairs.fault(at, &why))?);
        }
        on_done(scores.len());
    }
    let groups: Option<Vec<&str>> = match intervals {
        Intervals::No => None,
        Intervals::OverPairs if n < FEWEST_OBSERVATIONS => {
            let needed = FEWEST_OBSERVATIONS as u64;
            let error = StatsError::TooFew { what: "interval over pairs", needed, found: n as u64 };
            let of = pairs.sources.each_ref().map(Source::path);
            return Err(error).in_metric(metric.name, &of);
        }
        Intervals::OverPairs => Some(pairs.names().collect()),
        Intervals::OverGroups(groups) => Some(groups.to_vec()),
    };
    let finite: Vec<f64> = scores.iter().copied().flatten().collect();
    let n_infinite = n - finite.len();
    let name = metric.name;
    let (value, ci95, why) = match n_infinite {
        0 => {
            let (mean, ci95) = mean_of_groups(name, &finite, groups.as_deref())?;
            (Some(mean), ci95, None)
        }
        _ => (
            None,
            None,
            Some(format!("{n_infinite} of {n} pairs are of equal pictures, whose {name} is infinite")),
        ),
    };
    let details = measure.details(&scores);
    let extractor = measure.extractor();
    let identity = extractor.as_deref().unwrap_or_default();
    let measured = PairMeasurement {
        schema: SCHEMA,
        metric: name,
        value,
        ci95,
        protocol: protocol.label(name),
        n: [n as u64; 2],
        notes: measure.provenance().iter().filter_map(|weights| weights.note(identity)).collect(),
        extractor,
        why,
        details: details.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
    };
    let of_pair = |(at, score): (usize, Option<f64>)| PairScore {
        name: pairs.pairs[at].0.clone(),
        files: pairs.files(at).map(str::to_owned),
        score,
    };
    Ok(PairOutcome { measured, pairs: scores.into_iter().enumerate().map(of_pair).collect() })
}

/// The mean of at least one value, and the ends of its 95 % interval where groups are named: a BCa bootstrap over the
/// groups.
pub fn mean_of_groups(
    metric: &'static str,
    values: &[f64],
    groups: Option<&[&str]>,
) -> Result<(f64, Option<[f64; 2]>), MeasureError> {
    let plan = BootstrapPlan::new(INTERVAL_SEED, MIN_RESAMPLES, INTERVAL_LEVEL).in_metric(metric, &[])?;
    // Of one group alone there is a mean and no interval, as of any number below the fewest observations.
    let one = vec![""; values.len()];
    let found = bootstrap_mean_over_groups(values, groups.unwrap_or(&one), &plan);
    let (mean, interval) = found.in_metric(metric, &[])?;
    Ok((mean, interval.map(|interval| [interval.lower, interval.upper])))
}
