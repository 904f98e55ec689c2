//! All images of any number of runs as one data frame: one row an image, with what it is of, what it counted, how long
//! it took and how each metric scored it. From the rows of runs ([`of_run`]) or from files that hold such a frame
//! ([`parquet`]); what does not belong into one table is refused ([`mixing`]).
//!
//! Columns that are not there in all parts are null elsewhere. A score's column is named `score:METRIC@PROTOCOL`, so that two
//! protocols never share one. A setting in which cells differ has a column `param:NAME`, numbers or texts, null in cells
//! that do not have it. A column `prompt:NAME` is a fact of the prompt from its dataset, such as the category.

pub(crate) mod breakdown;
mod mixing;
mod of_run;
mod parquet;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use polars::prelude::*;
use specimen_foundation::{fail, failure, names::suggestion};
use specimen_record::{Mix, RunDir};

use crate::{
    ReportError,
    table::{CsvText, Entry, Table, column_decimals, fixed},
};

pub use breakdown::PromptFact;
pub use mixing::MIXABLE;

/// What every score's column begins with.
const SCORE: &str = "score:";

/// What every column begins with that holds a setting in which cells differ.
const PARAM: &str = "param:";

/// What every column begins with that holds a fact of the prompt from its dataset.
const PROMPT: &str = "prompt:";

/// The columns that every table of images has, in order: name, type, meaning. Those named `param:`, `prompt:` and `score:`
/// follow.
pub fn image_columns() -> impl Iterator<Item = (&'static str, String, &'static str)> {
    of_run::COLUMNS.into_iter().map(|(name, kind, what)| (name, kind.to_string(), what))
}

/// The images of runs as columns.
#[derive(Clone, Debug)]
pub struct ImageRecords {
    frame: DataFrame,
}

/// Where images are read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The run's name in the table, in place of that of its spec.
    pub name: Option<String>,
    /// The folder of a merged run, or a `.parquet` file that `specimen records` wrote.
    pub path: PathBuf,
}

impl Source {
    /// Its images.
    fn read(&self) -> Result<DataFrame, ReportError> {
        let path = &self.path;
        let mut images = match is_parquet(path) && !path.is_dir() {
            true => parquet::read(path)?,
            false => of_run::frame(&RunDir::open(path)?)?,
        };
        let Some(name) = &self.name else { return Ok(images) };
        let n = texts(&images, "run")?.len();
        if n > 1 {
            fail!(Usage: "{} holds {n} runs, which cannot all have the name `{name}`; leave `{name}=` out",
                path.display());
        }
        let named = Column::new("run".into(), vec![name.as_str(); images.height()]);
        images.with_column(named)?;
        Ok(images)
    }
}

impl ImageRecords {
    /// The images of `sources`, in their order.
    pub fn read(sources: &[Source], mix: &BTreeSet<Mix>) -> Result<ImageRecords, ReportError> {
        let mut parts = Vec::new();
        for source in sources {
            parts.push((source.path.as_path(), source.read()?));
        }
        let runs: Vec<(&Path, Vec<String>)> = parts
            .iter()
            .map(|(path, part)| Ok((*path, texts(part, "run")?)))
            .collect::<Result<_, ReportError>>()?;
        for (at, (path, names)) in runs.iter().enumerate() {
            let earlier = runs[..at].iter().find_map(|(other, theirs)| {
                names.iter().find(|name| theirs.contains(name)).map(|name| (*other, name.clone()))
            });
            if let Some((other, name)) = earlier {
                fail!(Mismatch: "{} and {} both hold a run `{name}`; give one a name of its own in this \
                    table: `OTHER={}`", other.display(), (*path).display(), (*path).display());
            }
        }
        let frame = joined(parts.into_iter().map(|(_, part)| part).collect())?;
        mixing::check(&frame, mix)?;
        Ok(ImageRecords { frame })
    }

    /// Number of images.
    pub fn n(&self) -> usize {
        self.frame.height()
    }

    /// Names of the columns.
    pub fn columns(&self) -> Vec<String> {
        self.frame.get_column_names().iter().map(ToString::to_string).collect()
    }

    /// The frame as a file: Parquet where the name ends in `.parquet`, CSV for `.csv`.
    pub fn write(&self, path: &Path) -> Result<(), ReportError> {
        let bytes = match path.extension().and_then(|ending| ending.to_str()) {
            Some("parquet") => parquet::bytes(&self.frame)?,
            Some("csv") => self.csv()?.into_bytes(),
            _ => fail!(Usage: "{}: a table of images is written as .parquet or .csv", path.display()),
        };
        specimen_record::write_atomic(path, &bytes)?;
        Ok(())
    }

