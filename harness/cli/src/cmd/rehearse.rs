//! `specimen rehearse`: a whole spec with made weights before anything is spent, and one list of all that would stop it.
//!
//! The cells run with narrow networks of the same families on the first prompts of the spec; then its metrics and
//! diagnostics are tried on these images, its claims are compared with its size, and its models are timed at their
//! published sizes. The run is marked as a rehearsal: no command takes its values for results.

mod answer;
mod findings;
mod full_width;
mod stand_ins;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::Context;
use clap::Args;
use specimen_datasets::{DatasetError, PromptSet, catalog::ENTRIES, data_root::DataRoot};
use specimen_experiments::{
    error::PlanError,
    estimate::{Estimate, Missing},
    plan::Plan,
    prompts,
    spec::{Cell, DatasetSpec, Spec},
};
use specimen_foundation::failure::FailureKind;
use specimen_measure::MeasureError;
use specimen_record::{
    Manifest, Record, RunDir, Status, Summary, free_bytes, read_document, read_rows, write_atomic,
};
use specimen_runner::{
    error::RunError,
    plan::stored_plan::plan_of,
    process::stop_request::StopRequest,
    rehearsal::{Rehearsed, Tried, TryResult},
};
use specimen_verdicts::reproduce::decidable::{Outlook, prospects};

use self::{
    answer::{Answer, CellLine, ClaimLine, TriedLine},
    findings::{Finding, Kind, checked},
    full_width::{Stage, Width},
    stand_ins::StandIn,
};
use crate::{
    cmd::rerun,
    console::{Console, message_of},
    exit::{CliError, kind_of},
    free_space, requirements,
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
    /// Do not time the models at their published sizes
    #[arg(long)]
    pub no_full_width: bool,
    /// Where they are timed: cpu, cuda, cuda:N [default: the device of the spec, or cpu where that is not here]
    #[arg(long, value_name = "DEVICE", conflicts_with = "no_full_width")]
    pub device: Option<String>,
    /// Seconds for timing them; what is left then is named
    #[arg(long, value_name = "S", default_value_t = 480)]
    pub seconds: u64,
}

const AFTER_HELP: &str = "\
Models with published weights are narrow networks here: same family, tokens and heads, weights from a seed. The embedded \
models are themselves. Networks of metrics that are not on this machine get made weights.
The list at the end decides the exit code: 3 a refused cell, else 4 a missing file, else 5 a cell, metric, diagnostic or \
model at full width that failed, else 6 too little memory or disk space, else 1 a claim that no run of this spec can decide; 0 for an empty list.
The folder is no run of the spec: report, records, compare, gate, reproduce, score, grid, verify --deep, cite and export \
refuse it.";

/// A rehearsal under way.
struct Rehearsal<'a> {
    args: &'a RehearseArgs,
    console: &'a Console,
    root: Option<DataRoot>,
    out: PathBuf,
    /// Of what was found so far.
    findings: Vec<Finding>,
}

/// Rehearses, and prints what was found. Any finding is an error.
pub(crate) fn rehearse(args: &RehearseArgs, console: &Console) -> anyhow::Result<()> {
    let began = Instant::now();
    let spec = args.spec.text(None)?.resolve()?;
    let default = || ["results", "rehearsals", spec.name.as_str()].iter().collect();
    let out: PathBuf = args.out.clone().unwrap_or_else(default);
    let mut rehearsal = Rehearsal { args, console, root: data_root(), out, findings: Vec::new() };
    let mut answer = rehearsal.of(&spec)?;
    answer.findings = rehearsal.findings;
    answer.findings.sort_by_key(|finding| finding.kind);
    answer.seconds = began.elapsed().as_secs_f64().round();
    answer.print(console)?;
    Ok(checked(&answer.findings)?)
}

