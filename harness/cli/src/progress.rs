//! Progress of a run: on a terminal a bar for the whole and one for each cell, otherwise a line every 5 %.

use std::collections::BTreeSet;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use specimen_decode::clock::{Clock, MonotonicClock};
use specimen_foundation::text::counted;
use specimen_record::ItemKey;
use specimen_runner::{driver::events::DriverEvent, work::worker_event::WorkerEvent};

use crate::console::Console;

/// Shows what the driver reports.
pub(crate) struct Progress<'t> {
    console: &'t Console,
    clock: MonotonicClock,
    pace: Pace,
    bar: Option<ProgressBar>,
    cells: Vec<CellProgress>,
    has_warmed_up: bool,
    said: Said,
}

/// What was said already: models share reasons, and so do the workers of several shards.
#[derive(Default)]
struct Said(BTreeSet<String>);

impl Said {
    fn is_new(&mut self, text: &str) -> bool {
        self.0.insert(text.to_owned())
    }
}

/// Images of one cell.
struct CellProgress {
    name: String,
    done: u64,
    total: u64,
    bar: Option<ProgressBar>,
}

/// More cells than this share the one bar.
const MAX_CELL_BARS: usize = 16;

impl<'t> Progress<'t> {
    /// Of a run that has `left` images of each cell left to make.
    pub(crate) fn new(console: &'t Console, left: &[(String, u64)]) -> Self {
        let total = left.iter().map(|(_, n)| n).sum();
        let all = (console.is_heard() && console.is_terminal()).then(MultiProgress::new);
        let style = |template| ProgressStyle::with_template(template).expect("the template is a constant");
        let bar = all.as_ref().map(|all| {
            all.add(ProgressBar::new(total).with_style(style("[{bar:32}] {msg}").progress_chars("=> ")))
        });
        let cell_bars = all.filter(|_| left.len() <= MAX_CELL_BARS);
        let cell = |(name, total): &(String, u64)| {
            let template = style("[{bar:32}] {pos}/{len} {msg}").progress_chars("-> ");
            let bar = cell_bars
                .as_ref()
                .map(|all| all.add(ProgressBar::new(*total).with_style(template).with_message(name.clone())));
            CellProgress { name: name.clone(), done: 0, total: *total, bar }
        };
        let cells = left.iter().map(cell).collect();
        Self {
            console,
            clock: MonotonicClock::new(),
            pace: Pace::new(total),
            bar,
            cells,
            has_warmed_up: false,
            said: Said::default(),
        }
    }

