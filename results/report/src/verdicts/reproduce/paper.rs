//! What is known of a paper, as the files `results/papers/*.toml` say it: its tables, their layout, their twins, and its
//! claims as conditions on the cells of a twin.

use crate::verdicts::papers;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use specimen_experiments::{bundled::bundled, parse::SpecText, spec::Spec};
use specimen_foundation::{fail, failure, names::known_names};

/// The papers, by id.
const PAPERS: [(&str, &str); 8] = [
    ("cascade", include_str!("../../../../papers/cascade.toml")),
    ("vvs", include_str!("../../../../papers/vvs.toml")),
    ("sjdvp", include_str!("../../../../papers/sjdvp.toml")),
    ("scd", include_str!("../../../../papers/scd.toml")),
    ("sjdpac", include_str!("../../../../papers/sjdpac.toml")),
    ("sjdsv", include_str!("../../../../papers/sjdsv.toml")),
    ("coolsd", include_str!("../../../../papers/coolsd.toml")),
    ("pjd", include_str!("../../../../papers/pjd.toml")),
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
    /// Cells of claims by the part they play, with the names that runs give them.
    #[serde(default)]
    pub roles: BTreeMap<String, Vec<String>>,
    /// Its tables.
    #[serde(rename = "table")]
    pub tables: Vec<PaperTable>,
    /// Its figures and statements that are no table here.
    #[serde(default, rename = "item")]
    pub items: Vec<PaperItem>,
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
    /// Values of columns of that file that its rows have; without any, all rows are of the table.
    #[serde(default, rename = "where")]
    pub only: BTreeMap<String, String>,
    /// Columns of that file that make a block.
    pub blocks: Vec<String>,
    /// Columns of that file that name a row.
    pub rows: Vec<String>,
    /// Its measures, in order.
    pub columns: Vec<PaperColumn>,
    /// What of it is drawn, printed beside ours; absent where nothing is.
    pub plot: Option<Plot>,
    /// Its specs, by model of ours; one for each part of the table.
    #[serde(deserialize_with = "specs_by_model")]
    pub specs: BTreeMap<String, Vec<String>>,
    /// What of it no spec gives, and why.
    pub why: Option<String>,
    /// Under which conditions the paper measured.
    pub protocol: String,
}

/// A figure or statement of a paper, and what shows it here.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperItem {
    /// Number and subject.
    pub title: String,
    /// Specs, by model of ours.
    #[serde(default, deserialize_with = "specs_by_model")]
    pub specs: BTreeMap<String, Vec<String>>,
    /// Figures of the run's report that show it, by name.
    #[serde(default)]
    pub figures: Vec<String>,
    /// Whether the grid of images shows it.
    #[serde(default)]
    pub grid: bool,
    /// Whether the table of the run shows it.
    #[serde(default)]
    pub table: bool,
    /// What of it no spec gives, and why.
    pub why: Option<String>,
}

impl PaperItem {
    /// What shows it, in words; empty for an item that nothing shows.
    pub fn shown(&self) -> String {
        let names: Vec<String> = self.figures.iter().map(|name| format!("`{name}`")).collect();
        let figures = match names.as_slice() {
            [] => None,
            [one] => Some(format!("figure {one}")),
            [first @ .., last] => Some(format!("figures {} and {last}", first.join(", "))),
        };
        let grid = self.grid.then(|| "`specimen grid RUN`".to_owned());
        let table = self.table.then(|| "the table of the run".to_owned());
        [grid, table, figures].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Columns of a table, by the paper's names, that are drawn as a plane.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plot {
    /// The level axis; without one it is the place in the table.
    pub x: Option<String>,
    /// The upright axis: the first of these that ours has for two rows.
    pub y: Vec<String>,
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
    /// What is compared: the first that the run has.
    #[serde(deserialize_with = "one_or_several")]
    pub measure: Vec<String>,
    /// The condition.
    pub test: Test,
    /// Specs with as many images as it needs, by model of ours, where those of its table have fewer.
    #[serde(default)]
    pub specs: BTreeMap<String, String>,
}

/// A text, or a list of texts.
#[derive(Deserialize)]
#[serde(untagged)]
enum Texts {
    One(String),
    Several(Vec<String>),
}

impl From<Texts> for Vec<String> {
    fn from(texts: Texts) -> Self {
        match texts {
            Texts::One(text) => vec![text],
            Texts::Several(texts) => texts,
        }
    }
}

fn one_or_several<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Texts::deserialize(deserializer).map(Texts::into)
}

