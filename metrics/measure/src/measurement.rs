//! A value with what it depends on, in the form that scripts rely on.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value};
use specimen_datasets::text::ftfy::is_wrongly_decoded;
use specimen_stats::{bootstrap::Interval, fewest::FEWEST_OBSERVATIONS, statistics_file::Origin};

use crate::sample::Rows;

/// The schema of [`Measurement`]'s JSON.
pub const SCHEMA: u32 = 1;

/// A value of a metric with everything that it depends on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The metric: `fid`, `precision`, …
    pub metric: &'static str,
    /// The value, finite.
    pub value: f64,
    /// Ends of the 95 % interval, where one was asked for.
    pub ci95: Option<[f64; 2]>,
    /// `NAME@DIGEST12` of the protocol.
    pub protocol: String,
    /// Pictures or rows of each side, real side first; absent where a statistics file does not say.
    pub n: Vec<Option<u64>>,
    /// The network that made the features, as far as it is known of any side; sides of two networks are refused.
    pub extractor: Option<String>,
    /// What made the features of each side, network and pixels, real side first; `unknown` where they were given and
    /// the file does not say it.
    pub made_by: Vec<String>,
    /// Pictures that were left out because they are broken; absent where there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// What a reader must know before comparing the value, in words; absent where there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What else the metric has to say; its keys differ from metric to metric.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

/// A picture that a value does without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Where the side's pictures come from.
    pub of: String,
    /// Its name there.
    pub file: String,
    /// What is wrong with it.
    pub why: String,
    /// Whether it is a caption, and not a picture.
    #[serde(skip)]
    pub is_caption: bool,
}

/// What is known of one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SideFacts {
    /// Pictures or rows, if known.
    pub(crate) n: Option<u64>,
    /// What made the features, if known.
    pub(crate) origin: Option<Origin>,
}

impl SideFacts {
    /// The facts of rows that are in memory.
    pub(crate) fn of(rows: &Rows) -> Self {
        Self { n: Some(rows.features.n() as u64), origin: rows.origin.clone() }
    }
}

/// Network and pixels in words.
pub(crate) fn made_by(origin: Option<&Origin>) -> String {
    origin.map_or("unknown".to_owned(), |Origin { extractor, pixels }| {
        let short = pixels.get(..12).unwrap_or(pixels);
        format!("{extractor} behind pixels {short}")
    })
}

/// What a reader must know where all `scores` of `metric`, two or more, are equal.
pub fn equal_scores(metric: &str, scores: &[f64]) -> Option<String> {
    let is_equal = scores.len() > 1 && scores.windows(2).all(|pair| pair[0] == pair[1]);
    let n = scores.len();
    let note = || {
        format!(
            "{metric}: all {n} scores are equal, as of a network whose weights were not loaded: look at the pictures and at \
             the weights"
        )
    };
    is_equal.then(note)
}

impl Measurement {
    /// The same with an interval.
    pub fn with_interval(mut self, interval: Option<Interval>) -> Self {
        self.ci95 = interval.map(|Interval { lower, upper, .. }| [lower, upper]);
        self
    }

    /// The same with the interval of a mean over groups of pictures, where one was asked for.
    pub(crate) fn with_mean_interval(mut self, ci95: Option<[f64; 2]>, groups: Option<&[&str]>) -> Self {
        self.ci95 = ci95;
        match groups {
            Some(groups) => self.noting_few(groups.iter().collect::<BTreeSet<_>>().len()),
            None => self,
        }
    }

    /// The same with a note where all `scores`, two or more, are equal.
    pub(crate) fn noting_equal(mut self, scores: &[f64]) -> Self {
        self.notes.extend(equal_scores(self.metric, scores));
        self
    }

    /// The same with a note where `n_groups` of pictures are too few for the bootstrap interval that was asked for.
    pub(crate) fn noting_few(self, n_groups: usize) -> Self {
        if self.ci95.is_some() || FEWEST_OBSERVATIONS <= n_groups {
            return self;
        }
        let metric = self.metric;
        self.with_note(format!(
            "{metric} has no interval: its pictures are of {n_groups} captions (without captions, each is one), and an \
             interval needs at least {FEWEST_OBSERVATIONS}"
        ))
    }

    /// The same with an interval that is cut to `least`, the least value that the metric can have: Student's t knows no
    /// bounds.
    pub(crate) fn with_interval_from(self, interval: Option<Interval>, least: f64) -> Self {
        self.with_interval(interval.map(|interval| {
            let [lower, upper] = [interval.lower, interval.upper].map(|end| end.max(least));
            Interval { lower, upper, ..interval }
        }))
    }

    /// The same with what is known of its captions: `counts` by their kind, and how many look wrongly decoded, with a note
    /// that names the first of these.
    pub(crate) fn with_captions(mut self, counts: Vec<(&'static str, usize)>, captions: &[String]) -> Self {
        let wrong: Vec<&String> = captions.iter().filter(|caption| is_wrongly_decoded(caption)).collect();
        for (kind, n) in [counts, vec![("captions_wrongly_decoded", wrong.len())]].concat() {
            self = self.with_detail(kind, n);
        }
        let (metric, n) = (self.metric, wrong.len());
        match wrong.first() {
            Some(first) => self.with_note(format!(
                "{metric}: {n} of {} captions look as if they were decoded in a wrong encoding, the first: `{first}`; they are \
                 taken as they are, so repair them in the file of captions",
                captions.len()
            )),
            None => self,
        }
    }

    /// The same with a note.
    pub(crate) fn with_note(mut self, note: String) -> Self {
        self.notes.push(note);
        self
    }

    /// The same with another thing to say.
    pub fn with_detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }
}
