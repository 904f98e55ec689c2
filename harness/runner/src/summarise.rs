//! The numbers of each cell: speed with paired intervals, counts, costs, what they predict, and the metrics
//! beside the baseline's.
//!
//! Every time is compared with the baseline's on the same prompt in the same attempt of the same shard.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use specimen_decode::method::{DrafterConfig, Proposer, RuleConfig, ScheduleConfig, Shape, Tree};
use specimen_experiments::{
    plan::Plan,
    spec::{Cell, MetricSpec, Spec},
};
use specimen_record::{
    CellSummary, Digest, Family, Guarantee, ItemKey, Manifest, MetricFile, MetricSummary, Pooled,
    PredictedSpeedup, Ratio, Record, RunDir, SCHEMA, Sampling, Status, StepsRow, Summary, Timed, TimingRow,
    VsBaseline, WallSeconds, read_document, read_rows, read_timings,
};
use specimen_stats::{
    bootstrap::{BootstrapPlan, Interval},
    decode_metrics::{DecodeSummary, DecodeTotals, DepthCounts, ImageCounts},
    paired::Paired,
    predicted_speedup::{StepCosts, predicted_speedup},
    statistic::Statistic,
};

use crate::{elsewhere, error::RunError, trust, workplace::Workplace};

/// Resamples of every interval.
const N_RESAMPLES: usize = 4000;

/// What two times must share to be compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PairKey {
    /// Shard and attempt.
    attempt: (u32, u32),
    prompt_id: String,
    sample: u32,
}

impl PairKey {
    fn new(attempt: (u32, u32), key: &ItemKey) -> Self {
        Self { attempt, prompt_id: key.prompt_id(), sample: key.sample() }
    }
}

/// What computed in each attempt, by shard and number.
type Devices = BTreeMap<(u32, u32), String>;

/// Means by prompt, the unit that is resampled: samples of one prompt, and repeats of one item in several
/// attempts, are not independent.
fn by_prompt(values: impl Iterator<Item = (String, f64)>) -> Vec<(String, f64)> {
    let mut sums: BTreeMap<String, (f64, u32)> = BTreeMap::new();
    for (prompt_id, value) in values {
        let (sum, n) = sums.entry(prompt_id).or_default();
        *sum += value;
        *n += 1;
    }
    sums.into_iter().map(|(prompt_id, (sum, n))| (prompt_id, sum / f64::from(n))).collect()
}

/// One cell's material.
struct Material<'a> {
    cell: &'a Cell,
    records: Vec<&'a Record>,
    timings: BTreeMap<PairKey, &'a TimingRow>,
    /// The same rows with the shard they were measured in.
    timed: Vec<&'a Timed>,
    counts: Option<DecodeSummary>,
}

