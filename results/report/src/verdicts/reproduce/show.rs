//! A reproduction as two tables: the paper's layout with our values, and its claims.

use crate::table::{Column, Entry, Rank, Section, Table, column_decimals, fixed, ranks, with_interval};

use super::reproduction::{PrintedColumn, PrintedRow, Reproduction, ValueVerdict};

impl Reproduction {
    /// The paper's table: of each measure the printed value and ours.
    pub fn values_table(&self) -> Table {
        let mut table = Table {
            id: self.id.clone(),
            head: self.head(),
            marked: Some(
                "of its block, among the printed values and among ours, where they are not all equal."
                    .to_owned(),
            ),
            ..Table::default()
        };
        for (at, row) in self.rows.iter().enumerate() {
            if at == 0 || self.rows[at - 1].block != row.block {
                table.sections.push(Section { first_row: at, title: row.block.clone() });
            }
        }
        let marks: Vec<String> = self
            .rows
            .iter()
            .map(|row| match row.second_hand {
                true => table.footnote("second-hand: taken from notes about the paper, not from it"),
                false => String::new(),
            })
            .collect();
        let names =
            self.rows.iter().zip(&marks).map(|(row, mark)| Entry::plain(&format!("{}{mark}", row.row)));
        table.push(Column::text("paper"), names.collect());
        let cells = self.rows.iter().map(|row| Entry::plain(row.cell.as_deref().unwrap_or("—")));
        table.push(Column::text("cell"), cells.collect());
        for (at, column) in self.columns.iter().enumerate() {
            self.push_column(&mut table, at, column);
        }
        table
    }

    fn push_column(&self, table: &mut Table, at: usize, column: &PrintedColumn) {
        let higher = Some(column.higher_is_better);
        let places = |of: &dyn Fn(usize, &PrintedRow) -> Option<f64>| {
            let rivals = self.rows.iter().enumerate();
            let rivals: Vec<Option<(&str, f64)>> =
                rivals.map(|(at, row)| of(at, row).map(|value| (row.block.as_str(), value))).collect();
            ranks(&rivals, column.higher_is_better)
        };
        // What the paper prints in a row with several cells of ours is ranked once, and marked in each.
        let first: Vec<usize> = self
            .rows
            .iter()
            .map(|row| {
                self.rows.iter().position(|r| (&r.block, &r.row) == (&row.block, &row.row)).unwrap_or(0)
            })
            .collect();
        let printed = places(&|nth, row| row.values[at].as_ref()?.printed.filter(|_| first[nth] == nth));
        let printed = first.iter().map(|&nth| printed[nth]);
        let entries = self.rows.iter().zip(printed).map(|(row, rank)| {
            let printed = row.values[at].as_ref().and_then(|value| value.printed);
            let text = printed.map_or_else(|| "—".to_owned(), |value| fixed(value, column.decimals));
            Entry { text, rank }
        });
        table
            .push(Column::number(&format!("{} paper", column.name), &column.unit, higher), entries.collect());

        let shown: Vec<(f64, Option<[f64; 2]>)> = self
            .rows
            .iter()
            .filter_map(|row| row.values[at].as_ref())
            .filter_map(|value| Some((value.ours?, value.ci95)))
            .collect();
        let decimals = column_decimals(&shown).min(column.decimals.max(2));
        let ours = places(&|_, row| row.values[at].as_ref()?.ours);
        let mut entries = Vec::new();
        for (row, rank) in self.rows.iter().zip(ours) {
            let Some(value) = &row.values[at] else {
                entries.push(Entry::plain("—"));
                continue;
            };
            let text = match value.ours {
                Some(ours) => {
                    let mark = value.convention.map(|why| table.footnote(why)).unwrap_or_default();
                    format!("{}{mark}", with_interval(ours, value.ci95, decimals, true))
                }
                None => format!("—{}", table.footnote(value.why.as_deref().unwrap_or("not run"))),
            };
            let said = match value.verdict {
                ValueVerdict::Agrees => " (agrees)".to_owned(),
                ValueVerdict::Differs => {
                    format!(" (differs{})", table.footnote(value.why.as_deref().unwrap_or("farther apart")))
                }
                ValueVerdict::NotRun | ValueVerdict::NotReproducible | ValueVerdict::NotPrinted => {
                    String::new()
                }
            };
            entries.push(Entry {
                text: format!("{text}{said}"),
                rank: if value.ours.is_some() { rank } else { Rank::None },
            });
        }
        let names: Vec<&str> = self
            .rows
            .iter()
            .filter_map(|row| row.values[at].as_ref())
            .filter(|value| value.ours.is_some())
            .map(|value| value.measure.as_str())
            .collect();
        if let Some(measure) = names.first() {
            table.legend.push(format!("{}: ours is `{measure}`.", column.name));
        }
        table.push(Column::number(&format!("{} ours", column.name), &column.unit, higher), entries);
    }

    /// The claims with their verdicts and evidence.
    pub fn claims_table(&self) -> Table {
        let mut table = Table {
            id: format!("{}-claims", self.id),
            head: [self.claims_head(), format!("{}.", self.counts())].into_iter().chain(self.warnings()).collect(),
            legend: vec![
                "A claim holds where the 95 % interval of the paired difference is on its side, does not hold where \
                 it is on the other side, and cannot be decided where it includes both. A claim about an absolute \
                 magnitude is not comparable on a model that is none of the paper's. A rise or fall over several \
                 cells holds where no step goes the other way beyond chance and the last cell differs from the first."
                    .to_owned(),
            ],
            ..Table::default()
        };
        let texts = |of: &dyn Fn(usize) -> String| -> Vec<Entry> {
            (0..self.claims.len()).map(|at| Entry::plain(&of(at))).collect()
        };
        table.push(Column::text("claim"), texts(&|at| self.claims[at].text.clone()));
        let verdict = |at: usize| self.claims[at].verdict.words().to_owned();
        table.push(Column::text("verdict"), texts(&verdict));
        table.push(Column::text("evidence"), texts(&|at| self.claims[at].evidence.clone()));
        table
    }

    /// Of "Table 5: stale features" the number, then the subject.
    fn claims_head(&self) -> String {
        let source = match self.table.split_once(": ") {
            Some((number, subject)) => format!("{number} ({subject})"),
            None => self.table.clone(),
        };
        format!("{}: its claims about {source}, tested on {}.", self.paper, self.model)
    }

    fn warnings(&self) -> impl Iterator<Item = String> {
        self.slow_baselines.iter().map(|slow| format!("WARNING: {slow}."))
    }

    fn head(&self) -> Vec<String> {
        let mut head = vec![
            format!("{}, {}.", self.paper, self.table),
            format!("Paper: {}.", self.protocol),
            format!("Here: {}. Run {}, result {}.", self.conditions, self.run[0], &self.run[1][..12]),
        ];
        head.extend(self.warnings());
        if self.claims_only {
            head.push(format!(
                "ONLY CLAIMS ARE COMPARED: {} is none of the paper's models, so no value of ours can agree or disagree with \
                 a printed one; they are shown next to each other for their order.",
                self.model
            ));
        }
        head
    }
}
