//! One protocol with all that it takes to measure: networks, cache, settings, and what was left out on the way.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Map;
use specimen_pixels::Source;
use specimen_stats::StatsError;
use specimen_stats::features::FeatureRows;
use specimen_stats::jackknife::JackknifePlan;

use crate::cache::Cache;
use crate::error::{InMetric, MeasureError};
use crate::images::{BATCH, Broken, Event, Reader};
use crate::input::Input;
use crate::measurement::{Measurement, SCHEMA};
use crate::network::{ImageNetwork, Networks};
use crate::protocol::Protocol;
use crate::rules::NetworkRule;
use crate::sample::{Rows, Side, Spread};

/// Groups that an interval leaves out, one at a time.
pub const INTERVAL_GROUPS: usize = 20;
/// The seed that deals rows to them. A constant, so that an interval is part of what a value's name means.
pub const INTERVAL_SEED: u64 = 1;
/// The level of intervals.
pub const INTERVAL_LEVEL: f64 = 0.95;

/// Rows that are read from a file at a time.
const ROWS_AT_ONCE: usize = 256;

/// How to measure, apart from what the protocol pins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The cache's folder; `None`: everything is computed.
    pub cache: Option<PathBuf>,
    /// Whether broken pictures are left out and listed, instead of ending all.
    pub keep_going: bool,
    /// Whether intervals are computed.
    pub interval: bool,
    /// Pictures in one pass of a network.
    pub batch: usize,
}

/// A protocol at work.
pub struct Meter<'a> {
    protocol: Protocol,
    networks: &'a dyn Networks,
    settings: Settings,
    on: Box<Listener<'a>>,
    /// By layer.
    opened: BTreeMap<String, Box<dyn ImageNetwork>>,
    broken: Vec<(PathBuf, Broken)>,
    n_forward: usize,
}

/// Who is told what happens to which source.
type Listener<'a> = dyn FnMut(&Path, Event) + 'a;

/// What is told of a group of rows on their way: the place of the first among the keys, features of a row, the rows.
type Sink<'s> = dyn FnMut(usize, usize, &[f32]) -> Result<(), StatsError> + 's;

impl<'a> Meter<'a> {
    /// Measures under `protocol` with what `networks` opens: without a cache, without intervals, and a broken picture
    /// is an error.
    pub fn new(protocol: Protocol, networks: &'a dyn Networks) -> Self {
        let settings = Settings { cache: None, keep_going: false, interval: false, batch: BATCH };
        Self::with(protocol, networks, settings)
    }

    /// The same with settings.
    pub fn with(protocol: Protocol, networks: &'a dyn Networks, settings: Settings) -> Self {
        Self {
            protocol,
            networks,
            settings,
            on: Box::new(|_, _| {}),
            opened: BTreeMap::new(),
            broken: Vec::new(),
            n_forward: 0,
        }
    }

    /// Tells `on` what happens to which source from now on.
    pub fn listen(&mut self, on: impl FnMut(&Path, Event) + 'a) {
        self.on = Box::new(on);
    }

    /// The protocol.
    pub fn protocol(&self) -> &Protocol {
        &self.protocol
    }

    /// Pictures that were left out so far, with their sources.
    pub fn broken(&self) -> &[(PathBuf, Broken)] {
        &self.broken
    }

    /// Pictures that went through a network so far; those of the cache did not.
    pub fn n_forward(&self) -> usize {
        self.n_forward
    }

