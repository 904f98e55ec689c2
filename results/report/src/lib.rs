//! From a run's summary to what a paper needs: a table (Markdown, CSV, terminal), the Pareto plot of speed
//! against quality (SVG, PNG, CSV) and the grid of images (PNG). Reports show what the summary holds and
//! compute no statistics. This is the only crate with polars and plotters.

mod error;

mod frame;
mod measure;
mod number;
mod table;

mod facts;
mod layout;
mod table_csv;

mod figure;
mod font;
mod labels;
mod marks;
mod pareto;
mod raster;
mod scatter;

mod grid;
mod report;

pub use error::ReportError;
pub use pareto::Quality;
pub use report::{Options, Outcome, Report, grid, report};
pub use table::{table_csv, table_markdown, table_text};
