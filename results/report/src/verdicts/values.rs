//! What a run measured, prompt by prompt: the unit in which two sides are paired. Samples of one prompt are averaged
//! first, since they are not independent.

use std::collections::{BTreeMap, BTreeSet};

use specimen_record::{
    MetricFile, ObservedUnit, Origin, Record, RunDir, Seed, Status, Summary, Timed, read_document,
    read_timings, visit_rows,
};

/// Values by prompt id.
pub type ByPrompt = BTreeMap<String, f64>;

/// The span of an image that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// From the prefill to the last token; unknown for images of another program.
    Decode,
    /// From the prompt to the saved image.
    EndToEnd,
}

/// A run with its values by prompt.
#[derive(Clone, Debug)]
pub struct RunValues {
    /// The run's summary.
    pub summary: Summary,
    /// By cell and measure.
    values: BTreeMap<(String, String), Mean>,
    /// Protocol of each metric, by cell and metric.
    protocols: BTreeMap<(String, String), String>,
    /// Seed of each image, by cell, and by prompt and sample.
    seeds: BTreeMap<String, BTreeMap<(String, u32), Seed>>,
    /// Times without warm-ups, of cells that are timed, by cell.
    times: BTreeMap<String, Vec<Timed>>,
    /// Shard and number of the attempts that timed every timed cell, whose times alone are in mean times, as in tables;
    /// absent where there are none.
    whole_attempts: Option<BTreeSet<(u32, u32)>>,
}

/// Sums and counts by prompt.
type Mean = BTreeMap<String, (f64, u32)>;

/// The times of a cell and of its baseline on the same prompts in the same attempts, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct PairedTimes {
    /// The baseline's, by prompt.
    pub baseline: ByPrompt,
    /// The cell's, by prompt.
    pub method: ByPrompt,
}

impl RunValues {
    /// Reads the summary, the records, the times and the metrics of a run.
    pub fn read(run: &RunDir) -> anyhow::Result<RunValues> {
        let summary: Summary = read_document(&run.summary())?;
        let mut values = BTreeMap::new();
        let mut seeds: BTreeMap<String, BTreeMap<_, _>> = BTreeMap::new();
        visit_rows(&run.merged_records(), |record: Record| {
            let of_cell = seeds.entry(record.cell.clone()).or_default();
            of_cell.insert((record.prompt_id.clone(), record.sample), record.seed);
            for (measure, value) in counted(&record) {
                push(&mut values, &record.cell, measure, &record.prompt_id, value);
            }
        })?;
        let mut protocols = BTreeMap::new();
        for path in run.metric_files()? {
            let file: MetricFile = read_document(&path)?;
            for (key, value) in file.per_item.iter().flatten() {
                push(&mut values, &file.cell, &file.metric, &key.prompt_id(), *value);
            }
            let protocol = summary.cell(&file.cell).and_then(|cell| {
                cell.metrics.iter().find(|m| m.metric == file.metric).map(|m| m.protocol.clone())
            });
            protocols.insert((file.cell, file.metric), protocol.unwrap_or(file.protocol));
        }
        let timed: BTreeSet<&str> = summary
            .cells
            .iter()
            .filter(|cell| cell.value("e2e_s").is_some())
            .map(|cell| cell.id.as_str())
            .collect();
        let mut times: BTreeMap<String, Vec<Timed>> = BTreeMap::new();
        for time in read_timings(run)?.rows.into_iter().filter(|time| !time.row.warmup) {
            let cell = time.row.key.cell();
            if timed.contains(cell.as_str()) {
                times.entry(cell).or_default().push(time);
            }
        }
        let of = |times: &Vec<Timed>| times.iter().map(attempt).collect::<BTreeSet<_>>();
        let whole_attempts = times.values().map(of).reduce(|a, b| &a & &b).filter(|whole| !whole.is_empty());
        Ok(RunValues { values, protocols, seeds, times, whole_attempts, summary })
    }

