//! What a plan will take: counts, disk, and, where the caller knows them, memory, time and what is missing.

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};

use crate::{
    bandwidth::{ASSUMED, TimeBound},
    plan::Plan,
    spec::{Cell, ModelSpec, Spec},
};

/// Size of a model's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footprint {
    /// Image tokens.
    pub n_tokens: usize,
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
}

/// What a plan will take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// Name of the run.
    pub name: String,
    /// Digest of the plan; empty where there is none without the prompts.
    pub digest: String,
    /// Cells of the plan.
    pub n_cells: usize,
    /// Those that are timed.
    pub n_timed_cells: usize,
    /// Prompts of the dataset; 0 where they are not known.
    pub n_prompts: usize,
    /// Images to make, without warm-up.
    pub n_items: usize,
    /// Units of work: the most workers that can be busy at once; 0 where there is no plan.
    pub n_blocks: usize,
    /// Images that each worker makes beforehand, over all timed cells; whole batches.
    pub n_warmup_per_worker: usize,
    /// How many images are decoded together: every number that a cell has, in ascending order; 1 where they are made one by one.
    #[serde(default)]
    pub batches: BTreeSet<usize>,
    /// At most this many bytes of images and their rows will be written; `None` if a model's footprint is unknown, or the
    /// images are another program's.
    pub disk_bytes: Option<u64>,
    /// Memory of one worker, where the caller can tell from history or a probe.
    pub memory_bytes: Option<u64>,
    /// Seconds of work in total, where the caller can tell from history or a probe.
    pub seconds: Option<f64>,
    /// What they are judged by.
    pub judged_by: Option<JudgedBy>,
    /// Seconds of work in total at the limit of devices' memory, where the caller knows what the models read.
    pub time_bounds: Vec<TimeBound>,
    /// Weights and data that the caller found missing, each with what to do.
    pub missing: Vec<Missing>,
}

/// What an estimate of time is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JudgedBy {
    /// An earlier run of the same name.
    History,
    /// A few images that were made for it.
    Probe,
}

/// Something that must be there before the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Missing {
    /// What it is.
    pub what: String,
    /// How to get it: a command and nothing else, or what a person has to do.
    pub remedy: String,
    /// What the command fetches; absent where none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetch: Option<FetchSize>,
}

/// How much is to be fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FetchSize {
    /// Files.
    pub n_files: u64,
    /// Bytes of those whose size is published.
    pub n_bytes: u64,
    /// Files whose size is not.
    pub n_unknown: u64,
}

/// Bytes of a record, a timing row and a row of steps, without what grows with the tokens; generous.
const ROW_BYTES: u64 = 2_048;
/// Bytes per token over all rows: its id, and the counts of its step when no step emits more than one.
const TOKEN_BYTES: u64 = 24;
/// What PNG adds to the raw bytes of an image that does not compress, besides a thousandth of them.
const PNG_BYTES: u64 = 1_024;

impl Plan {
    /// Counts, and a bound on disk space from the footprint of each model. Time and missing things are left
    /// for the caller to fill in.
    pub fn estimate(&self, footprint: impl Fn(&ModelSpec) -> Option<Footprint>) -> Estimate {
        Estimate {
            digest: self.digest.clone(),
            n_items: self.items.len(),
            n_blocks: self.blocks.len(),
            ..Estimate::without_prompts(&self.spec, self.prompts.len(), footprint)
        }
    }
}

