//! One protocol with all that it takes to measure: networks, cache, settings, and what was left out on the way.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Map;
use specimen_foundation::fail;
use specimen_pixels::Source;
use specimen_stats::StatsError;
use specimen_stats::features::FeatureRows;
use specimen_stats::jackknife::JackknifePlan;
use specimen_stats::statistics_file::Origin;

use crate::alike::{Sameness, check_widths, equal_rows};
use crate::cache::Cache;
use crate::error::{InMetric, MeasureError};
use crate::images::{BATCH, Broken, Event, Reader, Report, Through};
use crate::input::Input;
use crate::measurement::{LeftOut, Measurement, SCHEMA, SideFacts, made_by};
use crate::network::{FeatureNetwork, NetworkRule, Networks, Opened, OpenedHead, Part, Provenance, RowHead};
use crate::protocol::Protocol;
use crate::sample::{Rows, Side, Spread};
use crate::statistics;

/// Groups that an interval leaves out, one at a time.
pub const INTERVAL_GROUPS: usize = 20;
/// The seed that deals rows to them. A constant, so that an interval is part of what a value's name means.
pub(crate) const INTERVAL_SEED: u64 = 1;
/// The level of intervals.
pub(crate) const INTERVAL_LEVEL: f64 = 0.95;
/// Images below which no interval of a run's cell is computed: groups that are left out should hold several.
pub const FEWEST_FOR_INTERVAL: usize = 5 * INTERVAL_GROUPS;

/// How rows are dealt to groups for an interval.
pub(crate) fn interval_plan() -> JackknifePlan {
    JackknifePlan::new(INTERVAL_SEED, INTERVAL_GROUPS, INTERVAL_LEVEL)
        .expect("the constants are in their ranges")
}

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
    /// By layers, which a `+` joins.
    opened: BTreeMap<String, Box<dyn FeatureNetwork>>,
    /// Rows that are kept in memory for the next metric, by path and layer; nothing unless asked for.
    held: BTreeMap<(PathBuf, String), Rows>,
    /// Pictures that are not below one folder, by the path that stands for them: key and file.
    lists: BTreeMap<PathBuf, Vec<(String, PathBuf)>>,
    broken: Vec<(PathBuf, Broken)>,
    /// Files of captions of which some were left out.
    captions: BTreeSet<PathBuf>,
    /// Sources whose rows, two or more, are all equal.
    equal: BTreeSet<PathBuf>,
    /// What is to be known of the networks that were opened.
    of_networks: Vec<String>,
    /// Events of given features, which are reported once.
    reported: Vec<(PathBuf, Event)>,
    n_forward: usize,
}

/// Receives what happens to which source.
type Listener<'a> = dyn FnMut(&Path, Event) + 'a;

