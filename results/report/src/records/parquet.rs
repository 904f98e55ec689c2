//! A frame of images as a Parquet file, and back: for tools that read columns (polars, pandas, DuckDB), and to keep the
//! rows of many runs in one place. One row group, uncompressed, so that the same frame gives the same bytes.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field;
use parquet::schema::types::Type;
use polars::prelude::*;

use super::of_run::COLUMNS;
use super::{PARAM, PROMPT, SCORE};
use specimen_foundation::failure;

use crate::ReportError;

/// Rows and bytes that a file may have, and columns of settings and scores: above any experiment, since all comes into memory.
const MOST_ROWS: i64 = 2_000_000;
const MOST_BYTES: u64 = 2 << 30;
const MOST_FURTHER: usize = 400;

/// Bytes of a text, at most: longer than any prompt.
const MOST_TEXT: usize = 1 << 20;

/// Bytes of all texts, at most; a small file can say one text very often.
const MOST_TEXTS: usize = 4 << 30;

/// The frame as a file.
pub(super) fn bytes(frame: &DataFrame) -> Result<Vec<u8>, ReportError> {
    let columns = frame.columns();
    let written = (|| {
        let fields = columns.iter().map(|column| field(column).map(Arc::new)).collect::<Result<_, _>>()?;
        let schema = Type::group_type_builder("images").with_fields(fields).build()?;
        let properties = WriterProperties::builder().set_created_by("specimen".to_owned()).build();
        let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
        let mut group = writer.next_row_group()?;
        for column in columns {
            let present: Vec<i16> =
                column.is_not_null().iter().map(|is| i16::from(is == Some(true))).collect();
            let mut next = group.next_column()?.ok_or(ParquetError::EOF("a column is missing".to_owned()))?;
            let refused = |error: PolarsError| ParquetError::General(error.to_string());
            match column.dtype() {
                DataType::String => {
                    let texts = column.str().map_err(refused)?;
                    let values: Vec<ByteArray> = texts.iter().flatten().map(ByteArray::from).collect();
                    next.typed::<ByteArrayType>().write_batch(&values, Some(&present), None)?;
                }
                DataType::UInt64 => {
                    let counts = column.u64().map_err(refused)?.iter().flatten();
                    let values =
                        counts.map(|n| i64::try_from(n).map_err(|e| ParquetError::General(e.to_string())));
                    let values: Vec<i64> = values.collect::<Result<_, _>>()?;
                    next.typed::<Int64Type>().write_batch(&values, Some(&present), None)?;
                }
                DataType::Boolean => {
                    let values: Vec<bool> = column.bool().map_err(refused)?.iter().flatten().collect();
                    next.typed::<BoolType>().write_batch(&values, Some(&present), None)?;
                }
                _ => {
                    let values: Vec<f64> = column.f64().map_err(refused)?.iter().flatten().collect();
                    next.typed::<DoubleType>().write_batch(&values, Some(&present), None)?;
                }
            }
            next.close()?;
        }
        group.close()?;
        writer.into_inner()
    })();
    written.map_err(|source: ParquetError| failure!(Bug: "table of images: {source}").into())
}

