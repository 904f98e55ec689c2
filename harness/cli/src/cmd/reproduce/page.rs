//! The page of a reproduction: how many claims hold, each table with its picture, values and claims, the papers' other
//! figures from the reports of their runs, and the runs. As Markdown and HTML, with the numbers as CSV.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use specimen_record::{Manifest, RunDir, Summary, read_document, write_atomic};
use specimen_report::{
    DrawnFigure, PrintedPlane, PrintedPoint, Style, WithInterval, drawn, grid_picture, printed_figure,
    table::{Block, Column, Entry, Table, html_page, markdown_page},
    table_of,
    verdicts::reproduce::{
        overview::{claims_csv, counts_table, open_claims_table, values_csv},
        paper::{PaperItem, PaperTable},
        reproduction::{PrintedRow, Reproduction},
    },
};

use crate::{cmd::report::default_quality, console::Console};

/// Prompts of a grid of images.
const GRID_ROWS: usize = 2;

/// A table and the run that it was compared with.
pub(super) struct MadeTable {
    /// Its layout.
    pub(super) table: PaperTable,
    /// The run's folder.
    pub(super) run: PathBuf,
    pub(super) found: Reproduction,
    /// Folders of the longer runs that its claims were tested on, by spec.
    pub(super) longer: BTreeMap<String, PathBuf>,
}

/// A figure or statement and the runs that show it.
pub(super) struct MadeItem {
    /// Name and number of the paper.
    pub(super) paper: String,
    pub(super) item: PaperItem,
    pub(super) runs: Vec<PathBuf>,
}

/// Writes `README.md`, `index.html`, `values.csv`, `claims.csv` and the figures into `folder`; the path of the page.
pub(super) fn write(
    folder: &Path,
    tables: &[MadeTable],
    items: &[MadeItem],
    console: &Console,
) -> anyhow::Result<PathBuf> {
    let found: Vec<Reproduction> = tables.iter().map(|made| made.found.clone()).collect();
    let models: Vec<&str> = found.iter().map(|one| one.model.as_str()).collect();
    let title = format!("The papers' tables and figures on {}", models.first().unwrap_or(&"no model"));
    let mut page = Page { folder: folder.to_owned(), blocks: vec![Block::Heading(1, title.clone())] };
    page.words(&format!("Written by specimen {}.", crate::provenance::VERSION));
    page.claims(&found);
    for made in tables {
        page.heading(2, &format!("{}, {}", made.found.paper, made.found.table));
        page.plot(made)?;
        if let Some(why) = &made.table.why {
            page.words(&format!("What is not here: {why}."));
        }
        page.blocks.push(Block::Table(made.found.values_table()));
        if !made.found.claims.is_empty() {
            page.blocks.push(Block::Table(made.found.claims_table()));
        }
    }
    for made in items {
        page.heading(2, &format!("{}, {}", made.paper, made.item.title));
        page.item(made, console)?;
    }
    let longer = tables.iter().flat_map(|made| made.longer.values());
    page.runs(
        tables.iter().map(|made| &made.run).chain(longer).chain(items.iter().flat_map(|made| &made.runs)),
    )?;
    write_atomic(&folder.join("values.csv"), values_csv(&found).as_bytes())?;
    write_atomic(&folder.join("claims.csv"), claims_csv(&found).as_bytes())?;
    write_atomic(&folder.join("README.md"), markdown_page(&page.blocks).as_bytes())?;
    let index = folder.join("index.html");
    write_atomic(&index, html_page(&title, &page.blocks).as_bytes())?;
    Ok(index)
}

/// A page under way.
struct Page {
    folder: PathBuf,
    blocks: Vec<Block>,
}

impl Page {
    fn heading(&mut self, level: u8, text: &str) {
        self.blocks.push(Block::Heading(level, text.to_owned()));
    }

    fn words(&mut self, text: &str) {
        self.blocks.push(Block::Words(text.to_owned()));
    }

