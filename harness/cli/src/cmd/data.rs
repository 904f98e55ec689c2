//! `specimen data`: datasets and published models by name, the files they need, images of the embedded dataset, and
//! features of targets.

mod features;
mod fetch;
mod fetch_items;
mod render;
mod verify_files;

use clap::{Args, Subcommand};
use serde::Serialize;
use specimen_catalog::{Entry, entry, hub::HubError};
use specimen_datasets::{
    catalog::ENTRIES,
    data_root::DataRoot,
    manifest::{DataItem, ITEMS, Status},
};
use specimen_foundation::{failure, failure::FailureMessage, folders::DATA_VARIABLE, names::suggestion};

use crate::{
    console::{Console, answer, answer_json},
    requirements,
    shared_args::Format,
    spec_args::data_root,
};

/// What to do with data.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// List datasets, published models and where their files are
    List,
    /// Check files against their published digests
    Verify(VerifyArgs),
    /// Download datasets and published weights; converts weights to safetensors where needed
    Fetch(fetch::FetchArgs),
    /// Render images of a generated dataset
    #[command(subcommand)]
    Render(render::RenderCommand),
    /// Run a target once on images of its own and keep what the trainings of its heads read
    Features(features::FeaturesArgs),
}

/// What to check.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Keys and models from `specimen data list` [default: all keys, and absent files are no failure]
    pub keys: Vec<String>,
}

/// One dataset.
#[derive(Serialize)]
struct DatasetLine {
    name: &'static str,
    what: &'static str,
    n_prompts: Option<usize>,
    needs: Vec<&'static str>,
}

/// One file or folder.
#[derive(Serialize)]
struct ItemLine {
    /// Key of an item, or the name of a model.
    key: &'static str,
    /// `ok`, `absent`, or `mismatch`: another content than the published one, or another number of images.
    status: &'static str,
    /// Where it is, what to fetch, or how it differs.
    detail: String,
    licence: &'static str,
}

/// The answer of `list`, as `--format json` prints it.
#[derive(Serialize)]
struct ListAnswer {
    schema: u32,
    data_folder: Option<String>,
    datasets: Vec<DatasetLine>,
    items: Vec<ItemLine>,
    models: Vec<ModelLine>,
}

/// One published model.
#[derive(Serialize)]
struct ModelLine {
    name: &'static str,
    what: &'static str,
    licence: String,
    /// Files that can be read, and files in all.
    n_ready: usize,
    n_files: usize,
}

/// The answer of `verify`, as `--format json` prints it.
#[derive(Serialize)]
struct VerifyAnswer {
    schema: u32,
    items: Vec<ItemLine>,
}

/// Runs a subcommand of `specimen data`.
pub(crate) fn data(command: &DataCommand, console: &Console) -> anyhow::Result<()> {
    match command {
        DataCommand::List => list(console),
        DataCommand::Verify(args) => verify(args, console),
        DataCommand::Fetch(args) => fetch::fetch(args, console),
        DataCommand::Render(command) => render::render(command, console),
        DataCommand::Features(args) => features::features(args, console),
    }
}

fn list(console: &Console) -> anyhow::Result<()> {
    let root = data_root();
    let datasets = ENTRIES.iter().map(|entry| DatasetLine {
        name: entry.name,
        what: entry.what,
        n_prompts: entry.n_prompts,
        needs: entry.file().map(|item| item.key.as_str()).into_iter().collect(),
    });
    let listed = ListAnswer {
        schema: 1,
        data_folder: root.as_ref().map(|root| root.path().display().to_string()),
        datasets: datasets.collect(),
        items: ITEMS.iter().map(|item| verified(item, root.as_ref())).collect(),
        models: models(),
    };
    match console.format() {
        Format::Json => answer_json(&listed),
        Format::Human => answer(&human_list(&listed)),
    }
}

