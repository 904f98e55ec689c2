//! The configuration of every cell as the resolved spec has it, leaf by leaf, and what the names of cells share.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use specimen_record::Summary;

/// The leaves of a cell's configuration by path ("method.accept.0.tau_pos").
pub(crate) type Leaves = BTreeMap<String, Value>;

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    pub(crate) name: String,
    /// The `[[cell]]` whose axes made it; `None` for a cell that someone wrote out.
    pub(crate) base: Option<String>,
    pub(crate) leaves: Leaves,
}

/// The cells of a summary's spec, in its order; empty without a spec.
pub(crate) fn settings(summary: &Summary) -> Vec<Settings> {
    let cells = summary.spec["cells"].as_array().map_or(&[][..], Vec::as_slice);
    let mut found: Vec<Settings> = cells.iter().filter_map(settings_of).collect();
    add_defaults_of_axes(cells, &mut found);
    found
}

/// Puts the values of axes back that a resolved spec leaves out, because they are what it takes without the key
/// (`model.batch = 1`): at the path that the same axis sets in other cells.
fn add_defaults_of_axes(cells: &[Value], found: &mut [Settings]) {
    let paths: BTreeSet<String> = found.iter().flat_map(|cell| cell.leaves.keys().cloned()).collect();
    for cell in found {
        let spec = cells.iter().find(|spec| spec["name"] == cell.name.as_str());
        let params = spec.and_then(|spec| spec["params"].as_object()).into_iter().flatten();
        for (label, value) in params {
            let is_named = |path: &&String| parameter(path) == label || path.ends_with(&format!(".{label}"));
            let is_there = cell.leaves.keys().any(|path| is_named(&path));
            let mut of_others = paths.iter().filter(is_named);
            // Where two settings have the name, the label does not say which of them the axis sets.
            if let (false, Some(path), None) = (is_there, of_others.next(), of_others.next()) {
                cell.leaves.insert(path.clone(), value.clone());
            }
        }
    }
}

/// One cell of a resolved spec; `None` where it has no name.
pub(crate) fn settings_of(cell: &Value) -> Option<Settings> {
    let name = cell["name"].as_str()?.to_owned();
    let mut leaves = Leaves::new();
    for part in ["model", "sampling", "method", "external"] {
        flatten(part, &cell[part], &mut leaves);
    }
    let is_of_axes = cell["params"].as_object().is_some_and(|params| !params.is_empty());
    let base = cell["base"].as_str().filter(|_| is_of_axes).map(str::to_owned);
    Some(Settings { name, base, leaves })
}

fn flatten(path: &str, value: &Value, leaves: &mut Leaves) {
    let mut below = |name: &str, value: &Value| flatten(&format!("{path}.{name}"), value, leaves);
    match value {
        Value::Object(map) => map.iter().for_each(|(name, value)| below(name, value)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(at, value)| below(&at.to_string(), value));
        }
        Value::Null => {}
        leaf => {
            leaves.insert(path.to_owned(), leaf.clone());
        }
    }
}

/// The last part of a path that is a word: the number's own name.
pub(crate) fn parameter(path: &str) -> &str {
    path.rsplit('.').find(|part| part.parse::<usize>().is_err()).unwrap_or(path)
}

/// A part of a file's name, in letters that any file system takes.
pub(crate) fn file_part(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    text.chars().map(plain).take(40).collect()
}

/// What the names of some cells have in common: the labels that axes wrote into all of them, or else what they begin or
/// end with, up to a joint. `path`: the number in which they differ.
pub(crate) fn common_name(names: &[&str], path: &str) -> String {
    if let Some(name) = common_labels(names) {
        return name;
    }
    let Some(first) = names.first() else { return String::new() };
    let joints = [' ', '-', '_', '=', '+', ',', '.', '/', '(', '[', '{'];
    let n_shared = |a: &mut dyn Iterator<Item = char>, b: &mut dyn Iterator<Item = char>| {
        a.zip(b).take_while(|(a, b)| a == b).count()
    };
    let n = names.iter().map(|name| n_shared(&mut first.chars(), &mut name.chars())).min().unwrap_or(0);
    let parameter = parameter(path);
    let begin: String = first.chars().take(n).collect();
    let mut name = begin.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    for _ in 0..4 {
        name = name.trim_end_matches(joints);
        name = name.strip_suffix(parameter).unwrap_or(name);
    }
    if !name.is_empty() {
        return name.to_owned();
    }
    let n = names
        .iter()
        .map(|name| n_shared(&mut first.chars().rev(), &mut name.chars().rev()))
        .min()
        .unwrap_or(0);
    let end: String = first.chars().skip(first.chars().count() - n).collect();
    // A part of a number or of a word is no name.
    let whole = end.find(joints).map_or("", |at| end[at..].trim_start_matches(joints));
    if whole.is_empty() { (*first).to_owned() } else { whole.to_owned() }
}

