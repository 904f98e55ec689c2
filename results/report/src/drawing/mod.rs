//! How figures are drawn: one description becomes SVG, PDF and PNG. [`charts`] has the kinds of charts.

pub(crate) mod charts;
pub(crate) mod families;
pub(crate) mod figure;
pub(crate) mod font;
pub(crate) mod labels;
pub(crate) mod marks;
pub(crate) mod palette;
pub(crate) mod pdf;
pub(crate) mod raster;
pub(crate) mod short_names;
