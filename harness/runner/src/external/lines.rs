//! Lines of a pipe, each bounded in length, with the moment at which it was whole.

use std::{
    io::{ErrorKind, Read},
    time::Instant,
};

/// Bytes of one line, at most: an image of a quarter of a million tokens fits.
pub const MAX_LINE: usize = 4 << 20;

/// One line, or why there is none.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// Its bytes without the end, and when the end was read.
    Whole(Vec<u8>, Instant),
    /// More than [`MAX_LINE`] bytes without an end; nothing is read after it.
    TooLong,
}

/// Reads lines.
#[derive(Debug)]
pub struct Lines<R> {
    from: R,
    /// What was read and not yet handed out.
    bytes: Vec<u8>,
    /// How much of it is known to hold no end of a line.
    n_searched: usize,
    has_overflown: bool,
}

impl<R: Read> Lines<R> {
    /// The lines of `from`.
    pub fn new(from: R) -> Self {
        Self { from, bytes: Vec::new(), n_searched: 0, has_overflown: false }
    }
}

impl<R: Read> Iterator for Lines<R> {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        let mut chunk = [0_u8; 1 << 14];
        while !self.has_overflown {
            if let Some(at) = self.bytes[self.n_searched..].iter().position(|&byte| byte == b'\n') {
                let mut line: Vec<u8> = self.bytes.drain(..=self.n_searched + at).collect();
                self.n_searched = 0;
                line.pop();
                return Some(Line::Whole(line, Instant::now()));
            }
            self.n_searched = self.bytes.len();
            if self.bytes.len() > MAX_LINE {
                self.has_overflown = true;
                return Some(Line::TooLong);
            }
            match self.from.read(&mut chunk) {
                // A line without an end was not finished.
                Ok(0) => return None,
                Ok(n) => self.bytes.extend_from_slice(&chunk[..n]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(bytes: &[u8]) -> Vec<String> {
        let text = |line| match line {
            Line::Whole(line, _) => String::from_utf8_lossy(&line).into_owned(),
            Line::TooLong => "too long".to_owned(),
        };
        Lines::new(bytes).map(text).collect()
    }

    #[test]
    fn lines_are_whole_and_a_torn_end_is_none() {
        assert_eq!(texts(b"a\n\nbc\ntorn"), ["a", "", "bc"]);
        assert_eq!(texts(b""), [""; 0]);
    }

    #[test]
    fn a_line_without_an_end_takes_bounded_memory() {
        let mut lines = Lines::new(std::io::repeat(b'x'));
        assert_eq!(lines.next(), Some(Line::TooLong));
        assert!(lines.bytes.len() <= MAX_LINE + (1 << 14));
        assert_eq!(lines.next(), None);
    }
}
