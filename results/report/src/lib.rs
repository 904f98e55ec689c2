//! From a run to what a paper needs: a table (Markdown, CSV, LaTeX, HTML, terminal), figures (SVG, PDF, PNG, CSV), the grid of
//! images (PNG), and all of it as one page (HTML). Reports show what summary and rows hold and compute no
//! statistics but p values; verdicts compare a run with papers, a baseline or another run. This is the only crate with polars and plotters.
//!
//! `table` lays one table out, `tables` says what is shown of a cell, `drawing` draws, `figures` has one file a figure, `images` the images of a
//! run, `page` the HTML page, `records` the images of several runs as one data frame,
//! [`verdicts`] what a run means compared with something else.

mod drawing;
pub mod error;
mod figures;
mod images;
mod page;
mod records;
mod report;
pub mod table;
mod tables;
pub mod verdicts;

pub use drawing::figure::{DrawnFigure, Style};
pub use error::ReportError;
pub use figures::pareto::{Quality, n_drawn};
pub use figures::printed::{PrintedPlane, PrintedPoint, WithInterval, printed_figure};
pub use figures::training::training_figure;
pub use records::{ImageRecords, MIXABLE, PromptFact, Source, image_columns};
pub use report::{
    Asked, ByFact, Options, Outcome, Report, breakdown_tables, draw, drawn, grid, grid_picture, report,
};
pub use tables::splice::splice;
pub use tables::table::{table, table_csv, table_of};
pub use tables::table_csv::table_columns;
