//! An interpreter of pickles that runs nothing: it builds plain containers and the descriptions of tensors.
//!
//! A pickle is a program for a stack machine. Its only ways out are *globals*, names of Python objects that it then
//! calls; [`globals`] is the list of those that are known, each of which becomes a value of [`value::Node`]. Any other is
//! refused by name before anything is done with it.

pub mod globals;
mod machine;
mod opcode;
mod reader;
mod rebuild;
pub mod value;

pub use machine::{Dialect, Loaded, load};
pub use rebuild::{Unresolved, check_stored};
pub use value::{Heap, Id, Node, StorageKey, TensorNode};

/// Why a pickle was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where the opcode stands, from the beginning of the pickle.
    pub offset: u64,
    /// The opcode by its name.
    pub opcode: &'static str,
    /// What should stand there.
    pub expected: String,
    /// What stands there.
    pub found: String,
    /// What to do.
    pub remedy: String,
}

/// What is wrong, before it is known where.
pub(crate) struct Wrong {
    pub(crate) expected: String,
    pub(crate) found: String,
    pub(crate) remedy: String,
}

impl Wrong {
    pub(crate) fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        let remedy = "the file is damaged or not what PyTorch writes: fetch it again".to_owned();
        Self { expected: expected.into(), found: found.into(), remedy }
    }

    pub(crate) fn with(self, remedy: impl Into<String>) -> Self {
        Self { remedy: remedy.into(), ..self }
    }
}
