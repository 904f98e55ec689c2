//! Published numbers, as the files of `results/papers` hold them. They are part of the program, so that a comparison
//! with a paper needs no other file; a value that was taken from notes about a paper keeps that mark.

use serde::{Deserialize, Serialize};
use specimen_experiments::expect::PublishedRef;
use specimen_foundation::{failure, failure::FailureMessage};
use std::fmt::Display;

/// The files, by name.
const FILES: [(&str, &str); 20] = [
    ("cascade_fig4.csv", include_str!("../../../papers/cascade_fig4.csv")),
    ("cascade_fig6.csv", include_str!("../../../papers/cascade_fig6.csv")),
    ("cascade_qualitative_params.csv", include_str!("../../../papers/cascade_qualitative_params.csv")),
    ("cascade_table1.csv", include_str!("../../../papers/cascade_table1.csv")),
    ("cascade_table2.csv", include_str!("../../../papers/cascade_table2.csv")),
    ("cascade_table3a.csv", include_str!("../../../papers/cascade_table3a.csv")),
    ("cascade_table3b.csv", include_str!("../../../papers/cascade_table3b.csv")),
    ("cascade_text_and_appendix.csv", include_str!("../../../papers/cascade_text_and_appendix.csv")),
    ("context_secondhand.csv", include_str!("../../../papers/context_secondhand.csv")),
    ("coolsd_secondhand.csv", include_str!("../../../papers/coolsd_secondhand.csv")),
    ("pjd_secondhand.csv", include_str!("../../../papers/pjd_secondhand.csv")),
    ("scd_secondhand.csv", include_str!("../../../papers/scd_secondhand.csv")),
    ("sjdpac_secondhand.csv", include_str!("../../../papers/sjdpac_secondhand.csv")),
    ("sjdsv_secondhand.csv", include_str!("../../../papers/sjdsv_secondhand.csv")),
    ("sjdvp_text.csv", include_str!("../../../papers/sjdvp_text.csv")),
    ("vvs_main_secondhand.csv", include_str!("../../../papers/vvs_main_secondhand.csv")),
    ("vvs_supp_table4.csv", include_str!("../../../papers/vvs_supp_table4.csv")),
    ("vvs_supp_table5.csv", include_str!("../../../papers/vvs_supp_table5.csv")),
    ("vvs_supp_table6.csv", include_str!("../../../papers/vvs_supp_table6.csv")),
    ("vvs_supp_text.csv", include_str!("../../../papers/vvs_supp_text.csv")),
];

/// What the source of a value ends with that was not taken from the paper itself.
const SECOND_HAND: &str = "(second-hand)";

/// One printed value with what it belongs to. Texts are as the paper has them; empty where it has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRow {
    /// Paper, with its number; second-hand values say so here.
    pub source: String,
    /// Table, figure or section.
    pub table: String,
    /// Target model.
    pub model: String,
    /// Prompts.
    pub dataset: String,
    /// Drafter.
    pub drafter: String,
    /// Method.
    pub method: String,
    /// Settings, or a remark.
    pub params: String,
    /// What was measured, by the paper's name.
    pub metric: String,
    /// The value as printed; absent where it is drawn and not printed.
    pub value: Option<f64>,
}

impl PublishedRow {
    /// Whether the value was taken from notes about the paper.
    pub fn is_second_hand(&self) -> bool {
        self.source.ends_with(SECOND_HAND)
    }

    /// The row's text in a column of the files; `None` for `value` and unknown columns.
    pub fn column(&self, name: &str) -> Option<&str> {
        Some(match name {
            "source" => &self.source,
            "table" => &self.table,
            "model" => &self.model,
            "dataset" => &self.dataset,
            "drafter" => &self.drafter,
            "method" => &self.method,
            "params" => &self.params,
            "metric" => &self.metric,
            _ => return None,
        })
    }
}

/// Names of the files.
pub fn files() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// The rows of a file, in its order.
pub fn rows(file: &str) -> anyhow::Result<Vec<PublishedRow>> {
    let Some((_, text)) = FILES.iter().find(|(name, _)| *name == file) else {
        return Err(no_such_paper(file, &files().collect::<Vec<_>>().join(", ")).into());
    };
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().map(|row| row.map_err(|e| bad_paper(file, e).into())).collect()
}

/// A file of published numbers that does not exist.
pub(crate) fn no_such_paper(name: &str, known: &str) -> FailureMessage {
    failure!(Usage: "no file of published numbers is named `{name}`; there are {known}")
}

/// A file of published numbers that cannot be read.
pub(crate) fn bad_paper(file: &str, reason: impl Display) -> FailureMessage {
    failure!(Bug: "{file}: not a table of published numbers: {reason}")
}

/// The printed values that a spec's `[[published]]` row means: at least one, and one a metric.
pub fn resolve(reference: &PublishedRef) -> anyhow::Result<Vec<PublishedRow>> {
    let is_meant = |row: &PublishedRow| {
        let has = |(column, text): (&String, &String)| row.column(column) == Some(text.as_str());
        reference.columns.iter().all(has)
    };
    let meant: Vec<PublishedRow> = rows(&reference.from)?.into_iter().filter(is_meant).collect();
    let columns: Vec<String> =
        reference.columns.iter().map(|(name, text)| format!("{name} = {text:?}")).collect();
    let refuse = |found: String| {
        failure!(Usage: "cell `{}`: {} of {} means {found}; name more or other columns", reference.cell,
            columns.join(", "), reference.from)
    };
    if meant.is_empty() {
        return Err(refuse("no row".to_owned()).into());
    }
    for (at, row) in meant.iter().enumerate() {
        if meant[..at].iter().any(|earlier| earlier.metric == row.metric) {
            return Err(refuse(format!("several values of `{}`, so several settings", row.metric)).into());
        }
    }
    Ok(meant)
}
