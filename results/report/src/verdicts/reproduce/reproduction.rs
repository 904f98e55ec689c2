//! A table of a paper and a run: each printed value with ours and a verdict, and each claim.

use std::collections::BTreeMap;

use serde::Serialize;
use specimen_experiments::{expect::PublishedRef, spec::Spec};
use specimen_foundation::{fail, failure, text::counted};
use specimen_record::{CellSummary, Reading};

use super::claims::{ClaimVerdict, TestedClaim, test};
use super::paper::{Claim, Paper, PaperColumn, PaperTable, resolved};
use crate::{
    table::deciding, verdicts::gate::rules::percent, verdicts::measured, verdicts::papers::PublishedRow,
    verdicts::papers::resolve, verdicts::papers::rows, verdicts::values::RunValues,
};

/// A table of a paper and a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reproduction {
    /// Schema number.
    pub schema: u32,
    /// Name and number of the paper.
    pub paper: String,
    /// The paper's name on the command line, and the table's.
    pub id: String,
    /// Number and subject of the table.
    pub table: String,
    /// Model that ran.
    pub model: String,
    /// Whether that is none of the paper's models: values are then shown next to each other, and only claims are judged.
    pub claims_only: bool,
    /// Under which conditions the paper measured.
    pub protocol: String,
    /// Under which the run did.
    pub conditions: String,
    /// Why its speedups are over slow baselines.
    pub slow_baselines: Vec<String>,
    /// Name of the run and digest of its records.
    pub run: [String; 2],
    /// The table, in the paper's order.
    pub rows: Vec<PrintedRow>,
    /// The claims that this table tests.
    pub claims: Vec<TestedClaim>,
    /// Heads of the values, in order.
    pub columns: Vec<PrintedColumn>,
}

/// A measure of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PrintedColumn {
    /// Its head.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Which direction is better.
    pub higher_is_better: bool,
    /// Decimals that the paper prints.
    pub decimals: usize,
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PrintedRow {
    /// Its block.
    pub block: String,
    /// What the paper calls it.
    pub row: String,
    /// Our cell; absent where none was run.
    pub cell: Option<String>,
    /// Whether its printed values were taken from notes about the paper.
    pub second_hand: bool,
    /// One a column; absent where the paper prints none.
    pub values: Vec<Option<PrintedValue>>,
}

/// A printed value and ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PrintedValue {
    /// As printed; absent where it is drawn and not printed.
    pub printed: Option<f64>,
    /// Our value.
    pub measure: String,
    /// Its value.
    pub ours: Option<f64>,
    /// Its 95 % interval.
    pub ci95: Option<[f64; 2]>,
    /// Whether they agree.
    pub verdict: ValueVerdict,
    /// Why, where they do not agree.
    pub why: Option<String>,
    /// What to say of our value: it follows the convention of the papers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub convention: Option<&'static str>,
}

/// Whether a value of ours agrees with a printed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueVerdict {
    /// Within the tolerance of the layout, or its interval reaches it.
    Agrees,
    /// Farther apart.
    Differs,
    /// We have no value.
    NotRun,
    /// Ours is a value of something else.
    NotReproducible,
    /// The paper prints none.
    NotPrinted,
}

impl ValueVerdict {
    /// As a reader sees it.
    pub fn words(self) -> &'static str {
        match self {
            ValueVerdict::Agrees => "agrees",
            ValueVerdict::Differs => "differs",
            ValueVerdict::NotRun => "not run",
            ValueVerdict::NotReproducible => "not comparable",
            ValueVerdict::NotPrinted => "not printed",
        }
    }
}

impl Reproduction {
    /// How many claims hold, in a line: `4 hold, 1 does not, 2 cannot be decided (60 prompts would)`.
    pub fn counts(&self) -> String {
        let of = |wanted: ClaimVerdict| self.claims.iter().filter(move |claim| claim.verdict == wanted);
        let n = |wanted| of(wanted).count();
        let known: Vec<u64> =
            of(ClaimVerdict::NotTestable).filter_map(|claim| claim.prompts_to_decide).collect();
        let n_open = n(ClaimVerdict::NotTestable);
        let range = match (known.iter().min(), known.iter().max()) {
            (Some(least), Some(most)) if least < most => format!("{least} to {most}"),
            (least, _) => least.map_or_else(String::new, u64::to_string),
        };
        let would = match (known.is_empty(), known.len() == n_open) {
            (true, _) => String::new(),
            (false, true) => format!(" ({range} prompts would)"),
            (false, false) => format!(" ({range} prompts would for {})", known.len()),
        };
        let verb = |n: usize, one: &str, more: &str| format!("{n} {}", if n == 1 { one } else { more });
        let mut parts = vec![
            verb(n(ClaimVerdict::Holds), "holds", "hold"),
            verb(n(ClaimVerdict::DoesNotHold), "does not", "do not"),
            format!("{n_open} cannot be decided{would}"),
        ];
        if n(ClaimVerdict::NotComparable) > 0 {
            parts.push(verb(n(ClaimVerdict::NotComparable), "is not comparable", "are not comparable"));
        }
        parts.join(", ")
    }
}

