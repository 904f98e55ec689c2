//! Tables: which columns a run has, one row a cell, and the lines that say under which conditions the numbers hold.

pub(crate) mod conditions;
pub(crate) mod differences;
pub(crate) mod frame;
pub(crate) mod legend;
pub(crate) mod measure;
pub(crate) mod ranking;
pub(crate) mod settings;
pub(crate) mod splice;
pub(crate) mod table;
pub(crate) mod table_csv;
