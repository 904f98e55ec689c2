//! `specimen tune`: the best setting of a spec, or of a run that is there, inside a budget.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use specimen_experiments::{
    goal::Goal,
    names::BASELINE,
    prompts,
    spec::{Cell, DatasetSpec, Spec},
};
use specimen_foundation::{fail, failure};
use specimen_record::{Manifest, RunDir, read_document, write_atomic};
use specimen_report::{verdicts::tune::tuning::Tuning, verdicts::values::RunValues};

use crate::{
    cmd::rerun,
    console::{Console, answer, answer_json},
    shared_args::Format,
    spec_args::{SpecArgs, data_root, default_out},
    table_width::table_width,
};

/// What to look for, and among what.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct TuneArgs {
    #[command(flatten)]
    pub spec: SpecArgs,
    /// What is to be as good as it can be: speedup, nfe, tokens_per_forward, …, or a metric of the spec
    #[arg(long, value_name = "MEASURE")]
    pub objective: String,
    /// What has to be kept, as in `fid<=ar+0.5,clip>=ar-0.002`: numbers, or relative to the baseline; may be repeated
    #[arg(long, value_name = "BOUND,BOUND…")]
    pub subject_to: Vec<String>,
    /// Folder of the run, continued if it exists [default: results/runs/<name of the spec>]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// The largest `--limit` that is advised.
const MOST_LIMIT: usize = 1000;

const AFTER_HELP: &str = "\
The settings are the cells of the spec except `ar`, multiplied by its axes and by --sweep. All of them run on all prompts; \
the folder of a finished run in the place of the spec is judged as it is. A setting meets the bounds, misses one, or is not \
decided, with the prompts that would decide it. The best is that of those which meet every bound for certain. \
tune.csv in the folder of the report has every number. Ends with 1 where no setting meets every bound.";

/// Tunes to the answer.
pub(crate) fn tune(args: &TuneArgs, console: &Console) -> anyhow::Result<()> {
    let given = &args.spec.spec;
    let (spec, run) = match given.join("manifest.json").is_file() {
        true => (spec_of_run(args)?, Some(given.clone())),
        false => (args.spec.text(None)?.resolve()?, None),
    };
    let goal = Goal::parse(&args.objective, &args.subject_to, &spec)?;
    let settings = settings(&spec, &goal)?;
    let dataset = spec.dataset.clone();
    let run = match run {
        Some(run) => run,
        None => {
            let out = args.out.clone().unwrap_or_else(|| default_out(&spec.name));
            rerun::run(spec, &out, console)?
        }
    };
    let run = RunDir::open(run)?;
    let mut tuning = Tuning::of(&RunValues::read(&run)?, &goal, &settings)?;
    tuning.n_available = n_available(&dataset)?;
    let csv = run.report().join("tune.csv");
    write_atomic(&csv, tuning.csv()?.as_bytes())?;
    match console.format() {
        Format::Human => answer(&tuning.table().text(table_width()))?,
        Format::Json => answer_json(&tuning)?,
    }
    console.say(format!("every number: {}", csv.display()));
    match tuning.best {
        Some(_) => Ok(()),
        None => Err(failure!(Mismatch: "{}", tuning.said()).into()),
    }
}

/// The spec of the run in the place of a spec, which is taken as it is.
fn spec_of_run(args: &TuneArgs) -> anyhow::Result<Spec> {
    let SpecArgs { spec: folder, set, sweep, limit } = &args.spec;
    if !set.is_empty() || !sweep.is_empty() || limit.is_some() || args.out.is_some() {
        let why = format!(
            "{} is a run, which is judged as it is: leave out --set, --sweep, --limit and --out, or name the spec",
            folder.display()
        );
        fail!(Usage: "{why}");
    }
    let manifest: Manifest = read_document(&RunDir::open(folder)?.manifest())?;
    serde_json::from_value(manifest.spec).with_context(|| {
        format!("{}: another version of the program wrote the manifest's spec", folder.display())
    })
}

