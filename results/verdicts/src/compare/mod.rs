//! Two runs, paired prompt by prompt: how far apart, with which interval, whether that could be chance, and what these
//! prompts could have shown. What does not belong into one table is refused with the reason, or mixed where that is
//! asked for. Start with [`mix`], then [`comparison`].

pub mod comparison;
pub mod mix;
pub(crate) mod pair;
mod show;
