//! `specimen tune`: the best setting of a spec inside a budget, by a race over prompts. Every rung is an ordinary run
//! below the folder of the tuning, so one that was killed is continued.

use std::path::{Path, PathBuf};

use clap::Args;
use specimen_experiments::{
    goal::Goal,
    names::BASELINE,
    prompts,
    spec::{Cell, DatasetSpec, Spec},
    warnings::Warning,
};
use specimen_foundation::text::counted;
use specimen_record::{RunDir, read_bounded, write_atomic};
use specimen_runner::plan::stored_plan::plan_of;
use specimen_verdicts::{
    VerdictError,
    tune::{
        MOST_LIMIT,
        level::Level,
        rung::place,
        sample::ALONE,
        schedule::Schedule,
        trial::{Evidence, Trial},
        tuning::{Confirmation, Rung, Setting, Tuning, Verdict},
    },
    values::RunValues,
};

use crate::{
    args::Format,
    cmd::rerun,
    console::{Console, answer, answer_json},
    exit::CliError,
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
    /// Prompts of the first rung, at least 6 [default: 6 or more, so that there are at most six rungs]
    #[arg(long, value_name = "N")]
    pub prompts: Option<usize>,
    /// Folder of the tuning, continued if it exists [default: results/runs/<name of the spec>.tune]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// The key of a schedule that says whether the first rung was asked for.
const GIVEN: &str = "is_first_given";
/// What a tuning is saved in.
const TRACE: &str = "tune.json";

/// Bytes of one, at most.
const MAX_BYTES: u64 = 1 << 28;

const AFTER_HELP: &str = "\
The settings are the cells of the spec except `ar`, multiplied by its axes and by --sweep. The spec's prompts \
(--limit) are cut into rungs and a third that is held out for the winner. Each rung judges by all prompts so far, \
about twice as many as the one before. It drops what misses a bound for certain, and what is worse for certain than \
the best setting that meets every bound. An undecided setting is never dropped, and an exact method never for a bound \
of quality. Where the prompts run out undecided, the number that would decide is printed. Written to the folder: \
tune.json, tune.csv, tune.md, and the runs. Ends with 1 where nothing meets the budget or held-out prompts do not \
confirm it.";

/// Tunes to the verdict.
pub(crate) fn tune(args: &TuneArgs, console: &Console) -> anyhow::Result<()> {
    let spec = args.spec.text(None)?.resolve()?;
    let goal = Goal::parse(&args.objective, &args.subject_to, &spec)?;
    let settings = settings(&spec, &goal)?;
    let out = args.out.clone().unwrap_or_else(|| default_out(&format!("{}.tune", spec.name)));
    let (plan, _) = plan_of(spec.clone(), data_root().as_ref())?;
    let schedule = Schedule::of(plan.prompts.len(), args.prompts)?;
    for warning in plan.warnings() {
        match warning {
            Warning::FewerPromptsThanLimit { .. } => console.warn(warning),
            _ => console.detail(warning),
        }
    }
    let mut tuner = Tuner { spec: &spec, goal: &goal, out: &out, console, rungs: Vec::new() };
    let mut tuning = Tuning::new(&spec.name, &goal, settings, schedule);
    check_same(&out, &tuning)?;
    tuning.n_available = n_available(&spec.dataset)?;
    tuning.is_part = spec.dataset.part.is_some();
    while tuning.wants_rung() {
        tuner.rung(&mut tuning)?;
        tuner.save(&tuning)?;
    }
    if let Some(best) = tuning.best() {
        let setting = best.trial.setting.clone();
        tuning.confirmation = Some(tuner.confirmation(&tuning, &setting)?);
    }
    tuning.conclude();
    tuner.save(&tuning)?;
    match console.format() {
        Format::Human => answer(&tuning.table().text(table_width()))?,
        Format::Json => answer_json(&tuning)?,
    }
    console.say(format!("trace: {}", out.join("tune.csv").display()));
    match tuning.verdict {
        Some(Verdict::Confirmed { .. }) => Ok(()),
        _ => Err(CliError::Mismatch(tuning.said()).into()),
    }
}

/// Prompts that a dataset has, whatever the spec takes of them; `None` where it has as many as any `--limit` that is advised.
fn n_available(dataset: &DatasetSpec) -> anyhow::Result<Option<usize>> {
    // A seed chooses from the dataset as it is; without one, a generated dataset has as many as are asked for.
    let limit = if dataset.subset_seed.is_some() { None } else { Some(MOST_LIMIT) };
    let all = DatasetSpec { limit, subset_seed: None, part: None, ..dataset.clone() };
    let n = prompts::open(&all, data_root().as_ref())?.n_prompts();
    Ok(Some(n).filter(|n| *n < MOST_LIMIT))
}

/// The tuning that was saved in `folder`; `None` where there is none.
pub(crate) fn saved(folder: &Path) -> anyhow::Result<Option<Tuning>> {
    let path = folder.join(TRACE);
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = read_bounded(&path, MAX_BYTES)?;
    let tuning = serde_json::from_slice(&bytes).map_err(|error| unreadable(&path, &error))?;
    Ok(Some(tuning))
}

/// A trace that is damaged, or of another version of the program. The runs below it hold all that was measured.
fn unreadable(path: &Path, error: &serde_json::Error) -> CliError {
    CliError::Missing(format!(
        "{}: no tuning of this version of the program: {error}; remove the file and run the same `tune` again, which takes \
         the runs that are there",
        path.display()
    ))
}

/// Refuses a folder with another tuning, whose answer would be lost.
fn check_same(out: &Path, tuning: &Tuning) -> anyhow::Result<()> {
    let path = out.join(TRACE);
    if !path.is_file() {
        return Ok(());
    }
    let bytes = read_bounded(&path, MAX_BYTES)?;
    let before: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|error| unreadable(&path, &error))?;
    let mut now = serde_json::to_value(tuning)?;
    // The traces of earlier programs do not say who chose the first rung.
    if let (None, Some(schedule)) = (before["schedule"].get(GIVEN), now["schedule"].as_object_mut()) {
        schedule.remove(GIVEN);
    }
    let differing: Vec<&str> = [
        ("name", "the name of the spec"),
        ("objective", "the objective"),
        ("budget", "the bounds"),
        ("settings", "the settings"),
        ("schedule", "the prompts (--limit, --prompts)"),
    ]
    .into_iter()
    .filter(|(key, _)| before[key] != now[key])
    .map(|(_, what)| what)
    .collect();
    if differing.is_empty() {
        return Ok(());
    }
    let differing = differing.join(", ");
    Err(CliError::Usage(format!(
        "{} has another tuning; it differs in {differing}; choose another folder with --out",
        out.display()
    ))
    .into())
}