/// Summarises a merged and scored run, whose images were made at `place`.
///
/// # Errors
/// Files that cannot be read, or counts that contradict each other.
pub(crate) fn summarise(
    run: &RunDir,
    plan: &Plan,
    records: &[Record],
    manifest: &Manifest,
    place: &Workplace,
    result_digest: &Digest,
) -> Result<Summary, RunError> {
    let spec = &plan.spec;
    let timings = read_timings(run)?.rows;
    let devices = &place.devices;
    let steps: BTreeMap<ItemKey, StepsRow> = read_rows::<StepsRow>(&run.merged_steps())?
        .rows
        .into_iter()
        .map(|row| (row.key.clone(), row))
        .collect();
    let mut materials = Vec::new();
    for cell in &spec.cells {
        let ok: Vec<&Record> =
            records.iter().filter(|r| r.cell == cell.name && r.status == Status::Ok).collect();
        let keys: BTreeSet<&ItemKey> = ok.iter().map(|record| &record.key).collect();
        // Images of a cell that is not timed are made side by side: how long each took says nothing.
        let rows = timings.iter().filter(|timed| cell.timed && !timed.row.warmup);
        let timed: Vec<&Timed> = rows.filter(|timed| keys.contains(&timed.row.key)).collect();
        let rows = timed
            .iter()
            .map(|timed| (PairKey::new((timed.shard, timed.row.attempt), &timed.row.key), &timed.row))
            .collect();
        let counts = if cell.is_elsewhere() { None } else { counts(&ok, &steps)? };
        materials.push(Material { cell, timings: rows, timed, records: ok, counts });
    }
    let mut cells = Vec::new();
    for material in &materials {
        let baseline = spec.baseline_of(material.cell);
        let baseline = baseline.and_then(|cell| materials.iter().find(|other| other.cell.name == cell.name));
        let n_failed =
            records.iter().filter(|r| r.cell == material.cell.name && r.status == Status::Err).count() as u64;
        cells.push(cell_summary(run, spec, plan, material, baseline, n_failed, devices)?);
    }
    let is_baseline = |material: &&Material<'_>| {
        spec.baseline_of(material.cell).is_some_and(|cell| cell.name == material.cell.name)
    };
    let baseline = materials.iter().find(is_baseline).map_or(&[][..], |material| &material.timed);
    Ok(Summary {
        schema: SCHEMA,
        timing_quality: Some(trust::of_run(run, baseline)?),
        spec: manifest.spec.clone(),
        name: spec.name.clone(),
        plan_digest: manifest.plan_digest.clone(),
        result_digest: result_digest.clone(),
        baseline: specimen_experiments::names::BASELINE.to_owned(),
        device: manifest.device.clone(),
        dtype: manifest.dtype.clone(),
        threads: manifest.threads,
        cpu_model: place.cpu_model.clone(),
        cpu_features: place.cpu_features.clone(),
        gpus: place.gpus.clone(),
        cells,
    })
}

fn counts(
    records: &[&Record],
    steps: &BTreeMap<ItemKey, StepsRow>,
) -> Result<Option<DecodeSummary>, RunError> {
    if records.is_empty() {
        return Ok(None);
    }
    let mut totals = DecodeTotals::default();
    for record in records {
        let trace = steps.get(&record.key).map_or(&[][..], |row| &row.steps);
        // Acceptance by depth leaves forced positions out, where it is certain.
        let n_unforced = record.accepted_by_depth.iter().map(|&n| u64::from(n)).sum::<u64>();
        let depths = record.tested_by_depth.iter().zip(&record.accepted_by_depth);
        totals.push(&ImageCounts {
            n_tokens: record.n_tokens,
            n_target_forwards: record.nfe,
            n_accepted_by_verify: trace.iter().filter(|s| s[3] > 0).map(|s| u64::from(s[1])).collect(),
            n_forced_accepted: record.accepted.saturating_sub(n_unforced),
            n_committed_by_skip: trace.iter().filter(|s| s[3] == 0).map(|s| u64::from(s[2])).collect(),
            depths: depths
                .map(|(&t, &a)| DepthCounts { n_tested: u64::from(t), n_accepted: u64::from(a) })
                .collect(),
        })?;
    }
    Ok(Some(totals.value()?))
}

