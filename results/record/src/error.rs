//! What can go wrong with rows on disk. Every variant names the file and the place in it, what was
//! expected, what was found, and what to do where there is something to do.

use std::path::PathBuf;

use specimen_foundation::failure::{Failure, FailureKind};

use crate::{Digest, Document, ItemKey, Lease, Manifest, NotFinite};

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
    /// A file or row that no run has.
    #[error("{path}: a {what} of more than {most} bytes, which no run has; is it the right file?")]
    TooLarge {
        /// Path of the file.
        path: PathBuf,
        /// What is too large ("file", "row").
        what: &'static str,
        /// The most bytes that are read.
        most: u64,
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
    /// A value cannot be written because it is contradictory.
    #[error("{path}: refusing to write a {kind}: {reason}")]
    Refused {
        /// Where it would have gone.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
        /// The contradiction.
        reason: String,
    },
    /// A float that is NaN or infinite.
    #[error("{path}: refusing to write a {kind}: {source}")]
    NotFinite {
        /// Where it would have gone.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
        /// Which field.
        source: NotFinite,
    },
    /// An appender whose earlier write failed and could not be undone.
    #[error("{path}: an earlier row could not be written whole; start a new attempt")]
    Broken {
        /// Path of the file.
        path: PathBuf,
    },
    /// A run is already there.
    #[error(
        "{path}: a run is here already ({found}); name another folder by `--out`, or, if `specimen run` made it, continue it by `--resume`"
    )]
    RunExists {
        /// Path of the folder.
        path: PathBuf,
        /// The file that shows it.
        found: &'static str,
    },
    /// What no run folder holds, and what would lead out of it.
    #[error(
        "{path}: this is {kind}{}; below the folder of a run, only regular files and folders are read or written: remove \
         it, or put a copy of what it stands for in its place",
        more(*.n_more)
    )]
    Irregular {
        /// The first, by name.
        path: PathBuf,
        /// What it is ("a symbolic link").
        kind: &'static str,
        /// How many more there are.
        n_more: usize,
    },
    /// There is not even a folder.
    #[error("{path}: there is no such folder; name the folder of a run, such as results/runs/NAME")]
    NoSuchFolder {
        /// The folder asked for.
        path: PathBuf,
    },
    /// No run is there.
    #[error("{path}: not a run directory: {missing} is missing{runs}")]
    NotARun {
        /// Path of the folder.
        path: PathBuf,
        /// The file that should be there.
        missing: &'static str,
        /// The runs in it, in words after a semicolon; empty where there are none.
        runs: String,
    },
    /// A text that is no item key.
    #[error("`{text}` is not an item key: {reason}; expected <cell>/<prompt id>/<sample>, percent-encoded")]
    BadKey {
        /// The text.
        text: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// An image name that would leave the images folder.
    #[error("image name `{name}` is not a plain relative path; it must stay inside its images folder")]
    BadImageName {
        /// The name.
        name: String,
    },
    /// A plan whose parts contradict one another.
    #[error("plan `{name}`: {reason}")]
    BadPlan {
        /// The plan's name.
        name: String,
        /// The contradiction.
        reason: String,
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
    /// A file of a finished run that was not there when it was finished.
    #[error("{path}: the checksums do not list it; it came after the run was finished")]
    NotListed {
        /// Path of the file.
        path: PathBuf,
    },
    /// A file among the images of a finished run that no record names.
    #[error("{path}: no record names this file, and it is among the images")]
    Stray {
        /// Path of the file.
        path: PathBuf,
    },
    /// A file of a finished run that is no longer there.
    #[error("{path}: the file is gone; the checksums list it")]
    Gone {
        /// Path of the file.
        path: PathBuf,
    },
    /// The list that the seal names is not there.
    #[error(
        "{path}: the list of checksums is missing, and the manifest says that the run was sealed with it"
    )]
    NoChecksums {
        /// Where it should be.
        path: PathBuf,
    },
    /// A run that is not sealed.
    #[error("{path}: the run is not sealed: it is not at its end, or was taken up again")]
    NotSealed {
        /// Path of its manifest.
        path: PathBuf,
    },
    /// A folder of a shard or an attempt that no run makes.
    #[error("{path}: no shard and no attempt has a number above {most}; remove the folder")]
    NumberTooLarge {
        /// Path of the folder.
        path: PathBuf,
        /// The largest number that is used.
        most: u32,
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
    /// A count that was written down and does not fit.
    #[error("{path}: {found} {what}, {expected} were written down")]
    WrongCount {
        /// The file that holds the number.
        path: PathBuf,
        /// What is counted ("records").
        what: &'static str,
        /// Written down.
        expected: u64,
        /// Counted.
        found: u64,
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
    /// A record whose seed is not the planned one.
    #[error("{path}:{line}: item {key} ran with seed {found}, the plan says {expected}")]
    WrongSeed {
        /// Path of the file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Key of the item.
        key: ItemKey,
        /// The plan's seed.
        expected: crate::Seed,
        /// The record's seed.
        found: crate::Seed,
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
    /// Items of the plan that were not run.
    #[error("{n_missing} of {n_planned} items have no record (first: {first}); resume the run, then merge")]
    Incomplete {
        /// Items without a record.
        n_missing: usize,
        /// Items of the plan.
        n_planned: usize,
        /// The first missing one in plan order.
        first: ItemKey,
    },
}

/// How to repair a file that cannot be made from the others.
pub const FROM_A_COPY: &str = "bring the file back from a copy, or run again into another folder";

/// How many more of a kind there are, in words; nothing for none.
fn more(n: usize) -> String {
    if n == 0 { String::new() } else { format!(", and {n} more links or special files are in the run") }
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
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => FailureKind::Missing,
            Self::Io { .. } => FailureKind::Environment,
            Self::RunExists { .. } => FailureKind::Usage,
            Self::BadPlan { .. } => FailureKind::Spec,
            Self::Conflict { .. } => FailureKind::Mismatch,
            Self::NotARun { .. }
            | Self::Irregular { .. }
            | Self::NoSuchFolder { .. }
            | Self::TooLarge { .. }
            | Self::Syntax { .. }
            | Self::Inconsistent { .. }
            | Self::NewerSchema { .. }
            | Self::OlderSchema { .. }
            | Self::DigestMismatch { .. }
            | Self::NotInPlan { .. }
            | Self::WrongSeed { .. }
            | Self::Incomplete { .. }
            | Self::NotListed { .. }
            | Self::Stray { .. }
            | Self::Gone { .. }
            | Self::NoChecksums { .. }
            | Self::NotSealed { .. }
            | Self::NumberTooLarge { .. }
            | Self::OtherPixels { .. }
            | Self::Contradicted { .. }
            | Self::WrongCount { .. } => FailureKind::Missing,
            Self::Refused { .. }
            | Self::NotFinite { .. }
            | Self::Broken { .. }
            | Self::BadKey { .. }
            | Self::BadImageName { .. } => FailureKind::Bug,
        })
    }
}