    /// Adds a column of texts named `prompt:NAME`, from the run and the prompt id of each image. An image for which `of`
    /// has no text keeps the one that a file gave it.
    pub fn add_prompt_column(
        &mut self,
        name: &str,
        of: &dyn Fn(&str, &str) -> Option<String>,
    ) -> Result<(), ReportError> {
        let column = format!("{PROMPT}{name}");
        let (runs, ids) = (self.frame.column("run")?.str()?, self.frame.column("prompt_id")?.str()?);
        let known = match self.frame.column(&column) {
            Ok(known) => fields(known)?,
            Err(_) => vec![String::new(); self.n()],
        };
        let text = |((run, id), known): ((Option<&str>, Option<&str>), String)| {
            run.zip(id).and_then(|(run, id)| of(run, id)).or_else(|| (!known.is_empty()).then_some(known))
        };
        let texts: Vec<Option<String>> = runs.iter().zip(ids.iter()).zip(known).map(text).collect();
        self.frame.with_column(Column::new(column.into(), texts))?;
        Ok(())
    }

    /// One row a run, cell and value of the columns in `by`: images, those that failed, and means over those that did not,
    /// warm-ups left out of times. A column `param:NAME` or `prompt:NAME` may be given as `NAME`. By a swept parameter, cells
    /// that axes made of one cell are one, under its name, unless `by` has `cell`.
    pub fn means(&self, by: &[String]) -> Result<Table, ReportError> {
        let mut keys = vec!["run".to_owned(), "cell".to_owned()];
        for name in by {
            let key = self.grouping_column(name)?;
            keys.extend((!keys.contains(&key)).then_some(key));
        }
        let scores: Vec<String> = self.columns().into_iter().filter(|name| name.starts_with(SCORE)).collect();
        if self.n() == 0 {
            return shown(&mean_row(&self.frame, &keys, &scores)?, keys.len(), &[]);
        }
        let is_by_param =
            keys.iter().any(|key| key.starts_with(PARAM)) && !by.iter().any(|name| name == "cell");
        let mut frame = self.frame.clone();
        let mut notes = self.partial(&scores)?;
        notes.extend(self.imported()?);
        if is_by_param {
            let cells = texts(&frame, "cell")?;
            let bases: Vec<Option<&str>> =
                self.frame.column("cell")?.str()?.iter().map(|cell| cell.map(base_name)).collect();
            frame.with_column(Column::new("cell".into(), bases))?;
            notes.extend((texts(&frame, "cell")?.len() < cells.len()).then(|| {
                "A row is over all cells that axes made of one cell; `--by cell` keeps them apart.".to_owned()
            }));
        }
        let groups = frame.group_by_stable(keys.iter().map(String::as_str))?;
        shown(&groups.apply(|group| mean_row(&group, &keys, &scores))?, keys.len(), &notes)
    }

    /// The scores that some images of a cell have and others lack, in words: such a cell has no mean.
    fn partial(&self, scores: &[String]) -> Result<Vec<String>, ReportError> {
        let made = self.frame.filter(&self.frame.column("status")?.str()?.equal("ok"))?;
        let mut notes = Vec::new();
        let cells = mixing::distinct(&made, &["run", "cell"])?;
        let (runs, ids) = (mixing::texts_or(&cells, "run", "?")?, mixing::texts_or(&cells, "cell", "?")?);
        for (run, id) in runs.iter().zip(&ids) {
            let is_of = made.column("run")?.str()?.equal(run.as_str())
                & made.column("cell")?.str()?.equal(id.as_str());
            let cell = made.filter(&is_of)?;
            for name in scores {
                let (n, of) = (cell.height() - cell.column(name)?.null_count(), cell.height());
                if 0 < n && n < of {
                    let metric = name.trim_start_matches(SCORE);
                    notes.push(format!(
                        "No mean of {metric} for {id} of {run}: it has values of {n} of {of} images. The others have none \
                         yet (`specimen score` gives them one) or none that is finite (psnr of equal pictures)."
                    ));
                }
            }
        }
        Ok(notes)
    }

    /// That runs are imported, if some are.
    fn imported(&self) -> Result<Option<String>, ReportError> {
        let cells = mixing::distinct(&self.frame, &["run", "method"])?;
        let (runs, methods) =
            (mixing::texts_or(&cells, "run", "?")?, mixing::texts_or(&cells, "method", "?")?);
        let imported = runs.iter().zip(&methods).filter(|(_, method)| method.starts_with("imported by "));
        let names: BTreeSet<&str> = imported.map(|(run, _)| run.as_str()).collect();
        let names: Vec<&str> = names.into_iter().collect();
        Ok((!names.is_empty()).then(|| {
            format!(
                "Imported: {}. Another program made the images and reported their times.",
                names.join(", ")
            )
        }))
    }

