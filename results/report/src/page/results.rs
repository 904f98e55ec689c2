//! The table of the page, with what its columns are sorted by, and the few numbers above it.

use serde::Serialize;
use specimen_record::{CellSummary, Guarantee, Summary};

use crate::ReportError;
use crate::drawing::families::{Mark, style_of};
use crate::drawing::palette::hex;
use crate::table::{Entry, Rank};
use crate::table::{fixed, mark};
use crate::tables::conditions::observed;
use crate::tables::differences::{
    Difference, comparisons, differences, on_p_values, p_value, signed_short, without_p,
};
use crate::tables::ranking::missing_items;

/// One number at the top.
#[derive(Serialize)]
pub(crate) struct Tile {
    label: String,
    value: String,
    note: String,
}

/// The table.
#[derive(Serialize)]
pub(crate) struct TablePart {
    head: Vec<String>,
    columns: Vec<ColumnPart>,
    rows: Vec<RowPart>,
    /// Mark and reason.
    footnotes: Vec<(String, String)>,
    legend: Vec<String>,
}

/// How the cells differ from their baseline in one metric.
#[derive(Serialize)]
pub(crate) struct DifferencePart {
    metric: String,
    rows: Vec<DifferenceRow>,
}

#[derive(Serialize)]
struct DifferenceRow {
    /// SVG.
    mark: String,
    cell: String,
    /// Difference, interval, pairs, z, p, difference detectable; a dash for what is absent.
    entries: [String; 6],
}

/// The differences of a summary, and how their p values are meant.
pub(crate) fn difference_parts(summary: &Summary) -> Result<(Vec<DifferencePart>, String), ReportError> {
    let row = |row: &Difference<'_>| {
        let versus = &row.versus;
        let absent = || "—".to_owned();
        let interval = |[low, high]: [f64; 2]| format!("{} to {}", signed(low), signed(high));
        DifferenceRow {
            mark: summary.cell(row.cell).map_or_else(String::new, mark_svg),
            cell: row.cell.to_owned(),
            entries: [
                signed(versus.difference),
                versus.ci95.map_or_else(absent, interval),
                versus.n.to_string(),
                versus.z.map_or_else(absent, signed_short),
                row.p.map_or_else(absent, p_value),
                versus.detectable.map_or_else(absent, |value| fixed(value, 3)),
            ],
        }
    };
    let found = differences(summary)?;
    let parts = found.iter().map(|(metric, rows)| DifferencePart {
        metric: (*metric).to_owned(),
        rows: rows.iter().map(row).collect(),
    });
    let parts: Vec<DifferencePart> = parts.collect();
    let words = if parts.is_empty() { None } else { Some(on_p_values(summary)) };
    let words = words.into_iter().chain(without_p(summary, |_| true)?).collect::<Vec<_>>().join(" ");
    Ok((parts, words))
}

fn signed(value: f64) -> String {
    format!("{}{}", if value < 0.0 { "-" } else { "+" }, fixed(value.abs(), 3))
}

#[derive(Serialize)]
struct ColumnPart {
    name: String,
    unit: String,
    arrow: &'static str,
    better: &'static str,
    is_number: bool,
}

#[derive(Serialize)]
struct RowPart {
    /// SVG.
    mark: String,
    is_baseline: bool,
    entries: Vec<EntryPart>,
}

#[derive(Serialize)]
struct EntryPart {
    text: String,
    is_number: bool,
    is_best: bool,
    /// What it is sorted by.
    sort: Option<f64>,
}

/// The table of a summary.
pub(crate) fn table(summary: &Summary) -> Result<TablePart, ReportError> {
    let table = crate::tables::table::table(summary)?;
    let columns = table.columns.iter().map(|column| ColumnPart {
        name: column.name.clone(),
        unit: column.unit.clone(),
        arrow: column.arrow(),
        better: match column.arrow() {
            "↑" => "higher is better",
            "↓" => "lower is better",
            _ => "",
        },
        is_number: column.is_number,
    });
    let entry = |(column, entry): (usize, &Entry)| {
        let is_number = table.columns[column].is_number;
        EntryPart {
            text: entry.text.clone(),
            is_number,
            is_best: entry.rank == Rank::Best,
            sort: is_number.then(|| leading_number(&entry.text)).flatten(),
        }
    };
    let rows = summary.cells.iter().zip(&table.rows).map(|(cell, row)| RowPart {
        mark: mark_svg(cell),
        is_baseline: cell.is_baseline(),
        entries: row.iter().enumerate().map(entry).collect(),
    });
    let in_words = comparisons(summary, |_| true)?;
    let coloured = table.marked.iter().filter(|_| table.has(Rank::Best));
    let coloured = coloured.map(|among| format!("Coloured: the best {among}"));
    Ok(TablePart {
        head: table.head.clone(),
        columns: columns.collect(),
        rows: rows.collect(),
        footnotes: table.footnotes.iter().enumerate().map(|(at, why)| (mark(at), why.clone())).collect(),
        // The differences are a table of their own.
        legend: table
            .legend
            .iter()
            .filter(|line| !in_words.contains(line))
            .cloned()
            .chain(coloured)
            .collect(),
    })
}

