//! From a source of pictures to rows of features, in the order of the keys: reading, decoding and the pixel steps run
//! on all threads beside the network, and what the cache holds is not computed.
//!
//! Memory does not grow with the number of pictures. Every pass of the network has the same number of pictures, the
//! last one filled up with copies, so that a row never depends on which pictures were in the cache.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use rayon::prelude::*;
use specimen_pixels::{Pipeline, Source};

use crate::cache::{Cache, Found};
use crate::error::MeasureError;
use crate::network::{Batch, ImageNetwork};

/// Pictures in one pass of the network.
pub const BATCH: usize = 16;
/// Rows that may wait for one picture before them: then the pass runs with what there is.
const MAX_WAITING: usize = 1024;

/// How pictures become rows.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// The steps before the network.
    pub pixels: &'a Pipeline,
    /// The network.
    pub network: &'a dyn ImageNetwork,
    /// Its cache, if there is one.
    pub cache: Option<&'a Cache>,
    /// Pictures in one pass, at least 1.
    pub batch: usize,
    /// Whether a broken picture is left out and listed, instead of ending all.
    pub keep_going: bool,
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
        /// Of how many.
        n_all: usize,
    },
    /// A cache entry was not what had been written; it is made again.
    Damaged {
        /// The file.
        path: std::path::PathBuf,
    },
    /// The cache cannot be written; the value is not concerned.
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
    /// Pictures that went through the network.
    pub n_forward: usize,
    /// Pictures that were left out, in the order of their keys.
    pub broken: Vec<Broken>,
}

/// A picture before its turn.
enum Prepared {
    Cached(Vec<f32>),
    Pixels { content: [u8; 32], planes: Vec<f32>, damaged: Option<std::path::PathBuf> },
    Broken(MeasureError),
}

/// A row before its turn.
enum Waiting {
    Row(Vec<f32>),
    /// Of the next picture that goes through the network.
    Pass,
    /// Left out.
    Nothing,
}

impl Reader<'_> {
    /// Gives `sink` the key's place and the features of every picture of `source`, in the order of the keys. Fails with
    /// the first broken picture in that order unless the reader keeps going, where the network or `sink` fails, and
    /// when nothing is left.
    pub fn read(
        &self,
        source: &Source,
        on: &mut dyn FnMut(Event),
        sink: &mut Sink<'_>,
    ) -> Result<Report, MeasureError> {
        let prepare = Prepare { pixels: self.pixels, cache: self.cache };
        let (sender, receiver) = sync_channel(1);
        std::thread::scope(|scope| {
            // Taken along, so that an early end here closes the channel and with it the thread.
            let receiver = receiver;
            scope.spawn(move || prepare.all(source, 2 * BATCH, &sender));
            self.consume(source, &receiver, on, sink)
        })
    }

    fn consume(
        &self,
        source: &Source,
        prepared: &Receiver<Vec<Prepared>>,
        on: &mut dyn FnMut(Event),
        sink: &mut Sink<'_>,
    ) -> Result<Report, MeasureError> {
        let n_all = source.keys().len();
        let (mut report, mut n_told) = (Report::default(), 0);
        let mut queue = Queue { waiting: VecDeque::new(), next_idx: 0, pictures: Vec::new() };
        for picture in prepared.iter().flatten() {
            match picture {
                Prepared::Cached(row) => queue.waiting.push_back(Waiting::Row(row)),
                Prepared::Pixels { content, planes, damaged } => {
                    damaged.into_iter().for_each(|path| on(Event::Damaged { path }));
                    queue.waiting.push_back(Waiting::Pass);
                    queue.pictures.push((content, planes));
                }
                Prepared::Broken(error) if !self.keep_going => return Err(error),
                Prepared::Broken(error) => {
                    let key = source.keys()[queue.next_idx + queue.waiting.len()].clone();
                    report.broken.push(Broken { key, why: error.to_string() });
                    queue.waiting.push_back(Waiting::Nothing);
                }
            }
            if queue.pictures.len() == self.batch || queue.waiting.len() > MAX_WAITING {
                self.pass(&mut queue, &mut report, on)?;
            }
            queue.give_out(&mut report, sink)?;
            if queue.next_idx >= n_told + self.batch {
                n_told = queue.next_idx;
                on(Event::Done { n_done: n_told, n_all });
            }
        }
        self.pass(&mut queue, &mut report, on)?;
        queue.give_out(&mut report, sink)?;
        on(Event::Done { n_done: queue.next_idx, n_all });
        if report.n_rows == 0 {
            let first = report.broken.first().map(|broken| broken.why.clone()).unwrap_or_default();
            return Err(MeasureError::NothingLeft { path: source.path().to_path_buf(), n: n_all, first });
        }
        Ok(report)
    }

    /// Runs the pictures that wait through the network.
    fn pass(
        &self,
        queue: &mut Queue,
        report: &mut Report,
        on: &mut dyn FnMut(Event),
    ) -> Result<(), MeasureError> {
        let pictures = std::mem::take(&mut queue.pictures);
        let Some((_, last)) = pictures.last() else { return Ok(()) };
        let (width, height) = self.pixels.output_size().expect("a protocol's steps decide the size");
        let mut values = Vec::with_capacity(self.batch * last.len());
        pictures.iter().for_each(|(_, planes)| values.extend_from_slice(planes));
        (pictures.len()..self.batch).for_each(|_| values.extend_from_slice(last));
        let batch = Batch { n: self.batch, height, width, values };
        let fault = |source| MeasureError::Network { network: self.network.identity(), source };
        let rows = self.network.forward(batch).map_err(fault)?;
        let n_dims = self.network.n_dims();
        if rows.len() != self.batch * n_dims {
            let found = format!("{} numbers for {} rows of {n_dims}", rows.len(), self.batch);
            return Err(fault(found.into()));
        }
        report.n_forward += pictures.len();
        let mut rows = rows.chunks_exact(n_dims).zip(pictures);
        let mut can_keep = true;
        for place in queue.waiting.iter_mut().filter(|place| matches!(place, Waiting::Pass)) {
            let (row, (content, _)) = rows.next().expect("as many pictures as rows that wait for them");
            if let Some(Err(error)) = self.cache.filter(|_| can_keep).map(|cache| cache.keep(&content, row)) {
                can_keep = false;
                on(Event::NotKept { why: error.to_string() });
            }
            *place = Waiting::Row(row.to_vec());
        }
        Ok(())
    }
}