/// The cells to choose from. Each needs its baseline in the spec where the goal speaks of it.
fn settings(spec: &Spec, goal: &Goal) -> anyhow::Result<Vec<Setting>> {
    let cells = spec.cells.iter().filter(|cell| cell.base != BASELINE);
    if cells.clone().next().is_none() {
        return Err(VerdictError::NothingToTune.into());
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
                return Err(CliError::Spec(why).into());
            }
            check_timed(spec, goal, cell)?;
            if goal.needs_baseline() && baseline(spec, cell).is_none() {
                let why = format!(
                    "cell `{}` has no baseline: add a [[cell]] named `{BASELINE}` of its model and sampling, or take an \
                     objective and bounds that need none",
                    cell.name
                );
                return Err(CliError::Spec(why).into());
            }
            Ok(Setting { name: cell.name.clone(), method: cell.described() })
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
        return Err(CliError::Spec(why).into());
    }
    Ok(())
}

/// The plain cell of the same model and sampling, timed or not.
fn baseline<'s>(spec: &'s Spec, cell: &Cell) -> Option<&'s Cell> {
    let is_alike = |other: &&Cell| other.model == cell.model && other.sampling == cell.sampling;
    spec.cells.iter().filter(|other| other.base == BASELINE).find(is_alike)
}

/// What all runs of a tuning share.
struct Tuner<'a> {
    spec: &'a Spec,
    goal: &'a Goal,
    out: &'a Path,
    console: &'a Console,
    /// The runs of the rungs so far.
    rungs: Vec<RunValues>,
}

