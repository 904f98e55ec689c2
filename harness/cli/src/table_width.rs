//! How wide a table on stdout may be.

use std::io::IsTerminal;

/// Columns of the terminal that stdout is. A file or a pipe takes lines of any length, and a table that is
/// not cut is easier to search.
pub(crate) fn table_width() -> usize {
    if !std::io::stdout().is_terminal() {
        return usize::MAX;
    }
    terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0))
}
