//! The images of one merged run as a frame: records, plan, times, scores and what the summary says of their cells.

use std::collections::BTreeMap;

use polars::prelude::*;
use specimen_record::{
    CellSummary, ItemKey, MetricFile, PlanFile, Record, RunDir, Status, Summary, TimingRow, read_document,
    read_timings, visit_rows,
};

use super::SCORE;
use crate::ReportError;
use crate::frame::guarantee;

/// What every row of a frame has, in order; scores follow.
pub(super) const COLUMNS: [(&str, DataType); 43] = [
    ("run", DataType::String),
    ("plan_digest", DataType::String),
    ("cell", DataType::String),
    ("identity", DataType::String),
    ("model", DataType::String),
    ("dataset", DataType::String),
    ("drafter", DataType::String),
    ("method", DataType::String),
    ("guarantee", DataType::String),
    ("dtype", DataType::String),
    ("device", DataType::String),
    ("machine", DataType::String),
    ("threads", DataType::UInt64),
    ("prompt_id", DataType::String),
    ("prompt", DataType::String),
    ("sample", DataType::UInt64),
    ("seed", DataType::String),
    ("status", DataType::String),
    ("error", DataType::String),
    ("image", DataType::String),
    ("image_digest", DataType::String),
    ("tokens_digest", DataType::String),
    ("width", DataType::UInt64),
    ("height", DataType::UInt64),
    ("n_tokens", DataType::UInt64),
    ("nfe", DataType::UInt64),
    ("n_steps", DataType::UInt64),
    ("n_draft_forwards", DataType::UInt64),
    ("accepted", DataType::UInt64),
    ("emitted", DataType::UInt64),
    ("skipped_steps", DataType::UInt64),
    ("skipped_tokens", DataType::UInt64),
    ("forced", DataType::UInt64),
    ("out_of_support", DataType::UInt64),
    ("tvd_spent", DataType::Float64),
    ("shard", DataType::UInt64),
    ("attempt", DataType::UInt64),
    ("block", DataType::UInt64),
    ("warmup", DataType::Boolean),
    ("prefill_s", DataType::Float64),
    ("draft_s", DataType::Float64),
    ("decode_s", DataType::Float64),
    ("e2e_s", DataType::Float64),
];

/// The images of a merged run, in plan order. An image that was timed more than once has its last times: an interrupted
/// block is timed again as a whole.
pub(super) fn frame(run: &RunDir) -> Result<DataFrame, ReportError> {
    let path = run.summary();
    if !path.exists() {
        return Err(ReportError::NoSummary { path });
    }
    let summary: Summary = read_document(&path)?;
    let plan: PlanFile = read_document(&run.plan())?;
    let prompts: BTreeMap<&ItemKey, &str> =
        plan.items.iter().map(|item| (&item.key, item.prompt.as_str())).collect();
    let times: BTreeMap<ItemKey, (u32, TimingRow)> =
        read_timings(run)?.rows.into_iter().map(|t| (t.row.key.clone(), (t.shard, t.row))).collect();
    let mut scores = Scores::default();
    for path in run.metric_files()? {
        scores.add(read_document(&path)?);
    }
    let cells: BTreeMap<&str, &CellSummary> = summary.cells.iter().map(|c| (c.id.as_str(), c)).collect();
    let mut rows = Rows::default();
    visit_rows::<Record>(&run.merged_records(), |record| {
        let about = About {
            summary: &summary,
            cell: cells.get(record.cell.as_str()).copied(),
            prompt: prompts.get(&record.key).copied().unwrap_or_default(),
            time: times.get(&record.key),
        };
        rows.push(&record, &about);
        scores.push(&record.key);
    })?;
    let mut columns = rows.columns();
    columns.extend(scores.values.into_iter().map(|(name, values)| Column::new(name.into(), values)));
    Ok(DataFrame::new(rows.n, columns)?)
}

/// What is known of a record besides itself.
struct About<'a> {
    summary: &'a Summary,
    cell: Option<&'a CellSummary>,
    prompt: &'a str,
    time: Option<&'a (u32, TimingRow)>,
}

/// Columns under way, by kind, each in the order of [`COLUMNS`].
#[derive(Default)]
struct Rows {
    n: usize,
    texts: Vec<Vec<Option<String>>>,
    counts: Vec<Vec<Option<u64>>>,
    numbers: Vec<Vec<Option<f64>>>,
    warmup: Vec<Option<bool>>,
}

