//! From a run to what a paper needs: a table (Markdown, CSV, LaTeX, HTML, terminal), figures (SVG, PDF, PNG, CSV), the grid of
//! images (PNG), and all of it as one page (HTML). Reports show what summary and rows hold and compute no
//! statistics but p values. This is the only crate with polars and plotters.

mod error;

mod frame;
mod measure;
mod standing;
mod table;

mod facts;
mod table_csv;

mod images;

mod axes;
mod families;
mod figure;
mod font;
mod labels;
mod marks;
mod palette;
mod pdf;
mod raster;
mod short_names;

mod color_bar;
mod csv_text;
mod curves;
mod heat;
mod ridges;
mod scatter;
mod shaded;
mod stacks;

mod lines;
mod settings;

mod depth;
mod draft_paths;
mod feature_rows;
mod figures;
mod hypervolume;
mod left_out;
mod pareto;
mod phases;
mod spent;
mod sweep;
mod training;
mod two_axes;

mod acceptance_map;
mod album;
mod grid;

mod page;
mod report;
mod splice;

pub use error::ReportError;
pub use figure::Style;
pub use images::{Images, Mix};
pub use pareto::{Quality, check_quality};
pub use report::{Options, Outcome, Report, draw, grid, report};
pub use splice::splice;
pub use table::{table, table_csv, table_markdown, table_of, table_text};
pub use training::{TrainingFigure, training_figure};
