//! From the files in which weights are published to safetensors: PyTorch's zip and legacy pickles, TorchScript archives,
//! Lightning checkpoints, shards with an index, and safetensors themselves.
//!
//! Nothing in a file is ever run: [`pickle`] builds tensors and plain containers and refuses everything else. Read in
//! this order: [`conversion`] (the one verb), [`source`] (a file opened, its tensors named), `format` (one file each
//! container), [`pickle`] (the interpreter), [`tensor`] (a view of a storage), [`recipe`] (names of one model to those of
//! another), `write` and `partial` (the safetensors file). Untrusted input: every size is checked against the file and the [`Limits`].
//!
//! A tensor is never lost in silence: what has no name in a safetensors file is in [`Report::dropped`], and a tensor whose
//! values are not those that are stored (PyTorch's conjugate and negative bits) is refused.

pub mod conversion;
pub mod recipe;
pub mod source;

mod format;
mod partial;
mod state_dict;
mod write;

pub mod element;
pub mod error;
mod limits;
mod mapping;
pub mod pickle;
pub mod tensor;
mod zip;

pub use conversion::{Options, Progress, Report, convert};
pub use element::Element;
pub use error::ConvertError;
pub use limits::Limits;
pub use recipe::Recipe;
pub use source::Source;
