//! The kinds of charts, each drawn from numbers and words and knowing nothing of a run.

pub(crate) mod axes;
pub(crate) mod axis_name;
pub(crate) mod color_bar;
pub(crate) mod curves;
pub(crate) mod dot_rows;
pub(crate) mod heat_maps;
pub(crate) mod histograms;
pub(crate) mod scatter;
pub(crate) mod stacked_bars;
pub(crate) mod value_maps;
