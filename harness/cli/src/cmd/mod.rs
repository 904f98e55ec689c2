//! The subcommands, one file each.

pub(crate) mod byte_progress;
#[cfg(feature = "torch")]
pub(crate) mod check;
pub(crate) mod cite;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod data;
pub(crate) mod export;
pub(crate) mod gate;
pub(crate) mod grid;
pub(crate) mod licences;
pub(crate) mod man;
pub(crate) mod metric;
pub(crate) mod metric_args;
pub(crate) mod metrics;
mod overwrite;
pub(crate) mod pair_metric;
pub(crate) mod per_image_args;
pub(crate) mod plan;
#[cfg(feature = "torch")]
mod plan_cuts;
mod plan_devices;
pub(crate) mod protocols;
pub(crate) mod records;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod schema;
pub(crate) mod setting_args;
pub(crate) mod specs;
pub(crate) mod stats;
pub(crate) mod verify;

#[cfg(feature = "torch")]
pub(crate) mod costs;
#[cfg(feature = "torch")]
mod costs_page;
#[cfg(feature = "torch")]
pub(crate) mod doctor;
#[cfg(feature = "torch")]
mod doctor_gpu;
#[cfg(feature = "torch")]
mod doctor_weights;
#[cfg(feature = "torch")]
pub(crate) mod generate;
#[cfg(feature = "torch")]
mod head_training;
#[cfg(feature = "torch")]
pub(crate) mod import;
#[cfg(feature = "torch")]
pub(crate) mod import_scores;
#[cfg(feature = "torch")]
mod lossless;
#[cfg(feature = "torch")]
pub(crate) mod merge;
#[cfg(feature = "torch")]
mod plan_training;
#[cfg(feature = "torch")]
pub(crate) mod quickstart;
#[cfg(feature = "torch")]
pub(crate) mod rehearse;
#[cfg(feature = "torch")]
pub(crate) mod replay;
#[cfg(feature = "torch")]
mod rerun;
#[cfg(feature = "torch")]
pub(crate) mod run;
#[cfg(feature = "torch")]
pub(crate) mod score;
#[cfg(feature = "torch")]
mod score_cells;
#[cfg(feature = "torch")]
pub(crate) mod shard;
#[cfg(feature = "torch")]
pub(crate) mod status;
#[cfg(feature = "torch")]
pub(crate) mod train;
#[cfg(feature = "torch")]
pub(crate) mod train_drafter;
#[cfg(feature = "torch")]
pub(crate) mod tune;

use crate::{args::Command, console::Console};

/// Runs a subcommand to its end.
pub(crate) fn dispatch(command: &Command, console: &Console) -> anyhow::Result<()> {
    match command {
        #[cfg(feature = "torch")]
        Command::Quickstart(args) => quickstart::quickstart(args, console),
        #[cfg(feature = "torch")]
        Command::Run(args) => run::run(args, console),
        Command::Specs(command) => specs::specs(command, console),
        Command::Plan(args) => plan::plan(args, console),
        #[cfg(feature = "torch")]
        Command::Rehearse(args) => rehearse::rehearse(args, console),
        #[cfg(feature = "torch")]
        Command::Generate(args) => generate::generate(args, console),
        #[cfg(feature = "torch")]
        Command::Status(args) => status::status(args, console),
        #[cfg(feature = "torch")]
        Command::Merge(args) => merge::merge(args, console),
        Command::Verify(args) => verify::verify(args, console),
        #[cfg(feature = "torch")]
        Command::Check(args) => check::check(args, console),
        #[cfg(feature = "torch")]
        Command::Replay(args) => replay::replay(args, console),
        #[cfg(feature = "torch")]
        Command::Score(args) => score::score(args, console),
        #[cfg(feature = "torch")]
        Command::Import(args) => import::import(args, console),
        #[cfg(feature = "torch")]
        Command::ImportScores(args) => import_scores::import_scores(args, console),
        Command::Export(args) => export::export(args, console),
        Command::Cite(args) => cite::cite(args, console),
        Command::Report(args) => report::report(args, console),
        Command::Grid(args) => grid::grid(args, console),
        Command::Records(args) => records::records(args, console),
        Command::Compare(args) => compare::compare(args, console),
        Command::Reproduce(args) => reproduce::reproduce(args, console),
        Command::Gate(args) => gate::gate(args, console),
        #[cfg(feature = "torch")]
        Command::Tune(args) => tune::tune(args, console),
        Command::Metric(call) => metric::measure(call, console),
        Command::PairMetric(call) => pair_metric::measure(call, console),
        Command::Metrics(args) => metrics::metrics(args, console),
        Command::Protocols(args) => protocols::protocols(args, console),
        Command::Stats(args) => stats::stats(args, console),
        #[cfg(feature = "torch")]
        Command::Doctor(args) => doctor::doctor(args, console),
        #[cfg(feature = "torch")]
        Command::Costs(args) => costs::costs(args, console),
        Command::Data(command) => data::data(command, console),
        #[cfg(feature = "torch")]
        Command::Train(args) => train::train(args, console),
        #[cfg(feature = "torch")]
        Command::TrainDrafter(args) => train_drafter::train_drafter(args, console),
        Command::Convert(args) => convert::convert(args, console),
        Command::Completions(args) => completions::completions(args),
        Command::Man(args) => man::man(args, console),
        Command::Schema(args) => schema::schema(args),
        Command::Licences(args) => licences::licences(args, console),
        #[cfg(feature = "torch")]
        Command::Shard(command) => shard::shard(command),
    }
}
