//! One image: models by name, a method over a model, an image phase by phase; or an image of another process.

pub mod external_processes;
pub(crate) mod external_rows;
pub mod generate;
pub mod load;
pub mod method;
pub mod out_of_memory;
pub mod probe;
pub mod replay;
pub mod step_costs;
