//! `specimen rehearse`: a whole spec with made weights before anything is spent, and one list of all that would stop it.
//!
//! The cells run with narrow networks of the same families on the first prompts of the spec; then its metrics and
//! diagnostics are tried on these images, and its claims, memory and disk space are compared with its size. The run is
//! marked as a rehearsal: no command takes its values for results.

mod stand_ins;

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::Context;
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use specimen_datasets::{DatasetError, PromptSet, catalog::ENTRIES, data_root::DataRoot};
use specimen_experiments::{
    error::PlanError,
    estimate::{Estimate, Missing},
    plan::Plan,
    prompts,
    spec::{Cell, DatasetSpec, Spec},
};
use specimen_foundation::{fail, failure::FailureKind, failure::FailureMessage, text::counted};
use specimen_record::{Manifest, Record, RunDir, Status, free_bytes, read_document, read_rows};
use specimen_report::verdicts::reproduce::decidable::{Outlook, prospects};
use specimen_runner::{
    diagnostics::look,
    error::RunError,
    images::load::Models,
    plan::stored_plan::plan_of,
    process::stop_request::StopRequest,
    score::{CellImages, Scorer},
};
use specimen_weights::out_of_memory::in_units;

use self::stand_ins::StandIn;
use crate::{
    cmd::rerun,
    console::{Console, answer, answer_json, message_of},
    exit::kind_of,
    free_space, requirements,
    shared_args::Format,
    spec_args::{SpecArgs, data_root, default_out},
};

/// Tokens along an edge of a narrow picture.
const SIDE: u32 = 6;
/// The prompts that take the place of those that are not there; they are in the program.
const EMBEDDED_PROMPTS: &str = "cascade-figures";

/// What to rehearse, and how.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct RehearseArgs {
    #[command(flatten)]
    pub spec: SpecArgs,
    /// Prompts of the rehearsal, the first of the spec
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub prompts: u32,
    /// Folder of the rehearsal; an earlier one in it is replaced [default: results/rehearsals/<name of the spec>]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Models with published weights are narrow networks here: same family, tokens and heads, weights from a seed. `costs --made` \
times them at full width. Networks of metrics that are not on this machine get made weights.
The list decides the exit code: 3 a refused cell, else 4 a missing file, else 5 a cell, metric or diagnostic that failed, \
else 6 too little memory or disk space, else 1 a claim that no run of this spec can decide; 0 for an empty list.
No command takes the rehearsal for a run of the spec.";

/// Kinds of findings, the one that decides the exit code first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// A cell that no plan takes.
    Refused,
    /// A file that is not on this machine.
    Missing,
    /// A cell, metric or diagnostic that failed in the rehearsal.
    Failed,
    /// Too little memory or disk space.
    TooLittle,
    /// A claim that a run of this spec cannot decide.
    Undecidable,
}

/// The kinds in their order: as the list names each, and that of its failure.
const KINDS: [(&str, FailureKind); 5] = [
    ("refused", FailureKind::Spec),
    ("missing", FailureKind::Missing),
    ("failed", FailureKind::Failed),
    ("too little", FailureKind::Environment),
    ("undecidable", FailureKind::Mismatch),
];

/// Something that would have stopped the run, or left a question of it open.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Finding {
    kind: Kind,
    /// What it is about.
    what: String,
    /// Why, and what to do.
    remedy: String,
}

/// The answer, as `--format json` prints it.
#[derive(Default, Serialize)]
struct Answer {
    schema: u32,
    /// Name of the spec.
    name: String,
    /// Prompts that the spec asks for; 0 where they are unknown.
    n_prompts: usize,
    /// `name`, `n_images` and `n_failed` of each cell.
    cells: Vec<Value>,
    /// `name` and `n_values` of each metric and diagnostic, and what is not the spec's (`stands_in`).
    tried: Vec<Value>,
    findings: Vec<Finding>,
}

/// A rehearsal under way.
struct Rehearsal<'a> {
    args: &'a RehearseArgs,
    console: &'a Console,
    root: Option<DataRoot>,
    out: PathBuf,
    answer: Answer,
}

