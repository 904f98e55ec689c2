//! What a process does when the disk is full: it leaves nothing half written, says once which file it is about, and
//! tries again, ever more seldom, until there is room, its patience ends, or it is asked to stop.

use std::{
    fmt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use specimen_models::target::ModelError;
use specimen_record::{Document, RecordError, free_bytes, want_of_room, write_document};

use crate::{error::RunError, stop::Stop};

/// How often requests to stop are looked at meanwhile.
const PULSE: Duration = Duration::from_millis(50);
const SHORTEST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// A write for which there is no room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortage {
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub why: String,
    /// Bytes that are left on its disk, too few for this write; `None` where the system does not tell.
    pub free_bytes: Option<u64>,
}

impl Shortage {
    /// What `error` says of room; `None` when it is about something else.
    fn of(error: &RunError) -> Option<Self> {
        let why = want_of_room(error)?.to_string();
        let path = match error {
            RunError::Io { path, .. } | RunError::Record(RecordError::Io { path, .. }) => path.as_path(),
            RunError::Model(ModelError::NotKept { folder, .. }) => folder.as_path(),
            _ => Path::new("."),
        };
        Some(Self { path: path.to_owned(), why, free_bytes: free_bytes(path) })
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, why, free_bytes } = self;
        write!(f, "{}: no room ({why}", path.display())?;
        if let Some(free) = free_bytes {
            write!(f, "; {} kB are free", free / 1000)?;
        }
        f.write_str(
            "); nothing half is left, and it goes on by itself once there is room; an interrupt (Ctrl-C) ends it, and \
             --resume goes on later",
        )
    }
}

/// What becomes of a shortage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Waiting begins.
    Begins(Shortage),
    /// What could not be written was written.
    Ends,
}

/// The patience of a process with a disk that is full.
#[derive(Clone, Copy)]
pub struct Room<'a> {
    stop: &'a Stop,
    limit: Option<Duration>,
}

impl<'a> Room<'a> {
    /// Waits until `stop` asks for something, and not longer than `limit` for any one write.
    #[must_use]
    pub fn new(stop: &'a Stop, limit: Option<Duration>) -> Self {
        Self { stop, limit }
    }

    /// What its process is asked.
    pub(crate) fn stop(&self) -> &'a Stop {
        self.stop
    }

    /// Writes, again and again as long as there is no room. What fails must leave nothing that the next try trips over.
    ///
    /// # Errors
    /// Whatever else goes wrong, the want of room once the limit is over, a request to stop while there is none.
    pub(crate) fn write<T, Said: From<Wait>>(
        &self,
        report: &mut dyn FnMut(Said),
        mut write: impl FnMut() -> Result<T, RunError>,
    ) -> Result<T, RunError> {
        let started = Instant::now();
        let mut pause = None;
        loop {
            let error = match write() {
                Ok(written) => {
                    if pause.is_some() {
                        report(Wait::Ends.into());
                    }
                    return Ok(written);
                }
                Err(error) => error,
            };
            let Some(shortage) = Shortage::of(&error) else { return Err(error) };
            self.stop.check()?;
            if self.limit.is_some_and(|limit| started.elapsed() >= limit) {
                return Err(error);
            }
            if pause.is_none() {
                report(Wait::Begins(shortage).into());
            }
            let next = pause.map_or(SHORTEST_PAUSE, |last: Duration| (last * 3 / 2).min(LONGEST_PAUSE));
            pause = Some(next);
            self.sleep(next)?;
        }
    }

    /// Writes a document to its own file.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub(crate) fn put<T: Document, Said: From<Wait>>(
        &self,
        report: &mut dyn FnMut(Said),
        path: &Path,
        document: &T,
    ) -> Result<(), RunError> {
        self.write(report, || Ok(write_document(path, document)?))
    }

    fn sleep(&self, pause: Duration) -> Result<(), RunError> {
        let started = Instant::now();
        while started.elapsed() < pause {
            self.stop.check()?;
            std::thread::sleep(PULSE);
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use std::io::ErrorKind;

    use crate::stop::Request;

    use super::*;

    fn full() -> RunError {
        RunError::io(Path::new("/nowhere/records.jsonl"), "append to")(ErrorKind::StorageFull.into())
    }

    /// What is said, and what came of it, when the first `n` tries find no room.
    fn tried(room: &Room<'_>, n: u32) -> (Vec<Wait>, Result<u32, RunError>) {
        let (mut said, mut n_tries) = (Vec::new(), 0);
        let written = room.write(&mut |wait: Wait| said.push(wait), || {
            n_tries += 1;
            if n_tries > n { Ok(n_tries) } else { Err(full()) }
        });
        (said, written)
    }

    #[test]
    fn a_write_is_tried_until_there_is_room_and_the_wait_is_told_once() {
        let stop = Stop::never();
        let (said, written) = tried(&Room::new(&stop, None), 2);
        assert_eq!(written.unwrap(), 3);
        let [Wait::Begins(shortage), Wait::Ends] = said.as_slice() else { panic!("{said:?}") };
        assert!(shortage.to_string().contains("/nowhere/records.jsonl: no room ("), "{shortage}");
        assert!(shortage.to_string().contains(" kB are free); nothing half is left"), "{shortage}");
        assert_eq!(tried(&Room::new(&stop, None), 0).0, []);
    }

    #[test]
    fn a_request_to_stop_ends_the_wait_and_so_does_its_limit() {
        let stop = Stop::never();
        let (said, written) = tried(&Room::new(&stop, Some(Duration::ZERO)), u32::MAX);
        assert!(said.is_empty() && want_of_room(&written.unwrap_err()).is_some());
        stop.ask(Request::Finish);
        let (said, written) = tried(&Room::new(&stop, None), u32::MAX);
        assert!(said.is_empty() && matches!(written, Err(RunError::Interrupted)));
    }

    #[test]
    fn features_of_a_prompt_that_find_no_room_are_waited_for_too() {
        let (model, folder) = ("llamagen".to_owned(), PathBuf::from("/cache/captions"));
        let error = |kind: ErrorKind| {
            let (model, folder, source) = (model.clone(), folder.clone(), kind.into());
            RunError::Model(ModelError::NotKept { model, folder, source })
        };
        let shortage = Shortage::of(&error(ErrorKind::StorageFull)).unwrap();
        assert_eq!(shortage.path, folder);
        assert_eq!(Shortage::of(&error(ErrorKind::PermissionDenied)), None);
    }

    #[test]
    fn another_failure_is_not_waited_for() {
        let stop = Stop::never();
        let mut n_tries = 0;
        let written = Room::new(&stop, None).write(&mut |wait: Wait| panic!("{wait:?}"), || {
            n_tries += 1;
            Err::<(), _>(RunError::Spec("no".to_owned()))
        });
        assert!(written.is_err() && n_tries == 1);
    }
}