/// Compares a table of a paper with a run. `longer` are runs of specs that claims have for themselves, by file name; a claim
/// without one is tested on `run`.
pub fn reproduce(
    paper: &Paper,
    table: &PaperTable,
    run: &RunValues,
    longer: &BTreeMap<String, RunValues>,
) -> anyhow::Result<Reproduction> {
    let summary = &run.summary;
    let spec: Spec = serde_json::from_value(summary.spec.clone()).map_err(
        |e| failure!(Missing: "run `{}`: another version of the program wrote its spec: {e}", summary.name),
    )?;
    let mut models: Vec<&str> = summary.cells.iter().map(|cell| cell.model.as_str()).collect();
    models.dedup();
    let claims_only = !models.iter().any(|model| paper.models.contains_key(*model));
    let claims = paper.claims.iter().filter(|claim| claim.table == table.id);
    let run_of =
        |claim: &Claim| models.iter().find_map(|model| longer.get(claim.specs.get(*model)?)).unwrap_or(run);
    let references = references(table, spec)?;
    let mut printed = Vec::new();
    for group in groups(table)? {
        printed.extend(rows_of_group(paper, table, &group, run, &references));
    }
    if printed.iter().all(|row| row.cell.is_none()) {
        fail!(Mismatch: "run `{}` is no run of `{}`: none of its cells has a row in it; leave out --run to \
            run the twin, or name the rows in the spec by [[published]] with from = \"{}\"", summary.name,
            format!("{}:{}", paper.id, table.id), table.published);
    }
    Ok(Reproduction {
        schema: 2,
        paper: paper.title.clone(),
        id: format!("{}:{}", paper.id, table.id),
        table: table.title.clone(),
        model: models.join(", "),
        claims_only,
        protocol: table.protocol.clone(),
        conditions: conditions(run),
        slow_baselines: run.summary.slow_baselines(),
        run: [summary.name.clone(), summary.result_digest.as_str().to_owned()],
        rows: printed,
        claims: claims.map(|claim| test(claim, paper, run_of(claim))).collect::<Result<_, _>>()?,
        columns: table
            .columns
            .iter()
            .map(|column| PrintedColumn {
                name: column.name.clone(),
                unit: column.unit.clone(),
                higher_is_better: column.better == super::paper::Better::Higher,
                decimals: column.decimals,
            })
            .collect(),
    })
}

/// Which rows the cells of a run stand for: what the committed spec of its name says by now, since that is no part of a run's
/// identity, and what the run's own says of other cells.
fn references(table: &PaperTable, spec: Spec) -> anyhow::Result<Vec<PublishedRef>> {
    let mut references: Vec<PublishedRef> = Vec::new();
    for name in table.specs.values().flatten() {
        let committed = resolved(name)?;
        references.extend(committed.published.into_iter().filter(|_| committed.name == spec.name));
    }
    let is_known =
        |one: &PublishedRef| references.iter().any(|r| (&r.cell, &r.from) == (&one.cell, &one.from));
    let own: Vec<PublishedRef> = spec.published.into_iter().filter(|one| !is_known(one)).collect();
    references.extend(own);
    for reference in references.iter().filter(|reference| reference.from == table.published) {
        resolve(reference)?;
    }
    Ok(references)
}

/// The printed values of one row.
struct Group {
    block: String,
    row: String,
    values: Vec<PublishedRow>,
}

/// The rows of a paper's table, in its order.
fn groups(table: &PaperTable) -> anyhow::Result<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    let is_shown = |row: &PublishedRow| {
        let is_of_table = table.only.iter().all(|(column, text)| row.column(column) == Some(text.as_str()));
        is_of_table && table.columns.iter().any(|column| column.published == row.metric)
    };
    for value in rows(&table.published)?.into_iter().filter(is_shown) {
        let named = |columns: &[String]| {
            let parts =
                columns.iter().filter_map(|column| value.column(column)).filter(|part| !part.is_empty());
            parts.collect::<Vec<_>>().join(", ")
        };
        let (block, row) = (named(&table.blocks), named(&table.rows));
        match groups.iter_mut().find(|group| group.block == block && group.row == row) {
            Some(group) => group.values.push(value),
            None => groups.push(Group { block, row, values: vec![value] }),
        }
    }
    // A paper's blocks may be spread over its file.
    let blocks: Vec<String> = groups.iter().map(|group| group.block.clone()).collect();
    groups.sort_by_key(|group| blocks.iter().position(|block| *block == group.block));
    Ok(groups)
}

