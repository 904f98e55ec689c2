//! `specimen export`: the images of a run for a benchmark's script.

use std::path::PathBuf;

use clap::{Args, builder::PossibleValuesParser};
use serde::Serialize;
use specimen_exchange::{EXPORTERS, Exported, exporter};
use specimen_foundation::text::counted;
use specimen_record::{Part, RunDir};

use crate::{
    args::Format,
    console::{Console, answer},
    seal_check::{SealArgs, Unverified},
    spec_args::data_root,
};

/// Which run, for whom, and where to.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Folder of a finished run
    pub run: PathBuf,
    /// The benchmark: geneval (images for GenEval's script), dpg (grids of images for DPG-Bench's script)
    #[arg(long = "for", value_name = "TOOL", value_parser = PossibleValuesParser::new(EXPORTERS.iter().map(|tool| tool.name)))]
    pub tool: String,
    /// Write into this folder, which must be new or empty
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    #[command(flatten)]
    pub seal: SealArgs,
}

/// The answer, as `--format json` prints it.
#[derive(Serialize)]
struct Answer<'a> {
    schema: u32,
    tool: &'a str,
    out: &'a PathBuf,
    n_files: usize,
    /// What to do with the files, said from their folder.
    next: &'a str,
    /// What to know of them.
    notes: Vec<String>,
}

/// Writes the files, and says what to do with them.
pub(crate) fn export(args: &ExportArgs, console: &Console) -> anyhow::Result<()> {
    let tool = exporter(&args.tool).expect("clap takes only names of exporters");
    let unverified = Unverified::check([&args.run], Part::Values, &args.seal, console)?;
    let run = RunDir::open(&args.run)?;
    let Exported { files, notes } = specimen_exchange::export(&run, tool, &args.out, data_root().as_ref())?;
    let n_files = files.len();
    let (out, next) = (args.out.display(), tool.next);
    match console.format() {
        Format::Human => {
            let files = counted(n_files, "file");
            let notes: String = notes.iter().map(|note| format!("{note}\n")).collect();
            answer(&unverified.text(&format!("{out}: {files}: {}\n{notes}There: {next}\n", tool.what)))
        }
        Format::Json => unverified.answer_json(&Answer {
            schema: 1,
            tool: tool.name,
            out: &args.out,
            n_files,
            next,
            notes,
        }),
    }
}
