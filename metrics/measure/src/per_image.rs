//! The table of a metric's pictures, as CSV or as Parquet for what reads columns (polars, pandas, DuckDB).
//!
//! A CSV field that a spreadsheet would run, or that has several lines, is written as a text of one line; Parquet holds
//! texts as they are. Columns of a metric of pictures and captions, in the order of the pictures' names: `id`, `file`, the
//! metric under its name (of a CLIP score `cosine`, raw, from -1 to 1), `caption`. Columns of a metric of single pictures: `file`, and the metric under its name. Columns of a metric of pairs: `name`, `a` and `b` (the files in either source), and the metric under its
//! name, empty or null where it is infinite. Parquet has one row group, uncompressed, so that the same pictures give the
//! same bytes.

use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use specimen_foundation::{fail, text::csv_field};

use crate::error::MeasureError;
use crate::metrics::{PictureScore, clip_score};
use crate::pairs::PairOutcome;
use crate::whole_file::write_whole;

/// A column: its name, and what is in it.
type Column<'p> = (&'static str, Cells<'p>);

/// What is in a column, row by row.
enum Cells<'p> {
    Texts(Vec<&'p str>),
    Numbers(Vec<f64>),
    /// Some of which may be absent.
    Optional(Vec<Option<f64>>),
}

/// What a table is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// Text with a head line, quoted where it must be.
    Csv,
    /// Columns.
    Parquet,
}

impl TableFormat {
    /// The format that the name of the file at `path` asks for.
    pub fn of(path: &Path) -> Result<Self, MeasureError> {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "csv" => Ok(Self::Csv),
            "parquet" => Ok(Self::Parquet),
            _ => {
                fail!(Usage: "{}: tables are written as .csv or .parquet; give the file one of these \
                    extensions", path.display())
            }
        }
    }
}

/// Writes the table of `pictures` with captions and their values of `metric` to `path`, in the format that its extension
/// names, whole or not at all.
pub fn write_per_image(
    path: &Path,
    metric: &'static str,
    pictures: &[PictureScore],
) -> Result<(), MeasureError> {
    write(path, &columns(metric, pictures))
}

/// Writes file and value of `metric` of each of `pictures` to `path`, as [`write_per_image`].
pub fn write_scores(
    path: &Path,
    metric: &'static str,
    pictures: &[PictureScore],
) -> Result<(), MeasureError> {
    let columns = [
        ("file", Cells::Texts(pictures.iter().map(|picture| picture.file.as_str()).collect())),
        (metric, Cells::Numbers(pictures.iter().map(|picture| picture.score).collect())),
    ];
    write(path, &columns)
}

/// Writes the table of pairs to `path`, in the format that its extension names, whole or not at all.
pub fn write_per_pair(path: &Path, outcome: &PairOutcome) -> Result<(), MeasureError> {
    let PairOutcome { measured, pairs } = outcome;
    let columns = [
        ("name", Cells::Texts(pairs.iter().map(|pair| pair.name.as_str()).collect())),
        ("a", Cells::Texts(pairs.iter().map(|pair| pair.files[0].as_str()).collect())),
        ("b", Cells::Texts(pairs.iter().map(|pair| pair.files[1].as_str()).collect())),
        (measured.metric, Cells::Optional(pairs.iter().map(|pair| pair.score).collect())),
    ];
    write(path, &columns)
}

fn columns<'p>(metric: &'static str, pictures: &'p [PictureScore]) -> [Column<'p>; 4] {
    // On which scale a CLIP score is does not matter for one picture.
    let value = if metric == clip_score::METRIC.name { "cosine" } else { metric };
    let texts = |of: fn(&PictureScore) -> &str| Cells::Texts(pictures.iter().map(of).collect());
    [
        ("id", texts(|picture| &picture.id)),
        ("file", texts(|picture| &picture.file)),
        (value, Cells::Numbers(pictures.iter().map(|picture| picture.score).collect())),
        ("caption", texts(|picture| &picture.caption)),
    ]
}