impl Rows {
    fn push(&mut self, record: &Record, about: &About<'_>) {
        let of_cell = |text: fn(&CellSummary) -> String| about.cell.map(text);
        let row = about.time.map(|(_, row)| row);
        let seconds = |of: fn(&TimingRow) -> u64| row.map(|row| of(row) as f64 / 1e9);
        let is_ok = record.status == Status::Ok;
        let summary = about.summary;
        let texts = [
            Some(summary.name.clone()),
            Some(summary.plan_digest.to_string()),
            Some(record.cell.clone()),
            about.cell.map(|cell| identity(summary, cell)),
            of_cell(|c| c.model.clone()),
            of_cell(|c| c.dataset.clone()),
            of_cell(|c| c.drafter.clone()),
            of_cell(|c| c.method.clone()),
            of_cell(|c| guarantee(c.guarantee).to_owned()),
            of_cell(|c| c.dtype.clone()),
            of_cell(|c| c.device.clone()),
            Some(summary.machine()),
            Some(record.prompt_id.clone()),
            Some(about.prompt.to_owned()),
            Some(record.seed.to_string()),
            Some(if is_ok { "ok" } else { "err" }.to_owned()),
            record.err.clone(),
            record.image.clone(),
            record.image_digest.as_ref().map(ToString::to_string),
            is_ok.then(|| record.tokens_digest.to_string()),
        ];
        let counts = [
            Some(u64::from(summary.threads)),
            Some(u64::from(record.sample)),
            Some(u64::from(record.width)),
            Some(u64::from(record.height)),
            Some(record.n_tokens),
            Some(record.nfe),
            Some(record.n_steps),
            Some(record.n_draft_forwards),
            Some(record.accepted),
            Some(record.emitted),
            Some(record.skipped_steps),
            Some(record.skipped_tokens),
            Some(record.forced),
            Some(record.out_of_support),
            about.time.map(|(shard, _)| u64::from(*shard)),
            row.map(|row| u64::from(row.attempt)),
            row.map(|row| u64::from(row.block)),
        ];
        let numbers = [
            Some(record.tvd_spent),
            seconds(|row| row.phases_ns.prefill),
            seconds(|row| row.phases_ns.draft),
            seconds(|row| row.decode_ns),
            seconds(|row| row.e2e_ns),
        ];
        add(&mut self.texts, texts);
        add(&mut self.counts, counts);
        add(&mut self.numbers, numbers);
        self.warmup.push(row.map(|row| row.warmup));
        self.n += 1;
    }

    fn columns(&mut self) -> Vec<Column> {
        let (mut texts, mut counts, mut numbers) = (
            std::mem::take(&mut self.texts).into_iter(),
            std::mem::take(&mut self.counts).into_iter(),
            std::mem::take(&mut self.numbers).into_iter(),
        );
        let column = |(name, kind): &(&str, DataType)| {
            let name = PlSmallStr::from(*name);
            match kind {
                DataType::String => Column::new(name, texts.next().unwrap_or_default()),
                DataType::UInt64 => Column::new(name, counts.next().unwrap_or_default()),
                DataType::Boolean => Column::new(name, std::mem::take(&mut self.warmup)),
                _ => Column::new(name, numbers.next().unwrap_or_default()),
            }
        };
        COLUMNS.iter().map(column).collect()
    }
}

fn add<T, const N: usize>(columns: &mut Vec<Vec<Option<T>>>, row: [Option<T>; N]) {
    columns.resize_with(N, Vec::new);
    columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
}

/// Scores by column, filled record by record.
#[derive(Default)]
struct Scores {
    known: BTreeMap<String, BTreeMap<ItemKey, f64>>,
    values: BTreeMap<String, Vec<Option<f64>>>,
}

impl Scores {
    fn add(&mut self, file: MetricFile) {
        let Some(of_items) = file.per_item else { return };
        let protocol = match &file.extractor {
            Some(extractor) if !file.protocol.contains(extractor.as_str()) => {
                format!("{}:{extractor}", file.protocol)
            }
            _ => file.protocol,
        };
        let name = format!("{SCORE}{}@{protocol}", file.metric);
        self.values.entry(name.clone()).or_default();
        self.known.entry(name).or_default().extend(of_items);
    }

    fn push(&mut self, key: &ItemKey) {
        for (name, values) in &mut self.values {
            values.push(self.known.get(name).and_then(|known| known.get(key)).copied());
        }
    }
}

/// What a cell is, in words: another text, another experiment.
fn identity(summary: &Summary, cell: &CellSummary) -> String {
    let s = &cell.sampling;
    format!(
        "{}, {}, T {} top-k {} top-p {} guidance {}, {}",
        cell.model,
        cell.dataset,
        s.temperature,
        s.top_k,
        s.top_p,
        s.guidance,
        summary.maker(cell)
    )
}