/// Takes a group of rows: the place of the first among the keys, features of a row, the rows.
pub(crate) type Sink<'s> = dyn FnMut(usize, usize, &[f32]) -> Result<(), StatsError> + 's;

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
            held: BTreeMap::new(),
            lists: BTreeMap::new(),
            broken: Vec::new(),
            captions: BTreeSet::new(),
            equal: BTreeSet::new(),
            of_networks: Vec::new(),
            reported: Vec::new(),
            n_forward: 0,
        }
    }

    /// Tells `on` what happens to which source from now on.
    pub fn listen(&mut self, on: impl FnMut(&Path, Event) + 'a) {
        self.on = Box::new(on);
    }

    /// Lets `path` stand for these pictures, which need not be below it: key and file of each.
    pub fn list(&mut self, path: &Path, pictures: Vec<(String, PathBuf)>) {
        self.lists.insert(path.to_path_buf(), pictures);
    }

    /// What is at `path`, or is listed for it.
    fn input(&self, path: &Path) -> Result<Input, MeasureError> {
        match self.lists.get(path) {
            Some(pictures) => Ok(Input::Images(Source::of_list(path, pictures.clone())?)),
            None => Input::open(path, self.settings.keep_going),
        }
    }

    /// The protocol.
    pub fn protocol(&self) -> &Protocol {
        &self.protocol
    }

    /// Says so before pictures are there.
    pub fn check(&self, metric: &str) -> Result<(), MeasureError> {
        let recipe = self.protocol.recipe();
        self.protocol.metric(metric)?;
        if let Some(rule) = recipe.imagereward.as_ref().filter(|_| metric == "imagereward") {
            return self.networks.prompted(&recipe.network, rule.n_tokens).map(|_| ());
        }
        // The head first: what fetches it fetches the network too.
        if let Some(rule) = recipe.aesthetic.as_ref().filter(|_| metric == "aesthetic") {
            self.networks.head(&rule.head)?;
        }
        self.networks.images(&recipe.network, &[recipe.layer_of(metric)])?;
        if let Some(rule) = recipe.texts_of(metric) {
            self.networks.texts(&recipe.network, &rule)?;
        }
        Ok(())
    }

    /// Pictures that were left out so far, with their sources.
    pub fn broken(&self) -> &[(PathBuf, Broken)] {
        &self.broken
    }

    /// The same in the form of an answer.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let one = |(of, broken): &(PathBuf, Broken)| LeftOut {
            of: of.display().to_string(),
            file: broken.key.clone(),
            why: broken.why.clone(),
            is_caption: self.captions.contains(of),
        };
        self.broken.iter().map(one).collect()
    }

    /// What a reader must know of values of the sources `of`.
    pub fn notes(&self, of: &[&Path]) -> Vec<String> {
        let equal = of.iter().filter(|path| self.equal.contains(**path));
        self.of_networks.iter().cloned().chain(equal.map(|path| equal_rows(path.display()))).collect()
    }

    /// Pictures that went through a network so far; those of the cache did not.
    pub fn n_forward(&self) -> usize {
        self.n_forward
    }

    /// Opens what is at `path`. Entries of a folder that cannot be listed are left out like broken pictures where the
    /// meter keeps going, and else are an error.
    pub(crate) fn open(&mut self, path: &Path) -> Result<Input, MeasureError> {
        let input = self.input(path)?;
        if let Input::Images(source) = &input {
            let unlisted = source.unlisted().iter();
            let broken =
                unlisted.map(|entry| Broken { key: entry.key.clone(), why: entry.error.to_string() });
            self.broken.extend(broken.map(|broken| (path.to_path_buf(), broken)));
        }
        Ok(input)
    }

    /// Fails when a side cannot be opened, holds statistics only where a metric is named with it that needs rows, or has
    /// another width than the side before: reported before another side has gone through a network or takes memory.
    pub(crate) fn check_sides(&self, sides: &[(&Path, Option<&str>)]) -> Result<(), MeasureError> {
        let mut before: Option<(&Path, usize)> = None;
        for &(path, needs_rows) in sides {
            let input = self.input(path)?;
            if let (Input::Statistics(..), Some(metric)) = (&input, needs_rows) {
                return Err(crate::error::needs_rows(path, metric));
            }
            let Some(n_dims) = input.n_dims() else { continue };
            if let Some(before) = before {
                check_widths(before, (path, n_dims))?;
            }
            before = Some((path, n_dims));
        }
        Ok(())
    }

    /// Whether what is wrong is left out and listed.
    pub(crate) fn keeps_going(&self) -> bool {
        self.settings.keep_going
    }

    /// Leaves out what `broken` says of the source at `path`.
    pub(crate) fn leave_out(&mut self, path: &Path, broken: Broken) {
        self.broken.push((path.to_path_buf(), broken));
    }

    /// The same of the captions in the file at `path`.
    pub(crate) fn leave_out_caption(&mut self, path: &Path, broken: Broken) {
        self.captions.insert(path.to_path_buf());
        self.leave_out(path, broken);
    }

    /// Tells of a network that was opened for what is at `path`.
    pub(crate) fn tell_opened(&mut self, path: &Path, identity: String, provenance: Option<Provenance>) {
        self.of_networks.extend(provenance.as_ref().and_then(|weights| weights.note(&identity)));
        self.tell_once(path, Event::Opened { identity, provenance });
    }

    /// Opens the head on features called `name`, for what is at `path`.
    pub(crate) fn open_head(&mut self, path: &Path, name: &str) -> Result<Box<dyn RowHead>, MeasureError> {
        let OpenedHead { head, provenance } = self.networks.head(name)?;
        self.tell_opened(path, head.identity(), provenance);
        Ok(head)
    }

    pub(crate) fn networks(&self) -> &'a dyn Networks {
        self.networks
    }

    /// How to deal rows to groups, where an interval was asked for.
    pub(crate) fn interval(&self) -> Option<JackknifePlan> {
        self.settings.interval.then(interval_plan)
    }

    /// What the protocol and the network `identity` make of pictures.
    fn origin_of(&self, identity: String) -> Origin {
        let pixels = blake3::Hash::from_bytes(self.protocol.recipe().pixels_digest()).to_hex();
        Origin { extractor: identity, pixels: pixels.to_string() }
    }

    /// Fails when the file at `path` says that its features are not those of `layer` under this protocol. Weights are
    /// compared where two sides meet.
    fn check_origin(&self, path: &Path, origin: Option<&Origin>, layer: &str) -> Result<(), MeasureError> {
        let Some(origin) = origin else { return Ok(()) };
        let NetworkRule { name, dtype, .. } = &self.protocol.recipe().network;
        let expected = self.origin_of(format!("{name}-{layer}-{}", dtype.name()));
        let network = origin.extractor.split('@').next().unwrap_or_default();
        let shape = network.strip_prefix(name.as_str()).unwrap_or_default();
        let is_network =
            shape.starts_with(['-', '[']) && shape.ends_with(&format!("-{layer}-{}", dtype.name()));
        if is_network && origin.pixels == expected.pixels {
            return Ok(());
        }
        fail!(Missing: "{}: its features were made by {}; `{}` takes {}; give the protocol under which the \
            file was written, or the pictures", path.display(), made_by(Some(origin)), self.protocol.name(),
            made_by(Some(&expected)))
    }

    /// Tells of given rows that say nothing of what made them, and that `layer` of the protocol's network cannot have.
    fn check_width_of_layer(&mut self, path: &Path, layer: &str, found: usize) {
        let rule = NetworkRule { layer: layer.to_owned(), ..self.protocol.recipe().network.clone() };
        if let Some(expected) = self.networks.n_dims(&rule).filter(|&expected| expected != found) {
            let layer = format!("{}, layer {layer},", rule.name);
            self.tell_once(path, Event::OtherWidth { found, layer, expected });
        }
    }

    /// All rows of what is at `path`, for `metric`, of the protocol's own layer.
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
        if let Some(rows) = self.held(path, layer) {
            return Ok(rows.clone());
        }
        let (mut values, mut n_dims) = (Vec::new(), 0);
        let origin = self.each(path, metric, layer, &mut |_, d, rows| {
            n_dims = d;
            values.extend_from_slice(rows);
            Ok(())
        })?;
        let features = FeatureRows::new(values, n_dims).map_err(|e| MeasureError::array(path, e))?;
        Ok(Rows { features, origin })
    }

    /// Mean and covariance of what is at `path`, and what made the features, where it is known.
    pub fn side(&mut self, path: &Path) -> Result<(Side, Option<Origin>), MeasureError> {
        let layer = self.protocol.recipe().network.layer.clone();
        if let Some(rows) = self.held(path, &layer) {
            let mut spread = Spread::new(rows.features.d()).map_err(|e| MeasureError::array(path, e))?;
            spread.push(rows.features.values()).map_err(|e| MeasureError::array(path, e))?;
            return Ok((Side::Spread(spread), rows.origin.clone()));
        }
        let input = self.open(path)?;
        if let Input::Statistics(mut archive) = input {
            let origin = archive.origin().cloned();
            self.check_origin(path, origin.as_ref(), &layer)?;
            if origin.is_none() {
                self.check_width_of_layer(path, &layer, archive.n_dims());
            }
            let gaussian = archive.gaussian()?;
            if let Some(what) = statistics::oddness(&gaussian) {
                self.tell_once(path, Event::OddStatistics { what });
            }
            return Ok((Side::Given(gaussian), origin));
        }
        let mut spread: Option<Spread> = None;
        let origin = self.each_of(path, input, "fid", &layer, &mut |_, d, rows| match &mut spread {
            Some(spread) => spread.push(rows),
            none => none.insert(Spread::new(d)?).push(rows),
        })?;
        let none = StatsError::TooFew { what: "features", needed: 2, found: 0 };
        let spread = spread.ok_or_else(|| MeasureError::array(path, none))?;
        Ok((Side::Spread(spread), origin))
    }

    /// Rows of the pictures of `source` with their places among its keys, and what made them.
    pub(crate) fn rows_of_images(
        &mut self,
        source: Source,
        path: &Path,
    ) -> Result<(Vec<usize>, Rows), MeasureError> {
        let (mut places, mut values, mut n_dims) = (Vec::new(), Vec::new(), 0);
        let layer = self.protocol.recipe().network.layer.clone();
        let origin = self.each_of(path, Input::Images(source), "", &layer, &mut |place, d, row| {
            n_dims = d;
            places.push(place);
            values.extend_from_slice(row);
            Ok(())
        })?;
        let features = FeatureRows::new(values, n_dims).map_err(|e| MeasureError::array(path, e))?;
        Ok((places, Rows { features, origin }))
    }

    fn each(
        &mut self,
        path: &Path,
        metric: &str,
        layer: &str,
        sink: &mut Sink<'_>,
    ) -> Result<Option<Origin>, MeasureError> {
        let input = self.open(path)?;
        self.each_of(path, input, metric, layer, sink)
    }

    /// Gives `sink` the rows of `input`, notes where all are equal, and returns what made them, where it is known.
    fn each_of(
        &mut self,
        path: &Path,
        input: Input,
        metric: &str,
        layer: &str,
        sink: &mut Sink<'_>,
    ) -> Result<Option<Origin>, MeasureError> {
        let mut sameness = Sameness::default();
        let origin = self.rows_of(path, input, metric, layer, &mut |place, d, rows| {
            sameness.see(d, rows);
            sink(place, d, rows)
        })?;
        self.note_equal(path, &sameness);
        Ok(origin)
    }

    fn note_equal(&mut self, path: &Path, sameness: &Sameness) {
        self.equal.extend(sameness.holds().then(|| path.to_path_buf()));
    }

    /// Gives `sink` the rows of `input`, and returns what made them, where it is known.
    fn rows_of(
        &mut self,
        path: &Path,
        input: Input,
        metric: &str,
        layer: &str,
        sink: &mut Sink<'_>,
    ) -> Result<Option<Origin>, MeasureError> {
        let in_file = |source| MeasureError::array(path, source);
        match input {
            Input::Images(source) => {
                let mut origins = self.each_image(path, &source, &[layer], sink)?;
                return Ok(Some(origins.swap_remove(0)));
            }
            Input::Statistics(..) => {
                return Err(crate::error::needs_rows(path, metric));
            }
            Input::Features(mut archive) => {
                let origin = archive.origin().cloned();
                self.check_origin(path, origin.as_ref(), layer)?;
                if origin.is_none() {
                    self.check_width_of_layer(path, layer, archive.n_dims());
                }
                let (rows, n_rounded) = archive.features()?;
                self.tell_rounded(path, n_rounded);
                sink(0, rows.d(), rows.values()).map_err(in_file)?;
                return Ok(origin);
            }
            Input::Rows(mut file) => {
                self.check_width_of_layer(path, layer, file.n_dims());
                loop {
                    let rows = file.next_rows(ROWS_AT_ONCE)?;
                    if rows.is_empty() {
                        break;
                    }
                    sink(0, file.n_dims(), &rows).map_err(in_file)?;
                }
                self.tell_rounded(path, file.n_rounded());
            }
        }
        Ok(None)
    }

    /// Tells of numbers that f32 does not hold.
    fn tell_rounded(&mut self, path: &Path, n: u64) {
        if n > 0 {
            self.tell_once(path, Event::Rounded { n });
        }
    }

    /// Tells of what is odd about given features, once, however many metrics read them.
    pub(crate) fn tell_once(&mut self, path: &Path, event: Event) {
        let reported = (path.to_path_buf(), event.clone());
        if !self.reported.contains(&reported) {
            self.reported.push(reported);
            (self.on)(path, event);
        }
    }

    /// Rows of `layer` of what is at `path`, where they are kept in memory.
    fn held(&self, path: &Path, layer: &str) -> Option<&Rows> {
        self.held.get(&(path.to_path_buf(), layer.to_owned()))
    }

    /// Whether [`Meter::hold`] keeps the rows of `layer` of what is at `path`.
    pub fn holds(&self, path: &Path, layer: &str) -> bool {
        self.held(path, layer).is_some()
    }

    /// Keeps the rows of `layers` of what is at `path` in memory, until the meter goes, so that every metric after
    /// this one takes them: pictures are read once, and go through the network once. Statistics and features, which
    /// are of one layer and read by whatever needs them, are left where they are.
    pub fn hold(&mut self, path: &Path, layers: &[&str]) -> Result<(), MeasureError> {
        let Input::Images(source) = self.open(path)? else { return Ok(()) };
        let mut values: Vec<Vec<f32>> = vec![Vec::new(); layers.len()];
        let widths = self.open_network(path, layers)?.iter().map(|part| part.n_dims).collect::<Vec<_>>();
        let mut sameness = Sameness::default();
        let origins = self.each_image(path, &source, layers, &mut |_, d, row| {
            sameness.see(d, row);
            let mut rest = row;
            for (values, &width) in values.iter_mut().zip(&widths) {
                let (own, others) = rest.split_at(width);
                values.extend_from_slice(own);
                rest = others;
            }
            Ok(())
        })?;
        self.note_equal(path, &sameness);
        for (((layer, values), width), origin) in layers.iter().zip(values).zip(widths).zip(origins) {
            let features = FeatureRows::new(values, width).map_err(|e| MeasureError::array(path, e))?;
            let rows = Rows { features, origin: Some(origin) };
            self.held.insert((path.to_path_buf(), (*layer).to_owned()), rows);
        }
        Ok(())
    }

    /// Opens the network for `layers` in one pass where it is not open, and returns the parts of its rows.
    fn open_network(&mut self, path: &Path, layers: &[&str]) -> Result<Vec<Part>, MeasureError> {
        let name = layers.join("+");
        if !self.opened.contains_key(&name) {
            let rule = &self.protocol.recipe().network;
            let Opened { network, provenance } = self.networks.images(rule, layers)?;
            self.tell_opened(path, network.identity(), provenance);
            self.opened.insert(name.clone(), network);
        }
        Ok(self.opened[&name].parts())
    }

    /// Gives `sink` the rows of the pictures of `source`, those of several layers one behind the other, and returns what
    /// made those of each layer.
    fn each_image(
        &mut self,
        path: &Path,
        source: &Source,
        layers: &[&str],
        sink: &mut Sink<'_>,
    ) -> Result<Vec<Origin>, MeasureError> {
        let parts = self.open_network(path, layers)?;
        let name = layers.join("+");
        let network = self.opened.remove(&name).expect("it was just opened");
        let origins = self.each_through(path, source, Through::Features(&*network), &parts, sink);
        self.opened.insert(name, network);
        origins
    }

    /// Gives `sink` the rows that `through` makes of the pictures of `source`, those of `parts` one behind the other, and
    /// returns what made each.
    pub(crate) fn each_through(
        &mut self,
        path: &Path,
        source: &Source,
        through: Through<'_>,
        parts: &[Part],
        sink: &mut Sink<'_>,
    ) -> Result<Vec<Origin>, MeasureError> {
        let d: usize = parts.iter().map(|part| part.n_dims).sum();
        let origins = parts.iter().map(|part| self.origin_of(part.identity.clone())).collect();
        let recipe = self.protocol.recipe();
        let batch = self.settings.batch.max(1);
        let cache = self.settings.cache.as_ref();
        let cache: Option<Vec<Cache>> = cache.map(|root| {
            let of =
                |part: &Part| Cache::new(root, recipe.pixels_digest(), &part.identity, batch, part.n_dims);
            parts.iter().map(of).collect()
        });
        let reader = Reader {
            pixels: &recipe.pixels,
            through,
            caches: cache.as_deref().unwrap_or_default(),
            batch,
            keep_going: self.settings.keep_going,
        };
        let on = &mut self.on;
        let mut report = Report::default();
        let read = reader.read(source, &mut report, &mut |event| on(path, event), &mut |place, row| {
            sink(place, d, row).map_err(|error| MeasureError::array(&source.entry_path(place), error))
        });
        self.n_forward += report.n_forward;
        self.broken.extend(report.broken.into_iter().map(|broken| (path.to_path_buf(), broken)));
        read.map(|()| origins)
    }

    /// A value under this protocol of the sides at `of`; fails when it is not finite.
    pub(crate) fn measurement(
        &self,
        metric: &'static str,
        value: f64,
        of: &[&Path],
        sides: &[SideFacts],
    ) -> Result<Measurement, MeasureError> {
        if !value.is_finite() {
            return Err(StatsError::NotFinite { what: "the value", at: 0, value }).in_metric(metric, of);
        }
        let known = sides.iter().find_map(|side| side.origin.as_ref());
        Ok(Measurement {
            schema: SCHEMA,
            metric,
            value,
            ci95: None,
            protocol: self.protocol.label(crate::metrics::table_of(metric)),
            n: sides.iter().map(|side| side.n).collect(),
            extractor: known.map(|origin| origin.extractor.clone()),
            made_by: sides.iter().map(|side| made_by(side.origin.as_ref())).collect(),
            left_out: self.left_out(),
            notes: self.notes(of),
            details: Map::new(),
        })
    }
}
