//! Why a published file is not here.

use std::{io, path::PathBuf};

use specimen_foundation::failure::{Failure, FailureKind};

use crate::{
    entry::{PublishedFile, UnknownName},
    hub::Places,
};

/// What kept a file from being fetched or found.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// The catalog has no such name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// Nothing may be fetched, and something is missing.
    #[error("{file}: not on this machine, and nothing may be fetched: unset {variable}, or {remedy}")]
    Offline {
        /// The file, with its repository.
        file: String,
        /// The variable that says so.
        variable: &'static str,
        /// Where it would be found.
        remedy: String,
    },
    /// A file that could not be fetched and that a user may have all the same.
    #[error("{source}; {copy}")]
    Unfetched {
        /// Why it was not fetched.
        source: Box<HubError>,
        /// What to do with a copy.
        copy: String,
    },
    /// Files that no address is known for.
    #[error("{file}: cannot be fetched by a program: {how}; put it at {place}")]
    ByHand {
        /// Path of the file.
        file: String,
        /// How to get it.
        how: String,
        /// Where to put it.
        place: PathBuf,
    },
    /// The server wants to know who asks.
    #[error("{url}: refused with status {status}: {remedy}")]
    Denied {
        /// The address.
        url: String,
        /// 401 or 403.
        status: u16,
        /// What to do.
        remedy: String,
    },
    /// There is no such file.
    #[error("{url}: no such file (status 404); {remedy}")]
    NotFound {
        /// The address.
        url: String,
        /// What to do.
        remedy: String,
    },
    /// Another answer than a file.
    #[error("{url}: expected a file, found {found}; try again, what is here already is kept")]
    Answer {
        /// The address.
        url: String,
        /// What was answered.
        found: String,
    },
    /// No answer, or one that broke off.
    #[error("{url}: {reason}; run the same command again{}", continues(*.n_bytes))]
    BrokenOff {
        /// The address.
        url: String,
        /// What the server or the connection answered.
        reason: String,
        /// How many bytes are here.
        n_bytes: u64,
    },
    /// A file that is not what was published.
    #[error("{path}: expected {expected}, found {found}; {remedy}")]
    Mismatch {
        /// Where it lies, or was to lie.
        path: PathBuf,
        /// Size or digest as published.
        expected: String,
        /// What was found.
        found: String,
        /// What to do.
        remedy: String,
    },
    /// An archive that does not hold what it should.
    #[error("{archive}: {found}; {remedy}")]
    Archive {
        /// Path of the archive.
        archive: PathBuf,
        /// What is wrong with it.
        found: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A file of this machine that cannot be read or written.
    #[error("{path}: {action}: {source}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl HubError {
    /// The same with what to do with a copy of `file`, where it is this file that did not come.
    pub fn of_download(self, file: &PublishedFile, places: &Places) -> Self {
        let did_not_come = matches!(
            self,
            Self::Offline { .. }
                | Self::Denied { .. }
                | Self::NotFound { .. }
                | Self::Answer { .. }
                | Self::BrokenOff { .. }
        );
        match places.with_a_copy(file).filter(|_| did_not_come) {
            Some(copy) => Self::Unfetched { source: Box::new(self), copy },
            None => self,
        }
    }

    pub(crate) fn io(path: &std::path::Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, action, source }
    }
}

impl Failure for HubError {
    fn kind(&self) -> Option<FailureKind> {
        match self {
            Self::Unknown(error) => error.kind(),
            Self::Unfetched { source, .. } => source.kind(),
            Self::Answer { .. } | Self::BrokenOff { .. } | Self::Io { .. } => Some(FailureKind::Environment),
            Self::Offline { .. }
            | Self::ByHand { .. }
            | Self::Denied { .. }
            | Self::NotFound { .. }
            | Self::Mismatch { .. }
            | Self::Archive { .. } => Some(FailureKind::Missing),
        }
    }
}

/// What running the command again does with what is here.
fn continues(n_bytes: u64) -> String {
    match n_bytes {
        0 => String::new(),
        n => format!(": it continues after the {n} bytes that are here"),
    }
}
