//! `specimen data fetch`: published models, from where they are published to safetensors, and the files of datasets.

use std::{collections::BTreeSet, path::PathBuf};

use clap::Args;
use serde::Serialize;
use specimen_catalog::{
    Entry,
    convert::{ConvertError, Limits, Options},
    entry,
    entry::PublishedFile,
    hub::{
        Found, HubError, Settings,
        digest::{Vouched, discard},
        fetch::{Fetched, fetch as fetch_file},
    },
};
use specimen_datasets::{
    data_root::DataRoot,
    error::DatasetError,
    manifest::{DataItem, ITEMS, items_of},
};
use specimen_experiments::{estimate::Missing, parse::SpecText, prompts, spec::Spec};
use specimen_foundation::{failure, names::suggestion};

use crate::{
    cmd::{
        byte_progress::ByteProgress,
        convert::converted,
        data::{fetch_items, verify_files},
    },
    console::{Console, answer, answer_json},
    requirements,
    shared_args::Format,
    spec_args::data_root,
};

/// What to fetch.
#[derive(Debug, Args)]
pub struct FetchArgs {
    /// Models and datasets
    #[arg(required_unless_present = "spec", value_name = "NAME", help = names_help())]
    pub names: Vec<String>,
    /// Fetch everything that this spec needs; lists what no program can download, and where to get it
    #[arg(long = "for", value_name = "SPEC")]
    pub spec: Option<PathBuf>,
    /// Download datasets from this address, which has the publisher's paths
    #[arg(long, value_name = "URL")]
    pub mirror: Option<String>,
    /// Also fetch the EAGLE-1 heads of these models
    #[arg(long)]
    pub drafters: bool,
    /// Do not convert pickles to safetensors
    #[arg(long)]
    pub no_convert: bool,
}

/// The answer, as `--format json` prints it.
#[derive(Default, Serialize)]
struct FetchAnswer {
    schema: u32,
    models: Vec<ModelLine>,
    /// Files of datasets that are here.
    datasets: Vec<ItemLine>,
    /// Files that could not be fetched.
    failed: Vec<FailedLine>,
    /// Data of the spec that a person has to get.
    data: Vec<DataLine>,
}

/// One model.
#[derive(Serialize)]
struct ModelLine {
    model: &'static str,
    licence: String,
    files: Vec<FileLine>,
}

/// One file that is here.
#[derive(Serialize)]
struct FileLine {
    file: &'static str,
    /// `here`, `fetched` or `converted`.
    status: &'static str,
    path: String,
    /// What vouches for its content.
    content: String,
}

/// One file or folder of a dataset.
#[derive(Serialize)]
struct ItemLine {
    key: &'static str,
    /// `here` or `fetched`.
    status: &'static str,
    path: String,
    /// What vouches for its content.
    content: String,
}

/// Data that is not here.
#[derive(Serialize)]
struct DataLine {
    what: String,
    remedy: String,
}

/// One file that is not.
#[derive(Serialize)]
struct FailedLine {
    model: &'static str,
    file: &'static str,
    why: String,
}

