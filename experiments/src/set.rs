//! Overrides from the command line: `--set path=value` and `--sweep path=value,value`. Paths are keys
//! joined by dots; an element of a list is addressed by its `name` or its index from 0. Values are TOML.

use crate::{
    document::{Entry, Node, Value},
    error::SpecError,
    error::hint,
    parse::{SPEC_KEYS, SpecText},
    place::Place,
};

impl SpecText {
    /// Applies `path=value`, as in `--set cell.sd-chain3.drafter.depth=5`. A path that is an axis of the
    /// spec is pinned to the value: the axis goes. Whether key and value make sense is seen when the spec
    /// is [resolved](Self::resolve).
    pub fn set(&mut self, argument: &str) -> Result<(), SpecError> {
        let label = format!("--set {argument}");
        let (path, text) = split(&label, argument, "--set sampling.temperature=0.5")?;
        let value = parse_value(&label, text, text)?;
        self.before(&label);
        if let Some(Entry { node: Node { value: Value::Table(axes), .. }, .. }) =
            entry_mut(&mut self.root, "axes")
        {
            axes.retain(|axis| axis.key != path);
        }
        let segments: Vec<&str> = path.split('.').collect();
        known_root(&segments, path, &value.place)?;
        assign(&mut self.root, &segments, path, value)
    }

    /// Takes only the first `n` prompts: `--limit n`.
    pub fn limit(&mut self, n: u32) -> Result<(), SpecError> {
        let given =
            entry_mut(&mut self.root, "dataset").and_then(|dataset| entry_mut(&mut dataset.node, "limit"));
        if let Some(place @ Place::Argument(_)) = given.map(|limit| &limit.node.place) {
            let problem = format!("`{place}` gives the number of prompts too");
            let remedy = "give one of the two".to_owned();
            return Err(crate::error::bad_argument(problem, remedy)
                .at(Place::Argument(format!("--limit {n}").into())));
        }
        self.set(&format!("dataset.limit={n}"))
    }

    /// Makes `path=value,value` an axis, as in `--sweep cell.sd.drafter.depth=1,2,3`. It takes the place of
    /// an axis of the same path.
    pub fn sweep(&mut self, argument: &str) -> Result<(), SpecError> {
        let label = format!("--sweep {argument}");
        let (path, text) = split(&label, argument, "--sweep cell.sd.drafter.depth=1,2,3")?;
        let values = parse_value(&label, &format!("[{text}]"), text)?;
        self.before(&label);
        let place = values.place.clone();
        if entry_mut(&mut self.root, "axes").is_none() {
            assign(&mut self.root, &["axes"], "axes", Node { place, value: Value::Table(Vec::new()) })?;
        }
        let axes = entry_mut(&mut self.root, "axes").expect("it was just made");
        // A dotted path is one key here, as in the text of a spec.
        assign(&mut axes.node, &[path], path, values)
    }
}

/// Puts `value` at `segments` below `node`; tables on the way are made where they are missing. `path` is the
/// whole path for messages.
pub(crate) fn assign(node: &mut Node, segments: &[&str], path: &str, value: Node) -> Result<(), SpecError> {
    let Some((first, rest)) = segments.split_first() else {
        *node = value;
        return Ok(());
    };
    let found = node.described();
    match &mut node.value {
        Value::Table(entries) => {
            let idx = entries.iter().position(|entry| entry.key == *first).unwrap_or_else(|| {
                let place = value.place.clone();
                let node = Node { place: place.clone(), value: Value::Table(Vec::new()) };
                entries.push(Entry { key: (*first).to_owned(), place, node });
                entries.len() - 1
            });
            assign(&mut entries[idx].node, rest, path, value)
        }
        Value::List(items) => {
            let (idx, n_used) = element(items, segments, path, &value.place)?;
            assign(&mut items[idx], &segments[n_used..], path, value)
        }
        _ => Err(crate::error::no_such_path(
            path,
            format!("the value before `{first}` is {found}, which holds no keys"),
            "",
        )
        .at(value.place)),
    }
}