    /// The column that `name` means.
    fn grouping_column(&self, name: &str) -> Result<String, ReportError> {
        if MEANS.contains(&name) || name.starts_with(SCORE) {
            fail!(Usage: "no groups by `{name}`: the table has its mean in each row; all values are in \
                `records --out FILE`");
        }
        let names = [name.to_owned(), format!("{PROMPT}{name}"), format!("{PARAM}{name}")];
        let has_value = |column: &String| self.has_value(column);
        let is_there = names.iter().any(|column| self.frame.column(column).is_ok());
        names.into_iter().find(has_value).ok_or_else(|| match is_there {
            true => failure!(Usage: "no image has a value of `{name}`, so there is nothing to group by; of \
                the datasets, parti-prompts has category and challenge, geneval task, coco2017 supercategory")
            .into(),
            false => ReportError::NoGroups { name: name.to_owned(), known: self.columns_like(name) },
        })
    }

    fn has_value(&self, column: &str) -> bool {
        self.frame.column(column).is_ok_and(|found| found.null_count() < self.n() || self.n() == 0)
    }

    /// The nearest columns that have a value to group by, as they are typed, or all of them.
    fn columns_like(&self, name: &str) -> String {
        let columns = self.columns();
        let typed = |column: &'_ String| {
            let bare = column.strip_prefix(PARAM).or_else(|| column.strip_prefix(PROMPT));
            bare.unwrap_or(column).to_owned()
        };
        let is_offered = |column: &&String| {
            !column.starts_with(SCORE) && !MEANS.contains(&column.as_str()) && self.has_value(column)
        };
        let known: BTreeSet<String> = columns.iter().filter(is_offered).map(typed).collect();
        suggestion(name, known.iter().map(String::as_str))
    }

    fn csv(&self) -> Result<String, ReportError> {
        let mut out = CsvText::new();
        out.write_record(self.columns())?;
        let columns: Vec<Vec<String>> =
            self.frame.columns().iter().map(fields).collect::<Result<_, ReportError>>()?;
        for row in 0..self.n() {
            out.write_record(columns.iter().map(|column| column[row].as_str()))?;
        }
        Ok(out.into_text())
    }
}

/// The name of the cell of a spec that axes made `cell` of: `casc[tau_pos=0.8]` is one of `casc`.
fn base_name(cell: &str) -> &str {
    cell.split_once('[').filter(|_| cell.ends_with(']')).map_or(cell, |(base, _)| base)
}

fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "parquet")
}

/// The distinct entries of a column of texts, in order of appearance.
fn texts(frame: &DataFrame, column: &str) -> Result<Vec<String>, ReportError> {
    let distinct = frame.column(column)?.unique_stable()?;
    Ok(distinct.str()?.iter().flatten().map(str::to_owned).collect())
}

/// One below the other; scores that a part has not are null there.
fn joined(parts: Vec<DataFrame>) -> Result<DataFrame, ReportError> {
    let mut all: Vec<(PlSmallStr, DataType)> = Vec::new();
    for part in &parts {
        for column in part.columns() {
            if !all.iter().any(|(name, _)| name == column.name()) {
                all.push((column.name().clone(), column.dtype().clone()));
            } else if let Some((_, kind)) = all.iter_mut().find(|(name, _)| name == column.name())
                && kind != column.dtype()
            {
                // A setting that is a number in one run and a word in another.
                *kind = DataType::String;
            }
        }
    }
    let mut whole: Option<DataFrame> = None;
    for part in parts {
        let height = part.height();
        let columns = all.iter().map(|(name, kind)| match part.column(name) {
            Ok(column) if column.dtype() != kind => column.cast(kind),
            Ok(column) => Ok(column.clone()),
            Err(_) => Ok(Column::full_null(name.clone(), height, kind)),
        });
        let part = DataFrame::new(height, columns.collect::<Result<_, _>>()?)?;
        whole = Some(match whole {
            None => part,
            Some(above) => above.vstack(&part)?,
        });
    }
    whole.ok_or_else(|| {
        failure!(Usage: "no run is given; name folders of runs, or files that `specimen records` wrote")
            .into()
    })
}

