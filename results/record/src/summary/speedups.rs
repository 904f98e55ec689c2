//! Speedups: measured, as paired ratios of times, and predicted from counts and costs.

use std::collections::{BTreeMap, BTreeSet};

use specimen_stats::{
    bootstrap::{BootstrapPlan, Interval},
    paired::Paired,
    predicted_speedup::{StepCosts, predicted_speedup},
};

use crate::{
    Observations, ObservedUnit, Reading, TimingRow,
    summary::{
        cell_data::{CellData, by_unit},
        cell_summary::Readings,
        error::SummaryError,
        hardware::Devices,
        wall_times::{mean_count, mean_verifications, mean_where},
    },
};

/// Why a cell whose times do not count has no ratio of them.
pub(crate) const UNTIMED: &str = "the cell is untimed";

/// Why a cell with a speedup has no median of it.
const NO_MEDIAN: &str = "a median comes with its 95 % interval only, which needs six prompts or batches";

/// Baseline time over this cell's, paired: the ratio of the mean times under the name `measure`, with the geometric mean and
/// the median of the ratios of the observations.
pub(crate) fn ratio(
    measure: &str,
    data: &CellData<'_>,
    baseline: Option<&CellData<'_>>,
    devices: &Devices,
    resamples: &BootstrapPlan,
    time: fn(&TimingRow) -> u64,
) -> Result<Readings, SummaryError> {
    let named = |ratio: Reading, geomean: Reading, median: Reading| -> Readings {
        let means = [("", ratio), ("_geomean", geomean), ("_median", median)];
        means.into_iter().map(|(end, reading)| (format!("{measure}{end}"), reading)).collect()
    };
    let absent = |why: &str| {
        let reading = Reading::absent(why);
        Ok(named(reading.clone(), reading.clone(), reading))
    };
    if !data.cell.timed {
        return absent(UNTIMED);
    }
    let Some(baseline) = baseline else {
        return absent(match data.cell.imported {
            None => "the spec has no timed `ar` cell with this model and sampling",
            Some(_) => "the table of the import has no cell `ar`",
        });
    };
    // Units are the baseline's on both sides: a batch that lost an image to a failure keeps its name.
    let times = |data: &CellData<'_>, other: &CellData<'_>| -> Vec<(String, f64)> {
        let shared = data.timings.iter().filter(|(key, _)| other.timings.contains_key(*key));
        by_unit(shared.map(|(key, timed)| (baseline.timings[key].unit.clone(), time(&timed.row) as f64)))
    };
    let shared = data.timings.keys().filter(|key| baseline.timings.contains_key(*key));
    let used: BTreeSet<&String> = shared.filter_map(|key| devices.get(&key.attempt)).collect();
    if used.len() > 1 {
        let names = used.into_iter().map(String::as_str).collect::<Vec<_>>().join("; ");
        return absent(&format!(
            "its times are of several devices ({names}), which form no ratio; pin timed cells to one device, on a cluster \
             by `constraint` in [slurm.timing], and run them again"
        ));
    }
    let pairs = (times(baseline, data), times(data, baseline));
    let unit = match data.cell.model.n_together() {
        1 => ObservedUnit::Prompts,
        _ => ObservedUnit::Batches,
    };
    let observations = Observations { n: pairs.0.len() as u64, of: unit };
    if observations.n < 2 {
        let why = format!("fewer than two {unit} were timed with both this cell and the baseline");
        return absent(&why);
    }
    let paired = Paired::join(pairs.0, pairs.1)?;
    let with = |value: f64, interval: Option<Interval>| Reading {
        ci95: interval.map(|interval| [interval.lower, interval.upper]),
        ..Reading::of(value)
    };
    let estimate = paired.ratio_of_sums(resamples)?;
    let geomean = paired.geometric_mean_ratio(resamples)?;
    // Without an interval of it there is no median.
    let median = paired.median_ratio(0.95).ok();
    Ok(named(
        Reading { observations: Some(observations), ..with(estimate.value, estimate.interval) },
        with(geomean.value, geomean.interval),
        median.map_or_else(|| Reading::absent(NO_MEDIAN), |median| with(median.value, Some(median.interval))),
    ))
}

