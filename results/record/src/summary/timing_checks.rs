//! Whether the times of a run can be trusted: drift of the baseline, load of other processes, and outliers.
//! They are reported; no time is left out because of them.

use std::collections::{BTreeMap, BTreeSet};

use specimen_stats::{order_statistics::median, outliers::outliers};

use crate::{
    CellTimingQuality, ItemKey, MOST_OUTLIERS, MachineRow, PlainStep, RunDir, Timed, TimingQuality,
    TimingQuantity, read_rows, summary::error::SummaryError,
};

/// The times of one cell, without warm-ups, in any order.
pub(crate) fn of_cell(times: &[&Timed]) -> CellTimingQuality {
    let mut sorted: Vec<(&ItemKey, f64)> =
        times.iter().map(|timed| (&timed.row.key, timed.row.decode_ns as f64)).collect();
    sorted.sort_by(|a, b| a.0.cmp(b.0).then(a.1.total_cmp(&b.1)));
    let values: Vec<f64> = sorted.iter().map(|(_, ns)| *ns).collect();
    // Too few times, or times that are all alike, have no outliers.
    let found = outliers(&values).unwrap_or_default();
    let named = found.iter().take(MOST_OUTLIERS).map(|&at| sorted[at].0.clone());
    CellTimingQuality {
        n_timed: times.len() as u64,
        n_outliers: found.len() as u64,
        outliers: named.collect(),
    }
}

/// The machine while the timed blocks ran. `baseline`: the times of the cells that others are compared with.
pub(crate) fn of_run(
    run: &RunDir,
    baseline: &[&Timed],
    plain_steps: Vec<PlainStep>,
) -> Result<TimingQuality, SummaryError> {
    let mut why = BTreeMap::new();
    let (drift, short_sessions) = drift(baseline)?;
    if drift.is_none() {
        let reason = "no session timed the baseline in three blocks or more";
        why.insert(TimingQuantity::Drift, reason.to_owned());
    }
    let mut others = Vec::new();
    for shard in run.shards()? {
        for attempt in run.attempts(shard)? {
            let path = run.attempt_machine(shard, attempt);
            let is_timed = |block| {
                let of_attempt = |timed: &&&Timed| timed.shard == shard && timed.row.attempt == attempt;
                baseline.iter().filter(of_attempt).any(|timed| timed.row.block == block)
            };
            if path.is_file() {
                let rows = read_rows::<MachineRow>(&path)?.rows.into_iter();
                others.extend(rows.filter(|row| is_timed(row.block)).filter_map(|row| row.others));
            }
        }
    }
    let others_busy_mean = (!others.is_empty()).then(|| others.iter().sum::<f64>() / others.len() as f64);
    if others_busy_mean.is_none() {
        why.insert(
            TimingQuantity::OthersBusyMean,
            "the system did not report it, or nothing was timed".to_owned(),
        );
    }
    Ok(TimingQuality { drift, short_sessions: Some(short_sessions), others_busy_mean, plain_steps, why })
}