/// A column as texts, empty where it is null.
fn fields(column: &Column) -> Result<Vec<String>, ReportError> {
    let or_empty = |text: Option<String>| text.unwrap_or_default();
    Ok(match column.dtype() {
        DataType::String => column.str()?.iter().map(|v| or_empty(v.map(str::to_owned))).collect(),
        DataType::UInt64 => column.u64()?.iter().map(|v| or_empty(v.map(|v| v.to_string()))).collect(),
        DataType::Boolean => column.bool()?.iter().map(|v| or_empty(v.map(|v| v.to_string()))).collect(),
        _ => column.f64()?.iter().map(|v| or_empty(v.map(|v| v.to_string()))).collect(),
    })
}

/// Columns of images that the table of means has as means, besides the scores.
const MEANS: [&str; 3] = ["nfe", "decode_s", "e2e_s"];

/// One row: what a group of images has in common, and its means.
fn mean_row(group: &DataFrame, keys: &[String], scores: &[String]) -> PolarsResult<DataFrame> {
    let is_ok = group.column("status")?.str()?.equal("ok");
    let is_warmup = group.column("warmup")?.bool()?.iter().map(|is| Some(is == Some(true)));
    let is_timed = &is_ok & &!is_warmup.collect::<BooleanChunked>();
    let (made, timed) = (group.filter(&is_ok)?, group.filter(&is_timed)?);
    let mean = |part: &DataFrame, name: &str| -> PolarsResult<Option<f64>> {
        Ok(part.column(name)?.as_materialized_series().mean())
    };
    let count = |n: usize| vec![u64::try_from(n).unwrap_or(u64::MAX)];
    let mut columns: Vec<Column> = keys
        .iter()
        .map(|key| group.column(key).map(|column| column.slice(0, 1)))
        .collect::<PolarsResult<_>>()?;
    columns.push(Column::new("images".into(), count(group.height())));
    columns.push(Column::new("failed".into(), count(group.height() - made.height())));
    // A mean over a part of the images says nothing of the row's.
    let has_forwards = made.column("nfe")?.null_count() == 0;
    columns.push(Column::new("nfe".into(), vec![mean(&made, "nfe")?.filter(|_| has_forwards)]));
    // As in the summary, the mean over images of tokens a forward.
    let rates: Vec<f64> = made
        .column("n_tokens")?
        .u64()?
        .iter()
        .zip(made.column("nfe")?.u64()?.iter())
        .filter_map(|(n_tokens, nfe)| Some(n_tokens? as f64 / nfe? as f64))
        .collect();
    let compression = (!rates.is_empty())
        .then(|| rates.iter().sum::<f64>() / rates.len() as f64)
        .filter(|rate| rate.is_finite() && *rate > 0.0 && rates.len() == made.height());
    columns.push(Column::new("step compression".into(), vec![compression]));
    for name in ["decode_s", "e2e_s"] {
        columns.push(Column::new(name.into(), vec![mean(&timed, name)?]));
    }
    for name in scores {
        let is_whole = group.column(name)?.len() - group.column(name)?.null_count() >= made.height();
        columns.push(Column::new(name.as_str().into(), vec![mean(group, name)?.filter(|_| is_whole)]));
    }
    DataFrame::new(1, columns)
}

/// The frame of means as a table; the first `n_keys` columns say which group a row is.
fn shown(frame: &DataFrame, n_keys: usize, notes: &[String]) -> Result<Table, ReportError> {
    let mut table = Table {
        id: "records".to_owned(),
        head: std::iter::once(
            "Means over images that were made; `images` counts failed ones too. Times without warm-ups."
                .to_owned(),
        )
        .chain(notes.iter().cloned())
        .collect(),
        legend: vec!["Step compression: tokens over forwards of the target, prefill included.".to_owned()],
        ..Table::default()
    };
    for (at, column) in frame.columns().iter().enumerate() {
        let score = column.name().strip_prefix(SCORE).and_then(|name| name.split_once('@'));
        if let Some((metric, protocol)) = score {
            table.legend.push(format!("{metric}: by {protocol}."));
        }
        let name = score.map_or(column.name().as_str(), |(metric, _)| metric);
        let name = name.strip_prefix(PROMPT).unwrap_or(name);
        let texts = match column.dtype() {
            DataType::Float64 if at >= n_keys => {
                let values: Vec<Option<f64>> = column.f64()?.iter().collect();
                let known: Vec<_> = values.iter().flatten().map(|value| (*value, None)).collect();
                let decimals = column_decimals(&known);
                values.iter().map(|v| v.map_or("–".to_owned(), |v| fixed(v, decimals))).collect()
            }
            _ => fields(column)?,
        };
        let head = match column.dtype() {
            DataType::String => crate::table::Column::text(name),
            _ => crate::table::Column::number(name, "", None),
        };
        table.push(head, texts.iter().map(|text| Entry::plain(text)).collect());
    }
    Ok(table)
}
