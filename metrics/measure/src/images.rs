//! From a source of pictures to rows of features, in the order of the keys: reading, decoding and the pixel steps run
//! on all threads of the caller's pool beside the network, and what the cache holds is not computed.
//!
//! Memory does not grow with the number of pictures. Every pass of the network has the same number of pictures, the
//! last one filled up with copies, so that a row never depends on which pictures were in the cache.

use std::collections::VecDeque;

use rayon::prelude::*;
use specimen_foundation::{fail, text::counted};
use specimen_pixels::{Pipeline, Source};

use crate::cache::{Cache, Found};
use crate::error::MeasureError;
use crate::network::{Batch, FeatureNetwork, NetworkFault, PromptedNetwork, Provenance};
use crate::prefetch::prefetch;

/// Pictures in one pass of the network.
pub const BATCH: usize = 16;
/// Rows that may wait for one picture before them: then the pass runs with what there is.
const MAX_WAITING: usize = 1024;

/// How pictures become rows.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// The steps before the network.
    pub pixels: &'a Pipeline,
    /// What makes rows of them.
    pub through: Through<'a>,
    /// The cache of each part of its rows; empty: nothing is kept.
    pub caches: &'a [Cache],
    /// Pictures in one pass, at least 1.
    pub batch: usize,
    /// Whether a broken picture is left out and listed, instead of ending all.
    pub keep_going: bool,
}

/// What pictures go through.
#[derive(Clone, Copy)]
pub enum Through<'a> {
    /// A network that makes features of each.
    Features(&'a dyn FeatureNetwork),
    /// A network that scores each with the prompt at its place among the keys; what has no prompt is passed over.
    Prompted(&'a dyn PromptedNetwork, &'a [Option<&'a str>]),
}

impl Through<'_> {
    fn identity(self) -> String {
        match self {
            Self::Features(network) => network.identity(),
            Self::Prompted(network, _) => network.identity(),
        }
    }

    /// Width of a row.
    fn n_dims(self) -> usize {
        match self {
            Self::Features(network) => network.n_dims(),
            Self::Prompted(..) => 1,
        }
    }

    /// Rows of `batch`, whose pictures are those at `places`.
    fn rows(self, batch: &Batch, places: &[usize]) -> Result<Vec<f32>, NetworkFault> {
        match self {
            Self::Features(network) => network.rows(batch),
            Self::Prompted(network, prompts) => {
                let prompt = |&place: &usize| prompts[place].expect("what has no prompt is passed over");
                network.scores(batch, &places.iter().map(prompt).collect::<Vec<_>>())
            }
        }
    }

    /// The prompts of all keys, where rows depend on them.
    fn prompts(&self) -> Option<&[Option<&str>]> {
        match self {
            Self::Features(_) => None,
            Self::Prompted(_, prompts) => Some(prompts),
        }
    }
}

/// Where rows go: the key's place among the keys, and the features.
pub type Sink<'s> = dyn FnMut(usize, &[f32]) -> Result<(), MeasureError> + 's;

/// A picture that was left out, and why; the reason names the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its name in the source.
    pub key: String,
    /// What is wrong with it.
    pub why: String,
}

/// What happens on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Pictures of the source that are done.
    Done {
        /// How many.
        n_done: usize,
        /// Of these, whose features were in the cache.
        n_kept: usize,
        /// Of these, left out because they are broken.
        n_left_out: usize,
        /// Of how many.
        n_all: usize,
    },
    /// A cache entry was not what had been written; it is made again.
    Damaged {
        /// Path of the file.
        path: std::path::PathBuf,
    },
    /// A network was opened.
    Opened {
        /// Name, layer, element type and digest.
        identity: String,
        /// Where its weights came from; absent for a network without weights.
        provenance: Option<Provenance>,
    },
    /// Rows that were given have not the width of the protocol's network: its name tells how they are compared, not what
    /// made them.
    OtherWidth {
        /// Features of a row.
        found: usize,
        /// Network and layer.
        layer: String,
        /// Features of a row of theirs.
        expected: usize,
    },
    /// Statistics that were given are not what features of pictures give.
    OddStatistics {
        /// In words.
        what: &'static str,
    },
    /// Features that were given hold more digits than f32 and were rounded to it.
    Rounded {
        /// How many numbers.
        n: u64,
    },
    /// The cache cannot be written; nothing is kept of this source any more, and the value is not concerned.
    NotKept {
        /// Why.
        why: String,
    },
}

/// What came of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Rows that were given out.
    pub n_rows: usize,
    /// Those of them that were in the cache.
    pub n_kept: usize,
    /// Pictures that went through the network.
    pub n_forward: usize,
    /// Pictures that were left out, in the order of their keys.
    pub broken: Vec<Broken>,
}