fn cell_summary(
    run: &RunDir,
    spec: &Spec,
    plan: &Plan,
    material: &Material<'_>,
    baseline: Option<&Material<'_>>,
    n_failed: u64,
    devices: &Devices,
) -> Result<CellSummary, RunError> {
    let cell = material.cell;
    let told = elsewhere::of(cell, &material.records);
    let resamples = BootstrapPlan::new(spec.seed, N_RESAMPLES, 0.95)?;
    let speedup = match &told {
        None => ratio(material, baseline, devices, &resamples, |row| row.decode_ns)?,
        Some(_) => Ratio::absent(elsewhere::NO_INSIDE),
    };
    let speedup_e2e = ratio(material, baseline, devices, &resamples, |row| row.e2e_ns)?;
    let wall_s =
        if told.is_some() { elsewhere::wall(mean_s(material, |row| row.e2e_ns)) } else { wall(material) };
    let predicted = match &told {
        None => predict(material, baseline, speedup.value)?,
        Some(_) => no_prediction(elsewhere::NO_STEPS),
    };
    let rates = material.counts.as_ref().map(|counts| &counts.macro_mean);
    let micro = material.counts.as_ref().map(|counts| &counts.micro);
    let mut why = told.as_ref().map_or_else(BTreeMap::new, |told| told.why.clone());
    if rates.is_none() && told.is_none() {
        for name in ["accepted_per_step", "tokens_per_forward", "tpf", "nfe", "step_compression", "tvd_spent"]
        {
            why.insert(name.to_owned(), "no image".to_owned());
        }
    }
    let overhead_fraction = if told.is_some() { None } else { overhead(material) };
    let untimed = if cell.timed { "nothing was timed" } else { "the cell is not timed" };
    if wall_s.e2e.is_none() {
        why.insert("wall_s".to_owned(), untimed.to_owned());
    }
    if overhead_fraction.is_none() && told.is_none() {
        why.insert("overhead_fraction".to_owned(), untimed.to_owned());
    }
    let n = material.records.len() as f64;
    let tvd = material.records.iter().map(|record| record.tvd_spent).sum::<f64>();
    Ok(CellSummary {
        id: cell.name.clone(),
        model: cell.model.name.clone(),
        dataset: plan.dataset.clone(),
        drafter: if told.is_some() { "not known".to_owned() } else { drafter_words(&cell.method.drafter) },
        method: method_words(cell),
        family: Some(family(cell)),
        guarantee: match &told {
            Some(_) => Guarantee::Unknown,
            None if cell.method.is_lossless() => Guarantee::Exact,
            None => Guarantee::Relaxed,
        },
        origin: told.as_ref().map(|told| told.origin),
        baseline: baseline.map(|baseline| baseline.cell.name.clone()),
        dtype: word_of(&cell.model.dtype)?,
        device: cell.model.device.clone(),
        sampling: Sampling {
            temperature: cell.sampling.temperature,
            top_k: cell.sampling.top_k,
            top_p: cell.sampling.top_p,
            guidance: cell.sampling.guidance,
        },
        params: params(cell),
        n_images: material.records.len() as u64,
        n_failed,
        timing_quality: Some(trust::of_cell(&material.timed)),
        speedup,
        speedup_e2e,
        accepted_per_step: rates.map(|rates| rates.accepted_per_step),
        accepted_per_step_unforced: rates
            .filter(|_| material.records.iter().any(|record| record.forced > 0))
            .map(|rates| rates.accepted_per_step_unforced),
        tokens_per_forward: rates.map(|rates| rates.tokens_per_forward),
        tpf: rates.map(|rates| rates.tokens_per_forward_with_skips),
        pooled: Pooled {
            accepted_per_step: micro.map(|rates| rates.accepted_per_step),
            tokens_per_forward: micro.map(|rates| rates.tokens_per_forward),
            tpf: micro.map(|rates| rates.tokens_per_forward_with_skips),
        },
        nfe: told.as_ref().map_or(rates.map(|rates| rates.nfe), |told| told.nfe),
        step_compression: told
            .as_ref()
            .map_or(rates.map(|rates| rates.step_compression), |told| told.step_compression),
        wall_s,
        predicted_speedup: predicted,
        overhead_fraction,
        tvd_spent: rates.map(|_| tvd / n),
        out_of_support: material.records.iter().map(|record| record.out_of_support).sum(),
        residual_fallbacks: material.records.iter().map(|record| record.residual_fallbacks).sum(),
        acceptance_by_depth: material
            .counts
            .as_ref()
            .map_or_else(Vec::new, |c| c.acceptance_by_depth.clone()),
        metrics: metrics(run, spec, cell, baseline.map(|baseline| baseline.cell), &resamples)?,
        why,
    })
}

