//! What can go wrong with rows on disk. Every variant names the file and the place in it, what was
//! expected, what was found, and what to do where there is something to do.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

use specimen_foundation::{
    failure,
    failure::{Failure, FailureKind, FailureMessage},
};

use crate::{Digest, Document, ItemKey, Lease, Manifest, RunDir, Seed, read_document};

/// What the system says, and what to do where its disk is full.
pub fn io_words(source: &std::io::Error) -> String {
    if crate::files::disk_space::is_disk_full(source) {
        return format!(
            "{source}; everything that was made is kept and nothing is half written: free some disk space and continue with --resume"
        );
    }
    if source.kind() == std::io::ErrorKind::FileTooLarge {
        return format!(
            "{source}; the file would be larger than this shell (`ulimit -f`) or file system allows: raise the limit and continue with --resume"
        );
    }
    source.to_string().trim_end_matches('.').to_owned()
}

/// A failure to write, read or merge a run directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The operating system refused.
    #[error("{path}: cannot {action}: {}", io_words(.source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was attempted, as an infinitive ("create the folder").
        action: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A line or file is not the JSON it should be.
    #[error("{path}:{line}:{column}: not a valid {kind}: {reason}{}", advice(.kind))]
    Syntax {
        /// Path of the file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column in bytes, from 1; 0 where the parser has none.
        column: usize,
        /// What the line or file should hold ("record").
        kind: &'static str,
        /// The parser's words, without its position.
        reason: String,
    },
    /// The JSON is well formed, but its fields contradict one another.
    #[error("{path}:{line}: not a valid {kind}: {reason}")]
    Inconsistent {
        /// Path of the file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What the line or file should hold.
        kind: &'static str,
        /// The contradiction.
        reason: String,
    },
    /// Written by a later version of this program.
    #[error(
        "{path}:{line}: {kind} has schema {found}, this program reads up to {supported}; \
         read it with the version that wrote it or a newer one"
    )]
    NewerSchema {
        /// Path of the file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What the line or file holds.
        kind: &'static str,
        /// The schema number found.
        found: u64,
        /// The newest schema this program knows.
        supported: u32,
    },
    /// A document was written by an earlier version, in another form.
    #[error("{path}:{line}: {kind} has schema {found}, of an earlier version; {renewed_by}")]
    OlderSchema {
        /// Path of the file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What the file holds.
        kind: &'static str,
        /// The schema number found.
        found: u64,
        /// What makes it anew.
        renewed_by: &'static str,
    },
    /// Two digests that should be equal.
    #[error("{path}: {what}: the digest is {found}, {expected} was written down; something changed since")]
    DigestMismatch {
        /// The file or folder.
        path: PathBuf,
        /// What was digested ("plan", "records of the shard").
        what: &'static str,
        /// Written down earlier.
        expected: Digest,
        /// Computed now.
        found: Digest,
    },
    /// Pixels that are not those of the record.
    #[error(
        "{path}: the pixels of {key} have digest {found}, its record says {expected}; the image was changed"
    )]
    OtherPixels {
        /// Path of the image.
        path: PathBuf,
        /// Key of the item.
        key: ItemKey,
        /// Of the record.
        expected: Digest,
        /// Of the raw RGB bytes of the file.
        found: Digest,
    },
    /// What nobody acts on.
    #[error(transparent)]
    Stated(#[from] FailureMessage),
    /// A file of a finished run that is there and not listed, or listed and not there.
    #[error("{path}: {what}")]
    Seal {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
    /// A row that another row of its attempt contradicts.
    #[error("{path}:{line}: {key}: {what}")]
    Contradicted {
        /// Path of the file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Key of the item.
        key: ItemKey,
        /// The field, what it is, and what follows from the other row.
        what: String,
    },
    /// A record of an item that the plan does not have.
    #[error("{path}:{line}: item {key} is not in the plan; was this attempt made for another plan?")]
    NotInPlan {
        /// Path of the file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Key of the item.
        key: ItemKey,
    },
    /// One item, done twice, with different results.
    #[error(
        "item {key} has two results that differ in `{field}`: {first}:{first_line} and {second}:{second_line}; \
         generation was not deterministic, or two machines were mixed"
    )]
    Conflict {
        /// Key of the item.
        key: ItemKey,
        /// First field that differs.
        field: String,
        /// File of the earlier result.
        first: PathBuf,
        /// Its line, from 1.
        first_line: usize,
        /// File of the later result.
        second: PathBuf,
        /// Its line, from 1.
        second_line: usize,
    },
}