/// Rows in the order of the keys, as far as they are not given out.
struct Queue {
    waiting: VecDeque<Waiting>,
    /// Place of the first of them among the keys.
    next_idx: usize,
    /// Content and planes of the pictures that wait for the network.
    pictures: Vec<([u8; 32], Vec<f32>)>,
}

impl Queue {
    /// Gives out the rows before the first that waits for the network.
    fn give_out(&mut self, report: &mut Report, sink: &mut Sink<'_>) -> Result<(), MeasureError> {
        while let Some(first) = self.waiting.pop_front() {
            match first {
                Waiting::Row(row) => {
                    sink(self.next_idx, &row)?;
                    report.n_rows += 1;
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

/// What happens to a picture before the network.
#[derive(Clone, Copy)]
struct Prepare<'a> {
    pixels: &'a Pipeline,
    cache: Option<&'a Cache>,
}

impl Prepare<'_> {
    /// Prepares all pictures, some at a time, until nobody takes them.
    fn all(self, source: &Source, n_at_once: usize, sender: &SyncSender<Vec<Prepared>>) {
        let places: Vec<usize> = (0..source.keys().len()).collect();
        for some in places.chunks(n_at_once) {
            let prepared = some.par_iter().map(|&idx| self.one(source, idx)).collect();
            if sender.send(prepared).is_err() {
                return;
            }
        }
    }

    fn one(self, source: &Source, idx: usize) -> Prepared {
        match self.planes(source, idx) {
            Ok(prepared) => prepared,
            Err(error) => Prepared::Broken(error),
        }
    }

    fn planes(self, source: &Source, idx: usize) -> Result<Prepared, MeasureError> {
        let content = source.read(idx)?;
        let digest = content.digest();
        let damaged = match self.cache.map_or(Found::Absent, |cache| cache.find(&digest)) {
            Found::Features(row) => return Ok(Prepared::Cached(row)),
            Found::Damaged(path) => Some(path),
            Found::Absent => None,
        };
        let image = content.decode(|| source.entry_path(idx))?;
        let picture = self
            .pixels
            .apply(image)
            .map_err(|error| MeasureError::Step { path: source.entry_path(idx), source: error })?;
        Ok(Prepared::Pixels { content: digest, planes: picture.into_float().to_planes(), damaged })
    }
}
