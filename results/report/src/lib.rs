//! From a run's summary to what a paper needs: a table (Markdown, CSV, LaTeX, HTML, terminal), the Pareto plot of speed
//! against quality (SVG, PNG, CSV) and the grid of images (PNG). Reports show what the summary holds and
//! compute no statistics. This is the only crate with polars and plotters.

// Figures write numbers and names as tables do.
use specimen_table as layout;
use specimen_table as number;

mod error;

mod frame;
mod measure;
mod table;

mod facts;
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
mod splice;

pub use error::ReportError;
pub use pareto::Quality;
pub use report::{Options, Outcome, Report, grid, report};
pub use splice::splice;
pub use table::{table, table_csv, table_markdown, table_text};
