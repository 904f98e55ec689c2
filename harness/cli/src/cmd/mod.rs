//! The subcommands, one file each.

pub(crate) mod byte_progress;
pub(crate) mod cite;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod data;
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
mod plan_cuts;
pub(crate) mod protocols;
pub(crate) mod records;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod schema;
pub(crate) mod setting_args;
pub(crate) mod specs;
pub(crate) mod stats;

pub(crate) mod costs;
mod costs_page;
pub(crate) mod doctor;
mod doctor_gpu;
mod doctor_weights;
pub(crate) mod generate;
mod head_training;
pub(crate) mod import;
pub(crate) mod import_scores;
mod lossless;
pub(crate) mod merge;
mod plan_training;
pub(crate) mod quickstart;
pub(crate) mod rehearse;
mod rerun;
pub(crate) mod run;
pub(crate) mod score;
mod score_cells;
pub(crate) mod shard;
pub(crate) mod status;
pub(crate) mod train;
pub(crate) mod train_drafter;
pub(crate) mod tune;
pub(crate) mod verify;

use crate::{args::Command, console::Console};

/// Runs a subcommand to its end.
pub(crate) fn dispatch(command: &Command, console: &Console) -> anyhow::Result<()> {
    match command {
        Command::Quickstart(args) => quickstart::quickstart(args, console),
        Command::Run(args) => run::run(args, console),
        Command::Specs(command) => specs::specs(command, console),
        Command::Plan(args) => plan::plan(args, console),
        Command::Rehearse(args) => rehearse::rehearse(args, console),
        Command::Generate(args) => generate::generate(args, console),
        Command::Status(args) => status::status(args, console),
        Command::Merge(args) => merge::merge(args, console),
        Command::Verify(args) => verify::verify(args, console),
        Command::Score(args) => score::score(args, console),
        Command::Import(args) => import::import(args, console),
        Command::ImportScores(args) => import_scores::import_scores(args, console),
        Command::Cite(args) => cite::cite(args, console),
        Command::Report(args) => report::report(args, console),
        Command::Grid(args) => grid::grid(args, console),
        Command::Records(args) => records::records(args, console),
        Command::Compare(args) => compare::compare(args, console),
        Command::Reproduce(args) => reproduce::reproduce(args, console),
        Command::Gate(args) => gate::gate(args, console),
        Command::Tune(args) => tune::tune(args, console),
        Command::Metric(call) => metric::measure(call, console),
        Command::PairMetric(call) => pair_metric::measure(call, console),
        Command::Metrics(args) => metrics::metrics(args, console),
        Command::Protocols(args) => protocols::protocols(args, console),
        Command::Stats(args) => stats::stats(args, console),
        Command::Doctor(args) => doctor::doctor(args, console),
        Command::Costs(args) => costs::costs(args, console),
        Command::Data(command) => data::data(command, console),
        Command::Train(args) => train::train(args, console),
        Command::TrainDrafter(args) => train_drafter::train_drafter(args, console),
        Command::Convert(args) => convert::convert(args, console),
        Command::Completions(args) => completions::completions(args),
        Command::Man(args) => man::man(args, console),
        Command::Schema(args) => schema::schema(args),
        Command::Licences(args) => licences::licences(args, console),
        Command::Shard(command) => shard::shard(command),
    }
}
