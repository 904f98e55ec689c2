//! What the fuzz targets share: readers that take a path are given one in memory.
//!
//! A finding is a panic, an overflow, a hang or more memory than the limit; an error that is returned is what the
//! readers are for. Each target checks besides that what was read holds together.

use std::{
    path::{Path, PathBuf},
    sync::LazyLock,
};

/// A folder of this process in the system's memory where there is one, so that no disk limits the rate.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let folder = parent.join(format!("specimen-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder of one's own can be made");
    folder
});

/// Hands `read` the path of a file called `name` that holds `bytes`.
pub fn with_file(name: &str, bytes: &[u8], read: impl FnOnce(&Path)) {
    let path = FOLDER.join(name);
    std::fs::write(&path, bytes).expect("a file in a folder of one's own can be written");
    read(&path);
}

/// A zip archive that stores `files` as they are.
pub fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in files {
        let (offset, size) = (out.len() as u32, (bytes.len() as u32).to_le_bytes());
        // Version, flags, method, time and date; checksum; both sizes; length of the name, no extra field.
        let mut entry = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        entry.extend(checksum(bytes).to_le_bytes());
        entry.extend(size.iter().chain(&size));
        entry.extend((name.len() as u16).to_le_bytes());
        entry.extend([0, 0]);
        out.extend(b"PK\x03\x04".iter().chain(&entry).copied().chain(name.bytes()).chain(bytes.iter().copied()));
        directory.extend(b"PK\x01\x02\x14\x00".iter().chain(&entry));
        // Length of the comment, disk, attributes.
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.bytes());
    }
    let (start, n) = (out.len() as u32, (files.len() as u16).to_le_bytes());
    let length = (directory.len() as u32).to_le_bytes();
    out.append(&mut directory);
    out.extend(b"PK\x05\x06\0\0\0\0".iter().chain(&n).chain(&n).chain(&length));
    out.extend(start.to_le_bytes());
    out.extend([0, 0]);
    out
}

/// CRC-32 as zip has it.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg()))
    };
    !bytes.iter().fold(!0, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_that_zip_has() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }
}
