//! Locks of the operating system on files of a run. They end with the process that holds them, however it
//! ends; the file's text says who that is.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Seek, Write},
    os::unix::fs::MetadataExt,
    path::Path,
    time::Duration,
};

use specimen_record::{RunDir, Timestamp, open_in_place, open_to_read};

use crate::{error::RunError, machine, process::stop_request::StopRequest};

/// Most bytes that are read of who holds a lock.
const MOST_BYTES: u64 = 1024;

/// A lock, released when dropped or when the process ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock at `path`; makes the file.
    pub fn take(path: &Path) -> Result<Self, RunError> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        let mut file = open_in_place(path, &mut options).map_err(RunError::io(path, "open the lock"))?;
        match file.try_lock() {
            Ok(()) if is_at(&file, path) => {}
            // Another process removed the lock between opening and locking; there is another file now.
            Ok(()) => return Self::take(path),
            Err(TryLockError::WouldBlock) => {
                let holder = text_of(&file).ok().filter(|holder| !holder.is_empty());
                let holder = holder.unwrap_or_else(|| "a process unknown".to_owned());
                return Err(RunError::Locked { path: path.to_owned(), holder });
            }
            Err(TryLockError::Error(source)) => return Err(RunError::io(path, "lock")(source)),
        }
        let write = |file: &mut File| -> std::io::Result<()> {
            file.set_len(0)?;
            file.rewind()?;
            write!(file, "{}", holder())
        };
        write(&mut file).map_err(RunError::io(path, "write the lock"))?;
        Ok(Self { _file: file })
    }

    /// As [`take`](Self::take), trying again for `patience`.
    pub fn wait(path: &Path, patience: Duration, stop: &StopRequest) -> Result<Self, RunError> {
        const PAUSE: Duration = Duration::from_millis(20);
        let mut left = patience;
        loop {
            match Self::take(path) {
                Err(RunError::Locked { .. }) if left > PAUSE => {
                    stop.check()?;
                    std::thread::sleep(PAUSE);
                    left -= PAUSE;
                }
                ended => return ended,
            }
        }
    }

    /// The process that works on `run`: its driver, or a worker that has none.
    pub fn at_work(run: &RunDir) -> Result<Option<String>, RunError> {
        for path in [run.lock()].into_iter().chain(run.shards()?.into_iter().map(|k| run.shard_lock(k))) {
            if let Some(holder) = Self::holder(&path)? {
                return Ok(Some(holder));
            }
        }
        Ok(None)
    }

    /// Who holds the lock at `path`; `None` when no process does.
    pub fn holder(path: &Path) -> Result<Option<String>, RunError> {
        if !path.exists() {
            return Ok(None);
        }
        let file = open_to_read(path).map_err(RunError::io(path, "open the lock"))?;
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => {
                Ok(Some(text_of(&file).map_err(RunError::io(path, "read the lock"))?))
            }
            Err(TryLockError::Error(source)) => Err(RunError::io(path, "try the lock")(source)),
        }
    }
}

/// Who holds the lock, as its file says; no more of it than such a line has.
fn text_of(file: &File) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// Whether `file` is the one at `path`.
fn is_at(file: &File, path: &Path) -> bool {
    let place = |data: std::fs::Metadata| (data.dev(), data.ino());
    file.metadata().ok().map(place) == std::fs::metadata(path).ok().map(place)
}

/// This process in words.
pub(crate) fn holder() -> String {
    let now = Timestamp::from(std::time::SystemTime::now());
    format!("process {} on {}, since {now}", std::process::id(), machine::host())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn a_long_text_of_a_holder_is_read_in_part() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let lock = Lock::take(&path).unwrap();
        std::fs::write(&path, vec![b'x'; 1 << 20]).unwrap();
        assert_eq!(Lock::holder(&path).unwrap().unwrap().len(), 1024);
        let refused = Lock::take(&path).unwrap_err();
        assert!(refused.to_string().len() < 2048, "{}", refused.to_string().len());
        drop(lock);
    }

    #[test]
    fn one_holds_it_and_the_other_is_told_who() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        assert_eq!(Lock::holder(&path).unwrap(), None);
        let lock = Lock::take(&path).unwrap();
        let me = format!("process {} on ", std::process::id());
        match Lock::take(&path) {
            Err(RunError::Locked { holder, .. }) => assert!(holder.starts_with(&me), "{holder}"),
            other => panic!("{other:?}"),
        }
        assert!(Lock::holder(&path).unwrap().unwrap().starts_with(&me));
        drop(lock);
        // A process that another test starts at this moment holds what was open until it has become its
        // program.
        Lock::wait(&path, Duration::from_secs(30), &StopRequest::never()).unwrap();
    }
}