    pub(crate) fn networks(&self) -> &'a dyn Networks {
        self.networks
    }

    /// How to deal rows to groups, where an interval was asked for.
    pub(crate) fn interval(&self) -> Option<JackknifePlan> {
        let plan = || JackknifePlan::new(INTERVAL_SEED, INTERVAL_GROUPS, INTERVAL_LEVEL);
        self.settings.interval.then(|| plan().expect("the constants are in their ranges"))
    }

    /// All rows of what lies at `path`, for `metric`, of the protocol's own layer.
    pub fn rows(&mut self, path: &Path, metric: &'static str) -> Result<Rows, MeasureError> {
        let layer = self.protocol.recipe().network.layer.clone();
        self.rows_of_layer(path, metric, &layer)
    }

    /// As [`Meter::rows`], of another layer.
    pub(crate) fn rows_of_layer(
        &mut self,
        path: &Path,
        metric: &str,
        layer: &str,
    ) -> Result<Rows, MeasureError> {
        let (mut values, mut n_dims) = (Vec::new(), 0);
        let extractor = self.each(path, metric, layer, &mut |_, d, rows| {
            n_dims = d;
            values.extend_from_slice(rows);
            Ok(())
        })?;
        let features = FeatureRows::new(values, n_dims).map_err(|e| MeasureError::array(path, e))?;
        Ok(Rows { features, extractor })
    }

    /// Mean and covariance of what lies at `path`, and what made the features, where they were made here.
    pub fn side(&mut self, path: &Path) -> Result<(Side, Option<String>), MeasureError> {
        let input = Input::open(path)?;
        if let Input::Statistics(gaussian) = input {
            return Ok((Side::Given(gaussian), None));
        }
        let mut spread: Option<Spread> = None;
        let layer = self.protocol.recipe().network.layer.clone();
        let extractor = self.each_of(path, input, "fid", &layer, &mut |_, d, rows| match &mut spread {
            Some(spread) => spread.push(rows),
            none => none.insert(Spread::new(d)?).push(rows),
        })?;
        let none = StatsError::TooFew { what: "features", needed: 2, found: 0 };
        let spread = spread.ok_or_else(|| MeasureError::array(path, none))?;
        Ok((Side::Spread(spread), extractor))
    }

    /// Rows of the pictures of `source` with their places among its keys, and what made them.
    pub(crate) fn rows_of_images(
        &mut self,
        source: Source,
        path: &Path,
    ) -> Result<(Vec<usize>, Rows), MeasureError> {
        let (mut places, mut values, mut n_dims) = (Vec::new(), Vec::new(), 0);
        let layer = self.protocol.recipe().network.layer.clone();
        let extractor = self.each_of(path, Input::Images(source), "", &layer, &mut |place, d, row| {
            n_dims = d;
            places.push(place);
            values.extend_from_slice(row);
            Ok(())
        })?;
        let features = FeatureRows::new(values, n_dims).map_err(|e| MeasureError::array(path, e))?;
        Ok((places, Rows { features, extractor }))
    }

    fn each(
        &mut self,
        path: &Path,
        metric: &str,
        layer: &str,
        sink: &mut Sink<'_>,
    ) -> Result<Option<String>, MeasureError> {
        self.each_of(path, Input::open(path)?, metric, layer, sink)
    }

    /// Gives `sink` the rows of `input`, and returns what made them, where they were made here.
    fn each_of(
        &mut self,
        path: &Path,
        input: Input,
        metric: &str,
        layer: &str,
        sink: &mut Sink<'_>,
    ) -> Result<Option<String>, MeasureError> {
        let in_file = |source| MeasureError::array(path, source);
        match input {
            Input::Images(source) => return self.each_image(path, &source, layer, sink).map(Some),
            Input::Statistics(_) => {
                return Err(MeasureError::NeedsRows { path: path.to_path_buf(), metric: metric.to_owned() });
            }
            Input::Features(rows) => sink(0, rows.d(), rows.values()).map_err(in_file)?,
            Input::Rows(mut file) => loop {
                let rows = file.next_rows(ROWS_AT_ONCE)?;
                if rows.is_empty() {
                    break;
                }
                sink(0, file.n_dims(), &rows).map_err(in_file)?;
            },
        }
        Ok(None)
    }

    fn each_image(
        &mut self,
        path: &Path,
        source: &Source,
        layer: &str,
        sink: &mut Sink<'_>,
    ) -> Result<String, MeasureError> {
        if !self.opened.contains_key(layer) {
            let rule = NetworkRule { layer: layer.to_owned(), ..self.protocol.recipe().network.clone() };
            self.opened.insert(layer.to_owned(), self.networks.images(&rule)?);
        }
        let network = &*self.opened[layer];
        let (identity, d) = (network.identity(), network.n_dims());
        let recipe = self.protocol.recipe();
        let cache =
            self.settings.cache.as_ref().map(|root| Cache::new(root, recipe.pixels_digest(), &identity, d));
        let reader = Reader {
            pixels: &recipe.pixels,
            network,
            cache: cache.as_ref(),
            batch: self.settings.batch.max(1),
            keep_going: self.settings.keep_going,
        };
        let on = &mut self.on;
        let report = reader.read(source, &mut |event| on(path, event), &mut |place, row| {
            sink(place, d, row).map_err(|error| MeasureError::array(&source.entry_path(place), error))
        })?;
        self.n_forward += report.n_forward;
        self.broken.extend(report.broken.into_iter().map(|broken| (path.to_path_buf(), broken)));
        Ok(identity)
    }

    /// A value under this protocol; fails when it is not finite.
    pub(crate) fn measurement(
        &self,
        metric: &'static str,
        value: f64,
        n: Vec<Option<u64>>,
        extractor: Option<String>,
    ) -> Result<Measurement, MeasureError> {
        if !value.is_finite() {
            return Err(StatsError::NotFinite { what: "the value", at: 0, value }).in_metric(metric);
        }
        let protocol = self.protocol.to_string();
        Ok(Measurement {
            schema: SCHEMA,
            metric,
            value,
            ci95: None,
            protocol,
            n,
            extractor,
            details: Map::new(),
        })
    }
}

/// Fails when the sides of a comparison cannot be of one network.
pub(crate) fn check_widths(first: (&Path, usize), second: (&Path, usize)) -> Result<(), MeasureError> {
    if first.1 == second.1 {
        return Ok(());
    }
    Err(MeasureError::Width {
        path: second.0.to_path_buf(),
        found: second.1,
        other: first.0.to_path_buf(),
        expected: first.1,
    })
}