/// `tau / (r_verify + n_draft c_draft)` from counts and mean forward times.
pub(crate) fn predict(
    data: &CellData<'_>,
    baseline: Option<&CellData<'_>>,
    measured: &Reading,
) -> Result<Readings, SummaryError> {
    let named = |readings: &[(&str, Reading)]| -> Readings {
        readings.iter().map(|(measure, reading)| ((*measure).to_owned(), reading.clone())).collect()
    };
    let absent = |why: &str| {
        let reading = Reading::absent(why);
        Ok(named(&[("predicted_speedup", reading.clone()), ("measured_to_predicted_speedup", reading)]))
    };
    if !data.cell.timed {
        return absent(UNTIMED);
    }
    let Some(baseline) = baseline else { return absent("there is no baseline to take costs from") };
    // Costs are ratios of times, so both are of the attempts that timed both cells.
    let mean_s = |data: &CellData<'_>, other: &CellData<'_>, of: fn(&TimingRow) -> u64| {
        mean_where(data, |key| other.timings.contains_key(key), of)
    };
    // Seconds and verifications are of the same images, however often each was timed.
    let per_forward = |data: &CellData<'_>, other: &CellData<'_>| -> Option<f64> {
        let forwards = mean_verifications(data, |key| other.timings.contains_key(key))?;
        (forwards > 0.0).then_some(mean_s(data, other, |row| row.phases_ns.target)? / forwards)
    };
    let (Some(counts), Some(verify), Some(step)) =
        (&data.counts, per_forward(data, baseline), per_forward(baseline, data))
    else {
        return absent("nothing was timed");
    };
    let drafts: BTreeMap<_, _> = data.records.iter().map(|of| (&of.key, of.n_draft_forwards)).collect();
    let n_drafts = mean_count(data, |key| baseline.timings.contains_key(key), &drafts).unwrap_or(0.0);
    let draft_s = mean_s(data, baseline, |row| row.phases_ns.draft).unwrap_or(0.0);
    let costs = StepCosts {
        r_verify: verify / step,
        n_draft: drafts_per_verification(data).unwrap_or(0.0),
        c_draft: if n_drafts > 0.0 { draft_s / n_drafts / step } else { 0.0 },
    };
    let value = predicted_speedup(counts.micro.tokens_per_forward_with_skips, &costs)?;
    let compared = match measured {
        Reading { value: Some(measured), .. } => Reading::of(measured / value),
        Reading { why, .. } => {
            Reading::absent(&format!("no measured speedup: {}", why.as_deref().unwrap_or_default()))
        }
    };
    Ok(named(&[
        ("predicted_speedup", Reading::of(value)),
        ("measured_to_predicted_speedup", compared),
        ("r_verify", Reading::of(costs.r_verify)),
        ("c_draft", Reading::of(costs.c_draft)),
    ]))
}

/// Drafter forwards for each target forward after the prefill.
pub(crate) fn drafts_per_verification(data: &CellData<'_>) -> Option<f64> {
    let n_draft: u64 = data.records.iter().map(|record| record.n_draft_forwards).sum();
    let n_verifies = n_verifies(data);
    (n_verifies > 0).then(|| n_draft as f64 / n_verifies as f64)
}

