//! What the metrics over any two sets take, and how they answer.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use specimen_foundation::text::counted;
use specimen_foundation::{failure, folders::cache_folder};
use specimen_measure::{
    MeasureError, Measurement,
    images::{BATCH, Event},
    measurement::LeftOut,
    meter::{Meter, Settings},
    network::{Dtype, Networks},
    protocol::{MetricSettings, Protocol},
};

use crate::{
    console::{Console, answer, answer_json},
    shared_args::Format,
};

/// How to measure.
#[derive(Debug, Args)]
pub struct MetricArgs {
    /// Go on after a picture that cannot be used: broken ones, and those without a caption where captions are needed, are
    /// left out and listed, and the exit code is 5
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
    #[command(flatten)]
    pub network: NetworkArgs,
}

/// With what a network computes, and where.
#[derive(Debug, Args)]
pub struct NetworkArgs {
    /// The network's weights, instead of where they are looked for
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,
    /// Where the network computes: `cpu`, `cuda` or `cuda:N`. Features of a GPU are kept apart from those of the CPU, since
    /// they round otherwise
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: String,
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
        console: &Console,
        measure: impl FnOnce(&mut Meter<'_>) -> anyhow::Result<Answer>,
    ) -> anyhow::Result<()> {
        self.run_with(metric, name_or_path, &MetricSettings::default(), console, measure)
    }

    /// As [`MetricArgs::run`], with other settings than the protocol's.
    pub(crate) fn run_with(
        &self,
        metric: &str,
        name_or_path: &str,
        settings: &MetricSettings,
        console: &Console,
        measure: impl FnOnce(&mut Meter<'_>) -> anyhow::Result<Answer>,
    ) -> anyhow::Result<()> {
        let published = self.protocol(metric, name_or_path)?;
        let (name, protocol) = (published.name().to_owned(), published.with_settings(settings)?);
        if protocol.name() != name {
            console.say(format!(
                "{} is another recipe than {name}: its values have a digest of their own",
                protocol.name()
            ));
        }
        let networks = self.network.networks();
        let settings = Settings {
            cache: if self.no_cache { None } else { cache_folder() },
            keep_going: self.keep_going,
            interval: self.ci,
            batch: self.batch,
        };
        let mut meter = Meter::with(protocol, &*networks, settings);
        let mut progress = ImageProgress::new(console);
        meter.listen(move |path, event| progress.on(path, event));
        let measured = measure(&mut meter);
        let left_out = meter.left_out();
        // What draws the progress ends with the meter, before the answer.
        drop(meter);
        let answered = match measured {
            Ok(answered) => answered,
            Err(error) if left_out.is_empty() => return Err(error),
            Err(error) => {
                left_out.iter().for_each(|one| console.warn(&one.why));
                return Err(error.context(said(&left_out)));
            }
        };
        answered.print(&left_out, console)?;
        left_out.iter().for_each(|one| console.warn(&one.why));
        let mut failed = answered.failed();
        if !left_out.is_empty() {
            failed.push(said(&left_out));
        }
        if failed.is_empty() { Ok(()) } else { Err(failure!(Failed: "{}", failed.join("; ")).into()) }
    }
}

impl NetworkArgs {
    /// What opens networks.
    pub(crate) fn networks(&self) -> Box<dyn Networks> {
        let data = crate::spec_args::data_root();
        let data = data.as_ref().map(|root| root.path());
        Box::new(specimen_measure::published::Published::new(data, self.weights.clone()).on(&self.device))
    }
}

/// What was left out, in a line.
fn said(left_out: &[LeftOut]) -> String {
    let (n, verb) = (left_out.len(), if left_out.len() == 1 { "was" } else { "were" });
    let n_captions = left_out.iter().filter(|one| one.is_caption).count();
    let what = match n_captions {
        0 => "picture",
        all if all == n => "caption",
        _ => "picture or caption",
    };
    let shown: Vec<&str> = left_out.iter().take(MOST_SHOWN).map(|one| one.why.as_str()).collect();
    let more = if n > MOST_SHOWN { format!("; and {} more", n - MOST_SHOWN) } else { String::new() };
    let what = if n == 1 {
        format!("1 {what}")
    } else {
        format!("{n} {}", what.replace("picture", "pictures").replace("caption", "captions"))
    };
    format!("{what} {verb} left out ({}{more})", shown.join("; "))
}

/// Pictures that a line names.
const MOST_SHOWN: usize = 10;

/// What a metric answers.
pub(crate) enum Answer {
    /// One value: an object in JSON.
    One(Box<Measurement>),
    /// Several: a list.
    Several(Vec<Measurement>),
    /// All of a protocol: a list.
    All {
        /// The values.
        measured: Vec<Measurement>,
        /// Metrics without a value, and why.
        failed: Vec<String>,
    },
    /// A file was written.
    Written {
        /// Path of the file.
        path: PathBuf,
        /// What it holds.
        what: String,
        /// What a reader must know of it.
        notes: Vec<String>,
    },
}

impl From<Measurement> for Answer {
    fn from(measured: Measurement) -> Self {
        Self::One(Box::new(measured))
    }
}

impl Answer {
    /// Metrics without a value, and why.
    fn failed(&self) -> Vec<String> {
        match self {
            Self::All { failed, .. } => failed.clone(),
            _ => Vec::new(),
        }
    }

