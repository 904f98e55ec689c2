//! What takes the place of a metric's missing files in a rehearsal: a network of the same kind with made weights, and images
//! of the rehearsal itself to compare with.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use specimen_datasets::data_root::DataRoot;
use specimen_experiments::spec::{MetricSpec, Spec};
use specimen_extract::{
    aesthetic::{self, AestheticName},
    clip::shape::{ClipLayout, ClipShapes},
    imagereward,
    lpips::{self, LpipsName},
    network::NetworkName,
    open::{clip_shapes, recipe_tensors},
    recipe_weights::{clip_tensors, write_clip},
};
use specimen_foundation::folders::cache_folder;
use specimen_weights::write_safetensors;

use crate::requirements;

/// A metric as the rehearsal computes it.
pub(crate) struct StandIn {
    /// With whatever takes the place of what is missing.
    pub(crate) metric: MetricSpec,
    /// Whether something is missing for the metric as it is in the spec.
    pub(crate) lacks: bool,
    /// What is not the spec's, in words.
    pub(crate) notes: Vec<&'static str>,
}

impl StandIn {
    /// The stand-in for `asked`, a metric of `spec`; the rehearsal is in the folder `out`, an absolute path. Where the pictures to compare with
    /// are not there, those of its first shard take their place.
    pub(crate) fn of(
        asked: &MetricSpec,
        spec: &Spec,
        root: Option<&DataRoot>,
        out: &Path,
    ) -> anyhow::Result<Self> {
        let alone = Spec { cells: Vec::new(), metrics: vec![asked.clone()], ..spec.clone() };
        let n_lacking = requirements::missing(&alone, root).len();
        let mut found = Self { metric: asked.clone(), lacks: n_lacking > 0, notes: Vec::new() };
        if asked.fewest_images().is_some() {
            // The fewest that any metric has a value of.
            found.metric.min_n = Some(2);
        }
        found.metric.device = None;
        requirements::check_protocol(asked)?;
        let Some(network) = requirements::network_of(asked) else { return Ok(found) };
        let is_there = |path: &String| DataRoot::place(root, path).exists();
        let lacks_real = asked.real.as_ref().is_some_and(|real| !is_there(real));
        if lacks_real {
            found.metric.real = Some(out.join("run/shards/0/images").display().to_string());
            found.notes.push("compared with images of the rehearsal");
        }
        if n_lacking > usize::from(lacks_real) {
            found.metric.weights = Some(made(&network, out)?.display().to_string());
            found.notes.push("made weights");
        }
        Ok(found)
    }
}

/// The file with made weights of `network`, made once: in the cache folder, or in `out` where there is none.
fn made(network: &str, out: &Path) -> anyhow::Result<PathBuf> {
    let folder = std::path::absolute(cache_folder().as_deref().unwrap_or(out))?.join("made-networks");
    let path = folder.join(format!("{network}.safetensors"));
    if path.is_file() {
        return Ok(path);
    }
    let unwritten = || format!("{}: cannot write it", path.display());
    fs::create_dir_all(&folder).with_context(unwritten)?;
    let of_pairs = LpipsName::ALL.into_iter().find(|known| known.name() == network);
    let known = NetworkName::ALL.into_iter().find(|known| known.name() == network);
    let head = AestheticName::ALL.into_iter().find(|known| known.name() == network);
    match (of_pairs, known) {
        _ if let Some(head) = head => with_head(&path, head),
        _ if network == imagereward::NAME => imagereward::write_narrow(&path),
        (Some(of_pairs), _) => lpips::write_recipe(&path, of_pairs),
        (None, Some(known)) => match clip_shapes(known).map(ClipShapes::narrow) {
            Some(ClipShapes { vision, text, .. }) => write_clip(&path, ClipLayout::OpenAi, &vision, &text),
            None => write_safetensors(&path, &recipe_tensors(known)),
        },
        (None, None) => bail!("the network `{network}` has no made weights"),
    }
    .with_context(unwritten)?;
    Ok(path)
}

/// Writes a narrow CLIP ViT-L/14 and `head` to one file.
fn with_head(path: &Path, head: AestheticName) -> std::io::Result<()> {
    let ClipShapes { vision, text, .. } = ClipShapes::L14.narrow();
    let mut tensors = clip_tensors(ClipLayout::OpenAi, &vision, &text);
    tensors.extend(aesthetic::recipe_tensors(head));
    write_safetensors(path, &tensors)
}
