//! `specimen import`: images of another program and a table of their times, as a run.

use std::path::PathBuf;

use clap::Args;
use specimen_datasets::{CaptionPolicy, PromptSet};
use specimen_experiments::{
    prompts,
    spec::{DatasetSpec, Dtype, FilterOrder, ModelSpec, Sampling},
};
use specimen_foundation::{failure, failure::FailureMessage, text::counted};
use specimen_record::{RunDir, UNKNOWN_DEVICE};
use specimen_runner::{
    driver::events::DriverEvent,
    import::{Import, import as take_in},
    process::stop_request::StopRequest,
};

use crate::{
    cmd::report,
    console::Console,
    progress::Progress,
    provenance,
    spec_args::{data_root, default_out},
};

/// What to import, and its settings. Nothing about images of another program is guessed, so most settings must be given.
#[derive(Debug, Args)]
#[command(after_help = TABLE)]
pub struct ImportArgs {
    /// Folder of images
    pub folder: PathBuf,
    /// CSV with a row for each image
    #[arg(long, value_name = "FILE")]
    pub table: PathBuf,
    /// Name of the run, and of its folder
    #[arg(long)]
    pub name: String,
    /// Cell of rows without one; a cell called `ar` is the baseline of the others
    #[arg(long, value_name = "NAME", default_value = "imported")]
    pub cell: String,
    /// The model that made the images
    #[arg(long, value_name = "NAME")]
    pub model: String,
    /// Element type that it computed in: f32, bf16 or f16
    #[arg(long, value_parser = dtype)]
    pub dtype: Dtype,
    /// Temperature; 0 is greedy
    #[arg(long)]
    pub temperature: f64,
    /// Tokens kept by top-k; 0 for all
    #[arg(long, value_name = "K")]
    pub top_k: u32,
    /// Probability mass kept by top-p; 1 for all
    #[arg(long, value_name = "P")]
    pub top_p: f64,
    /// Scale of classifier-free guidance; 1 for none
    #[arg(long, value_name = "S")]
    pub guidance: f64,
    /// Dataset that `prompt_id` refers to: its name or a prompt file
    #[arg(long, value_name = "NAME|FILE")]
    pub dataset: Option<String>,
    /// Which caption of an image that has several: longest, first, sjd or all
    #[arg(long, value_name = "RULE", requires = "dataset", value_parser = caption)]
    pub caption: Option<CaptionPolicy>,
    /// Folder of the run [default: results/runs/NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub grid: report::GridArgs,
}

const TABLE: &str = "\
Columns of the table: `file` or `id` (path inside the folder, or the number in its name), `prompt` or `prompt_id`, \
`seconds`; and, if known, `cell`, `tokens` (separated by blanks), `forwards`, `seed`. Each image has \
one row.
The run is marked as imported wherever it is shown: its times were measured by another program, and are never compared \
with times of this one.";

/// Imports the images, writes tables and figures, and prints the table.
pub(crate) fn import(args: &ImportArgs, console: &Console) -> anyhow::Result<()> {
    let stop = StopRequest::on_signals()?;
    specimen_weights::use_threads(1);
    let dataset = args.dataset()?;
    let out = args.out.clone().unwrap_or_else(|| default_out(&args.name));
    let asked = Import {
        folder: &args.folder,
        table: &args.table,
        name: &args.name,
        cell: &args.cell,
        model: ModelSpec {
            name: args.model.clone(),
            dtype: args.dtype,
            device: UNKNOWN_DEVICE.to_owned(),
            weights: None,
            three_way_guidance: false,
            graphs: None,
            batch: None,
            heads: std::collections::BTreeMap::new(),
            rehearsed: None,
        },
        sampling: args.sampling()?,
        dataset: dataset.as_ref().map(|(spec, prompts)| (spec, prompts)),
        out: &out,
        argv: provenance::argv(),
        git: provenance::sources(),
    };
    let mut progress = Progress::new(console, &[]);
    let outcome = take_in(&asked, &stop, &mut |stage: DriverEvent| progress.on(&stage));
    drop(progress);
    let n_items = outcome?.n_items;
    console.say(format!("{} imported into {}", counted(n_items, "image"), out.display()));
    // It has no scores to choose from yet, and no counts to project.
    let look = report::Look { quality: None, costs: None, grid: args.grid };
    let written = report::write(&RunDir::open(&out)?, &look, &[], console)?;
    report::show(&written, console)
}

impl ImportArgs {
    fn dataset(&self) -> anyhow::Result<Option<(DatasetSpec, PromptSet)>> {
        let Some(name) = &self.dataset else { return Ok(None) };
        let dataset = DatasetSpec::whole(name, self.caption);
        let prompts = prompts::open(&dataset, data_root().as_ref())?;
        Ok(Some((dataset, prompts)))
    }

    fn sampling(&self) -> Result<Sampling, FailureMessage> {
        let Self { temperature, top_k, top_p, guidance, .. } = *self;
        let bad = |name: &str, expected: &str, found: f64| {
            Err(failure!(Usage: "--{name} is {found}, expected {expected}"))
        };
        if !(temperature.is_finite() && temperature >= 0.0) {
            return bad("temperature", "at least 0", temperature);
        }
        if !(top_p > 0.0 && top_p <= 1.0) {
            return bad("top-p", "above 0, at most 1", top_p);
        }
        if !(guidance.is_finite() && guidance >= 0.0) {
            return bad("guidance", "at least 0", guidance);
        }
        Ok(Sampling {
            temperature,
            top_k,
            top_p,
            guidance,
            filter_order: FilterOrder::TopKThenTopP,
            coupled: false,
        })
    }
}

fn dtype(text: &str) -> Result<Dtype, String> {
    let found = Dtype::ALL.into_iter().find(|(name, _)| *name == text);
    found.map(|(_, dtype)| dtype).ok_or_else(|| "expected f32, bf16 or f16".to_owned())
}

fn caption(text: &str) -> Result<CaptionPolicy, String> {
    let found = CaptionPolicy::ALL.into_iter().find(|policy| policy.name() == text);
    found.ok_or_else(|| format!("expected one of {}", CaptionPolicy::ALL.map(CaptionPolicy::name).join(", ")))
}
