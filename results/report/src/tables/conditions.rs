//! Under which conditions the numbers of a run hold: machine, model, dataset, images, sampling.

use specimen_foundation::text::counted;
use specimen_record::{CellSummary, Origin, Sampling, Summary};

use crate::table::plain;

/// What was run, on what, and against which baseline; one line each.
pub(crate) fn head(summary: &Summary) -> Vec<String> {
    let cells = &summary.cells;
    let sampling = shared(cells, |c| describe_sampling(&c.sampling));
    let lines = [
        format!(
            "Run {}, plan {}, result {}.",
            summary.name,
            &summary.plan_digest.as_str()[..12],
            &summary.result_digest.as_str()[..12]
        ),
        format!("{} on {}.", shared(cells, |c| c.dtype.clone()), machine(summary)),
        format!(
            "Model {}; dataset {}; {}; {}; baseline {}.",
            shared(cells, |c| c.model.clone()),
            shared(cells, |c| c.dataset.clone()),
            images(cells),
            sampling,
            match summary.cells.iter().any(|cell| cell.baseline.is_some()) {
                true => baselines(summary).join(", "),
                false => "none".to_owned(),
            }
        ),
    ];
    summary.slow_baselines().into_iter().map(|slow| format!("WARNING: {slow}.")).chain(lines).collect()
}

/// The cells that speedups and differences are relative to: the usual one, under one name for all its models and
/// settings, and then those of groups with a baseline of their own.
pub(crate) fn baselines(summary: &Summary) -> Vec<&str> {
    let mut all = vec![summary.baseline.as_str()];
    let is_usual =
        |named: &str| named.strip_prefix(all[0]).is_some_and(|rest| rest.is_empty() || rest.starts_with('['));
    let own =
        summary.cells.iter().filter_map(|cell| cell.baseline.as_deref()).filter(|named| !is_usual(named));
    let mut others: Vec<&str> = Vec::new();
    for named in own {
        if !others.contains(&named) {
            others.push(named);
        }
    }
    all.extend(others);
    all
}

/// The conditions in one short line, for a figure.
pub(crate) fn conditions(summary: &Summary) -> String {
    conditions_of(summary, &images(&summary.cells))
}

/// As [`conditions`], for a figure of fewer images than all of every cell; `n` says of which.
pub(crate) fn conditions_of(summary: &Summary, n: &str) -> String {
    let cells = &summary.cells;
    let device = summary.gpus.first().unwrap_or(&summary.cpu_model);
    let parts = [
        shared(cells, |c| c.model.clone()),
        shared(cells, |c| c.dataset.clone()),
        n.to_owned(),
        format!("{} on {device}", shared(cells, |c| c.dtype.clone())),
        shared(cells, |c| describe_sampling(&c.sampling)),
    ];
    parts.join(" · ")
}

fn machine(summary: &Summary) -> String {
    if summary.cells.iter().all(|cell| cell.origin == Some(Origin::Imported)) {
        return "a machine that is not known, as the images are imported".to_owned();
    }
    let threads = counted(summary.threads, "thread");
    let with_bf16: Vec<&str> =
        summary.cpu_features.iter().map(String::as_str).filter(|f| f.contains("bf16")).collect();
    let bf16 = match with_bf16.as_slice() {
        [] => "no".to_owned(),
        found => format!("yes ({})", found.join(", ")),
    };
    let cpu = format!("{}, {threads}, bf16 instructions: {bf16}", summary.cpu_model);
    let device = shared(&summary.cells, |c| c.device.clone());
    match summary.gpus.as_slice() {
        [] => format!("{device} ({cpu})"),
        gpus => format!("{device} ({}; host {cpu})", gpus.join(", ")),
    }
}

fn images(cells: &[CellSummary]) -> String {
    let n_failed: u64 = cells.iter().map(|c| c.n_failed).sum();
    let (low, high) = (cells.iter().map(|c| c.n_images).min(), cells.iter().map(|c| c.n_images).max());
    let made = match (low, high) {
        (Some(low), Some(high)) if low != high => format!("n = {low} to {high} images a cell"),
        (Some(1), _) => "n = 1 image a cell".to_owned(),
        (Some(n), _) => format!("n = {n} images a cell"),
        _ => "no cells".to_owned(),
    };
    let observed = observed(cells).map_or(String::new(), |observed| format!(", {observed}"));
    if n_failed == 0 { format!("{made}{observed}") } else { format!("{made}, {n_failed} failed{observed}") }
}

/// The independent observations behind the speedups, where they are fewer than the images: samples of one prompt and images
/// that were decoded together count once.
pub(crate) fn observed(cells: &[CellSummary]) -> Option<String> {
    let of = |cell: &CellSummary| {
        let observed = ["speedup", "speedup_e2e"].map(|ratio| cell.measured(ratio).observations);
        observed[0].or(observed[1])
    };
    let found = cells.iter().filter(|cell| !cell.is_baseline());
    let found: Vec<_> = found.filter_map(|cell| Some((cell.n_images, of(cell)?))).collect();
    let (fewest, most) =
        (found.iter().min_by_key(|(_, of)| of.n)?.1, found.iter().max_by_key(|(_, of)| of.n)?.1);
    let is_fewer = found.iter().any(|(n_images, of)| of.n < *n_images);
    is_fewer.then(|| match fewest.n == most.n {
        true => format!("speedups over {most}"),
        false if fewest.of == most.of => format!("speedups over {} to {most}", fewest.n),
        false => format!("speedups over {fewest} to {most}"),
    })
}

fn describe_sampling(sampling: &Sampling) -> String {
    let top_k =
        if sampling.top_k == 0 { "top-k off".to_owned() } else { format!("top-k {}", sampling.top_k) };
    let top_p = if sampling.top_p >= 1.0 {
        "top-p off".to_owned()
    } else {
        format!("top-p {}", plain(sampling.top_p))
    };
    let guidance = if sampling.guidance == 1.0 {
        "no guidance".to_owned()
    } else {
        format!("guidance {}", plain(sampling.guidance))
    };
    let coupled = if sampling.coupled { ", coupled seeds" } else { "" };
    format!("temperature {}, {top_k}, {top_p}, {guidance}{coupled}", plain(sampling.temperature))
}

/// What all cells share, or the list of what they have.
fn shared(cells: &[CellSummary], of: impl Fn(&CellSummary) -> String) -> String {
    let mut found: Vec<String> = Vec::new();
    for cell in cells {
        let text = of(cell);
        if !found.contains(&text) {
            found.push(text);
        }
    }
    if found.is_empty() { "none".to_owned() } else { found.join(" | ") }
}