/// Target forwards of a cell without the prefills.
fn n_verifies(data: &CellData<'_>) -> u64 {
    data.records.iter().filter_map(|record| record.nfe).map(|nfe| nfe - 1).sum()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use specimen_experiments::{parse::SpecText, spec::Cell};

    use super::*;
    use crate::{Batch, ItemKey, Phases, SCHEMA, Timed, summary::cell_data::PairKey};

    const SPEC: &str = r#"
schema = 1
name = "few"
seed = 5
dataset = { name = "scenes-val", limit = 8 }
model = { name = "stub", dtype = "f32", batch = BATCH }
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 2.0 }
timing = { warmup = 1, blocks = 4 }
cell = [{ name = "ar" }, { name = "chain", drafter = { proposer = "eagle1", shape = "chain", depth = 2 } }]
"#;

    fn cells(batch: u32) -> Vec<Cell> {
        SpecText::parse("few.toml", &SPEC.replace("BATCH", &batch.to_string()))
            .unwrap()
            .resolve()
            .unwrap()
            .cells
    }

    /// Image `at` of a cell, of which `samples` are of one prompt and `batch` were decoded together.
    fn row(cell: &str, at: u32, samples: u32, batch: u32, decode_ns: u64) -> TimingRow {
        let (text_encode, prefill, draft, schedule, target, verify, update, vq_decode, save) =
            (0, 0, 0, 0, 0, 0, 0, 0, 0);
        let phases_ns =
            Phases { text_encode, prefill, draft, schedule, target, verify, update, vq_decode, save };
        TimingRow {
            schema: SCHEMA,
            key: ItemKey::new(cell, &(at / samples).to_string(), at % samples),
            attempt: 0,
            block: at / batch,
            order: at,
            warmup: false,
            phases_ns,
            decode_ns,
            e2e_ns: decode_ns,
            told_ns: None,
            batch: (batch > 1).then_some(Batch { index: 0, size: batch }),
        }
    }

    fn data<'a>(cell: &'a Cell, rows: &'a [Timed]) -> CellData<'a> {
        let timings = rows.iter().map(|timed| (PairKey::new((0, 0), &timed.row.key), timed)).collect();
        CellData {
            cell,
            records: Vec::new(),
            timings,
            whole_attempts: None,
            timed: Vec::new(),
            counts: None,
            nodes: None,
        }
    }

    /// The speedup over `n_images` of which `samples` are of one prompt and `batch` share a time.
    fn check(n_images: u32, samples: u32, batch: u32, expected: (u64, ObservedUnit, bool)) {
        let cells = cells(batch);
        let rows = |cell: &Cell, ns: u64| -> Vec<Timed> {
            let ns = |at: u32| ns * u64::from(10 + at / batch);
            let rows = (0..n_images).map(|at| row(&cell.name, at, samples, batch, ns(at)));
            Timed::of_attempt(0, rows.collect())
        };
        let (slow, fast) = (rows(&cells[0], 20), rows(&cells[1], 10));
        let plan = BootstrapPlan::new(1, 2000, 0.95).unwrap();
        let (baseline, method) = (data(&cells[0], &slow), data(&cells[1], &fast));
        let found =
            ratio("speedup", &method, Some(&baseline), &Devices::new(), &plan, |row| row.decode_ns).unwrap();
        let (n, of, has_interval) = expected;
        assert_eq!(found["speedup"].observations, Some(Observations { n, of }));
        assert!((found["speedup"].value.unwrap() - 2.0).abs() < 1e-12, "{found:?}");
        let means = ["speedup", "speedup_geomean", "speedup_median"];
        let intervals = means.map(|measure| found[measure].ci95.is_some());
        assert_eq!(intervals, [has_interval; 3], "{n_images} images: {found:?}");
    }

    #[test]
    fn a_batch_is_one_observation_in_whatever_block_and_session_it_was_timed() {
        let units = |attempt: u32, block: u32| -> Vec<String> {
            let rows =
                (0..4).map(|at| TimingRow { attempt, block: block + at / 2, ..row("ar", at, 1, 2, 5) });
            Timed::of_attempt(0, rows.collect()).into_iter().map(|timed| timed.unit).collect()
        };
        let first = units(0, 0);
        assert_eq!((&first[0], &first[2]), (&first[1], &first[3]));
        assert_ne!(first[0], first[2]);
        assert_eq!(first, units(1, 7));
    }

    #[test]
    fn a_speedup_over_fewer_than_six_independent_observations_has_no_interval_whatever_the_images() {
        use ObservedUnit::{Batches, Prompts};
        check(8, 1, 4, (2, Batches, false));
        check(24, 1, 4, (6, Batches, true));
        check(8, 2, 1, (4, Prompts, false));
        check(12, 2, 1, (6, Prompts, true));
        check(5, 1, 1, (5, Prompts, false));
    }
}