fn write(path: &Path, columns: &[Column<'_>]) -> Result<(), MeasureError> {
    let bytes = match TableFormat::of(path)? {
        TableFormat::Csv => as_csv(columns),
        TableFormat::Parquet => as_parquet(columns).map_err(std::io::Error::other),
    };
    write_whole(path, &bytes.map_err(|e| MeasureError::io(path, "write", e))?)
}

impl Cells<'_> {
    fn n_rows(&self) -> usize {
        match self {
            Self::Texts(texts) => texts.len(),
            Self::Numbers(numbers) => numbers.len(),
            Self::Optional(numbers) => numbers.len(),
        }
    }

    /// A field of CSV; a text is anybody's, and a spreadsheet that opens the file must not run it.
    fn field(&self, row: usize) -> String {
        match self {
            Self::Texts(texts) => csv_field(texts[row]),
            Self::Numbers(numbers) => numbers[row].to_string(),
            Self::Optional(numbers) => numbers[row].map_or_else(String::new, |number| number.to_string()),
        }
    }

    /// The type as Parquet writes it, before and behind the name.
    fn kind(&self) -> [&'static str; 2] {
        match self {
            Self::Texts(_) => ["REQUIRED BYTE_ARRAY", " (STRING)"],
            Self::Numbers(_) => ["REQUIRED DOUBLE", ""],
            Self::Optional(_) => ["OPTIONAL DOUBLE", ""],
        }
    }
}