    /// Takes in what happened.
    pub(crate) fn on(&mut self, stage: &DriverEvent) {
        match stage {
            DriverEvent::Generating { n_items } => {
                self.console.detail(format!(
                    "the plan has {n_items} images, {} of them to generate",
                    self.pace.total
                ));
            }
            // The driver reports what a person must know of these.
            DriverEvent::Worker(WorkerEvent::Begin { .. } | WorkerEvent::Failed { .. } | WorkerEvent::DiskFull(_) | WorkerEvent::DiskFree) => {}
            DriverEvent::WorkerDied { shard, status, item } => {
                let item = item.as_ref().map_or_else(
                    || "before it started an image".to_owned(),
                    |key| format!("while it made {}", words(key)),
                );
                self.warn(&format!("the worker of shard {shard} died of {status} {item}"));
            }
            DriverEvent::Torn { what }
            | DriverEvent::Damage { what }
            | DriverEvent::Silent { what }
            | DriverEvent::UnevenPrompts { what }
            | DriverEvent::DiskFull { what } => self.warn(what),
            DriverEvent::Weights { what } | DriverEvent::Worker(WorkerEvent::Warning { what }) => {
                if self.said.is_new(what) {
                    self.warn(what);
                }
            }
            DriverEvent::DiskFree => self.say("there is disk space again: continuing"),
            DriverEvent::Resuming { what } => self.console.say(format!("continuing: {what}")),
            DriverEvent::KeptMetric { what, is_here: true } => self.say(what),
            DriverEvent::KeptMetric { what, is_here: false } => self.warn(what),
            DriverEvent::OtherProvenance { what } => self.warn(&format!(
                "existing images come from another machine or build ({what}); only images of one machine and one \
                 build are equal byte by byte"
            )),
            DriverEvent::TaskEnded { shard, how, item } => {
                let item = item.as_ref().map_or_else(String::new, |key| format!(" while it made {}", words(key)));
                self.warn(&format!("the worker of shard {shard} {how}{item}"));
            }
            DriverEvent::SeveralDevices { what } => self.warn(what),
            DriverEvent::Cluster { what } => self.say(what),
            DriverEvent::ArraysLeftRunning { n_shards, name } => self.say(&format!(
                "the cluster continues with {}; `specimen status` shows the progress, `run --resume` waits for the \
                 results, `scancel --name={name}` cancels the tasks",
                counted(n_shards, "shard")
            )),
            DriverEvent::Stopping { n_images } => {
                let text = match n_images {
                    0 => "stopping".to_owned(),
                    n => format!("stopping after {} in progress; a second interrupt stops at once", counted(n, "image")),
                };
                self.say(&text);
            }
            DriverEvent::Worker(WorkerEvent::Warmup { cell }) => {
                if !self.has_warmed_up {
                    self.show("warming up: the first images are not measured");
                }
                self.has_warmed_up = true;
                self.console.detail(format!("warm-up of {cell}"));
            }
            DriverEvent::Worker(WorkerEvent::Item { cell, ok, decode_s }) => {
                self.item(cell, *ok);
                match ok {
                    true => self.console.detail(format_args!("{cell}: {decode_s:.2} s")),
                    false => self.console.detail(format_args!("{cell}: failed")),
                }
            }
            DriverEvent::Scoring { metric, cell } => {
                if self.clear() {
                    self.console.say(self.pace.made());
                }
                self.console.say(format!("scoring {metric} of {cell}"));
            }
        }
    }

    fn item(&mut self, cell: &str, ok: bool) {
        if let Some(cell) = self.cells.iter_mut().find(|known| known.name == cell) {
            cell.done += 1;
            // Blocks that were interrupted are timed again, so there may be more images than were left.
            cell.total = cell.total.max(cell.done);
            if let Some(bar) = &cell.bar {
                bar.set_length(cell.total);
                bar.set_position(cell.done);
            }
        }
        let now_ns = self.clock.now_ns();
        let is_due = self.pace.item(ok, now_ns);
        match &self.bar {
            Some(bar) => {
                bar.set_position(self.pace.done);
                bar.set_message(self.pace.line(now_ns));
            }
            None if is_due => {
                self.console.say(self.pace.line(now_ns));
                let cells: Vec<String> = self.cells.iter().map(CellProgress::words).collect();
                self.console.detail(cells.join(", "));
            }
            None => {}
        }
    }

    /// Removes the bars; returns whether there were any.
    fn clear(&mut self) -> bool {
        let bars = self.cells.iter_mut().filter_map(|cell| cell.bar.take());
        bars.for_each(|bar| bar.finish_and_clear());
        self.bar.take().is_some_and(|bar| {
            bar.finish_and_clear();
            true
        })
    }

    /// Prints a line above the bar.
    fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| self.console.say(text)),
            None => self.console.say(text),
        }
    }

    /// Prints a warning above the bar.
    fn warn(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| self.console.warn(text)),
            None => self.console.warn(text),
        }
    }

    fn show(&self, text: &'static str) {
        match &self.bar {
            Some(bar) => bar.set_message(text),
            None => self.console.say(text),
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        // An error message must not be printed behind half a bar.
        self.clear();
    }
}

impl CellProgress {
    fn words(&self) -> String {
        format!("{} {}/{}", self.name, self.done, self.total)
    }
}

/// Progress over one source of images: a bar on a terminal, otherwise a line every 5 %.
pub(crate) struct ImageBar<'t> {
    console: &'t Console,
    clock: MonotonicClock,
    pace: Pace,
    bar: Option<ProgressBar>,
}

