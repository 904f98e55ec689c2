//! A small writer of stored zip archives, with every field open to lies.

use std::path::{Path, PathBuf};

/// An archive on its way.
#[derive(Default)]
pub(crate) struct Archive {
    entries: Vec<(String, Vec<u8>, u16)>,
    /// What the directory says instead of the true sizes.
    pub(crate) size_in_directory: Option<u32>,
    /// Keeps every size and place in the 64-bit fields, as archives of more than 4 GiB must.
    pub(crate) is_wide: bool,
    /// Writes 0 for every checksum.
    pub(crate) lacks_checksums: bool,
    /// Further names in the directory, each for the bytes at a place in the contents of an entry.
    aliases: Vec<(String, usize, usize)>,
}

/// CRC-32 by its definition: the remainder after division by 0x04c11db7, bits reversed.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    let bit = |sum: u32| if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
    !bytes.iter().fold(u32::MAX, |sum, &byte| (0..8).fold(sum ^ u32::from(byte), |sum, _| bit(sum)))
}

/// A local header and the contents behind it.
pub(crate) fn stored(name: &str, bytes: &[u8], method: u16, crc: u32) -> Vec<u8> {
    let size = bytes.len() as u32;
    let mut out = b"PK\x03\x04\x14\0\0\0".to_vec();
    out.extend_from_slice(&method.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&[crc, size, size, name.len() as u32].map(u32::to_le_bytes).concat());
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(bytes);
    out
}

impl Archive {
    pub(crate) fn with(mut self, name: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.entries.push((name.to_owned(), bytes.into(), 0));
        self
    }

    /// Says that the last entry is deflated.
    pub(crate) fn deflated(mut self) -> Self {
        self.entries.last_mut().unwrap().2 = 8;
        self
    }

    /// Lists `name` too, as the entry that begins at byte `at` of the last entry's contents; `None`: the last entry itself.
    pub(crate) fn alias(mut self, name: &str, at: Option<usize>) -> Self {
        let last = self.entries.len() - 1;
        let begin = 30 + self.entries[last].0.len();
        self.aliases.push((name.to_owned(), last, at.map_or(0, |at| begin + at)));
        self
    }

    /// An archive of this pickle and storage 0.
    pub(crate) fn torch(pickle: Vec<u8>, storage: &[u8]) -> Self {
        Self::default().with("archive/data.pkl", pickle).with("archive/data/0", storage)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let (mut out, mut directory) = (Vec::new(), Vec::new());
        let mut n = 0_u16;
        for (idx, (name, bytes, method)) in self.entries.iter().enumerate() {
            let crc = if self.lacks_checksums { 0 } else { crc32(bytes) };
            let begin = out.len();
            out.extend_from_slice(&stored(name, bytes, *method, crc));
            self.list(&mut directory, (name, begin, *method, crc, bytes.len()));
            n += 1;
            for (alias, _, at) in self.aliases.iter().filter(|alias| alias.1 == idx) {
                let at = begin + at;
                // Name and contents of the local header that stands there.
                let size = u32::from_le_bytes(out[at + 18..at + 22].try_into().unwrap()) as usize;
                let crc = u32::from_le_bytes(out[at + 14..at + 18].try_into().unwrap());
                self.list(&mut directory, (alias, at, 0, crc, size));
                n += 1;
            }
        }
        let start = out.len() as u32;
        out.extend_from_slice(&directory);
        if self.is_wide {
            let place = out.len() as u64;
            out.extend_from_slice(b"PK\x06\x06");
            out.extend_from_slice(&44_u64.to_le_bytes());
            out.extend_from_slice(&[0; 12]);
            let fields = [u64::from(n), u64::from(n), directory.len() as u64, u64::from(start)];
            out.extend_from_slice(&fields.map(u64::to_le_bytes).concat());
            out.extend_from_slice(b"PK\x06\x07\0\0\0\0");
            out.extend_from_slice(&place.to_le_bytes());
            out.extend_from_slice(&1_u32.to_le_bytes());
        }
        out.extend_from_slice(b"PK\x05\x06\0\0\0\0");
        let (n, start) = if self.is_wide { (u16::MAX, u32::MAX) } else { (n, start) };
        out.extend_from_slice(&[n.to_le_bytes(), n.to_le_bytes()].concat());
        out.extend_from_slice(&[(directory.len() as u32).to_le_bytes(), start.to_le_bytes()].concat());
        out.extend_from_slice(&[0; 2]);
        out
    }

    /// An entry of the directory: name, place, method, checksum and size.
    fn list(&self, directory: &mut Vec<u8>, entry: (&str, usize, u16, u32, usize)) {
        let (name, header, method, crc, size) = entry;
        let (header, size) = (header as u32, self.size_in_directory.unwrap_or(size as u32));
        let wide = [u64::from(size), u64::from(size), u64::from(header)].map(u64::to_le_bytes).concat();
        let extra = if self.is_wide { [&[1, 0, 24, 0][..], &wide].concat() } else { Vec::new() };
        let [size, header] = if self.is_wide { [u32::MAX; 2] } else { [size, header] };
        directory.extend_from_slice(b"PK\x01\x02\x14\0\x14\0\0\0");
        directory.extend_from_slice(&method.to_le_bytes());
        directory.extend_from_slice(&[0; 4]);
        directory.extend_from_slice(&[crc, size, size].map(u32::to_le_bytes).concat());
        directory.extend_from_slice(&(name.len() as u16).to_le_bytes());
        directory.extend_from_slice(&(extra.len() as u16).to_le_bytes());
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&header.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
        directory.extend_from_slice(&extra);
    }

    pub(crate) fn write(&self, folder: &Path) -> PathBuf {
        let path = folder.join("file.pt");
        std::fs::write(&path, self.bytes()).unwrap();
        path
    }
}
