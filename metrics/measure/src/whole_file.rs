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

/// Temporary files are private by default; these are for everyone the umask allows.
#[cfg(unix)]
fn readable_by_all(builder: &mut tempfile::Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt;
    builder.permissions(std::fs::Permissions::from_mode(0o666));
}

#[cfg(not(unix))]
fn readable_by_all(_: &mut tempfile::Builder<'_, '_>) {}
