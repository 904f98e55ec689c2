//! Files of a sealed run that are not as they were sealed, found before anything is made: a file that can be
//! made again is made again, and any other is refused with its remedy. A damaged run is never sealed again
//! without a report.

use std::path::{Component, Path};

use specimen_catalog::METRICS;
use specimen_record::{
    Checksums, FROM_A_COPY, Manifest, Part, RecordError, RunDir, RunProgress, decode_part, seal_complaints,
};

use crate::{driver::events::DriverEvent, error::RunError, process::remove_if_there};

/// What follows from a file that is not as it was sealed.
enum Repair {
    /// It is made again when the run is finished.
    Again,
    /// It is removed, and then made again.
    Remove,
    /// It is removed; the scores in it are another tool's.
    RemoveScores,
    /// It cannot be repaired here; what a person can do.
    Refuse(String),
}

/// Checks the files of a run that is to be continued, if it is sealed.
pub(super) fn repair(
    run: &RunDir,
    manifest: &Manifest,
    report: &dyn Fn(DriverEvent),
) -> Result<(), RunError> {
    let Some(seal) = &manifest.sealed else { return Ok(()) };
    let complaints = seal_complaints(run, Part::All);
    for complaint in complaints {
        let what = complaint.to_string();
        let repair = match path_of(&complaint) {
            Some(path) if path.is_dir() => {
                Repair::Refuse(format!("remove the folder {} and continue with --resume", path.display()))
            }
            Some(path) if path == run.checksums() => {
                // Without the list it is not known which file was changed, only whether any was.
                let is_whole = match &seal.files_digest {
                    Some(sealed) => *sealed == Checksums::of_run(run)?.digest(),
                    None => true,
                };
                if is_whole { Repair::Again } else { Repair::Refuse(FROM_A_COPY.to_owned()) }
            }
            // Nothing makes its images again.
            Some(path)
                if manifest.is_imported()
                    && path.starts_with(run.shards_dir())
                    && !path.ends_with("done.json") =>
            {
                Repair::Refuse(FROM_A_COPY.to_owned())
            }
            Some(path) => repair_of(run, path),
            None => Repair::Refuse(FROM_A_COPY.to_owned()),
        };
        match repair {
            Repair::Again => report(DriverEvent::Damage { what: format!("{what}; it is made again") }),
            Repair::Remove => {
                report(DriverEvent::Damage { what: format!("{what}; it is made again") });
                if let Some(path) = path_of(&complaint) {
                    remove_if_there(path, "remove")?;
                }
            }
            Repair::RemoveScores => {
                let mend = "it is removed; bring its scores back with `specimen import-scores`";
                report(DriverEvent::Damage { what: format!("{what}; {mend}") });
                if let Some(path) = path_of(&complaint) {
                    remove_if_there(path, "remove")?;
                }
            }
            Repair::Refuse(remedy) => return Err(RunError::damaged(run, what, &remedy)),
        }
    }
    Ok(())
}

/// The file that a complaint is about.
fn path_of(complaint: &RecordError) -> Option<&Path> {
    match complaint {
        RecordError::Seal { path, .. } | RecordError::DigestMismatch { path, .. } => Some(path),
        // Of the list itself: that it cannot be read.
        RecordError::Io { path, .. }
        | RecordError::Syntax { path, .. }
        | RecordError::NewerSchema { path, .. }
            if path.ends_with("checksums.json") =>
        {
            Some(path)
        }
        _ => None,
    }
}

/// What is done about a file of a sealed run.
fn repair_of(run: &RunDir, path: &Path) -> Repair {
    let inside = path.strip_prefix(run.root()).unwrap_or(path);
    let names = inside.components().filter_map(|part| match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    let names: Vec<&str> = names.collect();
    match names[..] {
        ["metrics", value, _] if is_imported(value) => Repair::RemoveScores,
        ["plan.json"] | ["merged" | "metrics" | "diagnostics", ..] => Repair::Again,
        ["shards", _, "done.json"] => Repair::Remove,
        ["shards", shard, "attempts", attempt, _] => {
            let folder = run.shards_dir().join(shard);
            let has_records = folder.join("attempts").join(attempt).join("records.jsonl").exists();
            match has_records {
                true => Repair::Refuse(format!(
                    "remove the folder {} and continue with --resume, which makes it again",
                    folder.display()
                )),
                false => Repair::Again,
            }
        }
        _ => Repair::Refuse(FROM_A_COPY.to_owned()),
    }
}

/// Whether the folder of metrics with this name has scores of another tool.
fn is_imported(folder: &str) -> bool {
    let value = decode_part(folder).unwrap_or_default();
    METRICS.iter().any(|metric| metric.needs.import() && metric.values.contains(&value))
}

/// Removes the markers of shards that have lost images: their images are made again.
pub(super) fn remove_markers_of_lost(run: &RunDir, progress: &RunProgress) -> Result<(), RunError> {
    for shard in &progress.finished {
        if progress.lost.iter().any(|image| image.starts_with(run.shard(*shard))) {
            remove_if_there(&run.done(*shard), "remove")?;
        }
    }
    Ok(())
}
