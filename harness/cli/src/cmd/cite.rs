//! `specimen cite`: the works that a run or a spec is made of, as BibTeX.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde::Serialize;
use specimen_catalog::{Bibliography, Citation, entry};
use specimen_experiments::{
    bundled::{BUNDLED, bundled, last_part},
    citations::works_of,
    parse::SpecText,
    spec::Spec,
};
use specimen_foundation::{fail, names::nearest};
use specimen_measure::{pair_protocol::PairProtocol, protocol::Protocol};
use specimen_record::{Manifest, RunDir, read_document};

use crate::{
    console::{Console, answer, answer_json},
    seal_check::refuse_rehearsal,
    shared_args::Format,
};

/// What to cite.
#[derive(Debug, Args)]
pub struct CiteArgs {
    /// Folder of a run, a spec file, or the name of a spec in the program (`specimen specs list`)
    #[arg(value_name = "RUN|SPEC")]
    pub what: PathBuf,
}

/// The answer, as `--format json` prints it.
#[derive(Serialize)]
struct Answer<'a> {
    schema: u32,
    works: Vec<Work<'a>>,
    /// What has no entry, a sentence each.
    notes: &'a [String],
}

/// A work, why it is there, and its entry.
#[derive(Serialize)]
struct Work<'a> {
    key: &'a str,
    reasons: &'a [String],
    bibtex: &'a str,
}

/// Prints the entries, each below a line that says why it is there.
pub(crate) fn cite(args: &CiteArgs, console: &Console) -> anyhow::Result<()> {
    let spec = spec_of(&args.what)?;
    let mut works = works_of(&spec)?;
    add_protocols(&spec, &mut works)?;
    match console.format() {
        Format::Human => answer(&works.bibtex()),
        Format::Json => {
            let line = |(work, reasons): (&'static Citation, _)| Work {
                key: work.key,
                reasons,
                bibtex: &work.bibtex,
            };
            answer_json(&Answer { schema: 1, works: works.works().map(line).collect(), notes: works.notes() })
        }
    }
}

/// The spec that a run was made by, with the metrics that were added later; or the spec itself.
fn spec_of(what: &Path) -> anyhow::Result<Spec> {
    if what.is_dir() {
        let run = RunDir::open(what)?;
        refuse_rehearsal(&run)?;
        let manifest: Manifest = read_document(&run.manifest())?;
        return serde_json::from_value(manifest.spec).with_context(|| {
            format!("{}: `spec` is none that this version reads", run.manifest().display())
        });
    }
    let name = what.to_string_lossy();
    let is_file = what.exists() || name.ends_with(".toml");
    if !is_file && bundled(&name).is_none() {
        let names = BUNDLED.iter().flat_map(|spec| [spec.name, last_part(spec.name)]);
        let near = nearest(&name, names);
        let near = near.first().map_or_else(String::new, |near| format!("did you mean the spec `{near}`? "));
        let why = format!(
            "no run is in this folder and no spec has this name; {near}`specimen specs list` names the specs"
        );
        fail!(Usage: "{name}: {why}");
    }
    Ok(SpecText::read(what)?.resolve()?)
}

/// Adds the tools whose recipes the metrics follow, and the networks that see the images.
fn add_protocols(spec: &Spec, works: &mut Bibliography) -> anyhow::Result<()> {
    for asked in spec.metrics.iter().filter_map(|metric| metric.protocol.as_ref()) {
        let (head, network) = if PairProtocol::is_meant(asked) {
            let protocol = PairProtocol::find(asked)?;
            (protocol.head().clone(), protocol.recipe().network().map(str::to_owned))
        } else {
            let protocol = Protocol::find(asked)?;
            (protocol.head().clone(), Some(protocol.recipe().fetched().to_owned()))
        };
        add_protocol(head.name(), head.cite(), works)?;
        let network = network.and_then(|network| entry(&network).ok());
        for needed in network.into_iter().flat_map(|network| network.with_needs()) {
            works.add(&needed.cite, &format!("network {}", needed.name))?;
        }
    }
    Ok(())
}

fn add_protocol(name: &str, cite: &[String], works: &mut Bibliography) -> anyhow::Result<()> {
    if cite.is_empty() {
        works.note(format!("protocol {name}: a file without `cite`; cite what its recipe is from"));
    }
    Ok(works.add(cite, &format!("protocol {name}"))?)
}
