//! The models of a spec at their published sizes with made weights, for some steps on the device at hand: memory, time of a
//! step, and what plain decoding of all images would take.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Context;
use serde::Serialize;
use specimen_catalog::entry;
use specimen_experiments::spec::{Cell, ModelSpec, Spec};
use specimen_runner::{images::load::device_of, machine::free_memory};
use specimen_summary::cost_table::CostTable;
use specimen_weights::out_of_memory::{OutOfMemory, in_units};

use super::findings::Kind;
use crate::{
    cmd::costs_page::by_process,
    console::{Console, message_of},
    requirements,
};

/// Places of an image at which a forward is timed: the fewest that `specimen costs` takes.
const REPETITIONS: u32 = 10;
/// Nodes of the largest verification that is timed.
const MOST_NODES: usize = 1024;
/// The device that every machine has.
const CPU: &str = "cpu";

/// One model of the spec at its published size.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Width {
    pub(crate) model: String,
    pub(crate) dtype: &'static str,
    pub(crate) guidance: f64,
    /// Where it was or would have been timed.
    pub(crate) device: String,
    /// Bytes that the weights, keys and values take; absent where the catalog does not say.
    pub(crate) memory_bytes: Option<u64>,
    /// What was measured.
    pub(crate) measured: Option<Measured>,
    /// Why nothing was.
    pub(crate) why: Option<String>,
    /// What the list has to say of that; nothing where the time was over.
    #[serde(skip)]
    pub(crate) found: Option<Kind>,
}

/// What a process measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Measured {
    /// Median seconds of a plain step.
    pub(crate) step_s: f64,
    /// Cost of the largest verification of the cells, in plain steps, with its nodes.
    pub(crate) verification: Option<(u32, f64)>,
    /// Most memory of the host that the process had, in bytes.
    pub(crate) peak_host_bytes: Option<u64>,
    /// Most memory of the GPU that libtorch had, in bytes.
    pub(crate) peak_device_bytes: Option<u64>,
    /// Why that is not known, where a GPU was timed.
    pub(crate) peak_device_unknown: Option<String>,
    /// Seconds that all images of the model take if every cell decodes at the pace of plain decoding.
    pub(crate) plain_s: f64,
}

/// What to time, and how long.
pub(crate) struct Stage<'a> {
    /// The spec, without refused cells.
    pub(crate) spec: &'a Spec,
    /// Images of a cell.
    pub(crate) n_images: usize,
    /// The device that was asked for; without one the spec's, or the CPU where that is not here.
    pub(crate) device: Option<&'a str>,
    /// Seconds for all models.
    pub(crate) seconds: u64,
    /// Folder of the cost tables.
    pub(crate) out: &'a Path,
}

impl Stage<'_> {
    /// Times each model of the spec that has published files, once for each kind of number and guidance. What keeps one from
    /// being timed keeps no other.
    pub(crate) fn timed(&self, console: &Console) -> Vec<Width> {
        let until = Instant::now() + Duration::from_secs(self.seconds);
        let mut found: Vec<Width> = Vec::new();
        for cell in self.spec.cells.iter().filter(|cell| is_published(cell)) {
            let is_it = |other: &&Cell| group(other) == group(cell);
            let cells: Vec<&Cell> = self.spec.cells.iter().filter(is_it).collect();
            if cells.first().is_some_and(|first| first.name == cell.name) {
                found.push(self.width(found.len(), &cells, until, console));
            }
        }
        found
    }

    fn width(&self, number: usize, cells: &[&Cell], until: Instant, console: &Console) -> Width {
        let ModelSpec { name, dtype, device: own, graphs, .. } = &cells[0].model;
        let is_here = |device: &str| device == CPU || device_of(device).is_ok();
        let device = self.device.unwrap_or(if is_here(own) { own } else { CPU });
        let alone = Spec { cells: cells.iter().map(|cell| (*cell).clone()).collect(), ..self.spec.clone() };
        let mut width = Width {
            model: name.clone(),
            dtype: dtype.name(),
            guidance: cells[0].sampling.guidance,
            device: device.to_owned(),
            memory_bytes: requirements::memory(&alone),
            measured: None,
            why: None,
            found: None,
        };
        if let Some(why) = too_large(device, width.memory_bytes) {
            (width.why, width.found) = (Some(why), Some(Kind::TooLittle));
            return width;
        }
        console.say(format!("timing {name} at its published size on {device}, with made weights"));
        let nodes = cells.iter().map(|cell| cell.method.max_tree_nodes()).max().unwrap_or(2);
        let mut options = vec![
            "--made".to_owned(),
            format!("--model={name}"),
            format!("--device={device}"),
            format!("--dtype={}", dtype.name()),
            format!("--guidance={}", width.guidance),
            format!("--nodes={}", nodes.clamp(2, MOST_NODES)),
            format!("--threads={}", std::thread::available_parallelism().map_or(1, |n| n.get())),
            format!("--repetitions={REPETITIONS}"),
        ];
        options.extend(graphs.map(|graphs| format!("--graphs={graphs}")));
        let timed = fs::create_dir_all(self.out)
            .with_context(|| format!("{}: cannot make it", self.out.display()))
            .and_then(|()| {
                by_process(&options, &self.out.join(format!("{number}-{name}.toml")), Some(until))
            });
        match timed {
            Ok(table) => width.measured = Some(self.measured(&table, cells.len(), device)),
            Err(error) => {
                let why = message_of(&error);
                width.found = match OutOfMemory::is_named_in(&why) {
                    true => Some(Kind::TooLittle),
                    false => (Instant::now() < until).then_some(Kind::Failed),
                };
                width.why = Some(why);
            }
        }
        width
    }

    fn measured(&self, table: &CostTable, n_cells: usize, device: &str) -> Measured {
        let n_tokens = entry::target(&table.model).map_or(0, |(_, target)| target.n_tokens);
        let around = table.prefill_seconds.unwrap_or(0.0) + table.picture_seconds.unwrap_or(0.0);
        let of_image = around + n_tokens as f64 * table.step_seconds;
        Measured {
            step_s: table.step_seconds,
            verification: table.verifications.last().map(|cost| (cost.nodes, cost.steps)),
            peak_host_bytes: table.peak_host_bytes,
            peak_device_bytes: table.peak_device_bytes,
            peak_device_unknown: table.peak_device_unknown.clone().filter(|_| device != CPU),
            plain_s: of_image * (n_cells * self.n_images) as f64,
        }
    }
}

/// Whether this program decodes the cell with published weights.
fn is_published(cell: &Cell) -> bool {
    !cell.is_of_another_program() && entry::published_entry(&cell.model.name).is_ok()
}

/// What cells share that are timed together.
fn group(cell: &Cell) -> (&ModelSpec, u64, bool) {
    (&cell.model, cell.sampling.guidance.to_bits(), cell.is_of_another_program())
}

/// Why a model of `needed` bytes is not made on `device`.
fn too_large(device: &str, needed: Option<u64>) -> Option<String> {
    let (needed, free) = (needed?, free_memory().filter(|_| device == CPU)?);
    (needed > free).then(|| {
        format!(
            "it takes {} and this machine has {} free; rehearse where it fits",
            in_units(needed),
            in_units(free)
        )
    })
}
