//! Mean times of a cell, in seconds per image.

use crate::{
    Phases, Reading, TimingRow,
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
    let rows = data.timings.iter().filter(|(key, _)| wanted(key));
    let means = by_unit(rows.map(|(_, timed)| (timed.unit.clone(), of(&timed.row) as f64)));
    let n = means.len();
    (n > 0).then(|| means.iter().map(|(_, mean)| mean).sum::<f64>() * 1e-9 / n as f64)
}

/// Mean times of the phases; none where nothing was timed.
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
    phases.into_iter().flatten().collect()
}

/// Share of decode time outside the forwards of networks, in [0, 1].
pub(crate) fn overhead(data: &CellData<'_>) -> Option<f64> {
    let decode = mean_s(data, |row| row.decode_ns)?;
    let forwards = mean_s(data, |row| row.phases_ns.prefill + row.phases_ns.target + row.phases_ns.draft)?;
    Some(1.0 - forwards / decode)
}
