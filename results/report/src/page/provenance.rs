//! Under which protocols, with which program, weights, data and machine.

use serde::Serialize;
use serde_json::Value;
use specimen_foundation::text::counted;
use specimen_record::{Better, CellSummary, EnvironmentFlag, Manifest, Origin, Summary};

use crate::tables::legend::imported;

/// The manifest as pairs of words.
#[derive(Serialize)]
pub(crate) struct ManifestPart {
    facts: Vec<(&'static str, String)>,
    /// What it is, the file, its digest.
    files: Vec<(String, String, String)>,
}

/// The prose of the spec, a paragraph each.
pub(crate) fn analysis(summary: &Summary) -> Vec<String> {
    let text = summary.spec["analysis"].as_str().unwrap_or_default();
    let paragraphs =
        text.split("\n\n").map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    paragraphs.filter(|paragraph| !paragraph.is_empty()).collect()
}

/// What each number means.
pub(crate) fn protocols(summary: &Summary) -> Vec<String> {
    if summary.is_imported() {
        let times = ["speedup_e2e", "nfe"].into_iter().filter_map(imported).collect::<Vec<_>>().join(" ");
        return std::iter::once(times).chain(metrics_and_sources(summary)).collect();
    }
    let mut lines = vec![
        "Speedup: decode time of the baseline over that of the method, from the start of the prefill to the last token, \
         same prompts and seeds, within one attempt; a ratio of sums with a bootstrap interval over prompts."
            .to_owned(),
    ];
    let timing = &summary.spec["timing"];
    if let (Some(warmup), Some(blocks)) = (timing["warmup"].as_u64(), timing["blocks"].as_u64()) {
        let is_external = |cell: &CellSummary| cell.origin == Some(Origin::External);
        let of_others = match warmup == 0 && summary.cells.iter().any(is_external) {
            true => " (1 of each process of another program)",
            false => "",
        };
        lines.push(format!(
            "Timing: {warmup} images of warm-up{of_others}, blocks of {blocks} prompts with all timed cells on each prompt."
        ));
    }
    lines.extend(metrics_and_sources(summary));
    lines
}

/// By which protocol each metric was computed, and where the experiment is from.
fn metrics_and_sources(summary: &Summary) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for metric in summary.cells.iter().flat_map(|cell| &cell.metrics) {
        let direction = match summary.better(&metric.metric) {
            Some(Better::Higher) => "higher is better",
            Some(Better::Lower) => "lower is better",
            Some(Better::NearerToBaseline) => "nearer to the baseline's is better (rows that are not exact)",
            None => "neither direction is better",
        };
        let unit = if metric.unit.is_empty() { "a pure number" } else { &metric.unit };
        let line = format!("{}: protocol {}, in {unit}, {direction}.", metric.metric, metric.protocol);
        if !seen.contains(&line) {
            seen.push(line);
        }
    }
    let sources = summary.spec["sources"].as_array().map_or(&[][..], Vec::as_slice);
    seen.extend(sources.iter().filter_map(Value::as_str).map(|source| format!("Source: {source}")));
    seen
}

/// The manifest in words, and on which machines `summary` says that the images were made.
pub(crate) fn manifest_part(summary: &Summary, manifest: &Manifest) -> ManifestPart {
    let unknown = || "not known".to_owned();
    let git = match (&manifest.git.sha, manifest.git.dirty) {
        (Some(sha), Some(true)) => format!("{sha}, with changes"),
        (Some(sha), Some(false)) => format!("{sha}, unchanged"),
        (Some(sha), None) => format!("{sha}, perhaps with changes"),
        (None, _) => unknown(),
    };
    let hardware = &manifest.hardware;
    let software = &manifest.software;
    let set = manifest.environment.iter().filter(|(_, flag)| **flag == EnvironmentFlag::Set);
    let set: Vec<&str> = set.map(|(name, _)| name.as_str()).collect();
    let seal = match &manifest.sealed {
        Some(seal) => format!("{}, {} records", seal.finished, seal.n_records),
        None => "not sealed".to_owned(),
    };
    let facts = vec![
        ("command", manifest.argv.join(" ")),
        ("started", manifest.started.to_string()),
        ("sealed", seal),
        ("plan", manifest.plan_digest.to_string()),
        ("spec", manifest.spec_digest.to_string()),
        ("result", manifest.sealed.as_ref().map_or_else(unknown, |seal| seal.result_digest.to_string())),
        ("commit", git),
        ("program", format!("specimen {}", software.specimen)),
        ("libtorch", software.libtorch.clone().unwrap_or_else(unknown)),
        ("compiler", software.rustc.clone().unwrap_or_else(unknown)),
        ("images made on", summary.machine()),
        ("the driver's processor", format!("{}, {} cores", hardware.cpu_model, hardware.cores)),
        ("its features", hardware.cpu_features.join(", ")),
        ("memory", format!("{} MiB", hardware.memory_mb)),
        ("GPUs", if hardware.gpus.is_empty() { "none".to_owned() } else { hardware.gpus.join(", ") }),
        (
            "computed in",
            format!(
                "{} on {}, {} a worker",
                manifest.dtype,
                manifest.device,
                counted(manifest.threads, "thread")
            ),
        ),
        ("variables set", if set.is_empty() { "none".to_owned() } else { set.join(", ") }),
    ];
    // Nothing is known of the machine on which imported images were made; that of the import made none.
    let of_machine = [
        "images made on",
        "the driver's processor",
        "its features",
        "memory",
        "GPUs",
        "computed in",
        "variables set",
    ];
    let facts: Vec<_> =
        facts.into_iter().filter(|(name, _)| !summary.is_imported() || !of_machine.contains(name)).collect();
    let weights = manifest.weights.iter().map(|w| (w.name.clone(), w.file.clone(), w.blake3.to_string()));
    let datasets = manifest.datasets.iter().flat_map(|dataset| {
        let whole = (
            format!("{}, {} prompts", dataset.name, dataset.n),
            "prompts".to_owned(),
            dataset.digest.to_string(),
        );
        let files =
            dataset.files.iter().map(|f| (dataset.name.clone(), f.file.clone(), f.blake3.to_string()));
        std::iter::once(whole).chain(files)
    });
    ManifestPart { facts, files: weights.chain(datasets).collect() }
}