/// How to repair a file that cannot be made from the others.
pub const FROM_A_COPY: &str = "bring the file back from a copy, or run again into another folder";

/// How to repair a file of an import.
pub const OF_AN_IMPORT: &str = "an import is not resumed: without a file of metrics, merged or checksums.json `specimen score` makes \
     it again; bring any other file back from a copy, or import the images again into another folder";

/// `mend`, or what helps in its place where the run is an import, which nothing resumes.
pub fn mend_of<'m>(run: &RunDir, mend: &'m str) -> &'m str {
    let is_resumed = mend.contains("--resume") || mend == FROM_A_COPY;
    let is_import = || read_document(&run.manifest()).is_ok_and(|manifest: Manifest| manifest.is_imported());
    if is_resumed && is_import() { OF_AN_IMPORT } else { mend }
}

/// What to do about a file that is no valid document of its kind, where there is one answer.
fn advice(kind: &str) -> String {
    match kind {
        Manifest::KIND => format!("; {FROM_A_COPY}"),
        Lease::KIND => "; nothing is lost with it: `run --resume` makes it again".to_owned(),
        _ => String::new(),
    }
}

impl RecordError {
    /// Wraps a system error with the path and what was attempted.
    pub(crate) fn io(
        path: impl Into<PathBuf>,
        action: &'static str,
    ) -> impl FnOnce(std::io::Error) -> RecordError {
        let path = path.into();
        move |source| RecordError::Io { path, action, source }
    }
}

impl Failure for RecordError {
    fn kind(&self) -> Option<FailureKind> {
        Some(match self {
            Self::Stated(message) => message.kind,
            Self::Io { source, .. } if source.kind() != std::io::ErrorKind::NotFound => {
                FailureKind::Environment
            }
            Self::Conflict { .. } => FailureKind::Mismatch,
            _ => FailureKind::Missing,
        })
    }
}

/// A file or row that no run has.
pub(crate) fn too_large(path: impl AsRef<Path>, what: impl Display, most: u64) -> RecordError {
    failure!(Missing: "{}: a {what} of more than {most} bytes, which no run has; is it the right file?",
        path.as_ref().display())
    .into()
}

/// A run is already there.
pub(crate) fn run_exists(path: impl AsRef<Path>, found: impl Display) -> RecordError {
    failure!(Usage: "{}: a run is here already ({found}); name another folder by `--out`, or, if `specimen \
        run` made it, continue it by `--resume`", path.as_ref().display())
    .into()
}

/// A value cannot be written because it is contradictory.
pub(crate) fn refused(path: impl AsRef<Path>, kind: impl Display, reason: impl Display) -> RecordError {
    failure!(Bug: "{}: refusing to write a {kind}: {reason}", path.as_ref().display()).into()
}

/// A record whose seed is not the planned one.
pub(crate) fn wrong_seed(
    path: impl AsRef<Path>,
    line: usize,
    key: &ItemKey,
    expected: Seed,
    found: Seed,
) -> RecordError {
    failure!(Missing: "{}:{line}: item {key} ran with seed {found}, the plan says {expected}",
        path.as_ref().display())
    .into()
}

/// A run that is not sealed.
pub(crate) fn not_sealed(path: impl AsRef<Path>) -> RecordError {
    failure!(Missing: "{}: the run is not sealed: it is not at its end, or was taken up again",
        path.as_ref().display())
    .into()
}

/// Items of the plan that were not run.
pub(crate) fn incomplete(n_missing: usize, n_planned: usize, first: &ItemKey) -> RecordError {
    failure!(Missing: "{n_missing} of {n_planned} items have no record (first: {first}); resume the run, \
        then merge (an import has to come from a copy)")
    .into()
}

/// A count that was written down and does not fit.
pub(crate) fn wrong_count(
    path: impl AsRef<Path>,
    what: impl Display,
    expected: u64,
    found: u64,
) -> RecordError {
    failure!(Missing: "{}: {found} {what}, {expected} were written down", path.as_ref().display()).into()
}

/// An appender whose earlier write failed and could not be undone.
pub(crate) fn broken(path: impl AsRef<Path>) -> RecordError {
    failure!(Bug: "{}: an earlier row could not be written whole; start a new attempt",
        path.as_ref().display())
    .into()
}

/// No run is there.
pub(crate) fn not_a_run(path: impl AsRef<Path>, missing: impl Display, runs: impl Display) -> RecordError {
    failure!(Missing: "{}: not a run directory: {missing} is missing{runs}", path.as_ref().display()).into()
}