impl Tuner<'_> {
    /// Runs the next rung, and places its settings.
    fn rung(&mut self, tuning: &mut Tuning) -> anyhow::Result<()> {
        let at = tuning.rungs.len();
        let (run, prompts) = (format!("rung-{}", at + 1), tuning.schedule.prompts(at));
        let settings = tuning.left();
        self.console.say(format!(
            "rung {} of at most {}: {} on {}",
            at + 1,
            tuning.schedule.n_rungs(),
            counted(settings.len(), "setting"),
            counted(prompts[1] - prompts[0], if at == 0 { "prompt" } else { "further prompt" })
        ));
        let values = self.run(&run, &settings, prompts)?;
        let (result_digest, n_images) = (digest(&values), n_images(&values));
        self.rungs.push(values);
        let read = |setting: &&str| Evidence::read(&self.rungs, self.goal, setting, &tuning.level());
        let found = settings.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        if self.goal.higher_is_better.is_none() {
            let objective = &self.goal.objective;
            let why = || {
                CliError::Usage(format!(
                    "of `{objective}` neither more nor less is better; take another objective"
                ))
            };
            let direction = self.rungs.last().and_then(|values| Trial::direction(values, objective));
            tuning.higher_is_better = direction.ok_or_else(why)?;
        }
        let last = self.rungs.last();
        tuning.is_distance = last.is_some_and(|values| Trial::is_distance(values, &self.goal.objective));
        let trials = place(found, &tuning.round())?;
        tuning.rungs.push(Rung { run, result_digest, prompts, n_images, trials });
        Ok(())
    }

    /// Runs the chosen setting on the prompts that no rung had.
    fn confirmation(&self, tuning: &Tuning, setting: &str) -> anyhow::Result<Confirmation> {
        let prompts = tuning.schedule.held_out();
        self.console.say(format!("held out: `{setting}` on {}", counted(prompts[1] - prompts[0], "prompt")));
        let run = "held-out".to_owned();
        let values = self.run(&run, &[setting], prompts)?;
        let (result_digest, n_images) = (digest(&values), n_images(&values));
        let trial = Evidence::read(
            &[values],
            self.goal,
            setting,
            &Level::fixed(ALONE).judging(prompts[1] - prompts[0]),
        )?
        .trial;
        let standing = trial.standing();
        Ok(Confirmation { run, result_digest, prompts, n_images, trial, standing })
    }

    /// Makes, continues or takes the run of these settings, with their baselines, on a part of the prompts.
    fn run(&self, name: &str, settings: &[&str], [from, to]: [usize; 2]) -> anyhow::Result<RunValues> {
        let mut spec = self.spec.clone();
        let chosen: Vec<&Cell> =
            self.spec.cells.iter().filter(|cell| settings.contains(&cell.name.as_str())).collect();
        let wanted = |cell: &Cell| {
            let is_theirs = |chosen: &&Cell| baseline(self.spec, chosen).is_some_and(|b| b.name == cell.name);
            settings.contains(&cell.name.as_str()) || chosen.iter().any(is_theirs)
        };
        spec.cells.retain(wanted);
        // They speak about cells that may be gone, and a tuning reads neither.
        spec.published.clear();
        spec.expect.clear();
        let start = self.spec.dataset.part.map_or(0, |part| part[0]);
        spec.dataset.part = Some([start + from, start + to]);
        spec.name = format!("{}.{name}", self.spec.name);
        let folder = rerun::run(spec, &self.out.join(name), self.console)?;
        Ok(RunValues::read(&RunDir::open(folder)?)?)
    }

    fn save(&self, tuning: &Tuning) -> anyhow::Result<()> {
        write_atomic(&self.out.join(TRACE), serde_json::to_string_pretty(tuning)?.as_bytes())?;
        write_atomic(&self.out.join("tune.csv"), tuning.csv()?.as_bytes())?;
        write_atomic(&self.out.join("tune.md"), tuning.table().markdown().as_bytes())?;
        Ok(())
    }
}

fn digest(values: &RunValues) -> String {
    values.summary.result_digest.as_str().to_owned()
}

fn n_images(values: &RunValues) -> u64 {
    values.summary.cells.iter().map(|cell| cell.n_images).sum()
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
            (DatasetSpec { subset_seed: Some(1), ..scenes.clone() }, Some(2000)),
            (DatasetSpec { part: Some([2, 9]), ..scenes }, None),
            (DatasetSpec { limit: Some(2), ..DatasetSpec::whole("unconditional", None) }, None),
            (DatasetSpec::whole("cascade-figures", None), Some(31)),
            (DatasetSpec::whole(file.path().to_str().unwrap(), None), Some(3)),
        ];
        for (dataset, expected) in cases {
            assert_eq!(n_available(&dataset).unwrap(), expected, "{dataset:?}");
        }
    }
}