/// Rehearses, and prints what was found. Any finding is an error.
pub(crate) fn rehearse(args: &RehearseArgs, console: &Console) -> anyhow::Result<()> {
    let spec = args.spec.text(None)?.resolve()?;
    let default = || ["results", "rehearsals", spec.name.as_str()].iter().collect();
    let out = std::path::absolute(args.out.clone().unwrap_or_else(default))?;
    let begun = Answer { schema: 1, name: spec.name.clone(), ..Answer::default() };
    let mut rehearsal = Rehearsal { args, console, root: data_root(), out, answer: begun };
    rehearsal.of(&spec)?;
    let mut found = rehearsal.answer;
    found.findings.sort_by_key(|finding| finding.kind);
    match console.format() {
        Format::Json => answer_json(&found)?,
        Format::Human => answer(&list(&found.findings))?,
    }
    Ok(checked(&found.findings)?)
}

impl Rehearsal<'_> {
    fn find(&mut self, kind: Kind, what: impl Into<String>, remedy: impl Into<String>) {
        let finding = Finding { kind, what: what.into(), remedy: remedy.into() };
        if !self.answer.findings.contains(&finding) {
            self.answer.findings.push(finding);
        }
    }

    fn of(&mut self, spec: &Spec) -> anyhow::Result<()> {
        let (set, dataset) = match prompts::open(&spec.dataset, self.root.as_ref()) {
            Err(DatasetError::Absent { what, remedy }) => {
                self.find(Kind::Missing, format!("prompts: {what}"), remedy);
                let why =
                    format!("the prompts of `{EMBEDDED_PROMPTS}` take the place of those that are missing");
                self.console.warn(why);
                let dataset = DatasetSpec::whole(EMBEDDED_PROMPTS, None);
                (prompts::open(&dataset, None)?, dataset)
            }
            found => (found?, spec.dataset.clone()),
        };
        let n_prompts = if dataset == spec.dataset { set.n_prompts() } else { expected_prompts(spec) };
        self.answer.n_prompts = n_prompts;
        for Missing { what, remedy, .. } in requirements::missing(spec, self.root.as_ref()) {
            self.find(Kind::Missing, what, remedy);
        }
        let kept = self.accepted(Spec { dataset, ..spec.clone() }, &set)?;
        self.cells(spec, &kept)?;
        let stem = self.args.spec.spec.file_stem().unwrap_or_default().to_string_lossy();
        for prospect in prospects(&format!("{stem}.toml"), &kept, n_prompts)? {
            if let Outlook::Undecidable { why } = prospect.outlook {
                let what = format!("claim {} of {}: {}", prospect.claim, prospect.table, prospect.text);
                self.find(Kind::Undecidable, what, why);
            }
        }
        let mut of_plan = Spec { dataset: spec.dataset.clone(), ..kept };
        let most = Estimate::without_prompts(&of_plan, n_prompts, requirements::footprint).disk_bytes;
        if let Some(complaint) = free_space::complaint(most, free_bytes(&default_out(&spec.name))) {
            self.find(Kind::TooLittle, "disk space", complaint);
        }
        of_plan.cells.retain(|cell| cell.model.device == "cpu" && !cell.is_of_another_program());
        if let Some(complaint) = too_large(&of_plan) {
            self.find(Kind::TooLittle, "memory", complaint);
        }
        Ok(())
    }

    /// The spec without the cells that no plan takes; these are listed.
    fn accepted(&mut self, mut spec: Spec, set: &PromptSet) -> anyhow::Result<Spec> {
        while let Err(error) = Plan::new(spec.clone(), set) {
            let cell = match &error {
                PlanError::Lacking { cell, .. } | PlanError::Cell { cell, .. } => cell.clone(),
                PlanError::Whole(_) => return Err(error.into()),
            };
            let said = error.to_string();
            let why = said.strip_prefix(&format!("cell `{cell}`: ")).unwrap_or(&said);
            self.find(Kind::Refused, format!("cell `{cell}`"), why);
            spec.cells.retain(|known| known.name != cell);
            if spec.cells.is_empty() {
                break;
            }
        }
        Ok(spec)
    }

    /// Runs the cells of `kept`, and tries the metrics and diagnostics of `asked` on their images.
    fn cells(&mut self, asked: &Spec, kept: &Spec) -> anyhow::Result<()> {
        let spec = narrow(kept, self.args.prompts as usize);
        if spec.cells.is_empty() {
            return Ok(());
        }
        let folder = self.fresh()?;
        // Items that failed are rows, listed by cell below.
        if let Err(error) = rerun::run(spec.clone(), &folder, self.console)
            && kind_of(&error) != FailureKind::Failed
        {
            if matches!(kind_of(&error), FailureKind::Interrupted | FailureKind::Aborted) {
                return Err(error);
            }
            self.find(Kind::Failed, "the run of the cells", message_of(&error));
            return Ok(());
        }
        let run = RunDir::open(&folder)?;
        let records = read_rows::<Record>(&run.merged_records())?.rows;
        for Cell { name, .. } in &spec.cells {
            let of_cell = records.iter().filter(|record| record.cell == *name);
            let (made, failed): (Vec<_>, Vec<_>) = of_cell.partition(|record| record.status == Status::Ok);
            let (n_images, n_failed) = (made.len(), failed.len());
            if let Some(first) = failed.first() {
                let what = format!("cell `{name}`: {n_failed} of {} images", n_failed + n_images);
                self.find(Kind::Failed, what, first.err.clone().unwrap_or_default());
            }
            self.answer.cells.push(json!({ "name": name, "n_images": n_images, "n_failed": n_failed }));
        }
        let stop = StopRequest::on_signals()?;
        let root = self.root.clone();
        let (plan, _) = plan_of(spec, root.as_ref())?;
        let mut models = Models::of(&plan.spec, root.clone());
        for metric in &asked.metrics {
            stop.check()?;
            let name = metric.values().join(", ");
            match StandIn::of(metric, asked, root.as_ref(), &self.out) {
                Ok(StandIn { metric, lacks, notes }) => {
                    self.tries(&name, (lacks, &notes), &plan, |cell| {
                        let mut scorer = Scorer::open(&metric, root.as_ref())?;
                        let files = scorer.files(&run, (&plan, cell), &records, &mut models)?;
                        Ok(files.iter().filter(|file| file.value.is_some()).count())
                    });
                }
                Err(error) => self.find(Kind::Failed, name, message_of(&error)),
            }
        }
        for diagnostic in &asked.diagnostics {
            stop.check()?;
            self.tries(&diagnostic.name, (false, &[]), &plan, |cell| {
                let images = CellImages::of(&plan, &records, cell).first(diagnostic.images);
                Ok(usize::from(look(diagnostic, &images, &mut models)?.why.is_none()))
            });
        }
        Ok(())
    }

    /// The folder of the run, without what an earlier rehearsal left in it.
    fn fresh(&self) -> anyhow::Result<PathBuf> {
        let folder = self.out.join("run");
        if folder.exists() {
            let of_rehearsal = |run: RunDir| read_document::<Manifest>(&run.manifest());
            let manifest = RunDir::open(&folder).and_then(of_rehearsal);
            if !manifest.is_ok_and(|manifest| manifest.is_rehearsal()) {
                let why = format!("{}: it is there and no rehearsal; choose another --out", folder.display());
                fail!(Usage: "{why}");
            }
            fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
        }
        Ok(folder)
    }

    /// Tries a metric or a diagnostic on every cell. Where files of it are missing, which are listed already (`lacks`), a
    /// failure for want of them is no further finding.
    fn tries(
        &mut self,
        name: &str,
        (lacks, stands_in): (bool, &[&str]),
        plan: &Plan,
        mut values: impl FnMut(&Cell) -> Result<usize, RunError>,
    ) {
        self.console.say(format!("trying {name}"));
        let mut n_values = 0;
        let mut failures: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for cell in &plan.spec.cells {
            match values(cell).map_err(anyhow::Error::from) {
                Ok(n) => n_values += n,
                Err(error) if lacks && kind_of(&error) == FailureKind::Missing => {}
                Err(error) => failures.entry(message_of(&error)).or_default().push(&cell.name),
            }
        }
        for (why, cells) in failures {
            self.find(Kind::Failed, format!("{name} of {}", cells.join(", ")), why);
        }
        self.answer.tried.push(json!({ "name": name, "n_values": n_values, "stands_in": stands_in }));
    }
}