impl<'t> ImageBar<'t> {
    /// Of a source of `total` pictures.
    pub(crate) fn new(console: &'t Console, total: u64) -> Self {
        let style = || ProgressStyle::with_template("[{bar:32}] {msg}").expect("the template is a constant");
        let bar = (console.is_heard() && console.is_terminal())
            .then(|| ProgressBar::new(total).with_style(style().progress_chars("=> ")));
        Self { console, clock: MonotonicClock::new(), pace: Pace::new(total), bar }
    }

    /// Whether `n_done` pictures are further than what was reached, or as far.
    pub(crate) fn precedes(&self, n_done: u64) -> bool {
        self.pace.done <= n_done
    }

    /// So many pictures are done; of these so many were kept from before, and so many left out.
    pub(crate) fn reached(&mut self, [n_done, n_kept, n_left_out]: [u64; 3]) {
        let now_ns = self.clock.now_ns();
        let is_due = self.pace.reached([n_done, n_kept, n_left_out], now_ns);
        match &self.bar {
            Some(bar) => {
                bar.set_position(n_done);
                bar.set_message(self.pace.line(now_ns));
            }
            None if is_due => self.console.say(self.pace.line(now_ns)),
            None => {}
        }
    }
}

impl Drop for ImageBar<'_> {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Counts and rate, apart from the clock and the terminal.
struct Pace {
    /// Items that were to be done at the start.
    planned: u64,
    total: u64,
    done: u64,
    failed: u64,
    /// Those of `done` that cost nothing, and say nothing about the rate.
    kept: u64,
    /// Those of `done` that were left out because they are broken; they say as little.
    left_out: u64,
    /// When the first item was done: loading and the first warm-up say nothing about the rate.
    first_ns: Option<u64>,
    /// Steps of 5 % that were printed.
    printed: u64,
}

impl Pace {
    fn new(total: u64) -> Self {
        Self { planned: total, total, done: 0, failed: 0, kept: 0, left_out: 0, first_ns: None, printed: 0 }
    }

    /// Counts an item; returns whether another 5 % is done.
    fn item(&mut self, ok: bool, now_ns: u64) -> bool {
        self.failed += u64::from(!ok);
        self.first_ns.get_or_insert(now_ns);
        self.count()
    }

    /// Counts an item that was there already; as [`Self::item`].
    fn kept(&mut self) -> bool {
        self.kept += 1;
        self.count()
    }

    /// Counts an item that was left out; as [`Self::item`].
    fn left_out(&mut self) -> bool {
        self.left_out += 1;
        self.count()
    }

    /// Counts items until so many are done, of these so many kept and so many left out; as [`Self::item`].
    fn reached(&mut self, [n_done, n_kept, n_left_out]: [u64; 3], now_ns: u64) -> bool {
        let mut is_due = false;
        while self.done < n_done {
            is_due |= if self.kept < n_kept {
                self.kept()
            } else if self.left_out < n_left_out {
                self.left_out()
            } else {
                self.item(true, now_ns)
            };
        }
        is_due
    }

    fn count(&mut self) -> bool {
        self.done += 1;
        // Blocks that were interrupted are timed again, so there may be more items than were left.
        self.total = self.total.max(self.done);
        let twentieths = self.done * 20 / self.total;
        let is_due = twentieths > self.printed;
        self.printed = self.printed.max(twentieths);
        is_due
    }

    fn line(&self, now_ns: u64) -> String {
        let Self { total, done, .. } = *self;
        let percent = done * 100 / total.max(1);
        let failures = self.failures();
        let computed = done - self.kept - self.left_out;
        let mut kept = if self.kept == 0 { String::new() } else { format!(", {} from the cache", self.kept) };
        if self.left_out > 0 {
            kept.push_str(&format!(", {} left out", self.left_out));
        }
        let rate = self.first_ns.filter(|_| computed > 1).and_then(|first_ns| {
            let seconds = now_ns.saturating_sub(first_ns) as f64 * 1e-9;
            (seconds > 0.1).then(|| (computed - 1) as f64 / seconds)
        });
        match rate {
            Some(rate) => {
                let left = ((total - done) as f64 / rate).ceil() as u64;
                format!(
                    "image {done}/{total} ({percent} %), {rate:.2} images/s, {} left{kept}{failures}",
                    duration(left)
                )
            }
            None => format!("image {done}/{total} ({percent} %){kept}{failures}"),
        }
    }

