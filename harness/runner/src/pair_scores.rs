//! Metrics that compare each image of a cell with the baseline's image of the same prompt and seed, by their pictures or by
//! their tokens. The baseline itself has no value: it would be compared with itself.

use std::collections::BTreeMap;

use specimen_datasets::data_root::DataRoot;
use specimen_experiments::spec::MetricSpec;
use specimen_measure::{
    MeasureError,
    metrics::PairMetric,
    pair_protocol::PairProtocol,
    pairs::{Intervals, PairMeasure, PairOutcome, Pairs, measure_pairs},
    published::Published,
};
use specimen_record::{ItemKey, MetricFile, Record, RunDir};

use crate::{
    error::RunError,
    images::load::Models,
    score::{CellImages, file_of, known, of_catalog, why_not},
    token_pairs,
};

/// A metric of pairs, ready for any number of cells.
pub(crate) struct PairScorer {
    metric: MetricSpec,
    /// Absent for a metric of tokens.
    pictures: Option<OfPictures>,
}

struct OfPictures {
    protocol: PairProtocol,
    known: &'static PairMetric,
    measure: Box<dyn PairMeasure>,
}

/// Images of a cell next to those of its baseline.
pub(crate) struct Partners<'a> {
    /// The cell's and the baseline's, in the order of the cell's.
    pub(crate) records: Vec<[&'a Record; 2]>,
    /// The text of the prompt of each.
    pub(crate) texts: Vec<&'a str>,
    /// Images of the cell without a partner.
    n_alone: usize,
}

impl PairScorer {
    /// Opens `metric`, one that is compared with the baseline.
    pub(crate) fn open(metric: &MetricSpec, data_root: Option<&DataRoot>) -> Result<Self, RunError> {
        let of_pictures = |name: &str| -> Result<OfPictures, RunError> {
            let protocol = PairProtocol::find(name)?;
            let known = protocol.metric(&metric.name)?;
            let weights = metric.weights.as_ref().map(|path| DataRoot::place(data_root, path));
            let networks = Published::new(data_root.map(DataRoot::path), weights);
            let networks = networks.on(metric.device.as_deref().unwrap_or("cpu"));
            let measure = (known.open)(&protocol, &networks)?;
            Ok(OfPictures { protocol, known, measure })
        };
        let pictures = metric.protocol.as_deref().map(of_pictures).transpose()?;
        Ok(Self { metric: metric.clone(), pictures })
    }

    /// The metric of the images of one cell; `baseline` has those that they are compared with.
    pub(crate) fn score(
        &self,
        run: &RunDir,
        images: &CellImages<'_>,
        baseline: Option<&CellImages<'_>>,
        models: &mut Models,
    ) -> Result<MetricFile, RunError> {
        let mut file =
            MetricFile { metric: self.metric.values().remove(0), ..of_catalog(&self.metric, images)? };
        // With and without a value alike, so that tables have one column of it.
        if let Some(OfPictures { protocol, known, measure }) = &self.pictures {
            file.protocol = protocol.label(known.name);
            file.extractor = measure.extractor();
        }
        file.why = match baseline {
            None => Some("no cell of the baseline's name has this model and sampling, so there is no image to compare with".to_owned()),
            Some(baseline) if baseline.cell.name == images.cell.name => {
                Some("it is the baseline, with whose images the others are compared".to_owned())
            }
            Some(_) => why_not(images, &self.metric),
        };
        let Some(baseline) = baseline.filter(|_| file.why.is_none()) else { return Ok(file) };
        let partners = partners(images, baseline);
        file.n = partners.records.len() as u64;
        if partners.n_alone > 0 {
            file.extra.insert("n_without_partner".to_owned(), partners.n_alone as f64);
        }
        if partners.records.is_empty() {
            file.why = Some(format!("no image of `{}` has the same prompt and seed", baseline.cell.name));
            return Ok(file);
        }
        match &self.pictures {
            Some(of_pictures) => of_pictures.fill(&mut file, run, &partners)?,
            None => token_pairs::fill(&mut file, known(&self.metric)?, (images.cell, &partners), models)?,
        }
        Ok(file)
    }
}

/// Each image of the cell with the baseline's of the same prompt, sample and seed.
fn partners<'a>(images: &CellImages<'a>, baseline: &CellImages<'a>) -> Partners<'a> {
    let identity = |record: &'a Record| (record.prompt_id.as_str(), record.sample, record.seed);
    let theirs: BTreeMap<_, &Record> =
        baseline.records.iter().map(|record| (identity(record), *record)).collect();
    let pair =
        |(record, text): (&&'a Record, &&'a str)| Some(([*record, *theirs.get(&identity(record))?], *text));
    let (records, texts): (Vec<_>, Vec<_>) =
        images.records.iter().zip(&images.prompts).filter_map(pair).unzip();
    Partners { n_alone: images.records.len() - records.len(), records, texts }
}

impl Partners<'_> {
    /// The prompt of each, by which intervals group them.
    pub(crate) fn prompts(&self) -> Vec<&str> {
        self.records.iter().map(|[record, _]| record.prompt_id.as_str()).collect()
    }
}

impl OfPictures {
    fn fill(&self, file: &mut MetricFile, run: &RunDir, partners: &Partners<'_>) -> Result<(), RunError> {
        let mut list = Vec::with_capacity(partners.records.len());
        // By the keys of the items, whose order is that of the pairs.
        let mut keys: BTreeMap<String, &Record> = BTreeMap::new();
        for [ours, theirs] in &partners.records {
            let files = [file_of(run, ours)?.1, file_of(run, theirs)?.1];
            list.push((ours.key.to_string(), files));
            keys.insert(ours.key.to_string(), ours);
        }
        let pairs = Pairs::of_list(run.root(), &list)?;
        let prompts: Vec<&str> = pairs.names().map(|name| keys[name].prompt_id.as_str()).collect();
        let (of, intervals) = ((self.known, &self.protocol), Intervals::OverGroups(&prompts));
        let PairOutcome { measured, pairs } =
            match measure_pairs(of, self.measure.as_ref(), &pairs, intervals, |_| {}) {
                Err(MeasureError::DoesNotApply { why }) => {
                    file.why = Some(why);
                    return Ok(());
                }
                found => found?,
            };
        let scored =
            pairs.iter().filter_map(|pair| Some((keys[pair.name.as_str()].key.clone(), pair.score?)));
        let per_item: BTreeMap<ItemKey, f64> = scored.collect();
        let number = |(name, value): (&String, &serde_json::Value)| Some((name.clone(), value.as_f64()?));
        (file.value, file.ci95, file.why) = (measured.value, measured.ci95, measured.why);
        file.notes = measured.notes;
        file.extra.extend(measured.details.iter().filter_map(number));
        file.per_item = (!per_item.is_empty()).then_some(per_item);
        Ok(())
    }
}
