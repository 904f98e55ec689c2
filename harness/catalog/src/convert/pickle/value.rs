//! What a pickle builds: values in one heap and point to one another by number, so that sharing and cycles
//! cost nothing and dropping them recurses nowhere.

use crate::convert::Element;

use super::globals::Global;

/// The place of a value in its [`Heap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id(u32);

/// One value. Text and bytes are borrowed from the pickle.
#[derive(Clone, Debug, PartialEq)]
pub enum Node<'a> {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number of more than 64 bits, its bytes with the lowest first.
    Long(&'a [u8]),
    /// A float.
    Float(f64),
    /// Text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A tuple; also a `torch.Size`.
    Tuple(Vec<Id>),
    /// A list or a set.
    List(Vec<Id>),
    /// A dictionary in the order of its insertions, repeated keys included.
    Dict(Vec<(Id, Id)>),
    /// A known global that was not called.
    Global(Global<'a>),
    /// A storage outside of the pickle.
    Storage(StorageKey<'a>),
    /// A tensor.
    Tensor(Box<TensorNode<'a>>),
    /// An object of a TorchScript module: its class and its attributes.
    Object {
        /// The class, `__torch__.Net` for one.
        class: &'a str,
        /// Attributes, once they were set.
        state: Option<Id>,
    },
    /// An array of NumPy; what is in it was dropped.
    Array,
    /// Something that holds no tensors; what it is made of was dropped.
    Opaque,
}

/// A storage by the key of its bytes, which are outside of the pickle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageKey<'a> {
    /// Name of its file in the archive.
    pub key: &'a str,
    /// The type of its elements; `None` where it is one of bytes only.
    pub element: Option<Element>,
    /// How many elements it has; bytes where it has no type.
    pub n: u64,
    /// The part of it that is meant, first element and number of elements, in files of old.
    pub part: Option<(u64, u64)>,
}

/// A tensor as a pickle describes it, not yet checked against its storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorNode<'a> {
    /// The storage that holds its elements.
    pub storage: StorageKey<'a>,
    /// Type of its elements.
    pub element: Element,
    /// Index of its first element in the storage.
    pub offset: u64,
    /// Sizes.
    pub shape: Vec<u64>,
    /// Strides, in elements.
    pub strides: Vec<u64>,
    /// What the file says of it besides: whether its values are the conjugates or the negatives of those stored.
    pub metadata: Option<Id>,
}

/// Every value of one pickle.
#[derive(Debug, Default)]
pub struct Heap<'a> {
    nodes: Vec<Node<'a>>,
}

impl<'a> Heap<'a> {
    /// Puts a value in. The number of values is bounded by that of operations, which is far below what an [`Id`] can
    /// count.
    pub(super) fn put(&mut self, node: Node<'a>) -> Id {
        let id = Id(u32::try_from(self.nodes.len()).expect("operations are limited to fewer"));
        self.nodes.push(node);
        id
    }

    /// The value at `id`.
    pub fn get(&self, id: Id) -> &Node<'a> {
        &self.nodes[id.0 as usize]
    }

    /// Every value, in the order in which they were made.
    pub fn nodes(&self) -> impl Iterator<Item = &Node<'a>> {
        self.nodes.iter()
    }

    pub(super) fn get_mut(&mut self, id: Id) -> &mut Node<'a> {
        &mut self.nodes[id.0 as usize]
    }
}

impl Node<'_> {
    /// How many places it has for other values.
    pub(super) fn n_cells(&self) -> usize {
        match self {
            Self::Tuple(items) | Self::List(items) => items.len(),
            Self::Dict(items) => items.len(),
            Self::Tensor(tensor) => tensor.shape.len(),
            _ => 0,
        }
    }

    /// What kind of value it is, for messages.
    pub fn kind(&self) -> String {
        match self {
            Self::None => "None".to_owned(),
            Self::Bool(_) => "a truth value".to_owned(),
            Self::Int(n) => format!("the number {n}"),
            Self::Long(_) => "a number of more than 64 bits".to_owned(),
            Self::Float(_) => "a float".to_owned(),
            Self::Text(text) => format!("the text `{}`", text.chars().take(40).collect::<String>()),
            Self::Bytes(_) => "bytes".to_owned(),
            Self::Tuple(items) => format!("a tuple of {}", items.len()),
            Self::List(items) => format!("a list of {}", items.len()),
            Self::Dict(items) => format!("a dictionary of {}", items.len()),
            Self::Global(global) => format!("the global `{global}`"),
            Self::Storage(_) => "a storage".to_owned(),
            Self::Tensor(_) => "a tensor".to_owned(),
            Self::Object { class, .. } => format!("an object of `{class}`"),
            Self::Array => "an array of NumPy".to_owned(),
            Self::Opaque => "an object without tensors".to_owned(),
        }
    }
}
