//! The bytes of a pickle, taken from the front; what is taken is borrowed, never copied.

use super::Wrong;

/// What is left of a pickle.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes were taken.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    /// The next `n` bytes.
    pub(super) fn take(&mut self, n: u64) -> Result<&'a [u8], Wrong> {
        let end = usize::try_from(n).ok().and_then(|n| self.at.checked_add(n));
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or_else(|| {
            let left = self.bytes.len() - self.at;
            Wrong::new(format!("{n} more bytes"), format!("the end of the pickle after {left}"))
        })?;
        self.at += taken.len();
        Ok(taken)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Wrong> {
        Ok(self.take(1)?[0])
    }

    pub(super) fn u16(&mut self) -> Result<u16, Wrong> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(super) fn u32(&mut self) -> Result<u32, Wrong> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn i32(&mut self) -> Result<i32, Wrong> {
        Ok(i32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64, Wrong> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// The one number that is stored with its highest byte first.
    pub(super) fn f64(&mut self) -> Result<f64, Wrong> {
        Ok(f64::from_be_bytes(self.array()?))
    }

    /// Up to the next line end, which is taken too.
    pub(super) fn line(&mut self) -> Result<&'a str, Wrong> {
        const LONGEST: usize = 1_000;
        let left = &self.bytes[self.at..];
        let n = left.iter().take(LONGEST).position(|&byte| byte == b'\n');
        let n = n.ok_or_else(|| Wrong::new(format!("a line of at most {LONGEST} bytes"), "no end of it"))?;
        let line = text(self.take(n as u64)?)?;
        self.at += 1;
        Ok(line)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Wrong> {
        Ok(self.take(N as u64)?.try_into().expect("as many bytes as were asked for"))
    }
}

/// `bytes` as text.
pub(super) fn text(bytes: &[u8]) -> Result<&str, Wrong> {
    std::str::from_utf8(bytes).map_err(|error| Wrong::new("text in UTF-8", error.to_string()))
}
