//! The table of a CLIP score's pictures, as CSV or as Parquet for what reads columns (polars, pandas, DuckDB).
//!
//! A CSV field that a spreadsheet would run, or that has several lines, is written as a text of one line; Parquet holds
//! captions as they are. Columns, in the order of the pictures' names: `id`, `file`, `cosine` (raw, from -1 to 1), `caption`. Parquet has
//! one row group, uncompressed, so that the same pictures give the same bytes.

use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use specimen_table::csv_field;

use crate::error::MeasureError;
use crate::metrics::PictureScore;
use crate::whole_file::write_whole;

/// The columns as Parquet names them.
const SCHEMA: &str = "message pictures {
    REQUIRED BYTE_ARRAY id (STRING);
    REQUIRED BYTE_ARRAY file (STRING);
    REQUIRED DOUBLE cosine;
    REQUIRED BYTE_ARRAY caption (STRING);
}";

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
    ///
    /// # Errors
    /// Every extension but `.csv` and `.parquet`.
    pub fn of(path: &Path) -> Result<Self, MeasureError> {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "csv" => Ok(Self::Csv),
            "parquet" => Ok(Self::Parquet),
            _ => Err(MeasureError::TableFormat { path: path.to_owned() }),
        }
    }
}

/// Writes the table of `pictures` to `path`, in the format that its extension names, whole or not at all.
///
/// # Errors
/// A file that cannot be written.
pub fn write_per_image(path: &Path, pictures: &[PictureScore]) -> Result<(), MeasureError> {
    let bytes = match TableFormat::of(path)? {
        TableFormat::Csv => as_csv(pictures),
        TableFormat::Parquet => as_parquet(pictures).map_err(std::io::Error::other),
    };
    write_whole(path, &bytes.map_err(|e| MeasureError::io(path, "write", e))?)
}

fn as_csv(pictures: &[PictureScore]) -> std::io::Result<Vec<u8>> {
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record(["id", "file", "cosine", "caption"])?;
    for PictureScore { id, file, caption, score } in pictures {
        // A caption is anybody's: a spreadsheet that opens the file must not run it.
        let [id, file, caption] = [id, file, caption].map(|text| csv_field(text));
        table.write_record([&*id, &*file, &score.to_string(), &*caption])?;
    }
    table.into_inner().map_err(csv::IntoInnerError::into_error)
}

fn as_parquet(pictures: &[PictureScore]) -> Result<Vec<u8>, ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let properties = WriterProperties::builder().set_created_by("specimen".to_owned()).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    let texts =
        |of: fn(&PictureScore) -> &str| pictures.iter().map(of).map(ByteArray::from).collect::<Vec<_>>();
    let ids = texts(|picture| &picture.id);
    let files = texts(|picture| &picture.file);
    let cosines: Vec<f64> = pictures.iter().map(|picture| picture.score).collect();
    let captions = texts(|picture| &picture.caption);
    for column_idx in 0..4 {
        let mut column = group.next_column()?.expect("the schema has four columns");
        match column_idx {
            0 => column.typed::<ByteArrayType>().write_batch(&ids, None, None)?,
            1 => column.typed::<ByteArrayType>().write_batch(&files, None, None)?,
            2 => column.typed::<DoubleType>().write_batch(&cosines, None, None)?,
            _ => column.typed::<ByteArrayType>().write_batch(&captions, None, None)?,
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
        write_per_image(&comma, &pictures()).unwrap();
        write_per_image(&columns, &pictures()).unwrap();

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
        assert_eq!(as_parquet(&pictures()).unwrap(), as_parquet(&pictures()).unwrap());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none.parquet");
        write_per_image(&path, &[]).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    }

    #[test]
    fn another_extension_is_refused_before_anything_is_written() {
        for name in ["t.json", "t", "csv"] {
            let error = write_per_image(Path::new(name), &pictures()).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(".csv") && error.contains(".parquet"), "{error}");
        }
    }
}
