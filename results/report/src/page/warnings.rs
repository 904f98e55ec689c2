//! What a reader must know before believing a number: faults, an unfinished run, and times that deserve less
//! trust. Nothing here changes a number.

use serde::Serialize;
use specimen_record::{Manifest, Summary};

use crate::tables::legend::faults;
use specimen_table::fixed;

/// A drift of the baseline beyond this factor, either way, is told.
const DRIFT: f64 = 1.1;

/// A share of the machine beyond this, taken by other processes, is told.
const OTHERS: f64 = 0.1;

/// Fewer images than this a cell are told.
const FEW: u64 = 30;

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
            caution("No manifest", "What was run, with which program and weights, is not known.".to_owned())
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
        caution("Failed items", format!("{}: they have no image and enter no number.", failed.join(", ")));
    }
    let fewest = summary.cells.iter().filter(|cell| cell.n_images > 0).map(|cell| cell.n_images).min();
    if let Some(n) = fewest.filter(|n| *n < FEW) {
        caution("Few images", format!("n = {n} a cell: intervals from so few prompts are rough themselves."));
    }
    of_times(summary, &mut caution);
    found
}

fn of_manifest(summary: &Summary, manifest: &Manifest, caution: &mut impl FnMut(&'static str, String)) {
    match &manifest.sealed {
        None => caution("Not sealed", "The run has not ended, or ended without being merged.".to_owned()),
        Some(seal) if seal.result_digest != summary.result_digest => caution(
            "Out of date",
            "The summary was made from other records than the run was sealed with; resume the run."
                .to_owned(),
        ),
        Some(_) => {}
    }
    match (&manifest.git.sha, manifest.git.dirty) {
        (Some(_), Some(false)) => {}
        (Some(sha), Some(true)) => {
            let short = sha.get(..12).unwrap_or(sha);
            caution("Changed sources", format!("Files differed from commit {short} when this was built."));
        }
        _ => caution(
            "Unknown sources",
            "The commit of the program, or whether it was changed, is not known.".to_owned(),
        ),
    }
}

fn of_times(summary: &Summary, caution: &mut impl FnMut(&'static str, String)) {
    let Some(quality) = &summary.timing_quality else {
        if summary.cells.iter().any(|cell| cell.speedup.value.is_some()) {
            caution("Unwatched times", "Nothing looked at drift or at what else the machine did.".to_owned());
        }
        return;
    };
    let drifts = quality.drift.is_some_and(|drift| !(1.0 / DRIFT..=DRIFT).contains(&drift));
    if let Some(words) = quality.drift_in_words().filter(|_| drifts) {
        let words = words.replacen("the", "The", 1);
        caution(
            "Drift",
            format!("{words}. Speedups are formed within one attempt, prompt by prompt, seconds are not."),
        );
    }
    if let Some(others) = quality.others_busy_mean.filter(|others| *others > OTHERS) {
        caution(
            "Busy machine",
            format!(
                "Other processes took {} % of all cores while times were taken.",
                fixed(100.0 * others, 0)
            ),
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
        caution(
            "Outliers",
            format!("Times that stand apart from the rest, kept in every mean: {}.", apart.join(", ")),
        );
    }
}
