//! Which of a pickle's values are the tensors of the model, and what they are called.

use std::collections::BTreeMap;

use crate::convert::{
    Limits,
    format::Opening,
    pickle::{Heap, Id, Node, TensorNode},
};

/// Keys under which checkpoints keep the model beside other things, in the order in which they are looked for.
const KEYS: [&str; 4] = ["state_dict", "model", "module", "model_state_dict"];

/// The tensors of a model by name.
pub(crate) struct StateDict<'h, 'a> {
    /// The tensors, by their full names.
    pub(crate) tensors: BTreeMap<String, &'h TensorNode<'a>>,
    /// Places below `key` of what cannot be written: tensors under a key that is neither text nor a whole number, and
    /// arrays of NumPy.
    pub(crate) dropped: Vec<String>,
    /// The keys on the way to them, joined by dots; empty where the file is nothing but the model.
    pub(crate) key: String,
}

/// What was found instead of tensors, and what to do.
pub(crate) struct NotFound {
    pub(crate) found: String,
    pub(crate) remedy: String,
}

/// The tensors of `root`: those of the dictionary itself, or of the one below the key that `opening` has, or below one of
/// the usual keys.
///
/// A name is the way to the tensor, joined by dots: keys of dictionaries, attributes of modules, and in decimal whole
/// numbers as keys and places in lists and tuples, counted from 0.
pub(crate) fn find<'h, 'a>(
    heap: &'h Heap<'a>,
    root: Id,
    opening: &Opening<'_>,
) -> Result<StateDict<'h, 'a>, NotFound> {
    let Opening { key, limits, .. } = *opening;
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
        has_arrays: false,
        tensors: BTreeMap::new(),
        dropped: Vec::new(),
        n_visits: 0,
        n_bytes: 0,
    };
    walk.visit(at, &mut Place::default(), 0)?;
    let Walk { tensors, dropped, has_arrays, .. } = walk;
    if tensors.is_empty() {
        let remedy = if !has_arrays {
            "name where the model's tensors are with --key"
        } else {
            "arrays of NumPy are no tensors: `python3 -c \"import numpy, torch; c = torch.load('CACHE.pt', \
             weights_only=False); numpy.savez('OUT.npz', mu=c['mu'], sigma=c['sigma'])\"` writes statistics"
        };
        let mut found = listed(heap, at);
        if let Some(place) = dropped.first().filter(|_| !has_arrays) {
            found.push_str(&format!(", whose tensors have no name (`{}` for one)", place.escape_debug()));
        }
        return Err(NotFound { found, remedy: remedy.to_owned() });
    }
    Ok(StateDict { tensors, dropped, key: way.join(".") })
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

/// Where a walk is.
#[derive(Default)]
struct Place {
    /// The keys that lead there, joined by dots.
    name: String,
    /// How many of them have no name in a safetensors file.
    n_unnamed: usize,
}

/// A walk through containers in search of tensors.
struct Walk<'h, 'a, 'l> {
    heap: &'h Heap<'a>,
    limits: &'l Limits,
    /// Whether an array of NumPy was met.
    has_arrays: bool,
    tensors: BTreeMap<String, &'h TensorNode<'a>>,
    dropped: Vec<String>,
    n_visits: u64,
    /// Of the names together: shared containers repeat them.
    n_bytes: u64,
}

fn too(what: String) -> NotFound {
    NotFound { found: what, remedy: "no published checkpoint is built so: do not trust the file".to_owned() }
}

impl<'h> Walk<'h, '_, '_> {
    /// Tensors at `id` and below it; `place` is what leads there.
    fn visit(&mut self, id: Id, place: &mut Place, depth: usize) -> Result<(), NotFound> {
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
            Node::Array => {
                self.has_arrays = true;
                None
            }
            _ => return self.visit_below(id, place, depth),
        };
        self.n_bytes += place.name.len() as u64;
        let n_found = self.tensors.len() + self.dropped.len();
        if n_found >= self.limits.entries || self.n_bytes > self.limits.pickle_bytes {
            return Err(too(format!("more than {} tensors", self.limits.entries)));
        }
        let Some(tensor) = tensor.filter(|_| place.n_unnamed == 0) else {
            self.dropped.push(place.name.clone());
            return Ok(());
        };
        if place.name.is_empty() {
            return Err(NotFound {
                found: "one tensor without a name".to_owned(),
                remedy: "of features, `python3 -c \"import numpy, torch; numpy.save('OUT.npy', torch.load('CACHE.pt').numpy())\"` \
                         writes what metrics read"
                    .to_owned(),
            });
        }
        if self.tensors.insert(place.name.clone(), tensor).is_some() {
            return Err(too(format!("two tensors named `{}`", place.name)));
        }
        Ok(())
    }

    /// What is below `id`, a container or nothing of the kind.
    fn visit_below(&mut self, id: Id, place: &mut Place, depth: usize) -> Result<(), NotFound> {
        let heap: &'h Heap<'_> = self.heap;
        if let Node::List(values) | Node::Tuple(values) = heap.get(id) {
            for (idx, &value) in values.iter().enumerate() {
                self.visit_at(Ok(&idx.to_string()), value, place, depth)?;
            }
        }
        for &(key, value) in items(heap, id) {
            match heap.get(key) {
                Node::Text(text) => self.visit_at(Ok(text), value, place, depth)?,
                Node::Int(n) => self.visit_at(Ok(&n.to_string()), value, place, depth)?,
                other => self.visit_at(Err(other.kind()), value, place, depth)?,
            }
        }
        Ok(())
    }

    /// The value at the key `part`, or at a key that has no name but is of this kind.
    fn visit_at(
        &mut self,
        part: Result<&str, String>,
        value: Id,
        place: &mut Place,
        depth: usize,
    ) -> Result<(), NotFound> {
        let before = place.name.len();
        // An empty name is one too: it keeps its dot.
        if depth > 0 {
            place.name.push('.');
        }
        let n_unnamed = usize::from(part.is_err());
        match part {
            Ok(part) => place.name.push_str(part),
            Err(kind) => place.name.push_str(&format!("({kind})")),
        }
        place.n_unnamed += n_unnamed;
        self.visit(value, place, depth + 1)?;
        place.n_unnamed -= n_unnamed;
        place.name.truncate(before);
        Ok(())
    }
}