/// Baseline time over this cell's, paired.
fn ratio(
    material: &Material<'_>,
    baseline: Option<&Material<'_>>,
    devices: &Devices,
    resamples: &BootstrapPlan,
    time: fn(&TimingRow) -> u64,
) -> Result<Ratio, RunError> {
    let Some(baseline) = baseline else {
        return Ok(Ratio::absent(if material.cell.timed {
            "the spec has no timed `ar` cell with this model and sampling"
        } else {
            "the cell is not timed"
        }));
    };
    let times = |material: &Material<'_>, other: &Material<'_>| -> Vec<(String, f64)> {
        let shared = material.timings.iter().filter(|(key, _)| other.timings.contains_key(*key));
        by_prompt(shared.map(|(key, row)| (key.prompt_id.clone(), time(row) as f64)))
    };
    let shared = material.timings.keys().filter(|key| baseline.timings.contains_key(*key));
    let used: BTreeSet<&String> = shared.filter_map(|key| devices.get(&key.attempt)).collect();
    if used.len() > 1 {
        let names = used.into_iter().map(String::as_str).collect::<Vec<_>>().join("; ");
        return Ok(Ratio::absent(&format!(
            "its times are of several devices ({names}) and are not put into one ratio; pin timed cells to one, on a \
             cluster by `constraint` in [slurm.timing], and run them again"
        )));
    }
    let pairs = (times(baseline, material), times(material, baseline));
    if pairs.0.len() < 2 {
        return Ok(Ratio::absent("fewer than two prompts were timed with both this cell and the baseline"));
    }
    let paired = Paired::join(pairs.0, pairs.1)?;
    let ends = |interval: Interval| Some([interval.lower, interval.upper]);
    let estimate = paired.ratio_of_sums(resamples)?;
    let geomean = paired.geometric_mean_ratio(resamples)?;
    // Fewer than six pairs have a median whose interval would be wider than their range.
    let median = paired.median_ratio(0.95).ok();
    Ok(Ratio {
        value: Some(estimate.value),
        ci95: ends(estimate.interval),
        geomean: Some(geomean.value),
        geomean_ci95: ends(geomean.interval),
        median: median.map(|median| median.value),
        median_ci95: median.and_then(|median| ends(median.interval)),
        why: None,
    })
}

/// Mean of `of` over a cell's timed images, in seconds.
fn mean_s(material: &Material<'_>, of: impl Fn(&TimingRow) -> u64) -> Option<f64> {
    let n = material.timings.len();
    (n > 0).then(|| material.timings.values().map(|row| of(row) as f64).sum::<f64>() * 1e-9 / n as f64)
}

fn wall(material: &Material<'_>) -> WallSeconds {
    let mean = |of: fn(&TimingRow) -> u64| mean_s(material, of);
    WallSeconds {
        text_encode: mean(|row| row.phases_ns.text_encode),
        prefill: mean(|row| row.phases_ns.prefill),
        draft: mean(|row| row.phases_ns.draft),
        target: mean(|row| row.phases_ns.target),
        verify: mean(|row| row.phases_ns.verify),
        update: mean(|row| row.phases_ns.update),
        vq_decode: mean(|row| row.phases_ns.vq_decode),
        save: mean(|row| row.phases_ns.save),
        decode: mean(|row| row.decode_ns),
        e2e: mean(|row| row.e2e_ns),
    }
}

/// Share of decode time that is no forward of a network.
fn overhead(material: &Material<'_>) -> Option<f64> {
    let decode = mean_s(material, |row| row.decode_ns)?;
    let forwards =
        mean_s(material, |row| row.phases_ns.prefill + row.phases_ns.target + row.phases_ns.draft)?;
    Some(1.0 - forwards / decode)
}

fn no_prediction(why: &str) -> PredictedSpeedup {
    PredictedSpeedup {
        value: None,
        r_verify: None,
        c_draft: None,
        n_draft: None,
        ratio_measured_to_predicted: None,
        why: Some(why.to_owned()),
    }
}