/// The element of `items` that the first segments address, and how many segments that takes: names may
/// contain dots, so the longest name that fits wins; otherwise an index from 0.
pub(crate) fn element(
    items: &[Node],
    segments: &[&str],
    path: &str,
    place: &Place,
) -> Result<(usize, usize), SpecError> {
    for n_used in (1..=segments.len()).rev() {
        let name = segments[..n_used].join(".");
        if let Some(idx) = items.iter().position(|item| item.name() == Some(&name)) {
            return Ok((idx, n_used));
        }
    }
    let first = segments[0];
    match first.parse::<usize>() {
        Ok(idx) if idx < items.len() => Ok((idx, 1)),
        Ok(idx) => Err(crate::error::no_such_path(
            path,
            format!("index {idx} is past the end of a list of {}", items.len()),
            "",
        )
        .at(place.clone())),
        Err(_) => {
            let names: Vec<&str> = items.iter().filter_map(Node::name).collect();
            let base = first.split_once('[').map(|(base, _)| base).filter(|base| names.contains(base));
            if let Some(base) = base {
                let is_whole = |name: &String| name.matches('[').count() == name.matches(']').count();
                let mut names = (1..=segments.len()).map(|n| segments[..n].join("."));
                let name = names.find(is_whole).unwrap_or_else(|| first.to_owned());
                return Err(crate::error::no_such_path(path, format!(
                        "`{name}` is not written in the spec: cells that axes make of `{base}` have no keys of their own; \
                         set a key of `{base}`, or leave such a cell out with [[exclude]]"
                    ), "")
                .at(place.clone()));
            }
            let remedy =
                if names.is_empty() { "; elements of this list are addressed by index, from 0" } else { "" };
            Err(crate::error::no_such_path(
                path,
                format!("a list has no element `{first}`{remedy}"),
                &hint(first, names.iter().copied()),
            )
            .at(place.clone()))
        }
    }
}

fn entry_mut<'n>(node: &'n mut Node, key: &str) -> Option<&'n mut Entry> {
    match &mut node.value {
        Value::Table(entries) => entries.iter_mut().find(|entry| entry.key == key),
        _ => None,
    }
}

/// Refuses a first segment that no spec has, before a table of that name is made.
fn known_root(segments: &[&str], path: &str, place: &Place) -> Result<(), SpecError> {
    if SPEC_KEYS.contains(&segments[0]) {
        return Ok(());
    }
    Err(crate::error::no_such_path(
        path,
        format!("a spec has no key `{}`", segments[0]),
        &hint(segments[0], SPEC_KEYS.iter().copied()),
    )
    .at(place.clone()))
}

/// Path and value of an argument; `example` shows what one looks like.
fn split<'a>(label: &str, argument: &'a str, example: &str) -> Result<(&'a str, &'a str), SpecError> {
    let bad = |problem: &str| {
        crate::error::bad_argument(problem, format!("write it like {example}"))
            .at(Place::Argument(label.into()))
    };
    let is_closed = |at: usize| argument[..at].matches('[').count() == argument[..at].matches(']').count();
    let equals = argument.match_indices('=').map(|(at, _)| at).find(|at| is_closed(*at));
    let at = equals.ok_or_else(|| bad("there is no `=` between path and value"))?;
    let (path, value) = (&argument[..at], &argument[at + 1..]);
    let (path, value) = (path.trim(), value.trim());
    if path.split('.').any(str::is_empty) {
        return Err(bad("the path has an empty part"));
    }
    if value.is_empty() {
        return Err(bad("there is no value"));
    }
    Ok((path, value))
}

fn parse_value(label: &str, text: &str, shown: &str) -> Result<Node, SpecError> {
    Node::parse_value(label, text).map_err(|_| {
        crate::error::bad_argument(
            format!("`{shown}` is not TOML"),
            "values are written as in a spec, and text needs quotes: 'model.dtype=\"f32\"'",
        )
        .at(Place::Argument(label.into()))
    })
}