fn field(column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.dtype() {
        DataType::String => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        DataType::UInt64 => (Physical::INT64, None),
        DataType::Boolean => (Physical::BOOLEAN, None),
        _ => (Physical::DOUBLE, None),
    };
    Type::primitive_type_builder(column.name(), physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}

/// The frame of a file that [`bytes`] wrote, whatever wrote it again since: columns are found by name, and others than
/// those of a frame of images are refused.
pub(super) fn read(path: &Path) -> Result<DataFrame, ReportError> {
    let wrong = |reason: String| failure!(Missing: "{}: not a table of images: {reason}", path.display());
    let file = File::open(path).map_err(|source| crate::error::unreadable(path, source))?;
    let size = file.metadata().map_err(|source| crate::error::unreadable(path, source))?.len();
    if size > MOST_BYTES {
        return Err(wrong(format!("{size} bytes; at most {MOST_BYTES} are read")).into());
    }
    let reader = SerializedFileReader::new(file).map_err(|error| wrong(error.to_string()))?;
    let n = reader.metadata().file_metadata().num_rows();
    if !(0..=MOST_ROWS).contains(&n) {
        return Err(wrong(format!("{n} rows; at most {MOST_ROWS} are read")).into());
    }
    let schema = reader.metadata().file_metadata().schema();
    let names: Vec<String> = schema.get_fields().iter().map(|field| field.name().to_owned()).collect();
    if let Some((missing, ..)) = COLUMNS.iter().find(|(name, ..)| !names.iter().any(|found| found == name)) {
        return Err(wrong(format!(
            "no column `{missing}`; `specimen records RUN --out FILE.parquet` writes such files"
        ))
        .into());
    }
    if names.len() > COLUMNS.len() + MOST_FURTHER {
        return Err(wrong(format!(
            "{} columns; at most {} are read",
            names.len(),
            COLUMNS.len() + MOST_FURTHER
        ))
        .into());
    }
    let is_text = |name: &str| {
        let fields = schema.get_fields().iter();
        fields
            .filter(|field| field.name() == name)
            .any(|field| field.is_primitive() && field.get_physical_type() == Physical::BYTE_ARRAY)
    };
    let kind = |name: &str| match COLUMNS.iter().find(|(known, ..)| *known == name) {
        Some((_, kind, _)) => Ok(kind.clone()),
        None if name.starts_with(PROMPT) => Ok(DataType::String),
        None if name.starts_with(PARAM) && is_text(name) => Ok(DataType::String),
        None if name.starts_with(PARAM) || name.starts_with(SCORE) => Ok(DataType::Float64),
        None => Err(wrong(format!("column `{name}` is none of a frame of images"))),
    };
    let kinds: Vec<DataType> = names.iter().map(|name| kind(name)).collect::<Result<_, _>>()?;
    let mut values: Vec<Values> = kinds.iter().map(Values::of).collect();
    let (mut n_read, mut n_text) = (0_i64, 0_usize);
    for (at, row) in reader.get_row_iter(None).map_err(|error| wrong(error.to_string()))?.enumerate() {
        let row = row.map_err(|error| wrong(format!("row {at}: {error}")))?;
        n_read += 1;
        if n_read > n {
            return Err(wrong(format!("more rows than the {n} it declares")).into());
        }
        for ((name, field), values) in row.get_column_iter().zip(&mut values) {
            if let Field::Str(text) = field {
                n_text += text.len();
                if text.len() > MOST_TEXT || n_text > MOST_TEXTS {
                    return Err(wrong(format!("row {at}, column `{name}`: more text than is read")).into());
                }
            }
            values
                .push(field)
                .ok_or_else(|| wrong(format!("row {at}, column `{name}`: {field} is of another kind")))?;
        }
    }
    if n_read != n {
        return Err(wrong(format!("{n_read} rows where {n} are declared")).into());
    }
    let height = usize::try_from(n).map_err(|error| wrong(error.to_string()))?;
    let columns = names.iter().zip(values).map(|(name, values)| values.column(name)).collect();
    Ok(DataFrame::new(height, columns)?)
}

/// A column under way.
enum Values {
    Texts(Vec<Option<String>>),
    Counts(Vec<Option<u64>>),
    Flags(Vec<Option<bool>>),
    Numbers(Vec<Option<f64>>),
}

impl Values {
    fn of(kind: &DataType) -> Values {
        match kind {
            DataType::String => Values::Texts(Vec::new()),
            DataType::UInt64 => Values::Counts(Vec::new()),
            DataType::Boolean => Values::Flags(Vec::new()),
            _ => Values::Numbers(Vec::new()),
        }
    }

    /// Adds a value, or nothing where it is of another kind.
    fn push(&mut self, field: &Field) -> Option<()> {
        match (self, field) {
            (Values::Texts(texts), Field::Str(text)) => texts.push(Some(text.clone())),
            (Values::Counts(counts), Field::Long(count)) => counts.push(Some(u64::try_from(*count).ok()?)),
            (Values::Counts(counts), Field::ULong(count)) => counts.push(Some(*count)),
            (Values::Flags(flags), Field::Bool(flag)) => flags.push(Some(*flag)),
            (Values::Numbers(numbers), Field::Double(number)) => numbers.push(Some(*number)),
            (Values::Texts(texts), Field::Null) => texts.push(None),
            (Values::Counts(counts), Field::Null) => counts.push(None),
            (Values::Flags(flags), Field::Null) => flags.push(None),
            (Values::Numbers(numbers), Field::Null) => numbers.push(None),
            _ => return None,
        }
        Some(())
    }

    fn column(self, name: &str) -> Column {
        match self {
            Values::Texts(values) => Column::new(name.into(), values),
            Values::Counts(values) => Column::new(name.into(), values),
            Values::Flags(values) => Column::new(name.into(), values),
            Values::Numbers(values) => Column::new(name.into(), values),
        }
    }
}