    /// What was done, in the numbers that were printed at the start.
    fn made(&self) -> String {
        let again = match self.done.saturating_sub(self.planned) {
            0 => String::new(),
            n => format!(", and {n} again, since a block is timed as a whole"),
        };
        format!("made {}{again}{}", counted(self.done.min(self.planned), "image"), self.failures())
    }

    fn failures(&self) -> String {
        if self.failed == 0 { String::new() } else { format!(", {} failed", self.failed) }
    }
}

fn duration(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s:02} s"),
        (h, m, _) => format!("{h} h {m:02} min"),
    }
}

/// An image that was lost with its worker, in words.
fn words(key: &ItemKey) -> String {
    format!("the image of {} for prompt {}, which is made again", key.cell(), key.prompt_id())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_warning_of_several_workers_is_said_once() {
        let mut said = Said::default();
        let reasons = ["no library", "no library", "no memory", "no library"];
        assert_eq!(reasons.map(|why| said.is_new(why)), [true, false, true, false]);
    }

    #[test]
    fn a_long_run_is_shown_every_5_percent_with_rate_and_time_left() {
        let mut pace = Pace::new(400);
        let mut lines = Vec::new();
        for second in 1..=400 {
            if pace.item(second != 30, second * SECOND) {
                lines.push(pace.line(second * SECOND));
            }
        }
        assert_eq!(lines.len(), 20);
        assert_eq!(lines[0], "image 20/400 (5 %), 1.00 images/s, 6 min 20 s left");
        assert_eq!(lines[1], "image 40/400 (10 %), 1.00 images/s, 6 min 00 s left, 1 failed");
        assert_eq!(lines[19], "image 400/400 (100 %), 1.00 images/s, 0 s left, 1 failed");
    }

    #[test]
    fn the_first_image_has_no_rate_and_a_surplus_never_exceeds_the_total() {
        let mut pace = Pace::new(1);
        assert!(pace.item(true, SECOND));
        assert_eq!(pace.line(SECOND), "image 1/1 (100 %)");
        pace.item(true, 2 * SECOND);
        assert_eq!(pace.line(2 * SECOND), "image 2/2 (100 %), 1.00 images/s, 0 s left");
    }

    #[test]
    fn what_was_made_agrees_with_what_was_to_be_made() {
        let mut pace = Pace::new(46);
        (0..46).for_each(|_| {
            pace.item(true, SECOND);
        });
        assert_eq!(pace.made(), "made 46 images");
        pace.item(true, SECOND);
        pace.item(false, SECOND);
        assert_eq!(pace.made(), "made 46 images, and 2 again, since a block is timed as a whole, 1 failed");
    }

    #[test]
    fn what_was_kept_is_no_speed() {
        let mut pace = Pace::new(100);
        (0..90).for_each(|_| {
            pace.kept();
        });
        assert_eq!(pace.line(SECOND), "image 90/100 (90 %), 90 from the cache");
        (1..=5).for_each(|second| {
            pace.item(true, second * SECOND);
        });
        let line = pace.line(5 * SECOND);
        assert_eq!(line, "image 95/100 (95 %), 1.00 images/s, 5 s left, 90 from the cache");
    }

    #[test]
    fn what_was_left_out_was_not_kept() {
        let mut pace = Pace::new(20);
        assert!(pace.reached([10, 0, 2], SECOND));
        assert_eq!(pace.line(2 * SECOND), "image 10/20 (50 %), 7.00 images/s, 2 s left, 2 left out");
        pace.reached([20, 5, 3], 3 * SECOND);
        let line = pace.line(3 * SECOND);
        assert_eq!(line, "image 20/20 (100 %), 5.50 images/s, 0 s left, 5 from the cache, 3 left out");
    }

    #[test]
    fn hours_drop_the_seconds() {
        assert_eq!([59, 61, 7_380].map(duration), ["59 s", "1 min 01 s", "2 h 03 min"]);
    }
}
