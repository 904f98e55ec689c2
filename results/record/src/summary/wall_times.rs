//! Mean times of a cell, in seconds per image.

use std::collections::BTreeMap;

use crate::{
    ItemKey, Phases, Reading, Timed, TimingRow,
    summary::{
        cell_data::{CellData, PairKey, by_unit},
        cell_summary::Readings,
    },
};

/// Mean of `of` over a cell's timed images that are counted in tables, in seconds.
pub(crate) fn mean_s(data: &CellData<'_>, of: impl Fn(&TimingRow) -> u64) -> Option<f64> {
    mean_where(data, |key| data.is_in_tables(key), of)
}

/// The same over the images whose key is `wanted`: means by unit first, as in a speedup.
pub(crate) fn mean_where(
    data: &CellData<'_>,
    wanted: impl Fn(&PairKey) -> bool,
    of: impl Fn(&TimingRow) -> u64,
) -> Option<f64> {
    let (sum, n) = sum_where(data, wanted, |timed| of(&timed.row));
    (n > 0).then(|| sum * 1e-9 / n as f64)
}

/// Verifications an image, mean over the same images: the forwards of the target after the prefill.
pub(crate) fn mean_verifications(data: &CellData<'_>, wanted: impl Fn(&PairKey) -> bool) -> Option<f64> {
    let forwards = data.records.iter().filter_map(|record| Some((&record.key, record.nfe? - 1)));
    mean_count(data, wanted, &forwards.collect())
}

/// Mean of a count of each image, over the same images.
pub(crate) fn mean_count(
    data: &CellData<'_>,
    wanted: impl Fn(&PairKey) -> bool,
    counts: &BTreeMap<&ItemKey, u64>,
) -> Option<f64> {
    let (sum, n) = sum_where(data, wanted, |timed| counts.get(&timed.row.key).copied().unwrap_or(0));
    (n > 0).then(|| sum / n as f64)
}

/// The sum of the means of the units, and their number.
fn sum_where(
    data: &CellData<'_>,
    wanted: impl Fn(&PairKey) -> bool,
    of: impl Fn(&Timed) -> u64,
) -> (f64, usize) {
    let rows = data.timings.iter().filter(|(key, _)| wanted(key));
    let means = by_unit(rows.map(|(_, timed)| (timed.unit.clone(), of(timed) as f64)));
    (means.iter().map(|(_, mean)| mean).sum::<f64>(), means.len())
}

/// Mean times of the phases, with the verifications that they are of; none where nothing was timed.
pub(crate) fn wall_times(data: &CellData<'_>) -> Readings {
    let mean = |measure: &str, of: fn(&Phases) -> u64| {
        Some((measure.to_owned(), Reading::of(mean_s(data, |row| of(&row.phases_ns))?)))
    };
    let phases = [
        mean("text_encode_s", |phases| phases.text_encode),
        mean("prefill_s", |phases| phases.prefill),
        mean("draft_s", |phases| phases.draft),
        mean("schedule_s", |phases| phases.schedule),
        mean("target_s", |phases| phases.target),
        mean("verify_s", |phases| phases.verify),
        mean("update_s", |phases| phases.update),
        mean("vq_decode_s", |phases| phases.vq_decode),
        mean("save_s", |phases| phases.save),
    ];
    let verifications = mean_verifications(data, |key| data.is_in_tables(key));
    let verifications = verifications.map(|n| ("timed_verifications".to_owned(), Reading::of(n)));
    phases.into_iter().flatten().chain(verifications).collect()
}

/// Share of decode time outside the forwards of networks, in [0, 1].
pub(crate) fn overhead(data: &CellData<'_>) -> Option<f64> {
    let decode = mean_s(data, |row| row.decode_ns)?;
    let forwards = mean_s(data, |row| row.phases_ns.prefill + row.phases_ns.target + row.phases_ns.draft)?;
    Some(1.0 - forwards / decode)
}
