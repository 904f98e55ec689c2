//! How far a large file is, in lines: one for every tenth of the way, and none for small files.

use crate::console::Console;

/// Files below this are done before anybody reads a line.
const SMALL: u64 = 50_000_000;

/// Tells about one file.
pub(crate) struct ByteProgress<'t> {
    console: &'t Console,
    what: String,
    /// Tenths that were printed; of a file of unknown length, hundreds of megabytes.
    printed: u64,
}

impl<'t> ByteProgress<'t> {
    /// Of what `what` says, as in "fetching x".
    pub(crate) fn new(console: &'t Console, what: String) -> Self {
        Self { console, what, printed: 0 }
    }

    /// So many bytes are done, of so many if the total is known.
    pub(crate) fn reached(&mut self, n_done: u64, n_total: Option<u64>) {
        if let Some(line) = self.line(n_done, n_total) {
            self.console.say(line);
        }
    }

    fn line(&mut self, n_done: u64, n_total: Option<u64>) -> Option<String> {
        let reached = match n_total {
            Some(n_total) if n_total < SMALL => return None,
            Some(n_total) => n_done * 10 / n_total,
            None => n_done / (2 * SMALL),
        };
        if reached <= self.printed {
            return None;
        }
        self.printed = reached;
        let megabytes = n_done / 1_000_000;
        Some(match n_total {
            Some(n_total) => {
                format!("{}: {megabytes} of {} MB ({} %)", self.what, n_total / 1_000_000, reached * 10)
            }
            None => format!("{}: {megabytes} MB", self.what),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_args::Format;

    #[test]
    fn a_large_file_is_shown_in_tenths_and_a_small_one_not_at_all() {
        let console = Console::plain(Format::Human);
        let mut large = ByteProgress::new(&console, "x".to_owned());
        let lines: Vec<String> =
            (1..=1000).filter_map(|n| large.line(n * 1_000_000, Some(1_000_000_000))).collect();
        assert_eq!(lines.len(), 10);
        assert_eq!(lines[3], "x: 400 of 1000 MB (40 %)");
        let mut small = ByteProgress::new(&console, "x".to_owned());
        assert_eq!(small.line(1000, Some(1000)), None);
        let mut unknown = ByteProgress::new(&console, "x".to_owned());
        assert_eq!(unknown.line(99_000_000, None), None);
        assert_eq!(unknown.line(100_000_000, None).as_deref(), Some("x: 100 MB"));
    }
}