/// A picture before its turn.
enum Prepared {
    Cached(Vec<f32>),
    Pixels {
        content: [u8; 32],
        planes: Vec<f32>,
        damaged: Option<std::path::PathBuf>,
    },
    Broken(MeasureError),
    /// Nothing is to be made of it.
    PassedOver,
}

/// A row before its turn.
enum Waiting {
    Row(Vec<f32>),
    /// A row from the cache.
    Kept(Vec<f32>),
    /// Of the next picture that goes through the network.
    Pass,
    /// The picture is left out.
    Nothing,
}

impl Reader<'_> {
    /// Gives `sink` the key's place and the features of every picture of `source`, in the order of the keys.
    /// `report` says what came of it, also where it fails.
    pub fn read(
        &self,
        source: &Source,
        report: &mut Report,
        on: &mut dyn FnMut(Event),
        sink: &mut Sink<'_>,
    ) -> Result<(), MeasureError> {
        let prepare = Prepare { pixels: self.pixels, caches: self.caches, prompts: self.through.prompts() };
        let places: Vec<usize> = (0..source.keys().len()).collect();
        let groups: Vec<&[usize]> = places.chunks(2 * BATCH).collect();
        let n_all = places.len();
        let mut n_told = 0;
        let mut queue = Queue { waiting: VecDeque::new(), next_idx: 0, pictures: Vec::new(), can_keep: true };
        prefetch(
            &groups,
            |group| prepare.all(source, group),
            |prepared| {
                for picture in prepared {
                    self.take_in(picture, source, &mut queue, report, on)?;
                    if queue.pictures.len() == self.batch || queue.waiting.len() > MAX_WAITING {
                        self.pass(&mut queue, report, on)?;
                    }
                    queue.give_out(report, sink)?;
                    if queue.next_idx >= n_told + self.batch {
                        n_told = queue.next_idx;
                        on(queue.done(report, n_all));
                    }
                }
                Ok::<(), MeasureError>(())
            },
        )?;
        self.pass(&mut queue, report, on)?;
        queue.give_out(report, sink)?;
        on(queue.done(report, n_all));
        if report.n_rows == 0 {
            let first = report.broken.first().map(|broken| broken.why.clone()).unwrap_or_default();
            fail!(Missing: "{}: no picture is left, {} cannot be read; the first: {first}",
                source.path().display(), counted(n_all, "picture"));
        }
        Ok(())
    }

    /// Puts a picture behind those that wait.
    fn take_in(
        &self,
        picture: Prepared,
        source: &Source,
        queue: &mut Queue,
        report: &mut Report,
        on: &mut dyn FnMut(Event),
    ) -> Result<(), MeasureError> {
        let place = queue.next_idx + queue.waiting.len();
        match picture {
            Prepared::PassedOver => queue.waiting.push_back(Waiting::Nothing),
            Prepared::Cached(row) => queue.waiting.push_back(Waiting::Kept(row)),
            Prepared::Pixels { content, planes, damaged } => {
                damaged.into_iter().for_each(|path| on(Event::Damaged { path }));
                queue.waiting.push_back(Waiting::Pass);
                queue.pictures.push(Picture { place, content, planes });
            }
            Prepared::Broken(error) if !self.keep_going => return Err(error),
            Prepared::Broken(error) => {
                let key = source.keys()[place].clone();
                report.broken.push(Broken { key, why: error.to_string() });
                queue.waiting.push_back(Waiting::Nothing);
            }
        }
        Ok(())
    }

    /// Runs the pictures that wait through the network.
    fn pass(
        &self,
        queue: &mut Queue,
        report: &mut Report,
        on: &mut dyn FnMut(Event),
    ) -> Result<(), MeasureError> {
        let pictures = std::mem::take(&mut queue.pictures);
        let Some(last) = pictures.last() else { return Ok(()) };
        let (width, height) = self.pixels.output_size().expect("a protocol's steps decide the size");
        let filled = || pictures.iter().chain(std::iter::repeat(last)).take(self.batch);
        let mut values = Vec::with_capacity(self.batch * last.planes.len());
        filled().for_each(|picture| values.extend_from_slice(&picture.planes));
        let places: Vec<usize> = filled().map(|picture| picture.place).collect();
        let batch = Batch { n: self.batch, height, width, values };
        let fault = |source| MeasureError::Network { network: self.through.identity(), source };
        let rows = self.through.rows(&batch, &places).map_err(fault)?;
        let n_dims = self.through.n_dims();
        if rows.len() != self.batch * n_dims {
            let found = format!("{} numbers for {} rows of {n_dims}", rows.len(), self.batch);
            return Err(fault(found.into()));
        }
        report.n_forward += pictures.len();
        let mut rows = rows.chunks_exact(n_dims).zip(pictures);
        for place in queue.waiting.iter_mut().filter(|place| matches!(place, Waiting::Pass)) {
            let (row, Picture { content, .. }) =
                rows.next().expect("as many pictures as rows that wait for them");
            if queue.can_keep
                && let Err(error) = self.keep(&content, row)
            {
                queue.can_keep = false;
                on(Event::NotKept { why: error.to_string() });
            }
            *place = Waiting::Row(row.to_vec());
        }
        Ok(())
    }

    /// Keeps each part of `row`.
    fn keep(&self, content: &[u8; 32], row: &[f32]) -> Result<(), MeasureError> {
        let mut rest = row;
        for cache in self.caches {
            let (own, others) = rest.split_at(cache.n_dims());
            cache.keep(content, own)?;
            rest = others;
        }
        Ok(())
    }
}

