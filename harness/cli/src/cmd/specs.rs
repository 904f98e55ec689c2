//! `specimen specs`: the specs that are in the program, to be listed, shown and copied.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap::{Args, Subcommand};
use serde::Serialize;
use specimen_experiments::bundled::{BUNDLED, BundledSpec, SpecSummary, bundled, summaries};
use specimen_foundation::{fail, failure, failure::FailureMessage, names::nearest};

use crate::{
    console::{Console, answer, answer_json},
    shared_args::Format,
};

/// What to do with them.
#[derive(Debug, Subcommand)]
pub enum SpecsCommand {
    /// List specs: what each one asks, its paper, model and number of images
    List(ListArgs),
    /// Print a spec
    Show(ShowArgs),
    /// Copy a spec to a file that can be changed
    Copy(CopyArgs),
}

/// Arguments of `specimen specs list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only specs with all these words in name, paper, model, dataset, methods or question: `cascade tiny`
    pub words: Vec<String>,
}

/// The name of one spec.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Name from `specimen specs list`; its last part is enough
    pub name: String,
}

/// Which spec, and where to.
#[derive(Debug, Args)]
pub struct CopyArgs {
    /// Name from `specimen specs list`; its last part is enough
    pub name: String,
    /// The new file [default: the last part of the name and .toml, in this folder]
    pub file: Option<PathBuf>,
}

/// The answer of `list`, as `--format json` prints it.
#[derive(Serialize)]
struct ListAnswer {
    schema: u32,
    specs: Vec<SpecSummary>,
}

/// Lists, prints or copies specs.
pub(crate) fn specs(command: &SpecsCommand, console: &Console) -> anyhow::Result<()> {
    match command {
        SpecsCommand::List(args) => list(args, console),
        SpecsCommand::Show(args) => answer(found(&args.name)?.text),
        SpecsCommand::Copy(args) => copy(args, console),
    }
}

fn list(args: &ListArgs, console: &Console) -> anyhow::Result<()> {
    let mut specs = summaries()?;
    specs.retain(|spec| args.words.iter().all(|word| spec.mentions(word)));
    if specs.is_empty() {
        let words = args.words.join(" ");
        fail!(Usage: "no spec has all of the words `{words}`; list all with `specimen specs list`");
    }
    match console.format() {
        Format::Json => answer_json(&ListAnswer { schema: 1, specs }),
        Format::Human => answer(&specs.iter().map(human).collect::<String>()),
    }
}

/// A line with the name and what it costs, and what it asks below it.
fn human(spec: &SpecSummary) -> String {
    let images = spec.n_images.map_or_else(String::new, |n| format!(", {n} images"));
    let (name, model, dataset) = (spec.name, spec.models.join(", "), &spec.dataset);
    let published = spec.published.join(", ");
    let published = if published.is_empty() { published } else { format!(" [{published}]") };
    format!(
        "{name}  ({model} on {dataset}, {} cells{images})\n    {}{published}\n",
        spec.n_cells, spec.question
    )
}

/// The spec of a name.
fn found(name: &str) -> Result<&'static BundledSpec, FailureMessage> {
    let name = name.trim_end_matches(".toml");
    bundled(name).ok_or_else(|| {
        let names = BUNDLED.iter().flat_map(|spec| [Some(spec.name), spec.name.rsplit('/').next()]).flatten();
        let near =
            nearest(name, names).first().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        failure!(Usage: "no spec is named `{name}`{near} (all of them: `specimen specs list`)")
    })
}

fn copy(args: &CopyArgs, console: &Console) -> anyhow::Result<()> {
    let spec = found(&args.name)?;
    let last = spec.name.rsplit('/').next().unwrap_or(spec.name);
    let file = args.file.clone().unwrap_or_else(|| PathBuf::from(format!("{last}.toml")));
    write_new(&file, spec.text)?;
    console.say(format!("copied: {}", file.display()));
    Ok(())
}

/// Writes a file that must not be there yet.
fn write_new(file: &Path, text: &str) -> anyhow::Result<()> {
    if file.exists() {
        let why = format!("{}: is there already; name another file, or remove it", file.display());
        fail!(Usage: "{why}");
    }
    let opened = std::fs::File::create_new(file);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("{}: cannot write the spec", file.display()))
}
