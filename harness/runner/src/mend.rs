//! What of a sealed run is not as it was sealed, found before anything is made: what can be made again is, and anything
//! else is refused with what mends it. Nothing that is damaged is sealed again in silence.

use std::path::{Component, Path};

use specimen_record::{Checksums, Manifest, Part, RecordError, RunDir, Tally, seal_complaints};

use crate::{error::RunError, stage::Stage};

/// What follows from a file that is not as it was sealed.
enum Cure {
    /// It is made again by whoever finishes the run.
    Again,
    /// It is removed, and then made again.
    Remove,
    /// The words of what a person can do.
    Refuse(String),
}

/// Checks the files of a run that is to be taken up again, if it is sealed.
///
/// # Errors
/// [`RunError::Damaged`] for the first file that cannot be made again from the others.
pub(crate) fn mend(run: &RunDir, manifest: &Manifest, report: &mut dyn FnMut(Stage)) -> Result<(), RunError> {
    let Some(seal) = &manifest.sealed else { return Ok(()) };
    let complaints = seal_complaints(run, Part::All);
    for complaint in complaints {
        let what = complaint.to_string();
        let cure = match path_of(&complaint) {
            Some(path) if path.is_dir() => {
                Cure::Refuse(format!("remove the folder {} and go on with --resume", path.display()))
            }
            Some(path) if path == run.checksums() => {
                // Without the list nobody knows which file was changed, only whether any was.
                let is_whole = match &seal.files_digest {
                    Some(sealed) => *sealed == Checksums::of_run(run)?.digest(),
                    None => true,
                };
                if is_whole { Cure::Again } else { Cure::Refuse(FROM_A_COPY.to_owned()) }
            }
            Some(path) => cure(run, path),
            None => Cure::Refuse(FROM_A_COPY.to_owned()),
        };
        match cure {
            Cure::Again => report(Stage::Damage { what: format!("{what}; it is made again") }),
            Cure::Remove => {
                report(Stage::Damage { what: format!("{what}; it is made again") });
                if let Some(path) = path_of(&complaint) {
                    remove(path)?;
                }
            }
            Cure::Refuse(mend) => return Err(RunError::Damaged { complaint: what, mend }),
        }
    }
    Ok(())
}

/// What to do about a file that nothing else tells anything of.
const FROM_A_COPY: &str = "bring the file back from a copy, or run again into another folder";

/// The file that a complaint is about.
fn path_of(complaint: &RecordError) -> Option<&Path> {
    match complaint {
        RecordError::Gone { path }
        | RecordError::NotListed { path }
        | RecordError::NoChecksums { path }
        | RecordError::DigestMismatch { path, .. } => Some(path),
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

fn cure(run: &RunDir, path: &Path) -> Cure {
    let inside = path.strip_prefix(run.root()).unwrap_or(path);
    let names = inside.components().filter_map(|part| match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    let names: Vec<&str> = names.collect();
    match names[..] {
        ["plan.json"] | ["merged" | "metrics" | "diagnostics", ..] => Cure::Again,
        ["shards", _, "done.json"] => Cure::Remove,
        ["shards", shard, "attempts", attempt, _] => {
            let folder = run.shards_dir().join(shard);
            let has_records = folder.join("attempts").join(attempt).join("records.jsonl").exists();
            match has_records {
                true => Cure::Refuse(format!(
                    "remove the folder {} and go on with --resume, which makes it again",
                    folder.display()
                )),
                false => Cure::Again,
            }
        }
        _ => Cure::Refuse(FROM_A_COPY.to_owned()),
    }
}

/// Removes the markers of shards that have lost images: what they say is made again.
///
/// # Errors
/// A marker that cannot be removed.
pub(crate) fn remove_markers_of_lost(run: &RunDir, tally: &Tally) -> Result<(), RunError> {
    for shard in &tally.finished {
        if tally.lost.iter().any(|image| image.starts_with(run.shard(*shard))) {
            remove(&run.done(*shard))?;
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result<(), RunError> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(RunError::io(path, "remove")(e)),
        _ => Ok(()),
    }
}
