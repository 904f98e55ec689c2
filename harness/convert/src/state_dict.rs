//! Which of a pickle's values are the tensors of the model, and what they are called.

use std::collections::BTreeMap;

use crate::{
    Limits,
    format::Opening,
    pickle::{Heap, Id, Node, TensorNode},
};

/// Keys under which checkpoints keep the model beside other things, in the order in which they are looked for.
const KEYS: [&str; 4] = ["state_dict", "model", "module", "model_state_dict"];

/// The tensors of a model by name.
pub(crate) struct StateDict<'h, 'a> {
    /// By name.
    pub(crate) tensors: BTreeMap<String, &'h TensorNode<'a>>,
    /// Arrays of NumPy by name; none unless they are asked for.
    pub(crate) arrays: BTreeMap<String, Id>,
    /// The keys on the way to them, joined by dots; empty where the file is nothing but the model.
    pub(crate) key: String,
}

/// What was found instead of tensors, and what to do.
pub(crate) struct NotFound {
    pub(crate) found: String,
    pub(crate) remedy: String,
}

/// The tensors of `root`: those of the dictionary itself, or of the one below the key that `opening` has, or below one of
/// the usual keys. Where arrays are asked for, a tensor or an array without a name is one too.
pub(crate) fn find<'h, 'a>(
    heap: &'h Heap<'a>,
    root: Id,
    opening: &Opening<'_>,
) -> Result<StateDict<'h, 'a>, NotFound> {
    let Opening { key, limits, with_arrays, .. } = *opening;
    let mut way: Vec<&str> = Vec::new();
    let mut at = root;
    if let Some(key) = key {
        for part in key.split('.') {
            at = entry(heap, at, part).ok_or_else(|| NotFound {
                found: format!("no `{part}` in {}", listed(heap, at)),
                remedy: "name one of these with --key".to_owned(),
            })?;
            way.push(part);
        }
    }
    // A wrapper may hold another one: {"model": {"state_dict": ...}}.
    // An attribute `model` of a module is part of its tensors' names and no wrapper.
    while way.len() < limits.depth && matches!(heap.get(at), Node::Dict(_)) && !has_tensors(heap, at) {
        let inner = KEYS.iter().find_map(|&key| Some((key, entry(heap, at, key)?)));
        let Some((key, inner)) = inner else { break };
        way.push(key);
        at = inner;
    }
    let mut walk = Walk {
        heap,
        limits,
        with_arrays,
        has_arrays: false,
        tensors: BTreeMap::new(),
        arrays: BTreeMap::new(),
        n_visits: 0,
        n_bytes: 0,
    };
    walk.visit(at, &mut String::new(), 0)?;
    let Walk { tensors, arrays, has_arrays, .. } = walk;
    if tensors.is_empty() && arrays.is_empty() {
        let remedy = if !has_arrays {
            "name where the model's tensors are with --key"
        } else {
            "arrays of NumPy are no tensors: write statistics (`mu`, `sigma`) as OUT.npz, one array of features as OUT.npy"
        };
        return Err(NotFound { found: listed(heap, at), remedy: remedy.to_owned() });
    }
    Ok(StateDict { tensors, arrays, key: way.join(".") })
}

fn has_tensors(heap: &Heap<'_>, id: Id) -> bool {
    items(heap, id).iter().any(|&(_, value)| matches!(heap.get(value), Node::Tensor(_)))
}

/// Items of a dictionary, attributes of an object.
fn items<'h>(heap: &'h Heap<'_>, id: Id) -> &'h [(Id, Id)] {
    match heap.get(id) {
        Node::Dict(items) => items,
        Node::Object { state: Some(state), .. } => match heap.get(*state) {
            Node::Dict(items) => items,
            _ => &[],
        },
        _ => &[],
    }
}

/// The last value under `name`, as in Python.
fn entry(heap: &Heap<'_>, id: Id, name: &str) -> Option<Id> {
    let is_name = |&&(key, _): &&(Id, Id)| matches!(heap.get(key), Node::Text(text) if *text == name);
    items(heap, id).iter().rev().find(is_name).map(|&(_, value)| value)
}

/// What is at `id`, with the first of its keys.
fn listed(heap: &Heap<'_>, id: Id) -> String {
    let keys = items(heap, id).iter().filter_map(|&(key, _)| match heap.get(key) {
        Node::Text(text) => Some(format!("`{}`", text.chars().take(40).collect::<String>())),
        _ => None,
    });
    let keys: Vec<String> = keys.take(12).collect();
    let kind = heap.get(id).kind();
    if keys.is_empty() { kind } else { format!("{kind} with the keys {}", keys.join(", ")) }
}

/// A walk through containers in search of tensors.
struct Walk<'h, 'a, 'l> {
    heap: &'h Heap<'a>,
    limits: &'l Limits,
    with_arrays: bool,
    /// Whether one was met, read or not.
    has_arrays: bool,
    tensors: BTreeMap<String, &'h TensorNode<'a>>,
    arrays: BTreeMap<String, Id>,
    n_visits: u64,
    /// Of the names together: shared containers repeat them.
    n_bytes: u64,
}

impl<'h> Walk<'h, '_, '_> {
    /// Tensors at `id` and below it; `name` is what leads there.
    fn visit(&mut self, id: Id, name: &mut String, depth: usize) -> Result<(), NotFound> {
        let too = |what: String| NotFound {
            found: what,
            remedy: "no published checkpoint is built so: do not trust the file".to_owned(),
        };
        self.n_visits += 1;
        if self.n_visits > self.limits.visits || depth > self.limits.depth {
            let Limits { visits, depth, .. } = *self.limits;
            return Err(too(format!(
                "containers more than {depth} deep, or more than {visits} values in them"
            )));
        }
        let heap: &'h Heap<'_> = self.heap;
        let tensor = match heap.get(id) {
            Node::Tensor(tensor) => Some(tensor),
            Node::Array(_) => {
                self.has_arrays = true;
                if !self.with_arrays {
                    return Ok(());
                }
                None
            }
            _ => return self.visit_items(id, name, depth),
        };
        if name.is_empty() && tensor.is_some() && !self.with_arrays {
            return Err(NotFound {
                found: "one tensor without a name".to_owned(),
                remedy: "features of torch-fidelity are such: write it as OUT.npy".to_owned(),
            });
        }
        self.n_bytes += name.len() as u64;
        let n_found = self.tensors.len() + self.arrays.len();
        if n_found >= self.limits.entries || self.n_bytes > self.limits.pickle_bytes {
            return Err(too(format!("more than {} tensors", self.limits.entries)));
        }
        let is_second = match tensor {
            Some(tensor) => self.tensors.insert(name.clone(), tensor).is_some(),
            None => self.arrays.insert(name.clone(), id).is_some(),
        };
        if is_second {
            return Err(too(format!("two tensors named `{name}`")));
        }
        Ok(())
    }

    /// What is below `id`, a container or nothing of the kind.
    fn visit_items(&mut self, id: Id, name: &mut String, depth: usize) -> Result<(), NotFound> {
        let heap: &'h Heap<'_> = self.heap;
        for &(key, value) in items(heap, id) {
            let before = name.len();
            match heap.get(key) {
                Node::Text(text) => {
                    // An empty name is one too: it keeps its dot.
                    if depth > 0 {
                        name.push('.');
                    }
                    name.push_str(text);
                }
                _ => continue,
            }
            self.visit(value, name, depth + 1)?;
            name.truncate(before);
        }
        Ok(())
    }
}