    /// Mean of a measure over the samples of each prompt; empty where the cell has none.
    pub fn by_prompt(&self, cell: &str, measure: &str) -> ByPrompt {
        let key = (cell.to_owned(), measure.to_owned());
        self.values.get(&key).map(means).unwrap_or_default()
    }

    /// Metrics of a cell that have a value for each image, with their protocols.
    pub fn metrics<'a>(&'a self, cell: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.protocols
            .iter()
            .filter(move |((of, metric), _)| {
                of == cell && self.values.contains_key(&(of.clone(), metric.clone()))
            })
            .map(|((_, metric), protocol)| (metric.as_str(), protocol.as_str()))
    }

    /// The first prompt and sample whose seed differs between a cell and one of another run, with both seeds; a random
    /// source that differs pairs nothing.
    pub fn other_seed(&self, cell: &str, other: (&RunValues, &str)) -> Option<((String, u32), [Seed; 2])> {
        let (of_cell, theirs) = (self.seeds.get(cell)?, other.0.seeds.get(other.1)?);
        let both = of_cell.iter().filter_map(|(image, seed)| Some((image, [*seed, *theirs.get(image)?])));
        both.into_iter().find(|(_, [one, two])| one != two).map(|(image, seeds)| (image.clone(), seeds))
    }

    /// Number of prompts of a cell.
    pub(crate) fn n_prompts(&self, cell: &str) -> usize {
        self.prompts(cell).len()
    }

    fn prompts(&self, cell: &str) -> BTreeSet<&str> {
        let images = self.seeds.get(cell).into_iter().flatten();
        images.map(|((prompt, _), _)| prompt.as_str()).collect()
    }

    /// Number of prompts that a cell shares with a cell of another run, by their ids, and of those that either has; `None`
    /// where the images of one are not known.
    pub fn common_prompts(&self, cell: &str, other: (&RunValues, &str)) -> Option<[usize; 2]> {
        let (of_cell, theirs) = (self.prompts(cell), other.0.prompts(other.1));
        let is_known = !of_cell.is_empty() && !theirs.is_empty();
        is_known.then(|| [of_cell.intersection(&theirs).count(), of_cell.union(&theirs).count()])
    }

    /// What the times of a cell are observed by.
    pub fn observed_by(&self, cell: &str) -> ObservedUnit {
        let is_batch = |timed: &Timed| timed.row.batch.is_some();
        match self.times.get(cell).is_some_and(|times| times.iter().any(is_batch)) {
            true => ObservedUnit::Batches,
            false => ObservedUnit::Prompts,
        }
    }

    /// Seconds of each image of a cell in the attempts that timed all cells, by prompt, or by batch where images were decoded
    /// together; empty where nothing was timed or the span is unknown.
    pub fn seconds(&self, cell: &str, span: Span) -> ByPrompt {
        let mut mean = Mean::new();
        let is_whole =
            |timed: &&Timed| self.whole_attempts.as_ref().is_none_or(|whole| whole.contains(&attempt(timed)));
        for timed in self.times_of(cell, span).filter(is_whole) {
            add(&mut mean, &timed.unit, span.seconds(timed));
        }
        means(&mean)
    }

    /// The times of a cell and its baseline's, paired within attempts; `None` where the cell is its own baseline, has
    /// none, or shares no attempt with it.
    pub fn paired_times(&self, cell: &str, span: Span) -> Option<PairedTimes> {
        let baseline = self.summary.cell(cell)?.baseline.as_deref().filter(|id| *id != cell)?;
        let of = |cell: &str| -> BTreeMap<(u32, u32, String, u32), &Timed> {
            let place = |timed: &&Timed| {
                let key = &timed.row.key;
                (timed.shard, timed.row.attempt, key.prompt_id(), key.sample())
            };
            self.times_of(cell, span).map(|timed| (place(&timed), timed)).collect()
        };
        let (method, baseline) = (of(cell), of(baseline));
        let (mut above, mut below) = (Mean::new(), Mean::new());
        for (place, time) in &method {
            let Some(reference) = baseline.get(place) else { continue };
            // The baseline's on both sides: a batch that lost an image to a failure keeps its name.
            add(&mut above, &reference.unit, span.seconds(reference));
            add(&mut below, &reference.unit, span.seconds(time));
        }
        (!above.is_empty()).then(|| PairedTimes { baseline: means(&above), method: means(&below) })
    }

    /// The times of a cell; none where its summary has no time of the span.
    fn times_of(&self, cell: &str, span: Span) -> impl Iterator<Item = &Timed> {
        let is_known = self.summary.cell(cell).is_some_and(|cell| match span {
            Span::Decode => cell.value("decode_s").is_some(),
            Span::EndToEnd => cell.value("e2e_s").is_some() && cell.origin != Some(Origin::Imported),
        });
        self.times.get(cell).filter(|_| is_known).into_iter().flatten()
    }
}

