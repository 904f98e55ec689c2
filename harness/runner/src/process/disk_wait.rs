//! What a process does when the disk is full: it leaves nothing half written, reports the file once, and
//! tries again at growing intervals until there is space, its time limit is over, or it is asked to stop.

use std::{
    fmt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use specimen_models::seam::model_error::ModelError;
use specimen_record::{Document, RecordError, disk_full, free_bytes, write_document};

use crate::{error::RunError, process::stop_request::StopRequest};

/// How often requests to stop are looked at meanwhile.
const STOP_CHECK: Duration = Duration::from_millis(50);
/// The pause after the first try, and the longest one.
const SHORTEST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// A write that the disk has no space for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortage {
    /// Path of the file.
    pub path: PathBuf,
    /// What the system said.
    pub why: String,
    /// Bytes that are left on its disk, too few for this write; `None` where the system does not tell.
    pub free_bytes: Option<u64>,
}

impl Shortage {
    /// The full disk that `error` reports; `None` where it is another error.
    fn of(error: &RunError) -> Option<Self> {
        let why = disk_full(error)?.to_string();
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
        write!(f, "{}: disk full ({why}", path.display())?;
        if let Some(free) = free_bytes {
            write!(f, "; {} kB are free", free / 1000)?;
        }
        f.write_str(
            "); nothing is half written, and the run continues automatically once there is space; Ctrl-C stops it, and \
             --resume continues it later",
        )
    }
}

/// A change of a wait for disk space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Waiting begins.
    Begins(Shortage),
    /// What could not be written was written.
    Ends,
}

/// How a process waits for space on a full disk, and to whom it reports the wait.
#[derive(Clone, Copy)]
pub struct DiskWait<'a> {
    stop: &'a StopRequest,
    limit: Option<Duration>,
    report: &'a dyn Fn(Wait),
}

impl<'a> DiskWait<'a> {
    /// Waits until `stop` asks for something, and at most `limit` for any one write. `report` is called when
    /// a wait begins and when it ends.
    pub(crate) fn new(stop: &'a StopRequest, limit: Option<Duration>, report: &'a dyn Fn(Wait)) -> Self {
        Self { stop, limit, report }
    }

    /// The same wait, reported to `report`.
    pub(crate) fn reported_to<'b>(&self, report: &'b dyn Fn(Wait)) -> DiskWait<'b>
    where
        'a: 'b,
    {
        DiskWait { stop: self.stop, limit: self.limit, report }
    }

    /// Whether this process was asked to stop.
    pub(crate) fn stop(&self) -> &'a StopRequest {
        self.stop
    }

    /// How long any one write may wait; `None`: until this process is asked to stop.
    pub(crate) fn limit(&self) -> Option<Duration> {
        self.limit
    }

    /// Reports a wait of another process.
    pub(crate) fn report(&self, wait: Wait) {
        (self.report)(wait);
    }

    /// Calls `write` again and again while the disk is full. A call that fails must leave nothing that the
    /// next one trips over.
    pub(crate) fn write<T>(&self, mut write: impl FnMut() -> Result<T, RunError>) -> Result<T, RunError> {
        let started = Instant::now();
        let mut pause = None;
        loop {
            let error = match write() {
                Ok(written) => {
                    if pause.is_some() {
                        self.report(Wait::Ends);
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
                self.report(Wait::Begins(shortage));
            }
            let next = pause.map_or(SHORTEST_PAUSE, |last: Duration| (last * 3 / 2).min(LONGEST_PAUSE));
            pause = Some(next);
            self.sleep(next)?;
        }
    }

    /// Writes a document to its own file.
    pub(crate) fn put<T: Document>(&self, path: &Path, document: &T) -> Result<(), RunError> {
        self.write(|| Ok(write_document(path, document)?))
    }

    fn sleep(&self, pause: Duration) -> Result<(), RunError> {
        let started = Instant::now();
        while started.elapsed() < pause {
            self.stop.check()?;
            std::thread::sleep(STOP_CHECK);
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use specimen_foundation::failure;
    use std::{cell::RefCell, io::ErrorKind};

    use crate::process::stop_request::Request;

    use super::*;

    fn full() -> RunError {
        RunError::io(Path::new("/nowhere/records.jsonl"), "append to")(ErrorKind::StorageFull.into())
    }

    /// The waits that are reported, and the result, when the first `n` tries find a full disk.
    fn tried(stop: &StopRequest, limit: Option<Duration>, n: u32) -> (Vec<Wait>, Result<u32, RunError>) {
        let (reported, mut n_tries) = (RefCell::new(Vec::new()), 0);
        let report = |wait: Wait| reported.borrow_mut().push(wait);
        let written = DiskWait::new(stop, limit, &report).write(|| {
            n_tries += 1;
            if n_tries > n { Ok(n_tries) } else { Err(full()) }
        });
        (reported.into_inner(), written)
    }

    #[test]
    fn a_write_is_tried_until_there_is_space_and_the_wait_is_reported_once() {
        let stop = StopRequest::never();
        let (reported, written) = tried(&stop, None, 2);
        assert_eq!(written.unwrap(), 3);
        let [Wait::Begins(shortage), Wait::Ends] = reported.as_slice() else { panic!("{reported:?}") };
        assert!(shortage.to_string().contains("/nowhere/records.jsonl: disk full ("), "{shortage}");
        assert!(shortage.to_string().contains(" kB are free); nothing is half written"), "{shortage}");
        assert_eq!(tried(&stop, None, 0).0, []);
    }

    #[test]
    fn a_request_to_stop_ends_the_wait_and_so_does_its_limit() {
        let stop = StopRequest::never();
        let (reported, written) = tried(&stop, Some(Duration::ZERO), u32::MAX);
        assert!(reported.is_empty() && disk_full(&written.unwrap_err()).is_some());
        stop.ask(Request::Finish);
        let (reported, written) = tried(&stop, None, u32::MAX);
        assert!(reported.is_empty() && matches!(written, Err(RunError::Interrupted)));
    }

    #[test]
    fn features_of_a_prompt_wait_for_disk_space_too() {
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
        let stop = StopRequest::never();
        let mut n_tries = 0;
        let written = DiskWait::new(&stop, None, &|wait| panic!("{wait:?}")).write(|| {
            n_tries += 1;
            Err::<(), _>(failure!(Spec: "no").into())
        });
        assert!(written.is_err() && n_tries == 1);
    }
}