/// Prompts that a dataset has, whatever the spec takes of them; `None` where it has as many as any `--limit` that is advised.
fn n_available(dataset: &DatasetSpec) -> anyhow::Result<Option<usize>> {
    if let Some([from, to]) = dataset.part {
        return Ok(Some(to - from));
    }
    // A seed chooses from the dataset as it is; without one, a generated dataset has as many as are asked for.
    let limit = if dataset.subset_seed.is_some() { None } else { Some(MOST_LIMIT) };
    let all = DatasetSpec { limit, subset_seed: None, part: None, ..dataset.clone() };
    let n = prompts::open(&all, data_root().as_ref())?.n_prompts();
    Ok(Some(n).filter(|n| *n < MOST_LIMIT))
}

/// The cells to choose from. Each needs its baseline in the spec where the goal speaks of it.
fn settings(spec: &Spec, goal: &Goal) -> anyhow::Result<Vec<(String, String)>> {
    let cells = spec.cells.iter().filter(|cell| cell.base != BASELINE);
    if cells.clone().next().is_none() {
        fail!(Spec: "the spec has no cell but the baseline, so there is nothing to choose from; add cells, \
            [axes] or --sweep");
    }
    cells
        .map(|cell| {
            let own = cell.external.as_ref().and_then(|external| external.baseline.as_deref());
            if let Some(own) = own.filter(|own| *own != BASELINE) {
                let why = format!(
                    "cell `{}` is compared with `{own}` (external.baseline), others with `{BASELINE}`: a tuning ranks settings \
                     of one baseline; leave out `external.baseline`, or tune such cells in a spec of their own",
                    cell.name
                );
                fail!(Spec: "{why}");
            }
            check_timed(spec, goal, cell)?;
            if goal.needs_baseline() && baseline(spec, cell).is_none() {
                let why = format!(
                    "cell `{}` has no baseline: add a [[cell]] named `{BASELINE}` of its model and sampling, or take an \
                     objective and bounds that need none",
                    cell.name
                );
                fail!(Spec: "{why}");
            }
            Ok((cell.name.clone(), cell.described()))
        })
        .collect()
}

/// Refuses a goal of times that a cell, or the baseline of its speedup, will not have.
fn check_timed(spec: &Spec, goal: &Goal, cell: &Cell) -> anyhow::Result<()> {
    for measure in goal.timed_measures() {
        let untimed = match (cell.timed, measure.starts_with("speedup"), baseline(spec, cell)) {
            (false, _, _) => &cell.name,
            (true, true, Some(plain)) if spec.baseline_of(cell).is_none() => &plain.name,
            _ => continue,
        };
        let why = format!(
            "cell `{}` will have no {measure}: cell `{untimed}` is untimed; leave out its `timed = false`, or take an \
             objective and bounds that need no times",
            cell.name
        );
        fail!(Spec: "{why}");
    }
    Ok(())
}

/// The plain cell of the same model and sampling, timed or not.
fn baseline<'s>(spec: &'s Spec, cell: &Cell) -> Option<&'s Cell> {
    let is_alike = |other: &&Cell| other.model == cell.model && other.sampling == cell.sampling;
    spec.cells.iter().filter(|other| other.base == BASELINE).find(is_alike)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

    use super::*;

    #[test]
    fn as_many_prompts_as_a_dataset_has_are_counted_where_they_are_too_few_for_some_limit() {
        let file = tempfile::NamedTempFile::with_suffix(".txt").unwrap();
        std::fs::write(file.path(), "a cat\na dog\na red circle\n").unwrap();
        let scenes = DatasetSpec { limit: Some(12), ..DatasetSpec::whole("scenes-val", None) };
        let cases = [
            (scenes.clone(), None),
            (DatasetSpec { subset_seed: Some(1), ..scenes.clone() }, None),
            (DatasetSpec { part: Some([2, 9]), ..scenes }, Some(7)),
            (DatasetSpec { limit: Some(2), ..DatasetSpec::whole("unconditional", None) }, None),
            (DatasetSpec::whole("cascade-figures", None), Some(31)),
            (DatasetSpec::whole(file.path().to_str().unwrap(), None), Some(3)),
        ];
        for (dataset, expected) in cases {
            assert_eq!(n_available(&dataset).unwrap(), expected, "{dataset:?}");
        }
    }
}