/// One row for each cell of the group, or one without a cell.
fn rows_of_group(
    paper: &Paper,
    table: &PaperTable,
    group: &Group,
    run: &RunValues,
    references: &[PublishedRef],
) -> Vec<PrintedRow> {
    let means = |reference: &&PublishedRef| {
        let has = |row: &PublishedRow| {
            reference.columns.iter().all(|(column, text)| row.column(column) == Some(text.as_str()))
        };
        reference.from == table.published && group.values.iter().any(has)
    };
    let cells = references.iter().filter(means).filter_map(|reference| run.summary.cell(&reference.cell));
    let mut cells: Vec<Option<&CellSummary>> = cells.map(Some).collect();
    if cells.is_empty() {
        cells.push(None);
    }
    let row = |cell: Option<&CellSummary>| PrintedRow {
        block: group.block.clone(),
        row: group.row.clone(),
        cell: cell.map(|cell| cell.id.clone()),
        second_hand: group.values.iter().any(PublishedRow::is_second_hand),
        values: table
            .columns
            .iter()
            .map(|column| {
                let printed = group.values.iter().find(|value| value.metric == column.published)?;
                Some(judge(paper, column, printed, run, cell))
            })
            .collect(),
    };
    cells.into_iter().map(row).collect()
}

fn judge(
    paper: &Paper,
    column: &PaperColumn,
    printed: &PublishedRow,
    run: &RunValues,
    cell: Option<&CellSummary>,
) -> PrintedValue {
    let blank = PrintedValue {
        printed: printed.value,
        measure: column.ours.first().cloned().unwrap_or_default(),
        ours: None,
        ci95: None,
        verdict: ValueVerdict::NotRun,
        why: None,
        convention: None,
    };
    let Some(cell) = cell else {
        return PrintedValue { why: Some("the run has no cell for it".to_owned()), ..blank };
    };
    let mut found =
        column.ours.iter().map(|measure| (measure, measured::of_run(&run.summary, cell, measure)));
    let is_scored = |measure: &str| cell.metrics.iter().any(|m| m.metric == measure);
    let with_value = found.clone().find(|(_, ours)| ours.value.is_some());
    let (measure, ours) = match with_value {
        Some(ours) => ours,
        None => {
            let named = found.clone().find(|(measure, _)| is_scored(measure));
            let (measure, ours) = match named.or_else(|| found.next()) {
                Some(ours) => ours,
                None => return blank,
            };
            let why = ours.why.unwrap_or_else(|| "it has no value".to_owned());
            return PrintedValue {
                measure: measure.clone(),
                why: Some(format!("{measure}: {why}")),
                ..blank
            };
        }
    };
    let (ours, convention) = match cell.accepted_in_tables() {
        (value, Some(why)) if measure == "accepted_per_step" => (Reading { value, ..ours }, Some(why)),
        _ => (ours, None),
    };
    let blank =
        PrintedValue { measure: measure.clone(), ours: ours.value, ci95: ours.ci95, convention, ..blank };
    let Some(value) = printed.value else {
        return PrintedValue { verdict: ValueVerdict::NotPrinted, ..blank };
    };
    if printed.is_second_hand() {
        let why = "second-hand: taken from notes about the paper".to_owned();
        return PrintedValue { verdict: ValueVerdict::NotReproducible, why: Some(why), ..blank };
    }
    if paper.models.get(&cell.model) != Some(&printed.model) {
        let why = format!("{} is not {}", cell.model, printed.model);
        return PrintedValue { verdict: ValueVerdict::NotReproducible, why: Some(why), ..blank };
    }
    let rounding = 0.5 * 10_f64.powi(-i32::try_from(column.decimals).unwrap_or(0));
    let (ours_value, allowed) = (ours.value.unwrap_or(f64::NAN), column.tolerance * value.abs() + rounding);
    let reaches = ours.ci95.is_some_and(|[low, high]| low <= value + rounding && high >= value - rounding);
    if (ours_value - value).abs() <= allowed || reaches {
        return PrintedValue { verdict: ValueVerdict::Agrees, ..blank };
    }
    let (off, tolerance) = (100.0 * (ours_value / value - 1.0), percent(column.tolerance));
    let sign = if off < 0.0 { '-' } else { '+' };
    let off = deciding(off.abs(), &[tolerance], 1);
    let why = format!("{measure} is {sign}{off} % off, {tolerance} % allowed");
    PrintedValue { verdict: ValueVerdict::Differs, why: Some(why), ..blank }
}

/// What ran, on what, in one line.
fn conditions(run: &RunValues) -> String {
    let summary = &run.summary;
    let Some(cell) = summary.cells.first() else { return "nothing ran".to_owned() };
    let machine = match summary.gpus.is_empty() {
        true => summary.cpu_model.clone(),
        false => summary.gpus.join(", "),
    };
    let sampling = &cell.sampling;
    let metrics: Vec<String> =
        cell.metrics.iter().map(|metric| format!("{} by {}", metric.metric, metric.protocol)).collect();
    format!(
        "{} on {}, {} a cell, T = {}, top-k {}, guidance {}, {} on {machine}; {}",
        cell.model,
        cell.dataset,
        counted(cell.n_images, "image"),
        sampling.temperature,
        sampling.top_k,
        sampling.guidance,
        cell.dtype,
        metrics.join(", ")
    )
}
