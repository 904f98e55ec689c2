//! What takes the place of a metric's missing files in a rehearsal: a network of the same kind with made weights, and images
//! of the rehearsal itself to compare with.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use specimen_catalog::metric;
use specimen_datasets::data_root::DataRoot;
use specimen_experiments::{
    estimate::Missing,
    spec::{MetricSpec, Spec},
};
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
use specimen_measure::{pair_protocol::PairProtocol, protocol::Protocol};
use specimen_weights::write_safetensors;

use crate::requirements;

/// Fewest images that the rehearsal asks for before a metric has a value.
const FEWEST: usize = 2;

/// A metric as the rehearsal computes it.
pub(crate) struct StandIn {
    /// With whatever takes the place of what is missing.
    pub(crate) metric: MetricSpec,
    /// What is missing for the metric as it is in the spec.
    pub(crate) lacks: Vec<Missing>,
    /// What is not the spec's, in words.
    pub(crate) notes: Vec<&'static str>,
}

impl StandIn {
    /// The stand-in for `asked`, a metric of `spec`; `images` is a list of pictures to compare with where its own are not
    /// there.
    pub(crate) fn of(
        asked: &MetricSpec,
        spec: &Spec,
        root: Option<&DataRoot>,
        images: &Path,
    ) -> anyhow::Result<Self> {
        let alone = Spec { cells: Vec::new(), metrics: vec![asked.clone()], ..spec.clone() };
        let lacks = requirements::missing(&alone, root);
        let mut found = Self { metric: asked.clone(), lacks, notes: Vec::new() };
        if asked.fewest_images().is_some() {
            found.metric.min_n = Some(FEWEST);
        }
        found.metric.device = None;
        let Some(protocol) = &asked.protocol else { return Ok(found) };
        let is_of_pairs = metric(&asked.name).is_some_and(|known| known.needs.baseline());
        let network = match is_of_pairs {
            true => PairProtocol::find(protocol)?.recipe().network().map(str::to_owned),
            false => Some(Protocol::find(protocol)?.recipe().fetched().to_owned()),
        };
        let Some(network) = network else { return Ok(found) };
        let is_there = |path: &String| DataRoot::place(root, path).exists();
        let lacks_real = asked.real.as_ref().is_some_and(|real| !is_there(real));
        if lacks_real {
            found.metric.real = Some(text_of(images)?);
            found.notes.push("compared with images of the rehearsal");
        }
        if found.lacks.len() > usize::from(lacks_real) {
            found.metric.weights = Some(text_of(&made(&network, images)?)?);
            found.notes.push("made weights");
        }
        Ok(found)
    }
}

/// An absolute path as a spec writes it.
fn text_of(path: &Path) -> anyhow::Result<String> {
    let path = std::path::absolute(path).with_context(|| format!("{}: no such place", path.display()))?;
    Ok(path.to_string_lossy().into_owned())
}

/// The file with made weights of `network`, made once: in the cache folder, or beside `images` where there is none.
fn made(network: &str, images: &Path) -> anyhow::Result<PathBuf> {
    let beside = || images.parent().unwrap_or(Path::new(".")).to_owned();
    let folder = cache_folder().unwrap_or_else(beside).join("made-networks");
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
