//! Two runs, paired prompt by prompt: how far apart, with which interval, whether that could be chance, and what these
//! prompts could have shown. What does not belong into one table is refused with the reason, or mixed where that is
//! asked for. Start with [`mix`], then [`comparison`]; [`cell_pair`] reads the two cells that an argument names.

pub mod cell_pair;
pub mod comparison;
pub mod mix;
pub(crate) mod pair;
mod show;
