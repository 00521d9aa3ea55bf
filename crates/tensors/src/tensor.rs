//! A tensor as numbers, and its conversion from bytes.

use safetensors::Dtype;

use crate::TensorError;

/// The largest token, position or label that is accepted.
const MAX_INDEX: u32 = u32::MAX / 2;

/// A tensor as numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor<X> {
    /// Its name in the file.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its entries, row-major.
    pub data: Vec<X>,
}

impl<X> Tensor<X> {
    /// Rows and columns of a matrix.
    pub fn matrix(&self) -> Result<(usize, usize), TensorError> {
        match self.shape[..] {
            [rows, columns] if rows > 0 && columns > 0 => Ok((rows, columns)),
            _ => Err(self.shaped("must be a matrix with at least one row and column")),
        }
    }

    /// Entries of a vector.
    pub fn vector(&self) -> Result<usize, TensorError> {
        match self.shape[..] {
            [entries] if entries > 0 => Ok(entries),
            _ => Err(self.shaped("must be a vector with at least one entry")),
        }
    }

    /// The error that this tensor does not have the expected shape.
    pub fn shaped(&self, expected: impl Into<String>) -> TensorError {
        TensorError::Shape { name: self.name.clone(), got: self.shape.clone(), expected: expected.into() }
    }
}

impl Tensor<f64> {
    /// A tensor of the given row-major numbers.
    ///
    /// # Errors
    /// When a number is not finite.
    pub fn finite(name: &str, shape: &[usize], data: Vec<f64>) -> Result<Tensor<f64>, TensorError> {
        Ok(Tensor { name: name.into(), shape: shape.to_vec(), data: all_finite(name, data, 0)? })
    }
}

impl Tensor<u32> {
    /// A whole number as an entry holds it; it must be from 0 to 2^31 - 1. `index` is its place in the flattened tensor.
    pub fn entry(name: &str, index: usize, value: i128) -> Result<u32, TensorError> {
        let fit = u32::try_from(value).ok().filter(|&value| value <= MAX_INDEX);
        fit.ok_or_else(|| TensorError::Value {
            name: name.into(),
            value: value.to_string(),
            index,
            expected: format!("every entry must be from 0 to {MAX_INDEX}"),
        })
    }
}

/// Whole numbers as 32 bits; the error names the first that does not fit.
fn narrow(name: &str, values: impl Iterator<Item = i128>) -> Result<Vec<u32>, TensorError> {
    values.enumerate().map(|(index, value)| Tensor::entry(name, index, value)).collect()
}

fn each<const SIZE: usize, R>(bytes: &[u8], read: impl Fn([u8; SIZE]) -> R) -> impl Iterator<Item = R> {
    bytes.as_chunks::<SIZE>().0.iter().map(move |&chunk| read(chunk))
}

/// Whole numbers from 0 to 2^31 - 1.
pub fn decode_whole(name: &str, dtype: Dtype, bytes: &[u8]) -> Result<Vec<u32>, TensorError> {
    match dtype {
        Dtype::I64 => narrow(name, each(bytes, |b| i128::from(i64::from_le_bytes(b)))),
        Dtype::U64 => narrow(name, each(bytes, |b| i128::from(u64::from_le_bytes(b)))),
        Dtype::I32 => narrow(name, each(bytes, |b| i128::from(i32::from_le_bytes(b)))),
        Dtype::U32 => narrow(name, each(bytes, |b| i128::from(u32::from_le_bytes(b)))),
        Dtype::I16 => narrow(name, each(bytes, |b| i128::from(i16::from_le_bytes(b)))),
        Dtype::U16 => narrow(name, each(bytes, |b| i128::from(u16::from_le_bytes(b)))),
        Dtype::I8 => narrow(name, each(bytes, |b: [u8; 1]| i128::from(b[0] as i8))),
        Dtype::U8 => narrow(name, each(bytes, |b: [u8; 1]| i128::from(b[0]))),
        other => Err(TensorError::Type {
            name: name.into(),
            got: format!("{other:?}"),
            expected: "must hold whole numbers (I64, I32, U32 or shorter)",
        }),
    }
}

/// Floating-point numbers, all finite; `first` is the index of the first of them in their tensor.
pub fn decode_floats(name: &str, dtype: Dtype, bytes: &[u8], first: usize) -> Result<Vec<f64>, TensorError> {
    let data: Vec<f64> = match dtype {
        Dtype::F64 => each(bytes, f64::from_le_bytes).collect(),
        Dtype::F32 => each(bytes, |b| f64::from(f32::from_le_bytes(b))).collect(),
        Dtype::F16 => each(bytes, |b| half::f16::from_le_bytes(b).to_f64()).collect(),
        Dtype::BF16 => each(bytes, |b| half::bf16::from_le_bytes(b).to_f64()).collect(),
        other => {
            return Err(TensorError::Type {
                name: name.into(),
                got: format!("{other:?}"),
                expected: "must hold floating-point numbers (F64, F32, F16 or BF16)",
            });
        }
    };
    all_finite(name, data, first)
}

fn all_finite(name: &str, data: Vec<f64>, first: usize) -> Result<Vec<f64>, TensorError> {
    match data.iter().position(|x| !x.is_finite()) {
        None => Ok(data),
        Some(index) => Err(TensorError::Value {
            name: name.into(),
            value: data[index].to_string(),
            index: first + index,
            expected: "every entry must be finite".into(),
        }),
    }
}