    /// The values.
    fn measured(&self) -> &[Measurement] {
        match self {
            Self::One(measured) => std::slice::from_ref(measured),
            Self::Several(measured) | Self::All { measured, .. } => measured,
            Self::Written { .. } => &[],
        }
    }

    fn print(&self, left_out: &[LeftOut], console: &Console) -> anyhow::Result<()> {
        let mut notes: Vec<&String> = Vec::new();
        let of_file = if let Self::Written { notes, .. } = self { &notes[..] } else { &[] };
        for note in self.measured().iter().flat_map(|one| &one.notes).chain(of_file) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        notes.into_iter().for_each(|note| console.warn(note));
        match (self, console.format()) {
            (Self::One(measured), Format::Json) => answer_json(measured),
            (Self::Several(measured) | Self::All { measured, .. }, Format::Json) => answer_json(measured),
            (Self::Written { path, what, notes }, Format::Json) => {
                let mut written = serde_json::json!({"schema": 1, "file": path, "holds": what});
                if !left_out.is_empty() {
                    written["left_out"] = serde_json::json!(left_out);
                }
                if !notes.is_empty() {
                    written["notes"] = serde_json::json!(notes);
                }
                answer_json(&written)
            }
            (Self::One(_) | Self::Several(_) | Self::All { .. }, Format::Human) => {
                let blocks = self.measured().chunk_by(|one, next| one.protocol == next.protocol);
                answer(&blocks.map(human).collect::<Vec<_>>().join("\n"))
            }
            (Self::Written { path, what, .. }, Format::Human) => {
                answer(&format!("{}: {what}", path.display()))
            }
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
    let n: Vec<String> = first.n.iter().map(|n| n.map_or("unknown".to_owned(), |n| n.to_string())).collect();
    let shared = [("n", n.join(" and ")), ("made by", makers(first)), ("protocol", first.protocol.clone())];
    let details = first.details.iter().map(|(key, value)| (key.as_str(), shown(value)));
    let lines: Vec<(&str, String)> = details.chain(shared).collect();
    let width = lines.iter().map(|(key, _)| key.len() + 2).max().unwrap_or(0).max(16);
    for (key, value) in lines {
        text.push_str(&format!("  {key:width$}{value}\n"));
    }
    text
}

/// A detail as people read it.
pub(crate) fn shown(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Number(number) if number.is_f64() => number.as_f64().map_or(String::new(), digits),
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(values) => {
            format!("[{}]", values.iter().map(shown).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
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
pub(crate) fn digits(value: f64) -> String {
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    match usize::try_from(7 - magnitude) {
        Ok(decimals) if decimals <= 12 => format!("{value:.decimals$}"),
        _ => format!("{value:.7e}"),
    }
}

/// Tells how far a source is, and what is odd about the cache.
struct ImageProgress<'t> {
    console: &'t Console,
    bar: Option<(PathBuf, crate::progress::ImageBar<'t>)>,
}

impl<'t> ImageProgress<'t> {
    fn new(console: &'t Console) -> Self {
        Self { console, bar: None }
    }

    fn on(&mut self, path: &Path, event: Event) {
        match event {
            Event::Done { n_done, n_kept, n_left_out, n_all } => {
                self.done(path, [n_done, n_kept, n_left_out], n_all);
            }
            Event::Opened { identity, provenance: None } => self.console.detail(identity),
            // Weights without a digest are in the notes of the answer.
            Event::Opened { identity, provenance: Some(weights) } => {
                self.console.detail(format!("{identity}: {weights}"));
            }
            Event::Damaged { path } => {
                self.console.warn(format!(
                    "{}: damaged cache entry, its features are computed again",
                    path.display()
                ));
            }
            Event::OtherWidth { found, layer, expected } => {
                self.console.warn(format!(
                    "{}: {} a row, {layer} has {expected}: the protocol's name says how these are compared, not \
                     what made them",
                    path.display(),
                    counted(found, "feature")
                ));
            }
            Event::Rounded { n } => {
                self.console.warn(format!(
                    "{}: {} with more digits than f32 holds, in which features are compared: rounded to it",
                    path.display(),
                    counted(n, "number")
                ));
            }
            Event::OddStatistics { what } => self.console.warn(format!("{}: {what}", path.display())),
            Event::NotKept { why } => self.console.warn(format!("features are not kept: {why}")),
        }
    }

    /// `so_far`: pictures that are done, of these from the cache, and left out.
    fn done(&mut self, path: &Path, so_far: [usize; 3], n_all: usize) {
        let is_begun =
            self.bar.as_ref().is_some_and(|(known, bar)| known == path && bar.precedes(so_far[0] as u64));
        if !is_begun {
            self.bar = None;
            self.console.say(format!("{}: {}", path.display(), counted(n_all, "picture")));
            self.bar = Some((path.to_owned(), crate::progress::ImageBar::new(self.console, n_all as u64)));
        }
        if let Some((_, bar)) = &mut self.bar {
            bar.reached(so_far.map(|n| n as u64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{digits, human, said};
    use specimen_measure::{Measurement, measurement::LeftOut};

    fn measurement() -> Measurement {
        Measurement {
            schema: 1,
            metric: "kid",
            value: 0.5,
            ci95: None,
            protocol: "tf1@0123456789ab".to_owned(),
            n: vec![Some(3), None],
            extractor: None,
            made_by: vec!["unknown".to_owned(); 2],
            left_out: Vec::new(),
            notes: Vec::new(),
            details: serde_json::Map::new(),
        }
    }

    #[test]
    fn a_long_name_keeps_its_distance_and_numbers_in_lists_have_eight_digits() {
        let measured = measurement()
            .with_detail("all_pairs_ci95", vec![-0.123_456_789_012_345_68, 2.0 / 3.0])
            .with_detail("n_subsets", 100)
            .with_detail("scaled_by_logit_scale", 2.604_770_2);
        let expected = "\
kid        0.50000000
  all_pairs_ci95         [-0.12345679, 0.66666667]
  n_subsets              100
  scaled_by_logit_scale  2.6047702
  n                      3 and unknown
  made by                unknown (features or statistics as given)
  protocol               tf1@0123456789ab
";
        assert_eq!(human(&[measured]), expected);
    }

    #[test]
    fn what_was_left_out_is_counted_and_named() {
        let one = |of: &str, at: usize| LeftOut {
            of: of.to_owned(),
            file: format!("{at}.png"),
            why: format!("{at}.png: broken"),
            is_caption: of == "captions",
        };
        assert_eq!(said(&[one("a", 7)]), "1 picture was left out (7.png: broken)");
        let text = said(&(0..12).map(|at| one("a", at)).collect::<Vec<_>>());
        assert!(text.starts_with("12 pictures were left out (0.png: broken; 1.png: broken; "), "{text}");
        assert!(text.ends_with("9.png: broken; and 2 more)"), "{text}");
        assert!(said(&[one("captions", 7)]).starts_with("1 caption was left out ("));
        assert!(said(&[one("captions", 7), one("captions", 8)]).starts_with("2 captions were left out ("));
        let both = said(&[one("a", 7), one("captions", 8)]);
        assert!(both.starts_with("2 pictures or captions were left out ("), "{both}");
    }

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