/// Shard and number of the attempt that timed an image.
fn attempt(timed: &Timed) -> (u32, u32) {
    (timed.shard, timed.row.attempt)
}

impl Span {
    fn seconds(self, timed: &Timed) -> f64 {
        let ns = match self {
            Span::Decode => timed.row.decode_ns,
            Span::EndToEnd => timed.row.e2e_ns,
        };
        ns as f64 * 1e-9
    }
}

/// What is counted of one image; nothing of an item that failed.
fn counted(record: &Record) -> Vec<(&'static str, f64)> {
    let Some(nfe) = record.nfe.filter(|_| record.status == Status::Ok) else { return Vec::new() };
    // Another program may say no more.
    let Some(n_verifies) = record.n_verifies() else { return vec![("nfe", nfe as f64)] };
    let each = |tokens: u64| tokens as f64 / n_verifies as f64;
    vec![
        ("nfe", nfe as f64),
        ("accepted_per_step", each(record.accepted)),
        ("tokens_per_forward", each(record.emitted)),
        ("tpf", each(record.emitted + record.skipped_tokens)),
        ("tvd_spent", record.tvd_spent),
    ]
}

fn push(values: &mut BTreeMap<(String, String), Mean>, cell: &str, measure: &str, prompt: &str, value: f64) {
    add(values.entry((cell.to_owned(), measure.to_owned())).or_default(), prompt, value);
}

fn add(mean: &mut Mean, prompt: &str, value: f64) {
    let (sum, n) = mean.entry(prompt.to_owned()).or_default();
    *sum += value;
    *n += 1;
}

fn means(mean: &Mean) -> ByPrompt {
    mean.iter().map(|(prompt, (sum, n))| (prompt.clone(), sum / f64::from(*n))).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use specimen_record::{Item, ItemKey, Seed};

    use super::*;

    fn counts(record: Record) -> Vec<f64> {
        counted(&record).into_iter().map(|(_, value)| value).collect()
    }

    #[test]
    fn counts_of_an_image_are_those_of_its_forwards() {
        let key = ItemKey::new("rows", "1", 0);
        let (cell, prompt_id, prompt) = ("rows".to_owned(), "1".to_owned(), String::new());
        let item = Item { key, cell, prompt_id, sample: 0, seed: Seed(1), block: 0, prompt };
        let made = Record { status: Status::Ok, err: None, ..Record::failed(&item, "") };
        // One sequence: four verifications, of which one skipped step committed two tokens.
        let sequence = Record {
            nfe: Some(5),
            n_steps: 5,
            accepted: 6,
            emitted: 10,
            skipped_steps: 1,
            skipped_tokens: 2,
            ..made.clone()
        };
        assert_eq!(counts(sequence), [5.0, 1.5, 2.5, 3.0, 0.0]);
        // Rows side by side: nothing is drafted, and a forward gives tokens of several rows.
        let rows = Record { nfe: Some(5), n_steps: 4, emitted: 10, ..made.clone() };
        assert_eq!(counts(rows), [5.0, 0.0, 2.5, 2.5, 0.0]);
        // Another program's, of which nothing else is known.
        assert_eq!(counts(Record { nfe: Some(5), ..made.clone() }), [5.0]);
        assert_eq!(counts(Record { status: Status::Err, nfe: Some(5), ..made }), [0.0; 0]);
    }
}