/// `tau / (r_verify + n_draft c_draft)` from counts and mean forward times.
fn predict(
    material: &Material<'_>,
    baseline: Option<&Material<'_>>,
    measured: Option<f64>,
) -> Result<PredictedSpeedup, RunError> {
    let Some(baseline) = baseline else {
        return Ok(no_prediction("there is no baseline to take costs from"));
    };
    let per_forward = |material: &Material<'_>| -> Option<f64> {
        let total: f64 = mean_s(material, |row| row.phases_ns.target)?;
        let forwards = material.records.iter().map(|record| record.nfe - 1).sum::<u64>() as f64;
        (forwards > 0.0).then(|| total * material.records.len() as f64 / forwards)
    };
    let (Some(counts), Some(verify), Some(step)) =
        (&material.counts, per_forward(material), per_forward(baseline))
    else {
        return Ok(no_prediction("nothing was timed"));
    };
    let n_verifies = material.records.iter().map(|record| record.nfe - 1).sum::<u64>() as f64;
    let n_draft = material.records.iter().map(|record| record.n_draft_forwards).sum::<u64>() as f64;
    let draft_s = mean_s(material, |row| row.phases_ns.draft).unwrap_or(0.0) * material.records.len() as f64;
    let costs = StepCosts {
        r_verify: verify / step,
        n_draft: n_draft / n_verifies,
        c_draft: if n_draft > 0.0 { draft_s / n_draft / step } else { 0.0 },
    };
    let value = predicted_speedup(counts.micro.tokens_per_forward_with_skips, &costs)?;
    Ok(PredictedSpeedup {
        value: Some(value),
        r_verify: Some(costs.r_verify),
        c_draft: Some(costs.c_draft),
        n_draft: Some(costs.n_draft),
        ratio_measured_to_predicted: measured.map(|measured| measured / value),
        why: None,
    })
}

/// The metric files of a cell, each beside the baseline's where both have a value per image.
fn metrics(
    run: &RunDir,
    spec: &Spec,
    cell: &Cell,
    baseline: Option<&Cell>,
    resamples: &BootstrapPlan,
) -> Result<Vec<MetricSummary>, RunError> {
    let mut rows = Vec::new();
    for metric in spec.metrics.iter().flat_map(MetricSpec::values) {
        let file: MetricFile = read_document(&run.metrics(&metric, &cell.name))?;
        let vs_baseline = match baseline.filter(|baseline| baseline.name != cell.name) {
            None => None,
            Some(baseline) => {
                let other: MetricFile = read_document(&run.metrics(&metric, &baseline.name))?;
                versus(&file, &other, resamples)?
            }
        };
        rows.push(MetricSummary {
            metric: file.metric,
            protocol: file
                .extractor
                .clone()
                .map_or(file.protocol.clone(), |x| format!("{}:{x}", file.protocol)),
            value: file.value,
            ci95: file.ci95,
            n: file.n,
            why: file.why,
            unit: file.unit,
            higher_is_better: file.higher_is_better,
            vs_baseline,
        });
    }
    Ok(rows)
}

fn versus(
    file: &MetricFile,
    baseline: &MetricFile,
    resamples: &BootstrapPlan,
) -> Result<Option<VsBaseline>, RunError> {
    let (Some(ours), Some(theirs)) = (&file.per_item, &baseline.per_item) else { return Ok(None) };
    let by_image = |values: &BTreeMap<ItemKey, f64>| -> BTreeMap<(String, u32), f64> {
        values.iter().map(|(key, &value)| ((key.prompt_id(), key.sample()), value)).collect()
    };
    let (ours, theirs) = (by_image(ours), by_image(theirs));
    let shared = |of: &BTreeMap<(String, u32), f64>, with: &BTreeMap<(String, u32), f64>| {
        let both = of.iter().filter(|(image, _)| with.contains_key(*image));
        by_prompt(both.map(|((prompt_id, _), &value)| (prompt_id.clone(), value)))
    };
    let pairs = (shared(&theirs, &ours), shared(&ours, &theirs));
    if pairs.0.len() < 2 {
        return Ok(None);
    }
    let difference = Paired::join(pairs.0, pairs.1)?.mean_difference(resamples)?;
    Ok(Some(VsBaseline {
        difference: difference.value,
        se: Some(difference.standard_error),
        ci95: Some([difference.interval.lower, difference.interval.upper]),
        z: difference.z,
        detectable: Some(difference.detectable),
        n: difference.n_pairs as u64,
    }))
}

