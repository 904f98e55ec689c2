//! Which cells are ranked together for best and second, and which are not ranked.

use specimen_foundation::text::counted;
use specimen_record::{CellSummary, Guarantee, Summary};

use crate::tables::measure::Measure;

/// The end of the sentence that says which rows are ranked together.
pub(crate) const RANKED_AMONG: &str = "of its group (model, dataset, baseline, output), where there are at least two (three for \
     a second) that are not all equal; values that are equal before rounding share a mark. Exact methods sample the same distribution, so their image metrics differ only by chance and none of \
     them is marked; in those columns only the other rows are ranked. The baseline, rows with failed or missing items and those without a value are \
     not ranked. A lead inside the intervals means nothing.";

/// Cells that are ranked together: those of one model, dataset, baseline and guarantee.
pub(crate) type RankingGroup<'a> = (&'a str, &'a str, Option<&'a str>, Guarantee);

/// The group in which a cell is ranked by a measure; `None` where it is not ranked.
pub(crate) fn ranking_group<'a>(
    summary: &Summary,
    cell: &'a CellSummary,
    measure: &Measure,
) -> Option<RankingGroup<'a>> {
    let is_chance = cell.guarantee == Guarantee::Exact && matches!(measure, Measure::Metric { .. });
    let is_ranked = !cell.is_baseline() && !is_chance && missing_items(summary, cell).is_none();
    is_ranked.then_some((&cell.model, &cell.dataset, cell.baseline.as_deref(), cell.guarantee))
}

/// How many items failed or are missing, compared with the other cells of the dataset; `None` for a complete cell.
pub(crate) fn missing_items(summary: &Summary, cell: &CellSummary) -> Option<String> {
    let planned = |cell: &CellSummary| cell.n_images + cell.n_failed;
    let most = summary.cells.iter().filter(|other| other.dataset == cell.dataset).map(planned).max();
    let n_missing = most.unwrap_or(0).saturating_sub(planned(cell));
    let items = |n: u64| counted(n, "item");
    match (cell.n_failed, n_missing) {
        (0, 0) => None,
        (failed, 0) => Some(format!("{} failed", items(failed))),
        (0, missing) => Some(format!("{} missing", items(missing))),
        (failed, missing) => Some(format!("{} failed, {missing} missing", items(failed))),
    }
}
