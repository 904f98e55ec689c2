//! Which cells compete with one another for best and second, and which cells compete for nothing.

use specimen_record::{CellSummary, Guarantee, Summary};

use crate::tables::measure::Measure;

/// Among whom best and second are marked, in words.
pub(crate) const RANKED_AMONG: &str = "of its group (model, dataset, baseline, exact or relaxed output), where there are at least two (three for \
     a second). Exact rows draw from one law, so their metrics of images differ by chance alone and none of them is \
     marked; in those columns relaxed rows compete with one another. The baseline and rows with failed or missing \
     items do not compete, and intervals decide whether a lead means anything.";

/// Among whom a cell competes: those of one model, dataset, baseline and guarantee.
pub(crate) type RankingGroup<'a> = (&'a str, &'a str, Option<&'a str>, Guarantee);

/// The group in which a cell is ranked by a measure; `None` where it is not ranked.
pub(crate) fn ranking_group<'a>(
    summary: &Summary,
    cell: &'a CellSummary,
    measure: &Measure,
) -> Option<RankingGroup<'a>> {
    let is_of_one_law = cell.guarantee == Guarantee::Exact && matches!(measure, Measure::Metric { .. });
    let competes = !cell.is_baseline() && !is_of_one_law && missing_items(summary, cell).is_none();
    competes.then_some((&cell.model, &cell.dataset, cell.baseline.as_deref(), cell.guarantee))
}

/// What a cell lacks of the items that the cells of its dataset have, in words; `None` where it lacks none.
pub(crate) fn missing_items(summary: &Summary, cell: &CellSummary) -> Option<String> {
    let planned = |cell: &CellSummary| cell.n_images + cell.n_failed;
    let most = summary.cells.iter().filter(|other| other.dataset == cell.dataset).map(planned).max();
    let n_missing = most.unwrap_or(0).saturating_sub(planned(cell));
    let items = |n: u64| if n == 1 { "1 item".to_owned() } else { format!("{n} items") };
    match (cell.n_failed, n_missing) {
        (0, 0) => None,
        (failed, 0) => Some(format!("{} failed", items(failed))),
        (0, missing) => Some(format!("{} missing", items(missing))),
        (failed, missing) => Some(format!("{} failed, {missing} missing", items(failed))),
    }
}
