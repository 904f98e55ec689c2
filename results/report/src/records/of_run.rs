//! The images of one merged run as a frame: records, plan, times, scores and what the summary says of their cells.

use std::collections::BTreeMap;

use polars::prelude::*;
use serde_json::Value;
use specimen_record::{
    CellSummary, ItemKey, MetricFile, Origin, PlanFile, Record, RunDir, Status, Summary, TimingRow,
    read_document, read_timings, visit_rows,
};

use super::{PARAM, SCORE};
use crate::ReportError;
use crate::tables::frame::guarantee;
use crate::tables::settings::{Leaves, parameter, settings};

/// What every row of a frame has, in order, with its type and meaning; settings in which cells differ and scores follow.
/// What is not known of an image is null.
pub(super) const COLUMNS: [(&str, DataType, &str); 43] = [
    ("run", DataType::String, "the name in the run's spec, or the one given on the command line"),
    ("plan_digest", DataType::String, "digest of the run's plan"),
    ("cell", DataType::String, "the cell"),
    ("identity", DataType::String, "what the cell is, in words: model, dataset, sampling, method"),
    ("model", DataType::String, "the target"),
    ("dataset", DataType::String, "the dataset of the prompts"),
    ("drafter", DataType::String, "what drafts, in words"),
    ("method", DataType::String, "rules and a schedule that skips, in words"),
    ("guarantee", DataType::String, "`exact`, `relaxed`, or `not known` for another program's images"),
    ("dtype", DataType::String, "element type of the weights"),
    ("device", DataType::String, "`cpu` or `cuda:N`"),
    ("machine", DataType::String, "processor, or GPU and processor"),
    ("threads", DataType::UInt64, "threads of a worker; null of imported images"),
    ("prompt_id", DataType::String, "id of the prompt in its dataset"),
    ("prompt", DataType::String, "the prompt"),
    ("sample", DataType::UInt64, "number of the image of this prompt, from 0"),
    ("seed", DataType::String, "seed of the image, 16 hexadecimal digits; empty where it is not known"),
    ("status", DataType::String, "`ok` or `err`"),
    ("error", DataType::String, "why there is no image"),
    ("image", DataType::String, "file name of the image"),
    ("image_digest", DataType::String, "digest of the raw RGB bytes of the image"),
    ("tokens_digest", DataType::String, "digest of the tokens"),
    ("width", DataType::UInt64, "pixels across"),
    ("height", DataType::UInt64, "pixels down"),
    ("n_tokens", DataType::UInt64, "image tokens"),
    ("nfe", DataType::UInt64, "forwards of the target, prefill included"),
    ("n_steps", DataType::UInt64, "steps of the decoder"),
    ("n_draft_forwards", DataType::UInt64, "forwards of the drafter"),
    ("accepted", DataType::UInt64, "draft tokens that were accepted"),
    (
        "emitted",
        DataType::UInt64,
        "tokens that verified steps gave: accepted + 1 each, of rows side by side what all get",
    ),
    ("skipped_steps", DataType::UInt64, "steps without a verification"),
    ("skipped_tokens", DataType::UInt64, "tokens of those steps"),
    ("forced", DataType::UInt64, "tokens that the format fixes"),
    ("out_of_support", DataType::UInt64, "tokens of probability 0 under the target"),
    (
        "tvd_spent",
        DataType::Float64,
        "total variation distance that the rule moved, summed over verifications",
    ),
    ("shard", DataType::UInt64, "shard of the last times"),
    ("attempt", DataType::UInt64, "attempt of the last times"),
    ("block", DataType::UInt64, "block of prompts"),
    ("warmup", DataType::Boolean, "whether the times are a warm-up's"),
    ("prefill_s", DataType::Float64, "seconds of the prefill"),
    ("draft_s", DataType::Float64, "seconds of drafter forwards"),
    ("decode_s", DataType::Float64, "seconds from the prefill to the last token"),
    ("e2e_s", DataType::Float64, "seconds from the prompt to the saved image"),
];

