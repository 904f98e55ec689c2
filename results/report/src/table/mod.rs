//! One table, in five layouts: Markdown, a terminal, CSV, LaTeX with booktabs, HTML.
//!
//! A [`Table`] holds texts that are ready to be read and what they mean (which direction is better, which entry is the
//! best); a writer decides how that looks and keeps every text from being read as markup, formula or terminal control.
//! A document ([`Block`]) sets tables and pictures below headings. Nothing here knows what the numbers are.

mod entries;
mod number;
mod rank;

mod csv_text;
mod document;
mod html;
mod latex;
mod markdown;
mod terminal;

pub use csv_text::CsvText;
pub use document::{Block, html_page, markdown_page};
pub use entries::{Column, Entry, Section, Table};
pub use number::{column_decimals, deciding, deciding_interval, fixed, mark, plain, with_interval};
pub use rank::{Rank, ranks};