fn human_list(listed: &ListAnswer) -> String {
    let folder = listed.data_folder.clone().unwrap_or_else(|| format!("none, set {DATA_VARIABLE}"));
    let mut text = format!("data folder: {folder}\n\ndatasets\n");
    for DatasetLine { name, what, n_prompts, needs } in &listed.datasets {
        let n = n_prompts.map_or_else(|| "-".to_owned(), |n| n.to_string());
        let needs = if needs.is_empty() { String::new() } else { format!(" (needs {})", needs.join(", ")) };
        text.push_str(&format!("  {name:<16} {n:>6}  {what}{needs}\n"));
    }
    text.push_str("\nfiles\n");
    for line in &listed.items {
        text.push_str(&format!("  {}\n", human_item(line)));
    }
    text.push_str("\npublished models (fetch one with `specimen data fetch NAME`)\n");
    let width = listed.models.iter().map(|model| model.name.len()).max().unwrap_or(0);
    for ModelLine { name, what, n_ready, n_files, .. } in &listed.models {
        text.push_str(&format!("  {name:<width$} {n_ready} of {n_files} files  {what}\n"));
    }
    text
}

/// Every published model, and how much of it is here.
fn models() -> Vec<ModelLine> {
    let places = requirements::places();
    let line = |model: &'static Entry| ModelLine {
        name: &model.name,
        what: &model.what,
        licence: model.licence.to_string(),
        n_ready: model.files.len() - places.missing(model).len(),
        n_files: model.files.len(),
    };
    entry::published().map(line).collect()
}

fn human_item(line: &ItemLine) -> String {
    format!("{:<22} {:<8}  {}", line.key, line.status, line.detail)
}

fn verify(args: &VerifyArgs, console: &Console) -> anyhow::Result<()> {
    let root = data_root();
    let (of_models, of_items): (Vec<&String>, Vec<&String>) =
        args.keys.iter().partition(|key| entry::published_entry(key).is_ok());
    let items = if args.keys.is_empty() { ITEMS.iter().collect() } else { wanted(&of_items)? };
    let mut lines: Vec<ItemLine> = items.iter().map(|item| verified(item, root.as_ref())).collect();
    for name in of_models {
        lines.extend(verify_files::verified(entry::published_entry(name).map_err(HubError::from)?)?);
    }
    let is_bad = |line: &&ItemLine| match line.status {
        "mismatch" => true,
        "absent" => args.keys.iter().any(|key| key == line.key),
        _ => false,
    };
    let bad: Vec<&str> = lines.iter().filter(is_bad).map(|line| line.key).collect();
    let bad = (!bad.is_empty()).then(
        || failure!(Missing: "not as published: {}; stdout lists what to fetch for each", bad.join(", ")),
    );
    match console.format() {
        Format::Json => answer_json(&VerifyAnswer { schema: 1, items: lines })?,
        Format::Human => answer(&lines.iter().map(human_item).collect::<Vec<_>>().join("\n"))?,
    }
    bad.map_or(Ok(()), |bad| Err(bad.into()))
}

/// The items with these keys.
fn wanted(keys: &[&String]) -> Result<Vec<&'static DataItem>, FailureMessage> {
    let item = |key: &&String| {
        let known = ITEMS.iter().map(|item| item.key.as_str());
        let known = known.chain(entry::published().map(|entry| entry.name.as_str()));
        let unknown = || failure!(Usage: "unknown key `{key}`, {}", suggestion(key, known));
        ITEMS.iter().find(|item| item.key == **key).ok_or_else(unknown)
    };
    keys.iter().map(item).collect()
}

/// Whether an item is here as published: reads and digests a file, counts the images of a folder.
fn verified(item: &'static DataItem, root: Option<&DataRoot>) -> ItemLine {
    let (status, detail) = match item.verify(root) {
        Ok(Status::Present { path }) => ("ok", format!("{} ({})", path.display(), item.vouched())),
        Ok(Status::Absent { remedy }) => ("absent", remedy),
        Ok(Status::Mismatch { path, expected, found, remedy }) => {
            ("mismatch", format!("{}: expected {expected}, found {found}; {remedy}", path.display()))
        }
        Err(error) => ("mismatch", error.to_string()),
    };
    ItemLine { key: &item.key, status, detail, licence: &item.licence }
}