/// The images of a merged run, in plan order. An image that was timed more than once has its last times: an interrupted
/// block is timed again as a whole.
pub(super) fn frame(run: &RunDir) -> Result<DataFrame, ReportError> {
    let path = run.summary();
    if !path.exists() {
        return Err(crate::error::no_summary(&path));
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
    let mut params = Params::of(&summary);
    visit_rows::<Record>(&run.merged_records(), |record| {
        let about = About {
            summary: &summary,
            cell: cells.get(record.cell.as_str()).copied(),
            prompt: prompts.get(&record.key).copied().unwrap_or_default(),
            time: times.get(&record.key),
        };
        rows.push(&record, &about);
        params.push(&record.cell);
        scores.push(&record.key);
    })?;
    let mut columns = rows.columns();
    columns.extend(params.columns());
    columns.extend(scores.values.into_iter().map(|(name, values)| Column::new(name.into(), values)));
    Ok(DataFrame::new(rows.n, columns)?)
}

/// Whether a cell of the spec says that it is not timed.
fn is_untimed(spec: &Value, cell: &str) -> bool {
    let mut cells = spec["cells"].as_array().into_iter().flatten();
    cells.any(|of_spec| of_spec["name"] == cell && of_spec["timed"] == false)
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
        // Times of an untimed cell do not count, so they are no data either.
        let timed = row.filter(|_| !is_untimed(&about.summary.spec, &record.cell));
        let seconds = |of: fn(&TimingRow) -> u64| timed.map(|row| of(row) as f64 / 1e9);
        // Of another program's image only the whole time is known, unless the program says more.
        let shows_inside = |cell: &CellSummary| cell.origin.is_none() || cell.value("decode_s").is_some();
        let inside = |of| seconds(of).filter(|_| about.cell.is_none_or(shows_inside));
        let is_ok = record.status == Status::Ok;
        // Of what machine its images are, an import does not say.
        let is_imported = about.cell.is_some_and(|cell| cell.origin == Some(Origin::Imported));
        let summary = about.summary;
        let known = record.known();
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
            record.seed.known().map(|seed| seed.to_string()),
            Some(if is_ok { "ok" } else { "err" }.to_owned()),
            record.err.clone(),
            record.image.clone(),
            record.image_digest.as_ref().map(ToString::to_string),
            known.n_tokens.map(|_| record.tokens_digest.to_string()),
        ];
        let counts = [
            (!is_imported).then(|| u64::from(summary.threads)),
            Some(u64::from(record.sample)),
            known.size.map(|[width, _]| u64::from(width)),
            known.size.map(|[_, height]| u64::from(height)),
            known.n_tokens,
            known.nfe,
            known.n_steps,
            known.n_draft_forwards,
            known.accepted,
            known.emitted,
            known.skipped_steps,
            known.skipped_tokens,
            known.forced,
            known.out_of_support,
            about.time.map(|(shard, _)| u64::from(*shard)),
            row.map(|row| u64::from(row.attempt)),
            row.map(|row| u64::from(row.block)),
        ];
        let numbers = [
            known.tvd_spent,
            inside(|row| row.phases_ns.prefill),
            inside(|row| row.phases_ns.draft),
            inside(|row| row.decode_ns),
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
        let column = |(name, kind, _): &(&str, DataType, &str)| {
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

/// The numbers and words that axes or hands set differently in cells that are alike otherwise, filled record by record.
struct Params {
    /// Name of the column, path in a cell.
    paths: Vec<(String, String)>,
    cells: BTreeMap<String, Leaves>,
    /// `[n_paths, n_records]`
    values: Vec<Vec<Option<Value>>>,
}

impl Params {
    /// Those of a summary's spec: every path that an axis sets, and every number that two cells of one kind of method have
    /// with different values.
    fn of(summary: &Summary) -> Params {
        let cells = settings(summary);
        let mut paths: Vec<&String> = Vec::new();
        for (at, cell) in cells.iter().enumerate() {
            for other in &cells[..at] {
                let differing =
                    cell.leaves.iter().filter(|(path, value)| other.leaves.get(*path) != Some(value));
                let differing: Vec<&String> = differing.map(|(path, _)| path).collect();
                let is_alike = cell.leaves.len() == other.leaves.len()
                    && other.leaves.keys().all(|path| cell.leaves.contains_key(path));
                let of_one_axis = cell.base.is_some() && cell.base == other.base;
                let are_numbers = || differing.iter().all(|path| cell.leaves[*path].is_number());
                if is_alike && (of_one_axis || are_numbers()) {
                    paths.extend(differing);
                }
            }
        }
        paths.sort();
        paths.dedup();
        let short: Vec<&str> = paths.iter().map(|path| parameter(path)).collect();
        let name = |(at, path): (usize, &&String)| {
            // Two numbers of one name are distinguished by their whole path.
            let is_alone = short.iter().filter(|other| **other == short[at]).count() == 1;
            (format!("{PARAM}{}", if is_alone { short[at] } else { path.as_str() }), (*path).clone())
        };
        let paths: Vec<(String, String)> = paths.iter().enumerate().map(name).collect();
        let values = vec![Vec::new(); paths.len()];
        Params { paths, values, cells: cells.into_iter().map(|cell| (cell.name, cell.leaves)).collect() }
    }

    fn push(&mut self, cell: &str) {
        let leaves = self.cells.get(cell);
        for ((_, path), values) in self.paths.iter().zip(&mut self.values) {
            values.push(leaves.and_then(|leaves| leaves.get(path)).cloned());
        }
    }

    /// Numbers where all values are, else texts; null where a cell has no such setting.
    fn columns(self) -> impl Iterator<Item = Column> {
        self.paths.into_iter().zip(self.values).map(|((name, _), values)| {
            let name = PlSmallStr::from(name);
            match values.iter().flatten().all(Value::is_number) {
                true => Column::new(
                    name,
                    values.iter().map(|v| v.as_ref().and_then(Value::as_f64)).collect::<Vec<_>>(),
                ),
                false => Column::new(name, values.into_iter().map(|v| v.map(text)).collect::<Vec<_>>()),
            }
        })
    }
}

fn text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
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
        summary.made_by(cell)
    )
}
