//! What the calls of a pickle come to: each known global with its arguments, without calling anything.

use crate::convert::Element;

use super::{
    Wrong,
    globals::Global,
    value::{Heap, Id, Node, StorageKey, TensorNode},
};

/// Why the bytes of a storage are not the values of a tensor, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// What the file says of the tensor.
    pub found: String,
    /// What to do.
    pub remedy: &'static str,
}

/// How deep calls may be given as arguments of calls.
const MAX_NESTED: usize = 4;

/// More axes than this no tensor has.
const MAX_AXES: usize = 64;

/// The value of calling `global` with `args`.
pub(super) fn call<'a>(heap: &mut Heap<'a>, global: Global<'a>, args: &[Id]) -> Result<Node<'a>, Wrong> {
    nested(heap, global, args, 0)
}

fn nested<'a>(heap: &mut Heap<'a>, global: Global<'a>, args: &[Id], depth: usize) -> Result<Node<'a>, Wrong> {
    let arity = |n: usize| match args.len() >= n {
        true => Ok(()),
        false => Err(Wrong::new(format!("{n} arguments of {global}"), args.len().to_string())),
    };
    Ok(match global {
        Global::Dict => Node::Dict(pairs(heap, args)?),
        Global::List | Global::ScriptList => Node::List(items(heap, args)?),
        Global::Size => Node::Tuple(items(heap, args)?),
        Global::Tensor | Global::TensorV2 => {
            arity(4)?;
            // Only the second version has more than what autograd wants.
            let metadata = args.get(6).copied().filter(|_| global == Global::TensorV2);
            tensor(heap, args, None, metadata)?
        }
        Global::TensorV3 => {
            arity(7)?;
            let Node::Global(Global::Dtype(element)) = *heap.get(args[6]) else {
                return Err(Wrong::new("a dtype", heap.get(args[6]).kind()));
            };
            tensor(heap, args, Some(element), args.get(7).copied())?
        }
        Global::Parameter => {
            arity(1)?;
            match heap.get(args[0]) {
                Node::Tensor(inner) => Node::Tensor(inner.clone()),
                other => return Err(Wrong::new("the tensor of a parameter", other.kind())),
            }
        }
        Global::FromType => {
            arity(3)?;
            let (Node::Global(inner), Node::Global(Global::TensorClass), Node::Tuple(inner_args)) =
                (heap.get(args[0]).clone(), heap.get(args[1]), heap.get(args[2]).clone())
            else {
                return Err(Wrong::new("a tensor or a parameter", heap.get(args[1]).kind()));
            };
            if depth == MAX_NESTED {
                return Err(Wrong::new(format!("at most {MAX_NESTED} calls in one another"), "more"));
            }
            nested(heap, inner, &inner_args, depth + 1)?
        }
        Global::ScriptTag => {
            arity(1)?;
            heap.get(args[0]).clone()
        }
        Global::Array => Node::Array,
        Global::ScriptClass(class) => Node::Object { class, state: None },
        Global::Inert => Node::Opaque,
        Global::TensorClass | Global::Storage(_) | Global::Bytes | Global::Dtype(_) => {
            return Err(Wrong::new("a global that is called", format!("a call of {global}"))
                .with("it has no bytes of its own: save the tensors with torch.save"));
        }
    })
}

/// The pairs of a dictionary: of a list of pairs, as `OrderedDict` takes it, or of another dictionary. A class of
/// default values has none.
fn pairs(heap: &Heap<'_>, args: &[Id]) -> Result<Vec<(Id, Id)>, Wrong> {
    match args.last().map(|&id| heap.get(id)) {
        Some(Node::List(pairs)) => {
            let pairs = pairs.iter().map(|&pair| match heap.get(pair) {
                Node::Tuple(pair) | Node::List(pair) if pair.len() == 2 => Ok((pair[0], pair[1])),
                other => Err(Wrong::new("pairs of a dictionary", other.kind())),
            });
            pairs.collect()
        }
        Some(Node::Dict(pairs)) => Ok(pairs.clone()),
        _ => Ok(Vec::new()),
    }
}

/// The items of a list or of a shape; none without an argument.
fn items(heap: &Heap<'_>, args: &[Id]) -> Result<Vec<Id>, Wrong> {
    match args.first().map(|&id| heap.get(id)) {
        None => Ok(Vec::new()),
        Some(Node::List(items) | Node::Tuple(items)) => Ok(items.clone()),
        Some(other) => Err(Wrong::new("the items of a list", other.kind())),
    }
}

