//! What the metrics over any two sets take, and how they answer.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use specimen_measure::{
    MeasureError, Measurement,
    cache::cache_folder,
    images::{BATCH, Event},
    measurement::LeftOut,
    meter::{Meter, Settings},
    network::Networks,
    protocol::Protocol,
    rules::Dtype,
};

use crate::{
    args::Format,
    cmd::counted_networks::{Count, Counted},
    exit::CliError,
    talk::{Talk, answer, answer_json},
};

/// How to measure.
#[derive(Debug, Args)]
pub struct MetricArgs {
    /// Break off at nothing that concerns one picture only: leave out broken ones, and those without a caption where captions
    /// are asked for, list and count them
    #[arg(long)]
    pub keep_going: bool,
    /// Compute an interval of 95 %: 20 groups of rows are left out in turn
    #[arg(long)]
    pub ci: bool,
    /// Compute every feature, and keep none
    #[arg(long)]
    pub no_cache: bool,
    /// Pictures in one pass of the network
    #[arg(long, value_name = "N", default_value_t = BATCH, value_parser = batch)]
    pub batch: usize,
    /// Another layer of the protocol's network, `192` say; another recipe
    #[arg(long, value_name = "NAME")]
    pub layer: Option<String>,
    /// Another element type of the network; another recipe
    #[arg(long, value_enum)]
    pub dtype: Option<DtypeChoice>,
    /// The network's weights, instead of where they are looked for
    #[cfg(feature = "torch")]
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,
}

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DtypeChoice {
    /// 32 bits, as the reference tools.
    F32,
    /// 16 bits with 8 of mantissa.
    Bf16,
}

fn batch(text: &str) -> Result<usize, String> {
    let n: usize = text.parse().map_err(|_| format!("`{text}` is no number of pictures"))?;
    if (1..=1024).contains(&n) { Ok(n) } else { Err("1 to 1024 pictures are possible".to_owned()) }
}

impl MetricArgs {
    /// The protocol that an argument means, with the layer and the type asked for.
    fn protocol(&self, metric: &str, name_or_path: &str) -> Result<Protocol, MeasureError> {
        let mut protocol = Protocol::find(name_or_path)?;
        if let Some(layer) = &self.layer {
            protocol = protocol.with_layer(layer, metric);
        }
        Ok(match self.dtype {
            None => protocol,
            Some(DtypeChoice::F32) => protocol.with_dtype(Dtype::F32),
            Some(DtypeChoice::Bf16) => protocol.with_dtype(Dtype::Bf16),
        })
    }