fn as_csv(columns: &[Column<'_>]) -> std::io::Result<Vec<u8>> {
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record(columns.iter().map(|(name, _)| name))?;
    for row in 0..columns.first().map_or(0, |(_, cells)| cells.n_rows()) {
        table.write_record(columns.iter().map(|(_, cells)| cells.field(row)))?;
    }
    table.into_inner().map_err(csv::IntoInnerError::into_error)
}

fn as_parquet(columns: &[Column<'_>]) -> Result<Vec<u8>, ParquetError> {
    let kinds = columns.iter().map(|(name, cells)| {
        let [before, behind] = cells.kind();
        format!("{before} {name}{behind};")
    });
    let schema = format!("message pictures {{ {} }}", kinds.collect::<Vec<_>>().join(" "));
    let schema = Arc::new(parse_message_type(&schema)?);
    let properties = WriterProperties::builder().set_created_by("specimen".to_owned()).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for (_, cells) in columns {
        let mut column = group.next_column()?.expect("the schema has every column");
        match cells {
            Cells::Texts(texts) => {
                let texts: Vec<ByteArray> = texts.iter().copied().map(ByteArray::from).collect();
                column.typed::<ByteArrayType>().write_batch(&texts, None, None)?
            }
            Cells::Numbers(numbers) => column.typed::<DoubleType>().write_batch(numbers, None, None)?,
            Cells::Optional(numbers) => {
                let is_there: Vec<i16> = numbers.iter().map(|number| i16::from(number.is_some())).collect();
                let there: Vec<f64> = numbers.iter().copied().flatten().collect();
                column.typed::<DoubleType>().write_batch(&there, Some(&is_there), None)?
            }
        };
        column.close()?;
    }
    group.close()?;
    writer.into_inner()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    use super::*;
    use crate::pairs::{PairMeasurement, PairScore};

    fn pictures() -> Vec<PictureScore> {
        let picture = |id: &str, caption: &str, cosine| PictureScore {
            id: id.to_owned(),
            file: format!("{id}.png"),
            caption: caption.to_owned(),
            score: cosine,
        };
        vec![picture("7", "a \"red\", round star on blue", 0.125), picture("12", "ein Stern, grün", -0.1)]
    }

    #[test]
    fn both_formats_hold_the_same_table() {
        let folder = tempfile::tempdir().unwrap();
        let (comma, columns) = (folder.path().join("t.csv"), folder.path().join("t.PARQUET"));
        write_per_image(&comma, "clip-score", &pictures()).unwrap();
        write_per_image(&columns, "clip-score", &pictures()).unwrap();

        let mut read = csv::Reader::from_path(&comma).unwrap();
        let from_csv: Vec<PictureScore> = read
            .records()
            .map(|record| record.unwrap())
            .map(|row| PictureScore {
                id: row[0].to_owned(),
                file: row[1].to_owned(),
                score: row[2].parse().unwrap(),
                caption: row[3].to_owned(),
            })
            .collect();
        assert_eq!(from_csv, pictures());

        let reader = SerializedFileReader::new(std::fs::File::open(&columns).unwrap()).unwrap();
        let names: Vec<String> = reader
            .metadata()
            .file_metadata()
            .schema_descr()
            .columns()
            .iter()
            .map(|c| c.name().to_owned())
            .collect();
        assert_eq!(names, ["id", "file", "cosine", "caption"]);
        let from_parquet: Vec<PictureScore> = reader
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap())
            .map(|row| PictureScore {
                id: row.get_string(0).unwrap().clone(),
                file: row.get_string(1).unwrap().clone(),
                score: row.get_double(2).unwrap(),
                caption: row.get_string(3).unwrap().clone(),
            })
            .collect();
        assert_eq!(from_parquet, pictures());
    }

    #[test]
    fn the_same_pictures_give_the_same_bytes_and_none_give_an_empty_table() {
        let pictures = pictures();
        let bytes = || as_parquet(&columns("clip-score", &pictures)).unwrap();
        assert_eq!(bytes(), bytes());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none.parquet");
        write_per_image(&path, "clip-score", &[]).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    }

    #[test]
    fn another_metric_has_its_own_name_though_it_has_a_point() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        write_per_image(&path, "hpsv2.1", &pictures()).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        let schema = reader.metadata().file_metadata().schema();
        let names: Vec<&str> = schema.get_fields().iter().map(|field| field.name()).collect();
        assert_eq!(names, ["id", "file", "hpsv2.1", "caption"]);
        let row = reader.get_row_iter(None).unwrap().next().unwrap().unwrap();
        assert_eq!(row.get_double(2).unwrap(), 0.125);
    }

    #[test]
    fn a_pair_without_a_finite_value_has_an_empty_field_and_a_null() {
        let measured = PairMeasurement {
            schema: 1,
            metric: "psnr",
            value: None,
            ci95: None,
            protocol: "p@0".to_owned(),
            n: [2; 2],
            extractor: None,
            why: Some("equal".to_owned()),
            notes: Vec::new(),
            details: serde_json::Map::new(),
        };
        let pair = |name: &str, score| PairScore {
            name: name.to_owned(),
            files: [format!("{name}.png"), format!("{name}.jpg")],
            score,
        };
        let outcome = PairOutcome { measured, pairs: vec![pair("x", Some(20.5)), pair("y", None)] };
        let folder = tempfile::tempdir().unwrap();
        let (comma, columns) = (folder.path().join("t.csv"), folder.path().join("t.parquet"));
        write_per_pair(&comma, &outcome).unwrap();
        write_per_pair(&columns, &outcome).unwrap();
        let text = std::fs::read_to_string(&comma).unwrap();
        assert_eq!(text, "name,a,b,psnr\nx,x.png,x.jpg,20.5\ny,y.png,y.jpg,\n");
        let reader = SerializedFileReader::new(std::fs::File::open(&columns).unwrap()).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap()).collect();
        assert_eq!(rows[0].get_double(3).unwrap(), 20.5);
        assert!(rows[1].get_double(3).is_err());
        assert_eq!(rows[1].get_string(2).unwrap(), "y.jpg");
    }

    #[test]
    fn another_extension_is_refused_before_anything_is_written() {
        for name in ["t.json", "t", "csv"] {
            let error = write_per_image(Path::new(name), "clip-score", &pictures()).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(".csv") && error.contains(".parquet"), "{error}");
        }
    }
}