/// A unit variant as a spec writes it.
pub(crate) fn word_of(value: &impl serde::Serialize) -> Result<String, RunError> {
    let value = serde_json::to_value(value).map_err(|e| RunError::Spec(e.to_string()))?;
    Ok(value.as_str().unwrap_or_default().to_owned())
}

fn head_words(proposer: &str, drafter: &DrafterConfig) -> String {
    drafter.weights.as_ref().map_or_else(|| proposer.to_owned(), |weights| format!("{proposer}/{weights}"))
}

fn drafter_words(drafter: &DrafterConfig) -> String {
    let proposer = match drafter.proposer {
        Proposer::None => return "none".to_owned(),
        Proposer::Eagle1 => head_words("eagle1", drafter),
        Proposer::Eagle3 => head_words("eagle3", drafter),
        Proposer::Jacobi => drafter.jacobi.as_ref().map_or_else(String::new, |jacobi| jacobi.canonical()),
        Proposer::Model => drafter.model.clone().unwrap_or_else(|| "model".to_owned()),
    };
    let shape = match &drafter.shape {
        None => String::new(),
        Some(Shape::Chain { depth }) => format!(" chain {depth}"),
        Some(Shape::Static { tree: Tree::Named(name) }) => format!(" static {name}"),
        Some(Shape::Static { tree: Tree::Listed(paths) }) => format!(" static {} nodes", paths.len()),
        Some(Shape::Dynamic { top_k, depth, total_token }) => {
            format!(" dynamic {top_k}/{depth}/{total_token}")
        }
    };
    format!("{proposer}{shape}")
}

fn method_words(cell: &Cell) -> String {
    if let Some(external) = &cell.external {
        return external.command_line();
    }
    if let Some(imported) = &cell.imported {
        return format!("imported by {}", imported.table);
    }
    if cell.is_autoregressive() {
        return specimen_experiments::names::BASELINE.to_owned();
    }
    let rules = serde_json::to_value(&cell.method.accept).unwrap_or_default();
    let kinds: Vec<&str> =
        rules.as_array().into_iter().flatten().filter_map(|rule| rule["kind"].as_str()).collect();
    if kinds.is_empty() { "lossless".to_owned() } else { kinds.join(" over ") }
}

/// The kind of a cell's method: by its scheduler, then by its rules that relax, then by its drafter.
fn family(cell: &Cell) -> Family {
    if cell.is_elsewhere() {
        return Family::External;
    }
    if !matches!(cell.method.schedule, ScheduleConfig::Always {}) {
        return Family::Skipping;
    }
    let of_rule = |rule: &RuleConfig| match rule {
        RuleConfig::Lossless {} => None,
        RuleConfig::Gsd(_) => Some(Family::Grouped),
        RuleConfig::Lantern(_) | RuleConfig::LanternPlusPlus(_) => Some(Family::Lantern),
        RuleConfig::Cascade(_) => Some(Family::Cascade),
    };
    let of_drafter = || match (&cell.method.drafter.proposer, &cell.method.drafter.shape) {
        (Proposer::None, _) => Family::Plain,
        (Proposer::Jacobi, _) => Family::Jacobi,
        (_, Some(Shape::Static { .. })) => Family::StaticTree,
        (_, Some(Shape::Dynamic { .. })) => Family::DynamicTree,
        (_, Some(Shape::Chain { .. }) | None) => Family::Chain,
    };
    cell.method.accept.iter().filter_map(of_rule).max().unwrap_or_else(of_drafter)
}

/// Hyper-parameters by name: axis values, then the drafter's.
fn params(cell: &Cell) -> BTreeMap<String, Value> {
    let mut params = cell.params.clone();
    if cell.is_elsewhere() {
        return params;
    }
    if let Ok(Value::Object(drafter)) = serde_json::to_value(&cell.method.drafter) {
        for (name, value) in drafter {
            params.entry(format!("drafter.{name}")).or_insert(value);
        }
    }
    params
}