/// The number an entry begins with; `None` for a dash.
fn leading_number(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '-' | '.')).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// The mark of a cell's family, as in the figures.
pub(crate) fn mark_svg(cell: &CellSummary) -> String {
    let family = style_of(cell);
    let color = hex(family.color);
    let paint = match cell.guarantee {
        Guarantee::Exact => format!("fill=\"{color}\""),
        Guarantee::Relaxed | Guarantee::Unknown => {
            format!("fill=\"none\" stroke=\"{color}\" stroke-width=\"2.5\"")
        }
    };
    let shape = match family.mark {
        Mark::Circle => format!("<circle r=\"7\" {paint}/>"),
        other => {
            let corners: Vec<String> = other
                .corners(7.0)
                .iter()
                .map(|(x, y)| format!("{},{}", fixed(*x, 1), fixed(*y, 1)))
                .collect();
            format!("<polygon points=\"{}\" {paint}/>", corners.join(" "))
        }
    };
    format!("<svg class=\"mark\" viewBox=\"-10 -10 20 20\" aria-hidden=\"true\">{shape}</svg>")
}

/// The fastest exact and relaxed method, and the number of images.
pub(crate) fn tiles(summary: &Summary) -> Vec<Tile> {
    let mut tiles = Vec::new();
    for (guarantee, label) in
        [(Guarantee::Exact, "Fastest exact method"), (Guarantee::Relaxed, "Fastest relaxed method")]
    {
        let competes = |cell: &&CellSummary| cell.guarantee == guarantee && !cell.is_baseline();
        let whole = |cell: &&CellSummary| missing_items(summary, cell).is_none();
        let cells = summary.cells.iter().filter(competes).filter(whole);
        let timed = cells.filter_map(|cell| cell.value("speedup").map(|value| (cell, value)));
        let Some((cell, value)) = timed.max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        let speedup = cell.measured("speedup");
        let interval = match speedup.ci95 {
            Some([low, high]) => format!(", 95 % interval {} to {}", fixed(low, 2), fixed(high, 2)),
            None => {
                let found = speedup.observations.map(|found| format!(" ({found})"));
                format!(", no interval{}", found.unwrap_or_default())
            }
        };
        tiles.push(Tile {
            label: label.to_owned(),
            value: if value > 1.0 { format!("{} ×", fixed(value, 2)) } else { "None is faster".to_owned() },
            note: match value > 1.0 {
                true => format!("{}{interval}", cell.id),
                false => format!(
                    "than plain decoding; the nearest is {} at {} ×{interval}",
                    cell.id,
                    fixed(value, 2)
                ),
            },
        });
    }
    let n_images: u64 = summary.cells.iter().map(|cell| cell.n_images).sum();
    let n_failed: u64 = summary.cells.iter().map(|cell| cell.n_failed).sum();
    let most = summary.cells.iter().map(|cell| cell.n_images).max().unwrap_or(0);
    if !summary.cells.is_empty() {
        let failed = if n_failed == 0 { "none failed".to_owned() } else { format!("{n_failed} failed") };
        tiles.push(Tile {
            label: "Images a method".to_owned(),
            value: most.to_string(),
            note: format!(
                "{n_images} images of {} cells, {failed}{}",
                summary.cells.len(),
                observed(&summary.cells).map_or(String::new(), |observed| format!("; {observed}"))
            ),
        });
    }
    tiles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_sorted_by_the_number_it_begins_with() {
        assert_eq!(leading_number("1.50 [1.48, 1.53]"), Some(1.5));
        assert_eq!(leading_number("3.081 ± 0.088"), Some(3.081));
        assert_eq!(leading_number("-0.5"), Some(-0.5));
        assert_eq!(leading_number("31ᵃ"), Some(31.0));
        assert_eq!(leading_number("—ᵃ"), None);
        assert_eq!(leading_number(""), None);
    }
}
