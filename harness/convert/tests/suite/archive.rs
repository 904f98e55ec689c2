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

    /// An archive of this pickle and storage 0.
    pub(crate) fn torch(pickle: Vec<u8>, storage: &[u8]) -> Self {
        Self::default().with("archive/data.pkl", pickle).with("archive/data/0", storage)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let (mut out, mut directory) = (Vec::new(), Vec::new());
        for (name, bytes, method) in &self.entries {
            let header = out.len() as u32;
            let size = bytes.len() as u32;
            out.extend_from_slice(b"PK\x03\x04\x14\0\0\0");
            out.extend_from_slice(&method.to_le_bytes());
            out.extend_from_slice(&[0; 8]);
            out.extend_from_slice(&[size.to_le_bytes(), size.to_le_bytes()].concat());
            out.extend_from_slice(&(name.len() as u32).to_le_bytes());
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(bytes);
            let size = self.size_in_directory.unwrap_or(size);
            let wide = [u64::from(size), u64::from(size), u64::from(header)].map(u64::to_le_bytes).concat();
            let extra = if self.is_wide { [&[1, 0, 24, 0][..], &wide].concat() } else { Vec::new() };
            let [size, header] = if self.is_wide { [u32::MAX; 2] } else { [size, header] };
            directory.extend_from_slice(b"PK\x01\x02\x14\0\x14\0\0\0");
            directory.extend_from_slice(&method.to_le_bytes());
            directory.extend_from_slice(&[0; 8]);
            directory.extend_from_slice(&[size.to_le_bytes(), size.to_le_bytes()].concat());
            directory.extend_from_slice(&(name.len() as u16).to_le_bytes());
            directory.extend_from_slice(&(extra.len() as u16).to_le_bytes());
            directory.extend_from_slice(&[0; 10]);
            directory.extend_from_slice(&header.to_le_bytes());
            directory.extend_from_slice(name.as_bytes());
            directory.extend_from_slice(&extra);
        }
        let (n, start) = (self.entries.len() as u16, out.len() as u32);
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

    pub(crate) fn write(&self, folder: &Path) -> PathBuf {
        let path = folder.join("file.pt");
        std::fs::write(&path, self.bytes()).unwrap();
        path
    }
}