    /// Measures `metric` under the protocol `name_or_path` by `measure`, prints what comes of it, and fails when pictures
    /// were left out.
    pub(crate) fn run(
        &self,
        metric: &str,
        name_or_path: &str,
        talk: &Talk,
        measure: impl FnOnce(&mut Meter<'_>) -> anyhow::Result<Answer>,
    ) -> anyhow::Result<()> {
        let protocol = self.protocol(metric, name_or_path)?;
        let count = Count::default();
        let networks = Counted::new(self.networks(), count.clone());
        let settings = Settings {
            cache: if self.no_cache { None } else { cache_folder() },
            keep_going: self.keep_going,
            interval: self.ci,
            batch: self.batch,
        };
        let mut meter = Meter::with(protocol, &networks, settings);
        let mut progress = ImageProgress::new(talk, count);
        meter.listen(move |path, event| progress.on(path, event));
        let answered = measure(&mut meter)?;
        let left_out = meter.left_out();
        // What draws the progress ends with the meter, before the answer.
        drop(meter);
        answered.print(&left_out, talk)?;
        if left_out.is_empty() {
            return Ok(());
        }
        left_out.iter().for_each(|one| talk.warn(&one.why));
        let n = left_out.len();
        Err(CliError::Failed(format!("{n} pictures were left out, the first: {}", left_out[0].why)).into())
    }

    #[cfg(feature = "torch")]
    fn networks(&self) -> Box<dyn Networks> {
        let data = crate::spec_args::data_root();
        let data = data.as_ref().map(|root| root.path());
        Box::new(specimen_measure::published::Published::new(data, self.weights.clone()))
    }

    #[cfg(not(feature = "torch"))]
    fn networks(&self) -> Box<dyn Networks> {
        Box::new(specimen_measure::network::NoNetworks)
    }
}

/// What a metric answers.
pub(crate) enum Answer {
    /// One value: an object in JSON.
    One(Box<Measurement>),
    /// Several: a list.
    Several(Vec<Measurement>),
    /// A file was written.
    Written {
        /// The file.
        path: PathBuf,
        /// What it holds.
        what: String,
    },
}

impl From<Measurement> for Answer {
    fn from(measured: Measurement) -> Self {
        Self::One(Box::new(measured))
    }
}

impl Answer {
    fn print(&self, left_out: &[LeftOut], talk: &Talk) -> anyhow::Result<()> {
        match (self, talk.format()) {
            (Self::One(measured), Format::Json) => answer_json(measured),
            (Self::Several(measured), Format::Json) => answer_json(measured),
            (Self::Written { path, what }, Format::Json) => {
                let mut written = serde_json::json!({"schema": 1, "file": path, "holds": what});
                if !left_out.is_empty() {
                    written["left_out"] = serde_json::json!(left_out);
                }
                answer_json(&written)
            }
            (Self::One(measured), Format::Human) => answer(&human(std::slice::from_ref(measured))),
            (Self::Several(measured), Format::Human) => answer(&human(measured)),
            (Self::Written { path, what }, Format::Human) => answer(&format!("{}: {what}", path.display())),
        }
    }
}

/// The values, one a line, and below them what they share.
fn human(measured: &[Measurement]) -> String {
    let width = measured.iter().map(|one| one.metric.len()).max().unwrap_or(0).max(9);
    let mut text = String::new();
    for one in measured {
        let interval = one.ci95.map(|[lower, upper]| format!("  [{}, {}]", digits(lower), digits(upper)));
        let (name, value) = (one.metric, digits(one.value));
        text.push_str(&format!("{name:width$}  {value}{}\n", interval.unwrap_or_default()));
    }
    let Some(first) = measured.first() else { return text };
    for (key, value) in &first.details {
        let value = value.as_f64().filter(|_| value.is_f64()).map_or_else(|| value.to_string(), digits);
        text.push_str(&format!("  {key:width$}{}\n", value.trim_matches('"'), width = width.max(16)));
    }
    let n: Vec<String> = first.n.iter().map(|n| n.map_or("unknown".to_owned(), |n| n.to_string())).collect();
    for (key, value) in
        [("n", n.join(" and ")), ("made by", makers(first)), ("protocol", first.protocol.clone())]
    {
        text.push_str(&format!("  {key:width$}{value}\n", width = width.max(16)));
    }
    text
}

/// What made the features of all sides, or of each where they differ.
fn makers(measured: &Measurement) -> String {
    match &*measured.made_by {
        [first, others @ ..] if others.iter().all(|other| other == first) => {
            if measured.extractor.is_some() {
                first.clone()
            } else {
                format!("{first} (features or statistics as given)")
            }
        }
        several => several.join(" and "),
    }
}

/// Eight digits that count.
fn digits(value: f64) -> String {
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    match usize::try_from(7 - magnitude) {
        Ok(decimals) if decimals <= 12 => format!("{value:.decimals$}"),
        _ => format!("{value:.7e}"),
    }
}

/// Tells how far a source is, and what is odd about the cache.
struct ImageProgress<'t> {
    talk: &'t Talk,
    /// What went through networks, of every source.
    count: Count,
    /// The same when the source began, and when something was told last.
    #[cfg(feature = "torch")]
    n_before: u64,
    #[cfg(feature = "torch")]
    n_told: u64,
    #[cfg(feature = "torch")]
    bar: Option<(PathBuf, crate::progress::ImageBar<'t>)>,
}

impl<'t> ImageProgress<'t> {
    fn new(talk: &'t Talk, count: Count) -> Self {
        Self {
            talk,
            count,
            #[cfg(feature = "torch")]
            n_before: 0,
            #[cfg(feature = "torch")]
            n_told: 0,
            #[cfg(feature = "torch")]
            bar: None,
        }
    }

    fn on(&mut self, path: &Path, event: Event) {
        match event {
            Event::Done { n_done, n_all } => self.done(path, n_done, n_all),
            Event::Opened { identity, provenance: None } => self.talk.detail(identity),
            Event::Opened { identity, provenance: Some(weights) } if weights.is_published => {
                self.talk.detail(format!("{identity}: {}", weights.words));
            }
            Event::Opened { identity, provenance: Some(weights) } => {
                self.talk.warn(format!(
                    "{identity}: no published digest vouches for its weights: {}",
                    weights.words
                ));
            }
            Event::Damaged { path } => {
                self.talk.warn(format!(
                    "{}: damaged cache entry, its features are computed again",
                    path.display()
                ));
            }
            Event::OtherWidth { found, layer, expected } => {
                self.talk.warn(format!(
                    "{}: {found} features a row, {layer} has {expected}: the protocol's name says how these are \
                     compared, not what made them",
                    path.display()
                ));
            }
            Event::NotKept { why } => self.talk.warn(format!("features are not kept: {why}")),
        }
    }

    #[cfg(feature = "torch")]
    fn done(&mut self, path: &Path, n_done: usize, n_all: usize) {
        if self.bar.as_ref().is_none_or(|(known, _)| known != path) {
            self.bar = None;
            self.talk.say(format!("{}: {n_all} pictures", path.display()));
            self.bar = Some((path.to_owned(), crate::progress::ImageBar::new(self.talk, n_all as u64)));
            self.n_before = self.n_told;
        }
        self.n_told = self.count.get();
        if let Some((_, bar)) = &mut self.bar {
            bar.reached(n_done as u64, self.n_told - self.n_before);
        }
    }

    #[cfg(not(feature = "torch"))]
    fn done(&mut self, path: &Path, n_done: usize, n_all: usize) {
        let n = self.count.get();
        self.talk.detail(format!("{}: {n_done} of {n_all} pictures, {n} computed in all", path.display()));
    }
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn values_have_eight_digits_that_count() {
        let cases = [
            (2.769_068_483_553_24, "2.7690685"),
            (0.0, "0.0000000"),
            (-0.001_918_182_626, "-0.0019181826"),
            (697.995_41, "697.99541"),
            (1.2e-9, "1.2000000e-9"),
            (123_456_789.0, "1.2345679e8"),
        ];
        for (value, text) in cases {
            assert_eq!(digits(value), text);
        }
    }
}