impl Estimate {
    /// What can be said of a spec whose prompts are absent: no digest and no blocks. `n_prompts`: 0 where unknown.
    pub fn without_prompts(
        spec: &Spec,
        n_prompts: usize,
        footprint: impl Fn(&ModelSpec) -> Option<Footprint>,
    ) -> Self {
        let per_cell = (n_prompts * spec.dataset.samples as usize) as u64;
        // Another program's images have any size.
        let cell_bytes = |cell: &Cell| {
            let footprint = footprint(&cell.model).filter(|_| !cell.is_of_another_program())?;
            Some(footprint.bytes() * per_cell)
        };
        let n_timed_cells = spec.cells.iter().filter(|cell| cell.timed).count();
        // Untimed cells of this program need none.
        let n_warmup = |cell: &Cell| match (cell.timed, cell.external.is_none()) {
            (false, true) => 0,
            (_, is_own) => (spec.timing.n_warmup(is_own) as usize).next_multiple_of(cell.model.n_together()),
        };
        Self {
            name: spec.name.clone(),
            digest: String::new(),
            n_cells: spec.cells.len(),
            n_timed_cells,
            n_prompts,
            n_items: spec.cells.len() * per_cell as usize,
            n_blocks: 0,
            n_warmup_per_worker: spec.cells.iter().map(n_warmup).sum(),
            batches: spec.cells.iter().map(|cell| cell.model.n_together()).collect(),
            disk_bytes: spec.cells.iter().map(cell_bytes).sum(),
            memory_bytes: None,
            seconds: None,
            judged_by: None,
            time_bounds: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// Size of all that a command can fetch; absent if nothing is to be fetched.
    pub fn to_fetch(&self) -> Option<FetchSize> {
        self.missing.iter().filter_map(|missing| missing.fetch).reduce(|a, b| FetchSize {
            n_files: a.n_files + b.n_files,
            n_bytes: a.n_bytes + b.n_bytes,
            n_unknown: a.n_unknown + b.n_unknown,
        })
    }
}

impl Footprint {
    /// Upper bound of what one image and its rows take on disk, in bytes.
    pub fn bytes(&self) -> u64 {
        let raw = 3 * self.width as u64 * self.height as u64;
        raw + raw / 1000 + PNG_BYTES + ROW_BYTES + TOKEN_BYTES * self.n_tokens as u64
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.digest.get(..16) {
            Some(digest) => writeln!(f, "plan    {} ({digest})", self.name)?,
            None => writeln!(f, "plan    {} (no digest without its prompts)", self.name)?,
        }
        writeln!(f, "cells   {}, {} timed", self.n_cells, self.n_timed_cells)?;
        match (self.n_blocks, self.n_prompts) {
            (0, 0) => writeln!(f, "items   unknown without the prompts")?,
            (0, n_prompts) => writeln!(f, "items   at most {}, over {n_prompts} prompts", self.n_items)?,
            (n, n_prompts) => {
                writeln!(f, "items   {} in {n} blocks, over {n_prompts} prompts", self.n_items)?
            }
        }
        if self.batches.iter().any(|n| *n > 1) {
            let all: Vec<String> = self.batches.iter().map(usize::to_string).collect();
            writeln!(f, "batch   {} images at a time", all.join(", "))?;
        }
        writeln!(f, "warm-up {} images per worker", self.n_warmup_per_worker)?;
        match self.disk_bytes {
            _ if self.n_prompts == 0 => writeln!(f, "disk    unknown without the prompts")?,
            Some(bytes) => writeln!(f, "disk    at most {} for images and their rows", human_bytes(bytes))?,
            None => writeln!(
                f,
                "disk    unknown: the size of some images, of a model or of another program, is not known"
            )?,
        }
        match self.memory_bytes {
            Some(bytes) => writeln!(f, "memory  about {} per worker", human_bytes(bytes))?,
            None => writeln!(f, "memory  unknown: no earlier run in its folder to judge by")?,
        }
        match (self.seconds, self.judged_by) {
            (Some(seconds), by) => {
                let by = match by {
                    Some(JudgedBy::History) => ", as the earlier run in its folder took",
                    Some(JudgedBy::Probe) => ", as images made for this estimate took",
                    None => "",
                };
                writeln!(f, "time    about {} of work{by}", human_time(seconds))?;
            }
            (None, _) => writeln!(
                f,
                "time    unknown: no earlier run in its folder has images of every cell; see --probe"
            )?,
        }
        if !self.time_bounds.is_empty() {
            let of = |bound: &TimeBound| {
                let TimeBound { at, seconds } = bound;
                format!("{} at {:.2} TB/s ({})", human_time(*seconds), at.bytes_per_second / 1e12, at.device)
            };
            let all: Vec<String> = self.time_bounds.iter().map(of).collect();
            writeln!(f, "bound   {} of work", all.join(", "))?;
            writeln!(f, "        assumed: {ASSUMED}")?;
        }
        for Missing { what, remedy, fetch } in &self.missing {
            let size = fetch.map(|fetch| format!(", {fetch}")).unwrap_or_default();
            writeln!(f, "missing {what}{size}\n        {remedy}")?;
        }
        Ok(())
    }
}

/// Where a size is unknown, the sum of the others is the least that it can be.
impl fmt::Display for FetchSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n_files, n_bytes, n_unknown } = *self;
        match (n_unknown, n_unknown == n_files) {
            (0, _) => f.write_str(&human_bytes(n_bytes)),
            (1, true) => f.write_str("1 file of unknown size"),
            (n, true) => write!(f, "{n} files of unknown size"),
            (1, false) => write!(f, "at least {}; 1 of {n_files} sizes is unknown", human_bytes(n_bytes)),
            (n, false) => write!(f, "at least {}; {n} of {n_files} sizes are unknown", human_bytes(n_bytes)),
        }
    }
}

/// In seconds below three minutes, in minutes below an hour and a half.
pub fn human_time(seconds: f64) -> String {
    match seconds {
        s if s < 180.0 => format!("{s:.0} s"),
        s if s < 1.5 * 3600.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Decimal units, one digit after the point.
pub fn human_bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    match UNITS.iter().find(|(size, _)| bytes >= *size) {
        Some((size, unit)) => format!("{:.1} {unit}", bytes as f64 / *size as f64),
        None => format!("{bytes} B"),
    }
}