impl Rehearsal<'_> {
    fn find(&mut self, kind: Kind, what: impl Into<String>, remedy: impl Into<String>) {
        let finding = Finding::new(kind, what, remedy);
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    fn of(&mut self, spec: &Spec) -> anyhow::Result<Answer> {
        let mut answer = Answer::of(spec);
        let (set, dataset) = self.prompts(spec)?;
        let n_prompts = match dataset == spec.dataset {
            true => set.n_prompts(),
            false => expected_prompts(spec),
        };
        answer.n_prompts = n_prompts;
        self.missing(spec);
        let kept = self.accepted(Spec { dataset, ..spec.clone() }, &set)?;
        answer.cells = self.cells(spec, &kept, &mut answer.tried)?;
        answer.claims = self.claims(&kept, n_prompts)?;
        let of_plan = Spec { dataset: spec.dataset.clone(), ..kept };
        self.space(&of_plan, n_prompts, &mut answer);
        if !self.args.no_full_width {
            let stage = Stage {
                spec: &of_plan,
                n_images: n_prompts * spec.dataset.samples as usize,
                device: self.args.device.as_deref(),
                seconds: self.args.seconds,
                out: &self.out.join("full-width"),
            };
            answer.full_width = stage.timed(self.console);
            for Width { model, device, why, found, .. } in &answer.full_width {
                if let (Some(kind), Some(why)) = (found, why) {
                    self.find(*kind, format!("full width of {model} on {device}"), why.clone());
                }
            }
        }
        Ok(answer)
    }

    /// The spec's prompts, or others where they are not there, and the dataset that they are of.
    fn prompts(&mut self, spec: &Spec) -> anyhow::Result<(PromptSet, DatasetSpec)> {
        match prompts::open(&spec.dataset, self.root.as_ref()) {
            Err(DatasetError::Absent { what, remedy }) => {
                let absent = requirements::absent_prompts(spec, self.root.as_ref());
                if absent.is_empty() {
                    self.find(Kind::Missing, what, remedy);
                }
                absent.into_iter().for_each(|Missing { what, remedy, .. }| {
                    self.find(Kind::Missing, format!("prompts: {what}"), remedy);
                });
                self.console.warn(format!(
                    "the prompts of `{EMBEDDED_PROMPTS}` take the place of those that are missing"
                ));
                let dataset = DatasetSpec::whole(EMBEDDED_PROMPTS, None);
                Ok((prompts::open(&dataset, None)?, dataset))
            }
            found => Ok((found?, spec.dataset.clone())),
        }
    }

    /// Lists the files that the spec needs and that are not there.
    fn missing(&mut self, spec: &Spec) {
        for Missing { what, remedy, .. } in requirements::missing(spec, self.root.as_ref()) {
            self.find(Kind::Missing, what, remedy);
        }
    }

    /// The spec without the cells that no plan takes; these are listed.
    fn accepted(&mut self, mut spec: Spec, set: &PromptSet) -> anyhow::Result<Spec> {
        loop {
            let Err(error) = Plan::new(spec.clone(), set) else { return Ok(spec) };
            let cell = match &error {
                PlanError::Lacking { cell, .. }
                | PlanError::Coupled { cell }
                | PlanError::Batch { cell, .. }
                | PlanError::Head { cell, .. }
                | PlanError::NoSuchBaseline { cell, .. } => cell.clone(),
                PlanError::OtherDataset { .. } | PlanError::TooManyItems { .. } => return Err(error.into()),
            };
            let said = error.to_string();
            let why = said.strip_prefix(&format!("cell `{cell}`: ")).unwrap_or(&said);
            self.find(Kind::Refused, format!("cell `{cell}`"), why);
            spec.cells.retain(|known| known.name != cell);
            if spec.cells.is_empty() {
                return Ok(spec);
            }
        }
    }

    /// Runs the cells of `kept`, and tries metrics and diagnostics on their images.
    fn cells(
        &mut self,
        asked: &Spec,
        kept: &Spec,
        tried: &mut Vec<TriedLine>,
    ) -> anyhow::Result<Vec<CellLine>> {
        let spec = narrow(kept, self.args.prompts as usize);
        if spec.cells.is_empty() {
            return Ok(Vec::new());
        }
        let folder = self.fresh()?;
        let ended = rerun::run(spec.clone(), &folder, self.console);
        if let Err(error) = ended {
            match kind_of(&error) {
                FailureKind::Interrupted | FailureKind::Aborted => return Err(error),
                // Items that failed are rows, listed by cell below.
                FailureKind::Failed => {}
                _ => {
                    self.find(Kind::Failed, "the run of the cells", message_of(&error));
                    return Ok(Vec::new());
                }
            }
        }
        let run = RunDir::open(&folder)?;
        let records = read_rows::<Record>(&run.merged_records())?.rows;
        let summary: Summary = read_document(&run.summary())?;
        let lines: Vec<CellLine> =
            spec.cells.iter().map(|cell| cell_line(cell, &records, &summary)).collect();
        for line in lines.iter().filter(|line| line.n_failed > 0) {
            let of = line.n_images + line.n_failed;
            let why = line.why.clone().unwrap_or_default();
            let what = format!("cell `{}`: {} of {of} images", line.name, line.n_failed);
            self.find(Kind::Failed, what, why);
        }
        self.tries(asked, &spec, &run, tried)?;
        Ok(lines)
    }

    /// The folder of the run, without what an earlier rehearsal left in it.
    fn fresh(&self) -> anyhow::Result<PathBuf> {
        let folder = self.out.join("run");
        if !folder.exists() {
            return Ok(folder);
        }
        let of_rehearsal = |run: RunDir| read_document::<Manifest>(&run.manifest());
        let manifest = RunDir::open(&folder).and_then(of_rehearsal);
        if !manifest.is_ok_and(|manifest| manifest.is_rehearsal()) {
            let why = format!("{}: it is there and no rehearsal; choose another --out", folder.display());
            return Err(CliError::Usage(why).into());
        }
        fs::remove_dir_all(&folder).with_context(|| format!("{}: cannot remove it", folder.display()))?;
        Ok(folder)
    }

    /// Tries the metrics and diagnostics of `asked` on the images of `run`, which is of `spec`.
    fn tries(
        &mut self,
        asked: &Spec,
        spec: &Spec,
        run: &RunDir,
        tried: &mut Vec<TriedLine>,
    ) -> anyhow::Result<()> {
        let stop = StopRequest::on_signals()?;
        let (plan, _) = plan_of(spec.clone(), self.root.as_ref())?;
        let root = self.root.clone();
        let rehearsed = Rehearsed { run, plan: &plan, data_root: root.as_ref(), stop: &stop };
        let list = self.out.join("images.txt");
        list_images(run, &list)?;
        for metric in &asked.metrics {
            let name = metric.values().join(", ");
            let stand_in = match StandIn::of(metric, asked, root.as_ref(), &list) {
                Ok(stand_in) => stand_in,
                Err(error) => {
                    self.find(Kind::Failed, format!("metric {name}"), message_of(&error));
                    continue;
                }
            };
            self.console.say(format!("trying {name}"));
            let found = rehearsed.tried(std::slice::from_ref(&stand_in.metric), &[])?;
            let lacks = !stand_in.lacks.is_empty();
            self.note(TriedLine::of("metric", name, &stand_in.notes), found, lacks, tried);
        }
        for diagnostic in &asked.diagnostics {
            self.console.say(format!("trying {}", diagnostic.name));
            let found = rehearsed.tried(&[], std::slice::from_ref(diagnostic))?;
            let line = TriedLine::of("diagnostic", diagnostic.name.clone(), &[]);
            self.note(line, found, false, tried);
        }
        Ok(())
    }

    /// Files what came of a metric or a diagnostic on all cells. Where files of it are missing, which are listed already
    /// (`lacks`), a failure for want of them is no further finding.
    fn note(&mut self, mut line: TriedLine, found: Vec<Tried>, lacks: bool, tried: &mut Vec<TriedLine>) {
        let mut failures: Vec<(String, Vec<String>)> = Vec::new();
        for Tried { cell, result, .. } in found {
            match result {
                TryResult::Value => line.n_values += 1,
                TryResult::None { why } => line.without(&why),
                TryResult::Failed(error) => {
                    let is_of_values = is_of_values(&error);
                    let error = anyhow::Error::from(error);
                    let why = message_of(&error);
                    line.without(&why);
                    if lacks && !is_of_values && kind_of(&error) == FailureKind::Missing {
                        continue;
                    }
                    match failures.iter_mut().find(|(known, _)| *known == why) {
                        Some((_, cells)) => cells.push(cell),
                        None => failures.push((why, vec![cell])),
                    }
                }
            }
        }
        for (why, cells) in failures {
            let what = format!("{} {} of {}", line.kind, line.name, cells.join(", "));
            self.find(Kind::Failed, what, why);
        }
        tried.push(line);
    }

    /// Which claims of the papers a run of the spec could decide.
    fn claims(&mut self, kept: &Spec, n_prompts: usize) -> anyhow::Result<Vec<ClaimLine>> {
        let stem = self.args.spec.spec.file_stem().unwrap_or_default().to_string_lossy();
        let found = prospects(&format!("{stem}.toml"), kept, n_prompts)?;
        let mut lines = Vec::new();
        for prospect in found {
            let line = ClaimLine::of(&prospect);
            if let Outlook::Undecidable { why } = &prospect.outlook {
                let what = format!("claim {} of {}: {}", prospect.claim, prospect.table, prospect.text);
                self.find(Kind::Undecidable, what, why.clone());
            }
            lines.push(line);
        }
        Ok(lines)
    }

    /// Disk space of the run that was asked for.
    fn space(&mut self, spec: &Spec, n_prompts: usize, answer: &mut Answer) {
        let estimate = Estimate::without_prompts(spec, n_prompts, requirements::footprint);
        let free = free_bytes(&default_out(&spec.name));
        answer.disk_bytes = estimate.disk_bytes;
        answer.free_bytes = free;
        if let Some(complaint) = free_space::complaint(estimate.disk_bytes, free) {
            self.find(Kind::TooLittle, "disk space", complaint);
        }
    }
}

