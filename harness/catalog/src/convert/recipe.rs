//! The names of one model to those of another, as data: which tensors go where, which are left out, and where rows are
//! cut or put in another order on the way. Every tensor of a checkpoint must be in a rule, so the wrong file is noticed.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde::Deserialize;

use specimen_foundation::failure;

use crate::convert::{ConvertError, tensor::TensorView};

/// What becomes of the tensors of a model.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// What it is for, for messages.
    #[serde(skip)]
    pub name: String,
    /// Tensors that are left out, as patterns; what fits one is not looked at further.
    #[serde(default)]
    pub drop: Vec<String>,
    /// Tensors that keep their names, as patterns.
    #[serde(default)]
    pub keep: Vec<String>,
    /// Tensors that get other names; the first rule that fits counts.
    #[serde(default)]
    pub rename: Vec<Rule>,
}

/// What becomes of the tensors of one name or pattern of names.
///
/// In a pattern `#` stands for a number and `*` for any text; in `to` they stand for what was found, in order.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The pattern.
    pub from: String,
    /// The name; several where the rows are cut into equal parts.
    pub to: Names,
    /// Rotary rows of this many heads go from neighbouring pairs to halves.
    #[serde(default)]
    pub unpair_heads: Option<u64>,
    /// Whether a checkpoint may lack it.
    #[serde(default)]
    pub optional: bool,
}

/// One name or several.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Names {
    /// One.
    One(String),
    /// One for each part.
    Parts(Vec<String>),
}

/// What a recipe made of a checkpoint.
pub(crate) struct Applied {
    /// By their new names.
    pub(crate) tensors: BTreeMap<String, TensorView>,
    /// Names that were left out.
    pub(crate) dropped: Vec<String>,
}

impl Recipe {
    /// Whether it leaves the tensor `name` out.
    pub fn drops(&self, name: &str) -> bool {
        self.drop.iter().any(|pattern| captures(pattern, name).is_some())
    }

    /// The tensors of the file at `path` under their new names.
    pub(crate) fn apply(
        &self,
        path: &Path,
        tensors: &BTreeMap<String, TensorView>,
    ) -> Result<Applied, ConvertError> {
        let error =
            |reason: String| failure!(Missing: "{}: the recipe {}: {reason}", path.display(), self.name);
        let (mut made, mut dropped) = (BTreeMap::new(), Vec::new());
        let mut used = BTreeSet::new();
        for (name, view) in tensors {
            if self.drops(name) {
                dropped.push(name.clone());
                continue;
            }
            let rule = self
                .rename
                .iter()
                .enumerate()
                .find_map(|(idx, rule)| captures(&rule.from, name).map(|found| (idx, rule, found)));
            if let Some((idx, rule, found)) = rule {
                used.insert(idx);
                for (to, view) in rule.apply(name, view, &found).map_err(error)? {
                    if made.insert(to.clone(), view).is_some() {
                        return Err(error(format!("`{name}` becomes `{to}`, as another tensor does")).into());
                    }
                }
            } else if self.keep.iter().any(|pattern| captures(pattern, name).is_some()) {
                if made.insert(name.clone(), view.clone()).is_some() {
                    return Err(error(format!("`{name}` keeps its name, which another tensor gets")).into());
                }
            } else {
                let reason = format!(
                    "tensor `{name}` is none of the model's; is it the right file? {}",
                    hint(tensors)
                );
                return Err(error(reason).into());
            }
        }
        let lacking =
            self.rename.iter().enumerate().find(|(idx, rule)| !rule.optional && !used.contains(idx));
        if let Some((_, rule)) = lacking {
            let reason = format!("no tensor `{}`; is it the right file? {}", rule.from, hint(tensors));
            return Err(error(reason).into());
        }
        Ok(Applied { tensors: made, dropped })
    }
}

fn hint(tensors: &BTreeMap<String, TensorView>) -> String {
    let first: Vec<String> = tensors.keys().take(3).map(|name| format!("`{name}`")).collect();
    format!("it has {} tensors, the first are {}", tensors.len(), first.join(", "))
}

impl Rule {
    fn apply(
        &self,
        name: &str,
        view: &TensorView,
        found: &[&str],
    ) -> Result<Vec<(String, TensorView)>, String> {
        let cannot = |what: String| format!("tensor `{name}` of shape {:?} {what}", view.shape());
        let parts = match &self.to {
            Names::One(to) => vec![(to, view.clone())],
            Names::Parts(names) => {
                let parts = view.split_rows(names.len() as u64);
                let parts = parts.ok_or_else(|| cannot(format!("has no {} equal parts", names.len())))?;
                names.iter().zip(parts).collect()
            }
        };
        let finish = |(to, view): (&String, TensorView)| {
            let view = match self.unpair_heads {
                None => view,
                Some(n) => view
                    .unpair_rows(n)
                    .ok_or_else(|| cannot(format!("has no rows in pairs for {n} heads")))?,
            };
            Ok((fill(to, found), view))
        };
        parts.into_iter().map(finish).collect()
    }
}