/// The storage that a persistent id names: `("storage", type, key, device, n)`, in old files with the part that is meant.
pub(super) fn storage<'a>(heap: &Heap<'a>, id: Id) -> Result<StorageKey<'a>, Wrong> {
    let Node::Tuple(items) = heap.get(id) else {
        return Err(Wrong::new("the description of a storage", heap.get(id).kind()));
    };
    let [word, kind, key, _device, n, rest @ ..] = items.as_slice() else {
        return Err(Wrong::new("at least 5 items of a storage", items.len().to_string()));
    };
    if heap.get(*word) != &Node::Text("storage") {
        return Err(Wrong::new("a storage", heap.get(*word).kind())
            .with("modules that were saved whole hold code: save their state_dict()"));
    }
    let element = match heap.get(*kind) {
        Node::Global(Global::Storage(element)) => Some(*element),
        Node::Global(Global::Bytes) => None,
        other => return Err(Wrong::new("the type of a storage", other.kind())),
    };
    let Node::Text(key) = *heap.get(*key) else {
        return Err(Wrong::new("the key of a storage", heap.get(*key).kind()));
    };
    let part = match rest.first().map(|&id| heap.get(id)) {
        None | Some(Node::None) => None,
        Some(Node::Tuple(view)) if view.len() == 3 => Some((whole(heap, view[1])?, whole(heap, view[2])?)),
        Some(other) => return Err(Wrong::new("the part of a storage", other.kind())),
    };
    Ok(StorageKey { key, element, n: whole(heap, *n)?, part })
}

/// Storage, offset, sizes and strides; `element` where the storage does not say.
fn tensor<'a>(
    heap: &Heap<'a>,
    args: &[Id],
    element: Option<Element>,
    metadata: Option<Id>,
) -> Result<Node<'a>, Wrong> {
    let Node::Storage(storage) = *heap.get(args[0]) else {
        return Err(Wrong::new("the storage of a tensor", heap.get(args[0]).kind()));
    };
    let Some(element) = element.or(storage.element) else {
        return Err(Wrong::new("a storage with a type", "one of bytes"));
    };
    let offset = whole(heap, args[1])?;
    let (shape, strides) = (wholes(heap, args[2])?, wholes(heap, args[3])?);
    Ok(Node::Tensor(Box::new(TensorNode { storage, element, offset, shape, strides, metadata })))
}

/// Whether the values of `tensor` are those that are stored.
pub fn check_stored(heap: &Heap<'_>, tensor: &TensorNode<'_>) -> Result<(), Unresolved> {
    let unresolved = |found: String, remedy| Err(Unresolved { found, remedy });
    let unknown = "it is not known what they change: save its clone() with torch.save";
    let items = match tensor.metadata.map(|id| heap.get(id)) {
        None | Some(Node::None) => return Ok(()),
        Some(Node::Dict(items)) => items,
        Some(other) => return unresolved(format!("{} as its notes", other.kind()), unknown),
    };
    for &(key, value) in items {
        match (heap.get(key), heap.get(value)) {
            (Node::Text("conj" | "neg"), Node::Bool(false)) => {}
            (Node::Text("conj"), Node::Bool(true)) => {
                let found = "the conjugate bit: the file has the conjugates of its values".to_owned();
                return unresolved(found, "save its resolve_conj() with torch.save");
            }
            (Node::Text("neg"), Node::Bool(true)) => {
                let found = "the negative bit: the file has its values with the other sign".to_owned();
                return unresolved(found, "save its resolve_neg() with torch.save");
            }
            (key, value) => {
                return unresolved(format!("a note, {} with {}", key.kind(), value.kind()), unknown);
            }
        }
    }
    Ok(())
}

fn whole(heap: &Heap<'_>, id: Id) -> Result<u64, Wrong> {
    match heap.get(id) {
        Node::Int(n) => u64::try_from(*n).map_err(|_| Wrong::new("a number of at least 0", n.to_string())),
        other => Err(Wrong::new("a whole number", other.kind())),
    }
}

pub(super) fn wholes(heap: &Heap<'_>, id: Id) -> Result<Vec<u64>, Wrong> {
    match heap.get(id) {
        Node::Tuple(items) | Node::List(items) if items.len() > MAX_AXES => {
            Err(Wrong::new(format!("at most {MAX_AXES} axes"), items.len().to_string()))
        }
        Node::Tuple(items) | Node::List(items) => items.iter().map(|&item| whole(heap, item)).collect(),
        other => Err(Wrong::new("sizes or strides", other.kind())),
    }
}
