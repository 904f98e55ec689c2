//! Heads of a user's own that a spec names for its model: where their files are, and what is in them.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use specimen_catalog::part::config_beside;
use specimen_datasets::data_root::DataRoot;
use specimen_foundation::digest::Digest;

use crate::{
    document::Node,
    error::{PlanError, SpecError},
    fields::{self, Fields},
    spec::Spec,
};

/// The kinds of heads, as `proposer` names them.
pub(crate) const HEAD_KINDS: &[&str] = &["eagle1", "eagle3"];
/// What `train-drafter` calls the tensors in its folder.
const TENSORS: &str = "model.safetensors";

/// A head of a user's own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenHead {
    /// Its file of tensors, or the folder that `train-drafter` wrote.
    pub path: String,
    /// blake3 of the digests of its tensors and of the configuration beside them, once they were read: part of the run's
    /// identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blake3: Option<Digest>,
}

impl GivenHead {
    /// The file of its tensors. A relative path starts at the working folder, or else at the data folder.
    pub fn file(&self, root: Option<&DataRoot>) -> PathBuf {
        let given = Path::new(&self.path);
        let found = if given.exists() { given.to_owned() } else { DataRoot::place(root, &self.path) };
        if found.is_dir() { found.join(TENSORS) } else { found }
    }

    fn digest(&self, root: Option<&DataRoot>) -> Result<Digest, String> {
        let file = self.file(root);
        let of = |path: &Path| {
            Digest::of_file(path).map_err(|error| {
                format!(
                    "{} cannot be read: {error}; name the {TENSORS} that `specimen train-drafter` wrote, or its folder",
                    path.display()
                )
            })
        };
        let tensors = of(&file)?;
        let config = config_beside(&file).map(|path| of(&path)).transpose()?;
        let config = config.map_or_else(|| "none".to_owned(), |config| config.to_string());
        Ok(Digest::of(format!("{tensors} {config}").as_bytes()))
    }
}

/// Reads `heads` of a `[model]`.
pub(crate) fn given_heads(model: &Fields<'_>, node: &Node) -> Result<BTreeMap<String, GivenHead>, SpecError> {
    let path = model.path("heads");
    let fields = Fields::new(node, "`heads`", &path, HEAD_KINDS)?;
    let given = HEAD_KINDS.iter().filter_map(|kind| Some((*kind, fields.get(kind)?)));
    given
        .map(|(kind, node)| {
            let path = fields::text(node, &fields.path(kind))?.to_owned();
            Ok((kind.to_owned(), GivenHead { path, blake3: None }))
        })
        .collect()
}

impl Spec {
    /// The same spec with the digest of every head that it names.
    pub fn with_digests_of_heads(mut self, root: Option<&DataRoot>) -> Result<Self, PlanError> {
        let mut known: BTreeMap<String, Digest> = BTreeMap::new();
        for cell in &mut self.cells {
            for (kind, head) in &mut cell.model.heads {
                let digest = match known.get(&head.path) {
                    Some(digest) => digest.clone(),
                    None => head.digest(root).map_err(|reason| {
                        PlanError::cell(
                            &cell.name,
                            format!("the head `{kind}` that its model names: {reason}"),
                        )
                    })?,
                };
                known.insert(head.path.clone(), digest.clone());
                head.blake3 = Some(digest);
            }
        }
        Ok(self)
    }
}