    fn claims(&mut self, found: &[Reproduction]) {
        self.heading(2, "Claims");
        self.blocks.push(Block::Table(counts_table(found)));
        if let Some(open) = open_claims_table(found) {
            self.heading(3, "Without a verdict, and why");
            self.blocks.push(Block::Table(open));
        }
    }

    /// Printed and our values of a table as planes.
    fn plot(&mut self, made: &MadeTable) -> anyhow::Result<()> {
        let planes = match planes(made) {
            Ok(planes) => planes,
            Err(why) => {
                self.words(&format!("There is no picture: {why}."));
                return Ok(());
            }
        };
        let summary: Summary = read_document(&RunDir::open(&made.run)?.summary())?;
        for plane in planes {
            match printed_figure(&plane, &summary, &Style::SCREEN)? {
                Ok(figure) => self.figure(&plane.name, &figure)?,
                Err(why) => self.words(&format!("There is no picture of {}: {why}.", plane.title)),
            }
        }
        Ok(())
    }

    /// The figures, the grid and the table of an item's runs. A figure that one of several runs does not have is left out;
    /// one that none has is named with the reason.
    fn item(&mut self, made: &MadeItem, console: &Console) -> anyhow::Result<()> {
        let mut missing = Vec::new();
        let mut names_drawn = Vec::new();
        for path in &made.runs {
            let run = RunDir::open(path)?;
            let summary: Summary = read_document(&run.summary())?;
            if made.item.table {
                self.blocks.push(Block::Table(table_of(&summary, &[])?));
            }
            if made.item.grid {
                match grid_picture(&run, GRID_ROWS)? {
                    Ok(png) => {
                        let caption = format!("Images of run {}, a row a prompt.", summary.name);
                        self.picture(&format!("{}-grid.png", summary.name), &png, caption)?;
                    }
                    Err(why) => missing.push(("grid".to_owned(), why)),
                }
            }
            if made.item.figures.is_empty() {
                continue;
            }
            for (name, figure) in drawn(&run, &made.item.figures, &default_quality(&summary))? {
                match figure {
                    Ok(figure) => {
                        self.figure(&format!("{}-{name}", summary.name), &figure)?;
                        names_drawn.push(name);
                    }
                    Err(why) => missing.push((name, why)),
                }
            }
        }
        missing.retain(|(name, _)| !names_drawn.contains(name));
        for (name, why) in missing {
            console.warn(format!("{}: no {name}: {why}", made.item.title));
            self.words(&format!("{name} is not here: {why}."));
        }
        match &made.item.why {
            Some(why) => self.words(&format!("What is not here: {why}.")),
            None if made.runs.is_empty() => self.words("No spec of this model shows it."),
            None => {}
        }
        Ok(())
    }

    /// A figure as SVG, or as PNG where that is smaller, with its data.
    fn figure(&mut self, name: &str, figure: &DrawnFigure) -> anyhow::Result<()> {
        let (ending, bytes) = match figure.svg.len() <= figure.png.len() {
            true => ("svg", figure.svg.as_bytes()),
            false => ("png", figure.png.as_slice()),
        };
        self.picture(&format!("{name}.{ending}"), bytes, figure.caption.clone())
    }

    fn picture(&mut self, file: &str, bytes: &[u8], caption: String) -> anyhow::Result<()> {
        write_atomic(&self.folder.join("figures").join(file), bytes)?;
        self.blocks.push(Block::Picture { path: format!("figures/{file}"), caption });
        Ok(())
    }