/// Whether a metric failed over the values themselves, not for want of a file.
fn is_of_values(error: &RunError) -> bool {
    matches!(error, RunError::Measure(error) if matches!(**error, MeasureError::Statistic { .. }))
}

/// Prompts of a dataset that is not there, as far as they are known.
fn expected_prompts(spec: &Spec) -> usize {
    let entry = ENTRIES.iter().find(|entry| entry.name == spec.dataset.name);
    let all = entry.and_then(|entry| entry.n_prompts);
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

fn cell_line(cell: &Cell, records: &[Record], summary: &Summary) -> CellLine {
    let of_cell = || records.iter().filter(|record| record.cell == cell.name);
    let failed = || of_cell().filter(|record| record.status == Status::Err);
    let n_failed = failed().count();
    CellLine {
        name: cell.name.clone(),
        model: cell.model.name.clone(),
        n_images: of_cell().count() - n_failed,
        n_failed,
        seconds: summary.cell(&cell.name).and_then(|cell| cell.wall_s.e2e),
        why: failed().next().and_then(|record| record.err.clone()),
    }
}

/// Writes a list of the images of a run's first cell to `path`.
fn list_images(run: &RunDir, path: &Path) -> anyhow::Result<()> {
    let records = read_rows::<Record>(&run.merged_records())?.rows;
    let mut text = String::new();
    let first = records.iter().find(|record| record.image.is_some()).map(|record| record.cell.clone());
    for record in records.iter().filter(|record| Some(&record.cell) == first.as_ref()) {
        let Some(image) = record.image.as_deref().map(|name| run.find_image(name)).transpose()?.flatten()
        else {
            continue;
        };
        let image = std::path::absolute(&image).with_context(|| image.display().to_string())?;
        text += &format!("{}\n", image.display());
    }
    Ok(write_atomic(path, text.as_bytes())?)
}
