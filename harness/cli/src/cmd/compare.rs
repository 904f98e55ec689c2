//! `specimen compare`: two runs, paired prompt by prompt.

use std::path::PathBuf;

use clap::{Args, builder::PossibleValuesParser};
use specimen_foundation::{failure, failure::FailureMessage};
use specimen_record::{Mix, Part, RunDir};
use specimen_report::verdicts::{
    compare::{
        cell_pair::cell_pair,
        comparison::{Options, compare as compare_values},
    },
    values::RunValues,
};

use crate::{
    console::Console,
    seal_check::{SealArgs, Unverified},
    shared_args::Format,
    table_width::table_width,
};

/// What to compare.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Folder of the first run
    pub a: PathBuf,
    /// Folder of the second; the same folder compares cells of one run
    pub b: PathBuf,
    /// Cells to compare, as in `naive=cascade` or `casc[tau_pos=0.85]=naive`; may be repeated [default: those of one name]
    #[arg(long, value_name = "A=B")]
    pub cell: Vec<String>,
    /// Compare although this differs
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = PossibleValuesParser::new(Mix::ALL.map(Mix::name)))]
    pub mix: Vec<String>,
    /// How the table is written
    #[arg(long, value_enum, default_value_t = Layout::Terminal)]
    pub layout: Layout,
    #[command(flatten)]
    pub seal: SealArgs,
}

/// A way to write a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Layout {
    /// For a terminal.
    Terminal,
    /// Markdown.
    Markdown,
    /// LaTeX with booktabs.
    Latex,
    /// HTML.
    Html,
    /// CSV.
    Csv,
}

impl Layout {
    /// Lays a table out.
    pub(crate) fn of(self, table: &specimen_report::table::Table) -> String {
        match self {
            Self::Terminal => table.text(table_width()),
            Self::Markdown => table.markdown(),
            Self::Latex => table.latex(),
            Self::Html => table.html(),
            Self::Csv => table.csv(),
        }
    }
}

/// Compares the runs and prints the table.
pub(crate) fn compare(args: &CompareArgs, console: &Console) -> anyhow::Result<()> {
    let unverified = Unverified::check([&args.a, &args.b], Part::Values, &args.seal, console)?;
    let (a, b) = (RunValues::read(&RunDir::open(&args.a)?)?, RunValues::read(&RunDir::open(&args.b)?)?);
    let cells = args.cell.iter().map(|pair| {
        let named = cell_pair(pair, &a.summary, &b.summary);
        named.map_err(|why| failure!(Usage: "--cell {pair}: {why}"))
    });
    let options = Options {
        cells: cells.collect::<Result<_, FailureMessage>>()?,
        mix: args.mix.iter().filter_map(|name| Mix::named(name)).collect(),
    };
    let found = compare_values(&a, &b, &options)?;
    let is_csv = matches!((console.format(), args.layout), (Format::Human, Layout::Csv));
    // Every other form of the answer has it.
    for refused in found.refused.iter().filter(|_| is_csv) {
        console.warn(format!("not compared: {} of {}: {}", refused.measure, refused.cell, refused.why));
    }
    match console.format() {
        Format::Human => unverified.answer(&args.layout.of(&found.table())),
        Format::Json => unverified.answer_json(&found),
    }
}