    /// The runs behind the page, each once.
    fn runs<'p>(&mut self, folders: impl Iterator<Item = &'p PathBuf>) -> anyhow::Result<()> {
        let mut folders: Vec<&PathBuf> = folders.collect();
        let mut seen = BTreeSet::new();
        folders.retain(|folder| seen.insert(*folder));
        let mut rows = Vec::new();
        for folder in folders {
            let run = RunDir::open(folder)?;
            let manifest: Manifest = read_document(&run.manifest())?;
            let summary: Summary = read_document(&run.summary())?;
            let n_images: u64 = summary.cells.iter().map(|cell| cell.n_images).sum();
            let sealed = manifest.sealed.as_ref();
            rows.push([
                manifest.name.clone(),
                n_images.to_string(),
                summary.result_digest.as_str()[..12].to_owned(),
                manifest.git.sha.as_deref().map_or("unknown", |sha| &sha[..sha.len().min(12)]).to_owned(),
                summary.machine(),
                manifest.started.to_string(),
                sealed.map_or_else(String::new, |sealed| sealed.finished.to_string()),
            ]);
        }
        let mut table = Table { id: "runs".to_owned(), ..Table::default() };
        for (at, head) in
            ["run", "images", "result", "commit", "machine", "started", "finished"].into_iter().enumerate()
        {
            let entries = rows.iter().map(|row| Entry::plain(&row[at]));
            let column = if head == "images" { Column::number(head, "", None) } else { Column::text(head) };
            table.push(column, entries.collect());
        }
        self.heading(2, "Runs");
        self.blocks.push(Block::Table(table));
        Ok(())
    }
}

/// What is drawn of a table, a plane a block, or why nothing is.
fn planes(made: &MadeTable) -> Result<Vec<PrintedPlane>, String> {
    let Some(plot) = &made.table.plot else { return Ok(Vec::new()) };
    let column =
        |published: &String| made.table.columns.iter().position(|column| column.published == *published);
    let rows: Vec<&PrintedRow> = made.found.rows.iter().filter(|row| row.cell.is_some()).collect();
    let x = plot.x.as_ref().map(column);
    let has_two = |at: &usize| rows.iter().filter(|row| ours(row, *at).is_some()).count() > 1;
    let Some(y) = plot.y.iter().filter_map(column).find(has_two) else {
        let names = plot.y.join(" and ");
        return Err(format!("of {names} the run has no two values"));
    };
    let mut blocks: Vec<&str> = rows.iter().map(|row| row.block.as_str()).collect();
    blocks.dedup();
    let [run, _] = &made.found.run;
    let planes = blocks.iter().enumerate().map(|(nth, block)| {
        let of_block: Vec<&PrintedRow> = rows.iter().copied().filter(|row| row.block == *block).collect();
        let names = |at: usize| axis_names(made, &of_block, at);
        let place = "Place in the table".to_owned();
        let is_second_hand = of_block.iter().any(|row| row.second_hand);
        PrintedPlane {
            name: format!("{}-{run}-{}", made.found.id.replace(':', "-"), nth + 1),
            title: format!("{}, {block}", made.found.table),
            source: if is_second_hand { "second-hand" } else { "as printed" }.to_owned(),
            x_names: x.flatten().map_or_else(|| [place.clone(), place.clone()], names),
            y_names: names(y),
            points: of_block.iter().enumerate().map(|(nth, row)| point(row, nth, x, y)).collect(),
        }
    });
    Ok(planes.collect())
}

/// A row's values on both axes; without a level axis its place.
fn point(row: &PrintedRow, nth: usize, x: Option<Option<usize>>, y: usize) -> PrintedPoint {
    let nth = nth as f64 + 1.0;
    let printed = |at: usize| row.values[at].as_ref()?.printed;
    PrintedPoint {
        cell: row.cell.clone().unwrap_or_default(),
        printed: [x.map_or(Some(nth), |x| printed(x?)), printed(y)],
        ours: [x.map_or(Some((nth, None)), |x| ours(row, x?)), ours(row, y)],
    }
}

fn ours(row: &PrintedRow, at: usize) -> Option<WithInterval> {
    let value = row.values[at].as_ref()?;
    Some((value.ours?, value.ci95))
}