/// Prompts of a dataset that is not there, as far as they are known.
fn expected_prompts(spec: &Spec) -> usize {
    let all = ENTRIES.iter().find(|entry| entry.name == spec.dataset.name).and_then(|entry| entry.n_prompts);
    let limited = [spec.dataset.limit, all].into_iter().flatten().min().unwrap_or(0);
    spec.dataset.part.map_or(limited, |[from, to]| to.min(limited).saturating_sub(from))
}

/// The spec of the rehearsal: the cells of `spec` on narrow networks, `n` prompts, one image each, nothing measured.
fn narrow(spec: &Spec, n: usize) -> Spec {
    let mut spec = spec.clone();
    match &mut spec.dataset.part {
        Some([from, to]) => *to = (*to).min(*from + n),
        None => spec.dataset.limit = Some(spec.dataset.limit.map_or(n, |limit| limit.min(n))),
    }
    spec.dataset.samples = 1;
    spec.timing.warmup = 0;
    spec.metrics.clear();
    spec.diagnostics.clear();
    spec.published.clear();
    spec.expect.clear();
    spec.cells.retain(|cell| {
        cell.external.as_ref().is_none_or(|external| requirements::absent_command(external).is_none())
    });
    for cell in &mut spec.cells {
        cell.model.rehearsed = Some(SIDE);
        cell.model.weights = None;
        cell.model.heads.clear();
        cell.model.device = "cpu".to_owned();
    }
    spec
}

