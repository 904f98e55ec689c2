//! Commands that read a finished run first check the digests of the files they read against the seal of the run.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use specimen_foundation::{fail, failure, failure::FailureMessage};
use specimen_record::{
    FROM_A_COPY, Manifest, Part, RecordError, RunDir, has_list, mend_of, read_document, seal_complaints,
};

use crate::console::{Console, answer, answer_json};

/// Whether a run may be read although a digest differs from its seal.
#[derive(Debug, Args)]
pub struct SealArgs {
    /// Read a run although a file differs from its sealed digest; the output says so
    #[arg(long)]
    pub unverified: bool,
}

/// The differences from the seals of the runs that are read; empty unless `--unverified` was given.
#[derive(Debug, Default)]
pub(crate) struct Unverified {
    notes: Vec<String>,
}

impl Unverified {
    /// Checks `part` of each run.
    pub(crate) fn check<'f>(
        folders: impl IntoIterator<Item = &'f PathBuf>,
        part: Part,
        args: &SealArgs,
        console: &Console,
    ) -> anyhow::Result<Self> {
        let mut notes = Vec::new();
        for folder in folders {
            let run = RunDir::open(folder)?;
            refuse_rehearsal(&run)?;
            let complaints = seal_complaints(&run, part);
            let Some(first) = complaints.first() else {
                warn_of_no_list(&run, console)?;
                continue;
            };
            if !args.unverified {
                return Err(refusal(&run, &complaints).into());
            }
            notes.push(format!("not verified: {}: {}", folder.display(), said(complaints.len(), first)));
        }
        Ok(Self { notes })
    }

    /// `text`, after a line for each run that was not verified.
    pub(crate) fn text(&self, text: &str) -> String {
        self.notes.iter().map(|note| format!("{note}\n")).chain([text.to_owned()]).collect()
    }

    /// The same for Markdown.
    pub(crate) fn markdown(&self, text: &str) -> String {
        self.notes.iter().map(|note| format!("**{note}**\n\n")).chain([text.to_owned()]).collect()
    }

    /// Prints a text.
    pub(crate) fn answer(&self, text: &str) -> anyhow::Result<()> {
        answer(&self.text(text))
    }

    /// Prints a value, with a field `unverified` in each of its objects where something was not verified.
    pub(crate) fn answer_json<T: Serialize>(&self, value: &T) -> anyhow::Result<()> {
        if self.notes.is_empty() {
            return answer_json(value);
        }
        let mut value = serde_json::to_value(value)?;
        let mut mark = |value: &mut serde_json::Value| {
            if let Some(fields) = value.as_object_mut() {
                fields.insert("unverified".to_owned(), self.notes.clone().into());
            }
        };
        match value.as_array_mut() {
            Some(several) => several.iter_mut().for_each(&mut mark),
            None => mark(&mut value),
        }
        answer_json(&value)
    }
}

/// Refuses a rehearsal, whose models were narrow networks with made weights.
pub(crate) fn refuse_rehearsal(run: &RunDir) -> anyhow::Result<()> {
    let manifest: Manifest = read_document(&run.manifest())?;
    if manifest.is_rehearsal() {
        let why = format!(
            "{}: this run is a rehearsal by made weights, and none of its values is a result; make the run by `specimen run`",
            run.root().display()
        );
        fail!(Usage: "{why}");
    }
    Ok(())
}

/// Earlier versions sealed runs without a list.
fn warn_of_no_list(run: &RunDir, console: &Console) -> anyhow::Result<()> {
    let manifest: Manifest = read_document(&run.manifest())?;
    if manifest.sealed.is_some_and(|seal| !has_list(run, &seal)) {
        let run = run.root().display();
        console.warn(format!(
            "{run}: an earlier version sealed this run without checksums; its files are not verified"
        ));
    }
    Ok(())
}

/// The error that `complaints` about a run are.
pub(crate) fn refusal(run: &RunDir, complaints: &[RecordError]) -> FailureMessage {
    let (root, first) = (run.root().display(), &complaints[0]);
    let (said, mend) = (said(complaints.len(), first), mend_of(run, remedy(&first.to_string())));
    match said.ends_with(mend) {
        true => failure!(Missing: "{root}: {said}"),
        false => failure!(Missing: "{root}: {said}; {mend}"),
    }
}

fn said(n: usize, first: &RecordError) -> String {
    match n {
        1 => format!("1 complaint: {first}"),
        n => format!("{n} complaints, the first: {first}"),
    }
}

/// How to repair the damage that a complaint reports.
pub(crate) fn remedy(complaint: &str) -> &'static str {
    let image = "remove that image, if it is there, and continue with `run --resume`, which makes it again";
    let mends = [
        ("no record names this file", "move it elsewhere"),
        ("the image was changed", image),
        ("cannot read the pixels", image),
        ("remove the folder", "then continue with `run --resume`"),
        ("/lease.json", "`run --resume` makes it again"),
        ("/done.json", "continue with `run --resume`, which writes it again"),
        (
            "/shards/",
            "remove the folder of that shard and continue with `run --resume`, which makes it again",
        ),
        (
            "/checksums.json",
            "remove it, if it is there, and continue with `run --resume`, which writes it again",
        ),
        ("/metrics/", "continue with `run --resume`, which measures again"),
        ("/diagnostics/", "continue with `run --resume`, which makes them again"),
        ("/plan.json", "remove the file and continue with `run --resume`, which writes it again"),
        ("/merged/", "continue with `run --resume`, which merges again"),
        ("is not sealed", "continue with `run --resume`"),
    ];
    let found = mends.into_iter().find(|(place, _)| complaint.contains(place));
    found.map_or(FROM_A_COPY, |(_, mend)| mend)
}