fn specs_by_model<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Vec<String>>, D::Error> {
    let specs: BTreeMap<String, Texts> = BTreeMap::deserialize(deserializer)?;
    Ok(specs.into_iter().map(|(model, texts)| (model, texts.into())).collect())
}

/// A condition on cells. Differences are paired by prompt where the measure has a value for each image.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Test {
    /// A cell has more of a measure than each of others.
    Greater {
        /// Name of the cell.
        cell: String,
        /// The others.
        than: Vec<String>,
    },
    /// A cell has no less of a measure than each of others, up to a share of theirs.
    NotLess {
        /// Name of the cell.
        cell: String,
        /// The others.
        than: Vec<String>,
        /// The share.
        within: f64,
    },
    /// Cells differ from the first by at most a share of it.
    Alike {
        /// The cells.
        cells: Vec<String>,
        /// The share.
        within: f64,
    },
    /// No cell has less than the one before it, and the last has more than the first.
    Rises {
        /// The cells, in order.
        cells: Vec<String>,
    },
    /// A cell's value is between two ends.
    Between {
        /// Name of the cell.
        cell: String,
        /// Lowest.
        low: f64,
        /// Highest.
        high: f64,
    },
    /// A cell's value over another's is between two ends.
    Ratio {
        /// Name of the cell.
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

    /// The same of cells under other names.
    pub fn with_cells(mut self, name: impl Fn(&str) -> String) -> Test {
        let rename = |cell: &mut String| *cell = name(cell);
        match &mut self {
            Test::Greater { cell, than, .. } | Test::NotLess { cell, than, .. } => {
                std::iter::once(cell).chain(than).for_each(rename);
            }
            Test::Alike { cells, .. } | Test::Rises { cells, .. } => cells.iter_mut().for_each(rename),
            Test::Between { cell, .. } => rename(cell),
            Test::Ratio { cell, of, .. } => [cell, of].into_iter().for_each(rename),
        }
        self
    }
}

/// Names of the papers.
pub fn names() -> impl Iterator<Item = &'static str> {
    PAPERS.iter().map(|(name, _)| *name)
}

impl Paper {
    /// The paper of this name.
    pub fn named(id: &str) -> anyhow::Result<Paper> {
        let Some((_, text)) = PAPERS.iter().find(|(name, _)| *name == id) else {
            let known = names().collect::<Vec<_>>().join(", ");
            return Err(papers::no_such_paper(id, &known).into());
        };
        toml::from_str(text).map_err(|e| papers::bad_paper(&format!("{id}.toml"), e).into())
    }

    /// All papers.
    pub fn all() -> anyhow::Result<Vec<Paper>> {
        names().map(Paper::named).collect()
    }

    /// The table of this name.
    pub fn table(&self, id: &str) -> anyhow::Result<&PaperTable> {
        self.tables.iter().find(|table| table.id == id).ok_or_else(|| {
            failure!(Usage: "{} has no table `{id}`; there are {}", self.id,
                known_names(id, self.tables.iter().map(|table| table.id.as_str())))
            .into()
        })
    }
}

impl PaperTable {
    /// The specs of the table on a model.
    pub fn specs(&self, model: &str) -> anyhow::Result<Vec<SpecText>> {
        match self.specs.get(model) {
            Some(names) => names.iter().map(|name| spec_named(name)).collect(),
            None => fail!(Usage: "no spec reproduces `{}` on model `{model}`; there is one for {}; give a \
                run of your own with --run", self.id,
                known_names(model, self.specs.keys().map(String::as_str))),
        }
    }

    /// The first of them, resolved.
    pub fn twin(&self, model: &str) -> anyhow::Result<Spec> {
        self.specs(model)?;
        resolved(&self.specs[model][0])
    }
}

/// The committed spec of a paper with this file name.
pub fn spec_named(name: &str) -> anyhow::Result<SpecText> {
    let bad = |reason: String| papers::bad_paper(name, reason);
    let found = bundled(&format!("paper/{}", name.trim_end_matches(".toml")));
    let found = found.ok_or_else(|| bad("there is no such spec in experiments/specs/paper".to_owned()))?;
    SpecText::parse(name, found.text).map_err(|error| bad(error.to_string()).into())
}

/// The same, resolved.
pub fn resolved(name: &str) -> anyhow::Result<Spec> {
    let bad = |reason: String| papers::bad_paper(name, reason);
    spec_named(name)?.resolve().map_err(|error| bad(error.to_string()).into())
}