/// Why the models of `spec` do not fit into the memory of this machine.
fn too_large(spec: &Spec) -> Option<String> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let free = line.split_whitespace().next()?.parse::<u64>().ok()? << 10;
    let needed = requirements::memory(spec).filter(|needed| *needed > free).map(in_units)?;
    Some(format!(
        "a model takes {needed} and this machine has {} free; rehearse where it fits",
        in_units(free)
    ))
}

/// The findings, a line each.
fn list(findings: &[Finding]) -> String {
    let line = |(at, Finding { kind, what, remedy }): (usize, &Finding)| {
        format!("{:>3}  {}: {what}: {remedy}\n", at + 1, KINDS[*kind as usize].0)
    };
    match findings {
        [] => "the list is empty: nothing is missing, refused or undecidable\n".to_owned(),
        findings => findings.iter().enumerate().map(line).collect(),
    }
}

/// The findings as an error of the first kind among them, in the order of [`Kind`]; `Ok` where there are none.
fn checked(findings: &[Finding]) -> Result<(), FailureMessage> {
    let mut counts: BTreeMap<Kind, usize> = BTreeMap::new();
    findings.iter().for_each(|finding| *counts.entry(finding.kind).or_default() += 1);
    let Some(&first) = counts.keys().next() else { return Ok(()) };
    let of_kind = |(kind, n): (&Kind, &usize)| format!("{n} {}", KINDS[*kind as usize].0);
    let counts: Vec<String> = counts.iter().map(of_kind).collect();
    let text = format!("{}: {}", counted(findings.len(), "finding"), counts.join(", "));
    Err(FailureMessage { kind: KINDS[first as usize].1, text })
}

#[cfg(test)]
mod tests {
    use specimen_foundation::failure::Failure;

    use super::*;

    #[test]
    fn the_gravest_finding_decides_the_exit_code_and_all_are_counted() {
        let of = |kinds: &[Kind]| -> Vec<Finding> {
            let finding = |kind: &Kind| Finding { kind: *kind, what: "w".into(), remedy: "r".into() };
            kinds.iter().map(finding).collect()
        };
        assert!(checked(&[]).is_ok());
        let cases: [(&[Kind], u8, &str); 5] = [
            (&[Kind::Undecidable], 1, "1 finding: 1 undecidable"),
            (&[Kind::Undecidable, Kind::TooLittle], 6, "2 findings: 1 too little, 1 undecidable"),
            (&[Kind::TooLittle, Kind::Failed], 5, "2 findings: 1 failed, 1 too little"),
            (&[Kind::Failed, Kind::Missing, Kind::Missing], 4, "3 findings: 2 missing, 1 failed"),
            (&[Kind::Missing, Kind::Refused], 3, "2 findings: 1 refused, 1 missing"),
        ];
        for (kinds, code, said) in cases {
            let Err(error) = checked(&of(kinds)) else { panic!("{kinds:?} are findings") };
            let found = error.kind().map(FailureKind::exit_code);
            assert_eq!((found, error.to_string().as_str()), (Some(code), said));
        }
    }
}
