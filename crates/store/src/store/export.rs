//! Results for other programs: CSV, JSON Lines, and Parquet where it was built in.

use std::io::Write;

use serde_json::Value;

use super::{COLUMNS, Store, StoreError, values};
use crate::csv;

/// An export that could not be finished.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Something is wrong with the store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The output cannot be written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The Parquet library failed.
    #[cfg(feature = "parquet")]
    #[error(transparent)]
    Parquet(#[from] parquet::errors::ParquetError),
}

/// Writes a table with a header, a row per cell in the order of keys. All columns but `config`, which the others hold.
pub fn csv(store: &Store, out: &mut dyn Write) -> Result<(), ExportError> {
    let shown = |column: &usize| COLUMNS[*column].name != "config";
    let mut line = String::new();
    csv::line(&mut line, (0..COLUMNS.len()).filter(shown).map(|column| COLUMNS[column].name.as_str()));
    out.write_all(line.as_bytes())?;
    store.entries(&mut |entry| {
        line.clear();
        let values = values(&entry).into_iter().enumerate().filter(|(column, _)| shown(column));
        let field = |(_, value)| match value {
            Value::Null => String::new(),
            Value::String(text) => text,
            number => number.to_string(),
        };
        csv::line(&mut line, values.map(field));
        Ok(out.write_all(line.as_bytes())?)
    })
}

/// Writes one JSON object per cell, in the order of keys, with the full configuration.
pub fn json_lines(store: &Store, out: &mut dyn Write) -> Result<(), ExportError> {
    store.entries(&mut |entry| {
        serde_json::to_writer(&mut *out, &entry).map_err(std::io::Error::from)?;
        Ok(out.write_all(b"\n")?)
    })
}

/// Writes a Parquet file with the columns of [`csv`] and `config`.
#[cfg(feature = "parquet")]
pub fn parquet(store: &Store, out: &mut (dyn Write + Send)) -> Result<(), ExportError> {
    use std::sync::Arc;

    use ::parquet::basic::{LogicalType, Repetition, Type};
    use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
    use ::parquet::file::properties::WriterProperties;
    use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
    use ::parquet::schema::types::Type as Schema;

    use super::{Column, ColumnType};

    const ROWS: usize = 1 << 16;
    let field = |column: &Column| {
        let (physical, logical) = match column.kind {
            ColumnType::Integer => (Type::INT64, None),
            ColumnType::Real => (Type::DOUBLE, None),
            ColumnType::Text => (Type::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let field = Schema::primitive_type_builder(&column.name, physical);
        field.with_repetition(Repetition::OPTIONAL).with_logical_type(logical).build().map(Arc::new)
    };
    let fields: Result<Vec<_>, _> = COLUMNS.iter().map(field).collect();
    let schema = Arc::new(Schema::group_type_builder("results").with_fields(fields?).build()?);
    let mut writer =
        SerializedFileWriter::new(&mut *out, schema, Arc::new(WriterProperties::builder().build()))?;

    /// Writes rows of values as one group, column by column.
    fn group<W: Write + Send>(
        mut group: SerializedRowGroupWriter<'_, W>,
        rows: &[Vec<Value>],
    ) -> Result<(), ExportError> {
        for (i, Column { kind, .. }) in COLUMNS.iter().enumerate() {
            let Some(mut column) = group.next_column()? else { break };
            let levels: Vec<i16> = rows.iter().map(|row| i16::from(row[i] != Value::Null)).collect();
            let values = rows.iter().map(|row| &row[i]);
            match kind {
                ColumnType::Integer => {
                    let values: Vec<i64> = values.filter_map(Value::as_i64).collect();
                    column.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
                }
                ColumnType::Real => {
                    let values: Vec<f64> = values.filter_map(Value::as_f64).collect();
                    column.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
                }
                ColumnType::Text => {
                    let values: Vec<ByteArray> =
                        values.filter_map(Value::as_str).map(ByteArray::from).collect();
                    column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
                }
            }
            column.close()?;
        }
        group.close()?;
        Ok(())
    }

    let mut rows = Vec::new();
    store.entries(&mut |entry| {
        rows.push(values(&entry));
        if rows.len() == ROWS {
            group(writer.next_row_group()?, &rows)?;
            rows.clear();
        }
        Ok::<(), ExportError>(())
    })?;
    if !rows.is_empty() {
        group(writer.next_row_group()?, &rows)?;
    }
    writer.close()?;
    Ok(())
}