/// Fetches, and converts what needs it.
pub(super) fn fetch(args: &FetchArgs, console: &Console) -> anyhow::Result<()> {
    let spec: Option<Spec> = args.spec.as_deref().map(|path| SpecText::read(path)?.resolve()).transpose()?;
    let root = data_root();
    let of_spec = spec.as_ref().map(|spec| requirements::weights_of(spec, root.as_ref())).unwrap_or_default();
    let of_datasets: Vec<&str> =
        args.names.iter().map(String::as_str).filter(|name| items_of(name).next().is_some()).collect();
    let mut items: Vec<&'static DataItem> = of_datasets.iter().flat_map(|name| items_of(name)).collect();
    let n_named = items.len();
    // Without a data folder there is no place for them: a message says so below.
    items.extend(
        spec.iter()
            .filter(|_| root.is_some())
            .flat_map(|spec| requirements::absent_items(spec, root.as_ref())),
    );
    let of_models = args.names.iter().map(String::as_str).filter(|name| !of_datasets.contains(name));
    let wanted = wanted_models(args, of_models.chain(of_spec))?;
    let mut answered = FetchAnswer { schema: 1, ..FetchAnswer::default() };
    for (index, item) in items.iter().enumerate() {
        match fetch_items::brought(item, root.as_ref(), args.mirror.as_deref(), console) {
            Ok((path, status, content)) => {
                let path = path.display().to_string();
                answered.datasets.push(ItemLine { key: &item.key, status, path, content });
            }
            Err(error) if index < n_named => return Err(error),
            // What a spec needs besides is fetched all the same, and this is listed as missing.
            Err(error) => console.warn(format!("{}: {error:#}", item.key)),
        }
    }
    for model in wanted {
        console.say(format!("{}: {} (licence: {})", model.name, model.what, model.licence));
        let mut line =
            ModelLine { model: &model.name, licence: model.licence.to_string(), files: Vec::new() };
        for file in &model.files {
            match brought(file, args.no_convert, console) {
                Ok(file) => line.files.push(file),
                // Of a spec, a file that cannot be fetched does not stop the others: all that is left is listed. One that a
                // person must fetch never does.
                Err(error)
                    if error
                        .downcast_ref::<HubError>()
                        .is_some_and(|error| spec.is_some() || matches!(error, HubError::ByHand { .. })) =>
                {
                    answered.failed.push(FailedLine {
                        model: &model.name,
                        file: &file.name,
                        why: error.to_string(),
                    });
                }
                Err(error) => return Err(error),
            }
        }
        answered.models.push(line);
    }
    let by_hand =
        spec.as_ref().map(|spec| requirements::missing_data(spec, root.as_ref())).unwrap_or_default();
    let by_hand =
        by_hand.into_iter().chain(spec.as_ref().and_then(|spec| absent_prompts(spec, root.as_ref())));
    answered.data = by_hand.map(|Missing { what, remedy, .. }| DataLine { what, remedy }).collect();
    match console.format() {
        Format::Json => answer_json(&answered)?,
        Format::Human => answer(&human(&answered))?,
    }
    let data = answered.data.iter().map(|line| format!("{}: {}", line.what, line.remedy));
    let left: Vec<String> = answered.failed.iter().map(|line| line.why.clone()).chain(data).collect();
    let left = match left.as_slice() {
        [] => return Ok(()),
        [only] => only.clone(),
        all => {
            format!("{} files or folders could not be fetched; the list says why and what to do", all.len())
        }
    };
    Err(failure!(Missing: "{left}").into())
}

/// The entries of these models, of what they need and, where asked for, of their drafters, each once.
fn wanted_models<'n>(
    args: &FetchArgs,
    names: impl Iterator<Item = &'n str>,
) -> anyhow::Result<Vec<&'static Entry>> {
    let mut wanted: Vec<&'static Entry> = Vec::new();
    for name in names {
        let model = entry::published_entry(name).map_err(|error| match args.spec {
            // A name of the command line may be meant as a dataset.
            None => failure!(Usage: "{}", unknown_name(name)).into(),
            Some(_) => anyhow::Error::from(HubError::from(error)),
        })?;
        let drafter = model.head("eagle1", None).filter(|_| args.drafters);
        let drafter = drafter.map(entry).transpose().map_err(HubError::from)?;
        for part in model.with_needs().into_iter().chain(drafter) {
            if !wanted.iter().any(|known| known.name == part.name) {
                wanted.push(part);
            }
        }
    }
    Ok(wanted)
}

/// What can be named.
fn names_help() -> String {
    let datasets: BTreeSet<String> = datasets().map(|name| format!("`{name}`")).collect();
    let datasets: Vec<String> = datasets.into_iter().collect();
    format!(
        "Models from `specimen data list`, with the models that they need, or datasets: {}",
        datasets.join(", ")
    )
}