/// Rows in the order of the keys, as far as they are not given out.
struct Queue {
    waiting: VecDeque<Waiting>,
    /// Place of the first of them among the keys.
    next_idx: usize,
    /// The pictures that wait for the network.
    pictures: Vec<Picture>,
    /// Whether the cache could be written so far.
    can_keep: bool,
}

impl Queue {
    /// How far it is.
    fn done(&self, report: &Report, n_all: usize) -> Event {
        let n_done = self.next_idx;
        Event::Done { n_done, n_kept: report.n_kept, n_left_out: n_done - report.n_rows, n_all }
    }

    /// Gives out the rows before the first that waits for the network.
    fn give_out(&mut self, report: &mut Report, sink: &mut Sink<'_>) -> Result<(), MeasureError> {
        while let Some(first) = self.waiting.pop_front() {
            match first {
                Waiting::Row(row) => {
                    sink(self.next_idx, &row)?;
                    report.n_rows += 1;
                }
                Waiting::Kept(row) => {
                    sink(self.next_idx, &row)?;
                    report.n_rows += 1;
                    report.n_kept += 1;
                }
                Waiting::Nothing => {}
                Waiting::Pass => {
                    self.waiting.push_front(first);
                    break;
                }
            }
            self.next_idx += 1;
        }
        Ok(())
    }
}

/// A picture that waits for the network.
struct Picture {
    /// Among the keys.
    place: usize,
    /// What its row is kept under.
    content: [u8; 32],
    planes: Vec<f32>,
}

/// What happens to a picture before the network.
#[derive(Clone, Copy)]
struct Prepare<'a> {
    pixels: &'a Pipeline,
    caches: &'a [Cache],
    /// Of all keys, where rows depend on them.
    prompts: Option<&'a [Option<&'a str>]>,
}

impl Prepare<'_> {
    /// Prepares the pictures at `places`, on all threads.
    fn all(self, source: &Source, places: &[usize]) -> Vec<Prepared> {
        places.par_iter().map(|&idx| self.one(source, idx)).collect()
    }

    fn one(self, source: &Source, idx: usize) -> Prepared {
        match self.planes(source, idx) {
            Ok(prepared) => prepared,
            Err(error) => Prepared::Broken(error),
        }
    }

    /// The whole row of a picture: what is there of all parts.
    fn find(self, content: &[u8; 32]) -> Found {
        let mut row = Vec::new();
        for cache in self.caches {
            match cache.find(content) {
                Found::Features(own) => row.extend(own),
                other => return other,
            }
        }
        if row.is_empty() { Found::Absent } else { Found::Features(row) }
    }

    fn planes(self, source: &Source, idx: usize) -> Result<Prepared, MeasureError> {
        let prompt = match self.prompts.map(|prompts| prompts[idx]) {
            Some(None) => return Ok(Prepared::PassedOver),
            Some(prompt) => prompt,
            None => None,
        };
        let content = source.read(idx)?;
        let digest = match prompt {
            None => content.digest(),
            // A row of a picture and a prompt is kept under both.
            Some(prompt) => {
                let both = [&content.digest()[..], prompt.as_bytes()].concat();
                blake3::hash(&both).into()
            }
        };
        let damaged = match self.find(&digest) {
            Found::Features(row) => return Ok(Prepared::Cached(row)),
            Found::Damaged(path) => Some(path),
            Found::Absent => None,
        };
        let image = content.decode(|| source.entry_path(idx))?;
        let picture =
            self.pixels.apply(image).map_err(|error| crate::error::step(&source.entry_path(idx), error))?;
        Ok(Prepared::Pixels { content: digest, planes: picture.into_float().to_planes(), damaged })
    }
}
