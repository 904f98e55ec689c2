//! Files that are never there in part: written under another name in the same folder, then renamed.

use std::io::Write;
use std::path::Path;

use crate::error::MeasureError;

/// Writes `bytes` to `path`, in a folder that is there, replacing what was there.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), MeasureError> {
    let io = |e| MeasureError::io(path, "write", e);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".unfinished-");
    readable_by_all(&mut builder);
    let mut file = builder.tempfile_in(folder).map_err(io)?;
    file.write_all(bytes).map_err(io)?;
    file.persist(path).map_err(|e| io(e.error))?;
    Ok(())
}

/// Fails where no file can be written to `path`, as [`write_whole`] would, so that it is said before the work. Leaves
/// nothing behind.
pub fn check_place(path: &Path) -> Result<(), MeasureError> {
    let io = |e| MeasureError::io(path, "write", e);
    if path.is_dir() {
        return Err(io(std::io::ErrorKind::IsADirectory.into()));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    tempfile::Builder::new().prefix(".unfinished-").tempfile_in(folder).map_err(io)?;
    Ok(())
}

/// Temporary files are private by default; these are for everyone the umask allows.
#[cfg(unix)]
fn readable_by_all(builder: &mut tempfile::Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt;
    builder.permissions(std::fs::Permissions::from_mode(0o666));
}

#[cfg(not(unix))]
fn readable_by_all(_: &mut tempfile::Builder<'_, '_>) {}