/// Names of an axis, printed and ours.
fn axis_names(made: &MadeTable, rows: &[&PrintedRow], at: usize) -> [String; 2] {
    let column = &made.found.columns[at];
    let unit = if column.unit.is_empty() { String::new() } else { format!(", {}", column.unit) };
    let better = if column.higher_is_better { "higher is better" } else { "lower is better" };
    let measure = rows.iter().find_map(|row| row.values[at].as_ref().map(|value| value.measure.as_str()));
    [
        format!("{} in the paper{unit} ({better})", column.name),
        format!("{} here{unit} ({better})", measure.unwrap_or(&column.name)),
    ]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use std::collections::BTreeMap;

    use specimen_report::verdicts::reproduce::{
        paper::Paper,
        reproduction::{PrintedColumn, PrintedValue, ValueVerdict},
    };

    use super::*;

    fn row(block: &str, cell: Option<&str>, values: [f64; 2]) -> PrintedRow {
        let value = |printed: f64| PrintedValue {
            printed: Some(printed),
            measure: "measured".to_owned(),
            ours: Some(printed + 1.0),
            ci95: None,
            verdict: ValueVerdict::NotReproducible,
            why: None,
            convention: None,
        };
        PrintedRow {
            block: block.to_owned(),
            row: "row".to_owned(),
            cell: cell.map(str::to_owned),
            second_hand: false,
            values: values.map(|printed| Some(value(printed))).to_vec(),
        }
    }

    fn made(rows: Vec<PrintedRow>, run: &str) -> MadeTable {
        let table = Paper::named("cascade").unwrap().table("fig4").unwrap().clone();
        let columns = table.columns.iter().map(|column| PrintedColumn {
            name: column.name.clone(),
            unit: column.unit.clone(),
            higher_is_better: true,
            decimals: 1,
        });
        let found = Reproduction {
            schema: 2,
            paper: "CASCADE".to_owned(),
            id: "cascade:fig4".to_owned(),
            table: "Fig. 4".to_owned(),
            model: "tiny".to_owned(),
            claims_only: true,
            protocol: String::new(),
            conditions: String::new(),
            slow_baselines: Vec::new(),
            run: [run.to_owned(), String::new()],
            rows,
            claims: Vec::new(),
            columns: columns.collect(),
        };
        MadeTable { table, run: PathBuf::from(run), found, longer: BTreeMap::new() }
    }

    #[test]
    fn a_block_is_a_plane_and_a_row_without_a_cell_is_in_none() {
        let rows = vec![
            row("COCO", Some("ar"), [1.0, 40.5]),
            row("COCO", Some("cascade"), [3.3, 40.4]),
            row("COCO", None, [2.0, 41.0]),
            row("Parti", Some("ar"), [1.0, 0.0]),
        ];
        let found = planes(&made(rows, "one")).unwrap();
        let cells: Vec<Vec<&str>> =
            found.iter().map(|plane| plane.points.iter().map(|p| p.cell.as_str()).collect()).collect();
        assert_eq!(cells, [vec!["ar", "cascade"], vec!["ar"]]);
        assert_eq!(found[0].points[1].printed, [Some(3.3), Some(40.4)]);
        assert_eq!(found[0].points[1].ours, [Some((4.3, None)), Some((41.4, None))]);
    }

    #[test]
    fn two_runs_of_a_table_have_files_of_their_own() {
        let rows = || vec![row("COCO", Some("ar"), [1.0, 40.5]), row("COCO", Some("sd"), [2.0, 41.0])];
        let name = |run| planes(&made(rows(), run)).unwrap()[0].name.clone();
        assert_eq!((name("one"), name("two")), ("cascade-fig4-one-1".into(), "cascade-fig4-two-1".into()));
    }

    #[test]
    fn a_table_without_two_values_says_so() {
        let mut rows = vec![row("COCO", Some("ar"), [1.0, 40.5]), row("COCO", Some("sd"), [2.0, 41.0])];
        rows[1].values[1].as_mut().unwrap().ours = None;
        assert_eq!(planes(&made(rows, "one")).unwrap_err(), "of fid and clip the run has no two values");
    }
}
