//! NumPy arrays in and out. What comes in is read in place, whatever its strides, into the engine's own memory; what goes
//! out is the engine's memory.

use numpy::ndarray::ArrayView2;
use numpy::{Element, IntoPyArray, PyArray1, PyArray2, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use superpose_lab::run::Import;
use superpose_tensors::{Tensor, TensorError};

use crate::work::Failure;

/// Floating-point numbers of an array of f32 or f64.
pub fn floats(name: &str, array: &Bound<'_, PyAny>) -> Result<Tensor<f64>, TensorError> {
    if let Ok(array) = array.extract::<PyReadonlyArrayDyn<'_, f32>>() {
        let view = array.as_array();
        return Tensor::finite(name, view.shape(), view.iter().map(|&x| f64::from(x)).collect());
    }
    match array.extract::<PyReadonlyArrayDyn<'_, f64>>() {
        Ok(array) => {
            let view = array.as_array();
            Tensor::finite(name, view.shape(), view.iter().copied().collect())
        }
        Err(_) => Err(held(name, array, "must hold floating-point numbers")),
    }
}

/// Whole numbers of an array of i64 or u64.
pub fn whole(name: &str, array: &Bound<'_, PyAny>) -> Result<Tensor<u32>, TensorError> {
    if let Ok(array) = array.extract::<PyReadonlyArrayDyn<'_, i64>>() {
        let view = array.as_array();
        return Tensor::whole(name, view.shape(), view.iter().map(|&x| i128::from(x)));
    }
    match array.extract::<PyReadonlyArrayDyn<'_, u64>>() {
        Ok(array) => {
            let view = array.as_array();
            Tensor::whole(name, view.shape(), view.iter().map(|&x| i128::from(x)))
        }
        Err(_) => Err(held(name, array, "must hold whole numbers")),
    }
}

fn held(name: &str, array: &Bound<'_, PyAny>, expected: &'static str) -> TensorError {
    let got = array.getattr("dtype").and_then(|dtype| dtype.str()).map(|text| text.to_string());
    TensorError::Type { name: name.into(), got: got.unwrap_or_else(|_| "no numbers".into()), expected }
}

/// The tensors of a dictionary by name; nothing if it is empty.
pub fn import(arrays: &Bound<'_, PyDict>) -> PyResult<Option<Import>> {
    if arrays.is_empty() {
        return Ok(None);
    }
    let get = |name: &str| arrays.get_item(name).ok().flatten();
    let import = Import::gather(
        |name| get(name).map(|array| floats(name, &array)).transpose(),
        |name| get(name).map(|array| whole(name, &array)).transpose(),
    );
    Ok(Some(import.map_err(Failure::from)?))
}

/// A matrix that moves into an array.
pub fn matrix<'py, T: Element>(
    py: Python<'py>,
    data: Vec<T>,
    columns: usize,
) -> PyResult<Bound<'py, PyArray2<T>>> {
    let rows = data.len() / columns.max(1);
    data.into_pyarray(py).reshape([rows, columns])
}

/// Whole numbers with 64 bits, as the tensor libraries like their indices.
pub fn indices<'py>(py: Python<'py>, data: &[u32]) -> Bound<'py, PyArray1<i64>> {
    data.iter().map(|&x| i64::from(x)).collect::<Vec<i64>>().into_pyarray(py)
}

/// A look at rows that `owner` holds for as long as it lives; they cannot be written to.
#[allow(unsafe_code)]
pub fn look<'py, T: Element>(
    owner: &Bound<'py, PyAny>,
    data: &[T],
    columns: Option<usize>,
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    let shape = match columns {
        Some(columns) => vec![data.len() / columns.max(1), columns],
        None => vec![data.len()],
    };
    let wrong = |error: numpy::ndarray::ShapeError| PyValueError::new_err(error.to_string());
    let view = ArrayView2::from_shape((1, data.len()), data).map_err(wrong)?;
    let view = view.into_shape_with_order(shape).map_err(wrong)?;
    // SAFETY: the array keeps `owner` alive, `owner` is frozen and never moves or drops `data` before its own end, and
    // the array is made read-only before anyone else sees it.
    let array = unsafe { PyArrayDyn::borrow_from_array(&view, owner.clone()) };
    array.getattr("flags")?.setattr("writeable", false)?;
    Ok(array)
}
