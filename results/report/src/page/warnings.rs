//! What a reader must know before believing a number: faults, an unfinished run, and times of doubtful quality. Nothing here changes a number.

use serde::Serialize;
use specimen_record::{Manifest, Summary};

use crate::{
    table::fixed,
    tables::legend::{faults, few_images},
};

/// A drift of the baseline beyond this factor, either way, is a warning.
const DRIFT: f64 = 1.1;

/// A share of the machine beyond this, taken by other processes, is a warning.
const OTHERS: f64 = 0.1;

/// One warning.
#[derive(Debug, Serialize)]
pub(crate) struct Warning {
    /// `fault` or `caution`.
    level: &'static str,
    word: &'static str,
    text: String,
}

/// The warnings of a run, the worst first. `unverified`: what of its files is not as it was sealed.
pub(crate) fn warnings(
    summary: &Summary,
    manifest: Option<&Manifest>,
    unverified: &[String],
) -> Vec<Warning> {
    let not_verified = |text: &String| Warning { level: "fault", word: "Not verified", text: text.clone() };
    let mut found: Vec<Warning> = unverified.iter().map(not_verified).collect();
    for fault in faults(summary) {
        let text = fault.trim_start_matches("FAULT: ").to_owned();
        found.push(Warning { level: "fault", word: "Fault", text });
    }
    let mut caution = |word: &'static str, text: String| found.push(Warning { level: "caution", word, text });
    match manifest {
        None => {
            caution("No manifest", "The program, its arguments and its weights are not known.".to_owned())
        }
        Some(manifest) => of_manifest(summary, manifest, &mut caution),
    }
    let failed: Vec<String> = summary
        .cells
        .iter()
        .filter(|cell| cell.n_failed > 0)
        .map(|cell| format!("{} of {}", cell.n_failed, cell.id))
        .collect();
    if !failed.is_empty() {
        caution("Failed items", format!("{}: they have no image and are in no number.", failed.join(", ")));
    }
    if summary.cells.iter().any(|cell| cell.family.is_none()) {
        let text = "The summary is older than the families of methods: all methods have one colour and mark.";
        caution("No families", text.to_owned());
    }
    for note in summary.notes_of_metrics() {
        caution("Note on metrics", format!("{note}."));
    }
    if let Some(text) = few_images(summary) {
        caution("Few images", text);
    }
    of_times(summary, &mut caution);
    found
}

fn of_manifest(summary: &Summary, manifest: &Manifest, caution: &mut impl FnMut(&'static str, String)) {
    match &manifest.sealed {
        None => caution("Not sealed", "The run is not finished, or was not merged.".to_owned()),
        Some(seal) if seal.result_digest != summary.result_digest => {
            let how = if summary.is_imported() { "score DIR" } else { "run SPEC --out DIR --resume" };
            caution(
                "Out of date",
                format!("The summary and the sealed records differ; run `specimen {how}`."),
            );
        }
        Some(_) => {}
    }
    match (&manifest.git.sha, manifest.git.dirty) {
        (Some(_), Some(false)) => {}
        (Some(sha), Some(true)) => {
            let short = sha.get(..12).unwrap_or(sha);
            caution("Changed sources", format!("The program was built from commit {short} with changes."));
        }
        _ => caution(
            "Unknown sources",
            "The commit of the program is not known, or whether it was changed.".to_owned(),
        ),
    }
}

fn of_times(summary: &Summary, caution: &mut impl FnMut(&'static str, String)) {
    let Some(quality) = &summary.timing_quality else {
        if summary.cells.iter().any(|cell| cell.value("speedup").is_some()) {
            caution(
                "Times not monitored",
                "Drift and other load of the machine were not recorded.".to_owned(),
            );
        }
        return;
    };
    let drifts = quality.drift.is_some_and(|drift| !(1.0 / DRIFT..=DRIFT).contains(&drift));
    if let Some(words) = summary.drift_in_words().filter(|_| drifts) {
        let words = match words.strip_prefix("the ") {
            Some(rest) => format!("The {rest}"),
            None => words,
        };
        caution(
            "Drift",
            format!(
                "{words}. Other prompts are a part of it, and it has no interval. Speedups compare times of one attempt, prompt by prompt; seconds do not."
            ),
        );
    }
    for slow in summary.slow_baselines() {
        caution("Slow baseline", format!("{slow}."));
    }
    if let Some(others) = quality.others_busy_mean.filter(|others| *others > OTHERS) {
        caution(
            "Busy machine",
            format!("Other processes used {} % of all cores during timing.", fixed(100.0 * others, 0)),
        );
    }
    let apart: Vec<String> = summary
        .cells
        .iter()
        .filter_map(|cell| Some((cell, cell.timing_quality.as_ref()?)))
        .filter(|(_, quality)| quality.n_outliers > 0)
        .map(|(cell, quality)| format!("{} of {} of {}", quality.n_outliers, quality.n_timed, cell.id))
        .collect();
    if !apart.is_empty() {
        caution("Outliers", format!("Outlying times, kept in every mean: {}.", apart.join(", ")));
    }
}