/// The names of datasets and of their parts.
fn datasets() -> impl Iterator<Item = &'static str> {
    ITEMS.iter().flat_map(|item| item.groups.iter().chain([&item.key]).map(String::as_str))
}

/// What to say of a name that is neither a model nor a dataset.
fn unknown_name(name: &str) -> String {
    let models = entry::published().map(|entry| entry.name.as_str());
    let known: BTreeSet<&str> = datasets().chain(models).collect();
    format!("no model or dataset `{name}`; {}", suggestion(name, known))
}

/// The prompts of `spec`, where their files are absent.
fn absent_prompts(spec: &Spec, root: Option<&DataRoot>) -> Option<Missing> {
    match prompts::open(&spec.dataset, root) {
        Err(DatasetError::Absent { what, remedy }) => Some(Missing { what, remedy, fetch: None }),
        _ => None,
    }
}

/// Makes `file` ready to be read.
fn brought(file: &'static PublishedFile, no_convert: bool, console: &Console) -> anyhow::Result<FileLine> {
    let places = requirements::places();
    let line = |status, path: &std::path::Path, content| FileLine {
        file: &file.name,
        status,
        path: path.display().to_string(),
        content,
    };
    if let (Some(_), Found::Ready(path)) = (&file.converted, places.find(file)) {
        let content = verify_files::content(file, &path, &places)?;
        return Ok(line("here", &path, content));
    }
    let settings = Settings::of_environment(|name| std::env::var_os(name));
    let mut shown = ByteProgress::new(console, format!("fetching {}", file.name));
    let fetched = fetch_file(file, &places, &settings, &mut |progress| {
        shown.reached(progress.n_done, progress.n_total)
    });
    let fetched = fetched.map_err(|error| error.of_download(file, &places))?;
    let content = verify_files::described(file, &fetched.vouched, fetched.snapshot.as_deref());
    let Fetched { path, was_here, vouched, .. } = fetched;
    match places.find(file) {
        Found::Unconverted { path, to } if !no_convert => {
            let options =
                Options { recipe: None, dtype: None, key: None, inert: &[], limits: Limits::PUBLISHED };
            match converted(&path, &to, &options, console) {
                Ok(_) => Ok(line("converted", &to, content)),
                // Nobody vouches for what came a moment ago: it is not to be read again every time.
                Err(error)
                    if !was_here
                        && matches!(vouched, Vouched::Nobody(_))
                        && matches!(error, ConvertError::Format { .. } | ConvertError::Pickle { .. }) =>
                {
                    discard(&path, file, &places)?;
                    let why = format!("{error:#}; it was removed, and nothing says what it must contain");
                    Err(failure!(Missing: "{why}").into())
                }
                Err(error) => Err(error.into()),
            }
        }
        _ => Ok(line(if was_here { "here" } else { "fetched" }, &path, content)),
    }
}

fn human(answered: &FetchAnswer) -> String {
    let mut text = String::new();
    // A model of which nothing could be fetched is among the missing.
    for ModelLine { model, licence, files } in answered.models.iter().filter(|line| !line.files.is_empty()) {
        text.push_str(&format!("{model} (licence: {licence})\n"));
        for FileLine { file, status, path, content } in files {
            text.push_str(&format!("  {status:<9}  {file}  {path}  ({content})\n"));
        }
    }
    for ItemLine { key, status, path, content } in &answered.datasets {
        text.push_str(&format!("{key}\n  {status:<9}  {path}  ({content})\n"));
    }
    for FailedLine { model, why, .. } in &answered.failed {
        text.push_str(&format!("  missing    {model}: {why}\n"));
    }
    for DataLine { what, remedy } in &answered.data {
        text.push_str(&format!("  missing    {what}: {remedy}\n"));
    }
    if text.is_empty() {
        text.push_str("Nothing is to be fetched.\n");
    }
    text
}
