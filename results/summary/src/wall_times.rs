//! Mean times of a cell, in seconds per image.

use specimen_record::{TimingRow, WallSeconds};

use crate::cell_data::{CellData, PairKey, by_unit};

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

/// Mean times of all phases.
pub(crate) fn wall_times(data: &CellData<'_>) -> WallSeconds {
    let mean = |of: fn(&TimingRow) -> u64| mean_s(data, of);
    WallSeconds {
        text_encode: mean(|row| row.phases_ns.text_encode),
        prefill: mean(|row| row.phases_ns.prefill),
        draft: mean(|row| row.phases_ns.draft),
        schedule: mean(|row| row.phases_ns.schedule),
        target: mean(|row| row.phases_ns.target),
        verify: mean(|row| row.phases_ns.verify),
        update: mean(|row| row.phases_ns.update),
        vq_decode: mean(|row| row.phases_ns.vq_decode),
        save: mean(|row| row.phases_ns.save),
        decode: mean(|row| row.decode_ns),
        e2e: mean(|row| row.e2e_ns),
    }
}

/// Share of decode time outside the forwards of networks, in [0, 1].
pub(crate) fn overhead(data: &CellData<'_>) -> Option<f64> {
    let decode = mean_s(data, |row| row.decode_ns)?;
    let forwards = mean_s(data, |row| row.phases_ns.prefill + row.phases_ns.target + row.phases_ns.draft)?;
    Some(1.0 - forwards / decode)
}
