//! `specimen specs`: the specs that are in the program, to be listed, shown and copied.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap::{Args, Subcommand};
use serde::Serialize;
use specimen_datasets::catalog::ENTRIES;
use specimen_experiments::{
    bundled::{BUNDLED, BundledSpec, bundled},
    parse::SpecText,
    spec::Spec,
};
use specimen_foundation::names::nearest;

use crate::{
    args::Format,
    exit::CliError,
    talk::{Talk, answer, answer_json},
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

/// Which specs.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only specs with all these words in name, paper, model, dataset, methods or question: `cascade tiny`
    pub words: Vec<String>,
}

/// Which spec.
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

/// One spec.
#[derive(Debug, Serialize)]
struct SpecLine {
    name: &'static str,
    /// The question, or what it shows: the first sentence of its analysis.
    question: String,
    /// Tables of published numbers that its cells are compared with.
    published: Vec<String>,
    models: Vec<String>,
    dataset: String,
    n_cells: usize,
    /// Images over all cells; absent where the dataset's size is known only when it is read.
    n_images: Option<usize>,
    #[serde(skip)]
    methods: Vec<String>,
}

/// The answer of `list`, as `--format json` prints it.
#[derive(Serialize)]
struct ListAnswer {
    schema: u32,
    specs: Vec<SpecLine>,
}

/// Does it.
pub(crate) fn specs(command: &SpecsCommand, talk: &Talk) -> anyhow::Result<()> {
    match command {
        SpecsCommand::List(args) => list(args, talk),
        SpecsCommand::Show(args) => answer(found(&args.name)?.text),
        SpecsCommand::Copy(args) => copy(args, talk),
    }
}

/// The specs in the program, in the order of their names.
///
/// # Errors
/// None but a spec that does not resolve, which a test excludes.
fn lines() -> anyhow::Result<Vec<SpecLine>> {
    let line = |spec: &BundledSpec| {
        let resolved = SpecText::parse(spec.name, spec.text)?.resolve()?;
        Ok(SpecLine::of(spec.name, &resolved))
    };
    BUNDLED.iter().map(line).collect()
}

impl SpecLine {
    fn of(name: &'static str, spec: &Spec) -> Self {
        let known =
            ENTRIES.iter().find(|entry| entry.name == spec.dataset.name).and_then(|entry| entry.n_prompts);
        let n_prompts = match (spec.dataset.limit, known) {
            (Some(limit), Some(all)) => Some(limit.min(all)),
            (limit, all) => limit.or(all),
        };
        let samples = usize::try_from(spec.dataset.samples).expect("usize has at least 32 bits");
        let mut models: Vec<String> = spec.cells.iter().map(|cell| cell.model.name.clone()).collect();
        models.dedup();
        let mut published: Vec<String> =
            spec.published.iter().map(|row| row.from.trim_end_matches(".csv").to_owned()).collect();
        published.dedup();
        Self {
            name,
            question: first_sentence(&spec.analysis),
            published,
            models,
            dataset: spec.dataset.name.clone(),
            n_cells: spec.cells.len(),
            n_images: n_prompts.map(|n| n * samples * spec.cells.len()),
            methods: spec
                .cells
                .iter()
                .map(|cell| format!("{} {}", cell.name, cell.method.canonical()))
                .collect(),
        }
    }

    /// A line with the name and what it costs, and what it asks below it.
    fn human(&self) -> String {
        let images = self.n_images.map_or_else(String::new, |n| format!(", {n} images"));
        let (name, model, dataset) = (self.name, self.models.join(", "), &self.dataset);
        let published = self.published.join(", ");
        let published = if published.is_empty() { published } else { format!(" [{published}]") };
        format!(
            "{name}  ({model} on {dataset}, {} cells{images})\n    {}{published}\n",
            self.n_cells, self.question
        )
    }

    /// Whether a word occurs in anything that is known of the spec.
    fn has(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        let texts = [self.name, &self.question, &self.dataset].into_iter();
        let texts = texts
            .chain([&self.published, &self.models, &self.methods].into_iter().flatten().map(String::as_str));
        texts.into_iter().any(|text| text.to_lowercase().contains(&word))
    }
}

/// Up to the first full stop that ends a sentence, on one line.
fn first_sentence(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let ends = line.match_indices(". ").map(|(at, _)| at);
    // `Fig. 4` and `i.e. x` go on; a sentence is followed by a capital letter or a digit that no abbreviation explains.
    let end = ends.into_iter().find(|&at| {
        let starts_anew = line[at + 2..].starts_with(char::is_uppercase);
        starts_anew && !line[..at].ends_with("Fig")
    });
    end.map_or_else(|| line.trim_end_matches('.').to_owned(), |end| line[..end].to_owned())
}

fn list(args: &ListArgs, talk: &Talk) -> anyhow::Result<()> {
    let mut specs = lines()?;
    specs.retain(|spec| args.words.iter().all(|word| spec.has(word)));
    if specs.is_empty() {
        let words = args.words.join(" ");
        return Err(CliError::Usage(format!(
            "no spec has all of the words `{words}`; list all with `specimen specs list`"
        ))
        .into());
    }
    match talk.format() {
        Format::Json => answer_json(&ListAnswer { schema: 1, specs }),
        Format::Human => answer(&specs.iter().map(SpecLine::human).collect::<String>()),
    }
}

/// The spec of a name.
fn found(name: &str) -> Result<&'static BundledSpec, CliError> {
    let name = name.trim_end_matches(".toml");
    bundled(name).ok_or_else(|| {
        let names = BUNDLED.iter().flat_map(|spec| [Some(spec.name), spec.name.rsplit('/').next()]).flatten();
        let near =
            nearest(name, names).first().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        CliError::Usage(format!("no spec is named `{name}`{near} (all of them: `specimen specs list`)"))
    })
}

fn copy(args: &CopyArgs, talk: &Talk) -> anyhow::Result<()> {
    let spec = found(&args.name)?;
    let last = spec.name.rsplit('/').next().unwrap_or(spec.name);
    let file = args.file.clone().unwrap_or_else(|| PathBuf::from(format!("{last}.toml")));
    write_new(&file, spec.text)?;
    talk.say(format!("copied: {}", file.display()));
    Ok(())
}

/// Writes a file that must not be there yet.
fn write_new(file: &Path, text: &str) -> anyhow::Result<()> {
    let opened = std::fs::File::create_new(file);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("{}: cannot write the spec", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sentence_ends_where_another_begins() {
        for (text, expected) in [
            ("One. Two.", "One"),
            ("Only\none.", "Only one"),
            ("CASCADE Fig. 4, at full size. More.", "CASCADE Fig. 4, at full size"),
            ("Twin of Fig. Four words. More.", "Twin of Fig. Four words"),
            ("Above 0.5 it is, e.g. here. So.", "Above 0.5 it is, e.g. here"),
            ("", ""),
        ] {
            assert_eq!(first_sentence(text), expected, "{text:?}");
        }
    }
}