/// What stands for the `#` and `*` of `pattern` in `name`, or `None` where it does not fit.
fn captures<'n>(pattern: &str, name: &'n str) -> Option<Vec<&'n str>> {
    let Some(at) = pattern.find(['#', '*']) else { return (pattern == name).then(Vec::new) };
    let rest = name.strip_prefix(&pattern[..at])?;
    let is_number = pattern[at..].starts_with('#');
    let longest = if is_number { rest.bytes().take_while(u8::is_ascii_digit).count() } else { rest.len() };
    let shortest = usize::from(is_number);
    (shortest..=longest).rev().filter(|&n| rest.is_char_boundary(n)).find_map(|n| {
        let mut found = vec![&rest[..n]];
        found.extend(captures(&pattern[at + 1..], &rest[n..])?);
        Some(found)
    })
}

/// `to` with `found` in the place of its `#` and `*`.
fn fill(to: &str, found: &[&str]) -> String {
    let mut found = found.iter();
    to.split_inclusive(['#', '*'])
        .map(|part| match part.strip_suffix(['#', '*']) {
            Some(text) => format!("{text}{}", found.next().unwrap_or(&"")),
            None => part.to_owned(),
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::convert::{Element, tensor::Storage};

    #[test]
    fn patterns_find_numbers_and_text() {
        let cases: [(&str, &str, Option<&[&str]>); 8] = [
            ("a.#.w", "a.12.w", Some(&["12"])),
            ("a.#.w", "a.x.w", None),
            ("a.#.w", "a..w", None),
            ("a.*", "a.b.c", Some(&["b.c"])),
            ("*.w", "a.b.w", Some(&["a.b"])),
            ("a", "a", Some(&[])),
            ("a", "ab", None),
            ("l.#.*.b", "l.3.x.y.b", Some(&["3", "x.y"])),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(captures(pattern, name).as_deref(), expected, "{pattern} {name}");
        }
        assert_eq!(fill("m.#.q.*", &["3", "w"]), "m.3.q.w");
    }

    fn apply(recipe: Recipe, names: &[(&str, u64)]) -> Result<Vec<(String, Vec<u64>)>, String> {
        let view = |n: u64| {
            let storage = Storage { file: 0, start: 0, n_bytes: 4 * n };
            TensorView::contiguous(storage, Element::F32, vec![n]).unwrap()
        };
        let tensors = names.iter().map(|&(name, n)| (name.to_owned(), view(n))).collect();
        let applied = recipe.apply(Path::new("x.pt"), &tensors).map_err(|error| error.to_string())?;
        Ok(applied.tensors.into_iter().map(|(name, view)| (name, view.shape().to_vec())).collect())
    }

    fn recipe(to: Names, unpair_heads: Option<u64>) -> Recipe {
        let rule = Rule { from: "l.#.qkv".into(), to, unpair_heads, optional: false };
        Recipe { name: "m".into(), drop: vec!["f*".into()], keep: vec!["k".into()], rename: vec![rule] }
    }

    #[test]
    fn tensors_are_cut_renamed_kept_and_left_out() {
        let parts = Names::Parts(["q", "k", "v"].map(|to| format!("m.#.{to}")).to_vec());
        let found = apply(recipe(parts, None), &[("l.7.qkv", 6), ("freqs", 1), ("k", 2)]).unwrap();
        let expected =
            [("k", 2), ("m.7.k", 2), ("m.7.q", 2), ("m.7.v", 2)].map(|(name, n)| (name.to_owned(), vec![n]));
        assert_eq!(found, expected);
    }

    #[test]
    fn what_a_recipe_does_not_know_or_does_not_find_is_an_error() {
        let one = |to: &str| Names::One(to.to_owned());
        type Case<'c> = (Recipe, &'c [(&'c str, u64)], &'c str);
        let cases: [Case<'_>; 6] = [
            (recipe(one("q.#"), None), &[("l.0.qkv", 6), ("zzz", 1)], "`zzz` is none of the model's"),
            (recipe(one("q.#"), None), &[("k", 1)], "no tensor `l.#.qkv`"),
            (recipe(one("q"), None), &[("l.0.qkv", 6), ("l.1.qkv", 6)], "`l.1.qkv` becomes `q`, as another"),
            (recipe(one("k"), None), &[("l.0.qkv", 6), ("k", 6)], "`l.0.qkv` becomes `k`, as another"),
            (recipe(Names::Parts(vec!["a".into(); 4]), None), &[("l.0.qkv", 6)], "no 4 equal parts"),
            (recipe(one("q"), Some(2)), &[("l.0.qkv", 6)], "no rows in pairs for 2 heads"),
        ];
        for (recipe, names, expected) in cases {
            let error = apply(recipe, names).unwrap_err();
            assert!(error.contains(expected) && error.starts_with("x.pt: the recipe m: "), "{error}");
        }
    }
}
