//! What is known of a paper, as the files `results/papers/*.toml` say it: its tables, their layout, their twins, and its
//! claims as conditions on the cells of a twin.

use std::collections::BTreeMap;

use serde::Deserialize;
use specimen_experiments::bundled::bundled;
use specimen_experiments::parse::SpecText;
use specimen_experiments::spec::Spec;

use crate::VerdictError;

/// The papers, by id.
const PAPERS: [(&str, &str); 3] = [
    ("cascade", include_str!("../../../papers/cascade.toml")),
    ("vvs", include_str!("../../../papers/vvs.toml")),
    ("sjdvp", include_str!("../../../papers/sjdvp.toml")),
];

/// A paper.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Schema number, 1.
    pub schema: u32,
    /// Name on the command line.
    pub id: String,
    /// Name and number.
    pub title: String,
    /// The paper's name of each model of ours that is one of its models; values are compared for these only.
    pub models: BTreeMap<String, String>,
    /// Its tables.
    #[serde(rename = "table")]
    pub tables: Vec<PaperTable>,
    /// What it claims.
    #[serde(rename = "claim")]
    pub claims: Vec<Claim>,
}

/// A table of a paper and how it is laid out.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperTable {
    /// Name on the command line.
    pub id: String,
    /// Number and subject.
    pub title: String,
    /// File of published numbers.
    pub published: String,
    /// Columns of that file that make a block.
    pub blocks: Vec<String>,
    /// Columns of that file that name a row.
    pub rows: Vec<String>,
    /// Its measures, in order.
    pub columns: Vec<PaperColumn>,
    /// The twin of the table, by model of ours.
    pub specs: BTreeMap<String, String>,
    /// Under which conditions the paper measured.
    pub protocol: String,
}

/// A measure of a table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperColumn {
    /// The paper's name of it, as in the file of numbers.
    pub published: String,
    /// Ours, the first that a cell has: a quantity of the summary, or a metric.
    pub ours: Vec<String>,
    /// Head of the column.
    pub name: String,
    /// Unit; empty for none.
    #[serde(default)]
    pub unit: String,
    /// Which direction is better.
    pub better: Better,
    /// Decimals that the paper prints.
    pub decimals: usize,
    /// Share of the printed value within which ours agrees.
    pub tolerance: f64,
}

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// Something that a paper says, as a condition on the cells of a twin.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Unique within the paper.
    pub id: String,
    /// The table whose twin tests it.
    pub table: String,
    /// In words.
    pub text: String,
    /// The condition.
    pub test: Test,
}

/// A condition on cells. Differences are paired by prompt where the measure has a value for each image.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Test {
    /// A cell has more of a measure than each of others.
    Greater {
        /// The measure.
        measure: String,
        /// The cell.
        cell: String,
        /// The others.
        than: Vec<String>,
    },
    /// A cell has no less of a measure than each of others, up to a share of theirs.
    NotLess {
        /// The measure.
        measure: String,
        /// The cell.
        cell: String,
        /// The others.
        than: Vec<String>,
        /// The share.
        within: f64,
    },
    /// Cells differ from the first by at most a share of it.
    Alike {
        /// The measure.
        measure: String,
        /// The cells.
        cells: Vec<String>,
        /// The share.
        within: f64,
    },
    /// No cell has less than the one before it, and the last has more than the first.
    Rises {
        /// The measure.
        measure: String,
        /// The cells, in order.
        cells: Vec<String>,
    },
    /// A cell's value is between two ends.
    Between {
        /// The measure.
        measure: String,
        /// The cell.
        cell: String,
        /// Lowest.
        low: f64,
        /// Highest.
        high: f64,
    },
    /// A cell's value over another's is between two ends.
    Ratio {
        /// The measure.
        measure: String,
        /// The cell.
        cell: String,
        /// The other.
        of: String,
        /// Lowest.
        low: f64,
        /// Highest.
        high: f64,
    },
}

impl Test {
    /// The cells it speaks about.
    #[must_use]
    pub fn cells(&self) -> Vec<&str> {
        match self {
            Test::Greater { cell, than, .. } | Test::NotLess { cell, than, .. } => {
                std::iter::once(cell).chain(than).map(String::as_str).collect()
            }
            Test::Alike { cells, .. } | Test::Rises { cells, .. } => {
                cells.iter().map(String::as_str).collect()
            }
            Test::Between { cell, .. } => vec![cell],
            Test::Ratio { cell, of, .. } => vec![cell, of],
        }
    }
}

/// Names of the papers.
pub fn names() -> impl Iterator<Item = &'static str> {
    PAPERS.iter().map(|(name, _)| *name)
}

impl Paper {
    /// The paper of this name.
    ///
    /// # Errors
    /// When there is none, or its file is malformed.
    pub fn named(id: &str) -> Result<Paper, VerdictError> {
        let Some((_, text)) = PAPERS.iter().find(|(name, _)| *name == id) else {
            let known = names().collect::<Vec<_>>().join(", ");
            return Err(VerdictError::NoSuchPaper { name: id.to_owned(), known });
        };
        toml::from_str(text)
            .map_err(|e| VerdictError::BadPaper { file: format!("{id}.toml"), reason: e.to_string() })
    }

    /// All papers.
    ///
    /// # Errors
    /// When a file is malformed, which a test excludes.
    pub fn all() -> Result<Vec<Paper>, VerdictError> {
        names().map(Paper::named).collect()
    }

    /// The table of this name.
    ///
    /// # Errors
    /// When the paper has none.
    pub fn table(&self, id: &str) -> Result<&PaperTable, VerdictError> {
        self.tables.iter().find(|table| table.id == id).ok_or_else(|| VerdictError::NoSuchTable {
            paper: self.id.clone(),
            table: id.to_owned(),
            known: self.tables.iter().map(|table| table.id.as_str()).collect::<Vec<_>>().join(", "),
        })
    }
}

impl PaperTable {
    /// The twin of the table on a model.
    ///
    /// # Errors
    /// When there is none.
    pub fn spec(&self, model: &str) -> Result<SpecText, VerdictError> {
        let known = self
            .specs
            .get(model)
            .and_then(|name| Some((name, bundled(&format!("paper/{}", name.trim_end_matches(".toml")))?)));
        let Some((name, found)) = known else {
            return Err(VerdictError::NoTwin {
                table: self.id.clone(),
                model: model.to_owned(),
                known: self.specs.keys().cloned().collect::<Vec<_>>().join(", "),
            });
        };
        SpecText::parse(name, found.text)
            .map_err(|e| VerdictError::BadPaper { file: name.clone(), reason: e.to_string() })
    }

    /// The same, resolved.
    ///
    /// # Errors
    /// As [`PaperTable::spec`]; when a value of it is invalid.
    pub fn twin(&self, model: &str) -> Result<Spec, VerdictError> {
        self.spec(model)?
            .resolve()
            .map_err(|e| VerdictError::BadPaper { file: self.id.clone(), reason: e.to_string() })
    }
}