/// `base` or `base[labels that all have]` of names as axes make them, `base[depth=2,tau=0.5]`; `None` of other names.
fn common_labels(names: &[&str]) -> Option<String> {
    let names = names.iter().map(|name| labels(name)).collect::<Option<Vec<_>>>()?;
    let (base, labels) = names.first()?;
    if names.iter().any(|(other, _)| other != base) {
        return None;
    }
    let shared = labels.iter().filter(|label| names.iter().all(|(_, labels)| labels.contains(label)));
    let shared: Vec<&str> = shared.copied().collect();
    Some(if shared.is_empty() { (*base).to_owned() } else { format!("{base}[{}]", shared.join(",")) })
}

/// The base and the labels of a name as axes make it; `None` of other names.
pub(crate) fn labels(name: &str) -> Option<(&str, Vec<&str>)> {
    let (base, labels) = name.strip_suffix(']')?.split_once('[')?;
    let labels: Vec<&str> = labels.split(',').collect();
    (!base.is_empty() && labels.iter().all(|label| label.contains('='))).then_some((base, labels))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cells_are_named_by_what_their_names_share() {
        let depth = "method.drafter.depth";
        assert_eq!(common_name(&["sd-chain[depth=1]", "sd-chain[depth=2]"], depth), "sd-chain");
        let tau = "method.accept.0.tau_seq";
        assert_eq!(common_name(&["casc[tau_seq=0.3]", "casc[tau_seq=0.5]"], tau), "casc");
        let two = ["c[tau_pos=0.7,tau_seq=0.3]", "c[tau_pos=0.7,tau_seq=0.35]"];
        assert_eq!(common_name(&two, tau), "c[tau_pos=0.7]");
        let first = ["c[tau_pos=0.7,tau_seq=0.5]", "c[tau_pos=0.8,tau_seq=0.5]"];
        assert_eq!(common_name(&first, "method.accept.0.tau_pos"), "c[tau_seq=0.5]");
        assert_eq!(common_name(&["chain-1", "chain-2", "chain-13"], depth), "chain");
        assert_eq!(common_name(&["a", "b", "c"], depth), "a");
        assert_eq!(common_name(&["085-05-by-further", "08-05-by-further"], tau), "05-by-further");
        assert_eq!(
            common_name(&["085-0625-by-cascade", "085-05-by-cascade", "08-05-by-cascade"], tau),
            "by-cascade"
        );
    }

    #[test]
    fn the_value_of_an_axis_is_there_where_the_spec_leaves_it_out() {
        let cell = |name: &str, batch: u32, model: Value| json!({"name": name, "base": "c", "params": {"batch": batch}, "model": model});
        let cells = [
            cell("c[batch=1]", 1, json!({"name": "tiny"})),
            cell("c[batch=4]", 4, json!({"name": "tiny", "batch": 4})),
            json!({"name": "written", "base": "written", "params": {}, "model": {"name": "tiny"}}),
        ];
        let mut found: Vec<Settings> = cells.iter().filter_map(settings_of).collect();
        add_defaults_of_axes(&cells, &mut found);
        let batch = |at: usize| found[at].leaves.get("model.batch").cloned();
        assert_eq!((batch(0), batch(1), batch(2)), (Some(json!(1)), Some(json!(4)), None));
    }

    #[test]
    fn a_name_without_labels_has_none() {
        assert_eq!(labels("a[x=1,y=2]"), Some(("a", vec!["x=1", "y=2"])));
        for name in ["a", "[x=1]", "a[x]", "a[x=1", "a]"] {
            assert_eq!(labels(name), None, "{name}");
        }
    }
}