/// Median time in the last third of the blocks over that in the first, of the baseline and the session (an attempt of a shard)
/// in which it is farthest from 1, and the number of sessions of fewer than three blocks. Times of several sessions are not
/// in one course.
fn drift(baseline: &[&Timed]) -> Result<(Option<f64>, u64), SummaryError> {
    let mut sessions: BTreeMap<(u32, u32, String), BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
    for timed in baseline {
        let session = (timed.shard, timed.row.attempt, timed.row.key.cell());
        let blocks = sessions.entry(session).or_default();
        blocks.entry(timed.row.block).or_default().push(timed.row.decode_ns as f64);
    }
    let (mut farthest, mut short) = (None::<f64>, BTreeSet::new());
    for ((shard, attempt, _), blocks) in sessions {
        let blocks: Vec<Vec<f64>> = blocks.into_values().collect();
        let third = blocks.len() / 3;
        if third > 0 {
            let (first, last) = (blocks[..third].concat(), blocks[blocks.len() - third..].concat());
            let of_session = median(&last)? / median(&first)?;
            let is_farther = |known: f64| of_session.ln().abs() > known.ln().abs();
            farthest = Some(farthest.filter(|known| !is_farther(*known)).unwrap_or(of_session));
        } else {
            short.insert((shard, attempt));
        }
    }
    Ok((farthest, short.len() as u64))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use crate::{Phases, SCHEMA, TimingRow};

    use super::*;

    fn timed(prompt: u32, block: u32, decode_ns: u64) -> Timed {
        let phases_ns = Phases {
            text_encode: 0,
            prefill: 0,
            draft: 0,
            schedule: 0,
            target: 0,
            verify: 0,
            update: 0,
            vq_decode: 0,
            save: 0,
        };
        let key = ItemKey::new("ar", &prompt.to_string(), 0);
        let (schema, attempt, order, warmup, e2e_ns) = (SCHEMA, 0, prompt, false, decode_ns);
        let row = TimingRow {
            schema,
            key,
            attempt,
            block,
            order,
            warmup,
            phases_ns,
            decode_ns,
            e2e_ns,
            told_ns: None,
            batch: None,
        };
        Timed { shard: 0, unit: row.key.prompt_id(), row }
    }

    #[test]
    fn drift_is_the_last_third_of_the_blocks_over_the_first() {
        let rows: Vec<Timed> = (0..12).map(|i| timed(i, i / 2, 100 + 10 * u64::from(i / 2))).collect();
        let rows: Vec<&Timed> = rows.iter().collect();
        // Blocks 0 and 1 take 100 and 110, blocks 4 and 5 take 140 and 150.
        assert_eq!(drift(&rows).unwrap(), (Some(145.0 / 105.0), 0));
        assert_eq!(drift(&rows[..4]).unwrap(), (None, 1));
        // A session that was twice as fast throughout is no drift.
        let again: Vec<Timed> = (0..12)
            .map(|i| {
                let mut again = timed(i, i / 2, 50);
                again.row.attempt = 1;
                again
            })
            .collect();
        let both: Vec<&Timed> = rows.iter().copied().chain(&again).collect();
        assert_eq!(drift(&both).unwrap(), (Some(145.0 / 105.0), 0));
        // Of two baselines it is that of the one that moved more, and a session of both is one.
        let mut other: Vec<Timed> = (0..12).map(|i| timed(i, i / 2, 100 + 100 * u64::from(i / 2))).collect();
        other
            .iter_mut()
            .for_each(|timed| timed.row.key = ItemKey::new("ar2", &timed.row.order.to_string(), 0));
        let two: Vec<&Timed> = rows.iter().copied().chain(&other).collect();
        assert_eq!(drift(&two).unwrap(), (Some(550.0 / 150.0), 0));
        let few: Vec<&Timed> = rows[..4].iter().copied().chain(&other[..4]).collect();
        assert_eq!(drift(&few).unwrap(), (None, 1));
        // One of two blocks only is counted apart.
        let with_short: Vec<&Timed> = rows.iter().copied().chain(&again[..4]).collect();
        assert_eq!(drift(&with_short).unwrap(), (Some(145.0 / 105.0), 1));
    }

    #[test]
    fn an_outlier_is_named() {
        let rows: Vec<Timed> = (0..9).map(|i| timed(i, 0, [100, 101, 102][i as usize % 3])).collect();
        let slow = timed(9, 0, 500);
        let mut rows: Vec<&Timed> = rows.iter().collect();
        assert_eq!(of_cell(&rows).n_outliers, 0);
        rows.push(&slow);
        let found = of_cell(&rows);
        assert_eq!((found.n_timed, found.n_outliers, found.outliers), (10, 1, vec![slow.row.key.clone()]));
    }
}
