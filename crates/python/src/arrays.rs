//! Conversion between NumPy arrays and tensors. Inputs are validated by shape, then copied; outputs are views of the engine's
//! memory or take it over, except indices, which are copied.
//!
//! Floating-point numbers are held in 64 bits, whatever they came in: one set of tensors serves runs of either precision and is
//! checked once for all of them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use numpy::ndarray::ArrayView2;
use numpy::{
    Element, IntoPyArray, PyArray2, PyArrayDescr, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods,
    PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use superpose_lab::memory::readable;
use superpose_lab::run::Import;
use superpose_tensors::{Tensor, TensorError};

use crate::work::{Failure, panicked};

/// Entries read between two checks for signals, at which the interpreter lock is also released.
const AT_ONCE: usize = 1 << 20;

/// An invalid tensor, or an exception raised by Python.
pub struct Refusal(PyErr);

impl From<TensorError> for Refusal {
    fn from(error: TensorError) -> Refusal {
        Refusal(Failure::from(error).into())
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Refusal {
        Refusal(failure.into())
    }
}

impl From<PyErr> for Refusal {
    fn from(error: PyErr) -> Refusal {
        Refusal(error)
    }
}

impl From<Refusal> for PyErr {
    fn from(refusal: Refusal) -> PyErr {
        refusal.0
    }
}

/// Name and shape of an array of floating-point numbers, as a tensor without entries.
pub fn float_shape(name: &str, array: &Bound<'_, PyAny>) -> Result<Tensor<f64>, Refusal> {
    // Other packages' short floats are of no kind that NumPy knows.
    let is_float = |dtype: &Bound<'_, PyArrayDescr>| {
        dtype.kind() == b'f' || dtype.str().is_ok_and(|name| name.to_string().contains("float"))
    };
    shape(name, array, is_float, "must hold floating-point numbers")
}

/// Name and shape of an array of whole numbers, as a tensor without entries.
pub fn whole_shape(name: &str, array: &Bound<'_, PyAny>) -> Result<Tensor<u32>, Refusal> {
    shape(name, array, |dtype| matches!(dtype.kind(), b'i' | b'u'), "must hold whole numbers")
}

fn shape<X>(
    name: &str,
    array: &Bound<'_, PyAny>,
    is_right: impl Fn(&Bound<'_, PyArrayDescr>) -> bool,
    expected: &'static str,
) -> Result<Tensor<X>, Refusal> {
    let wrong = |got: String| TensorError::Type { name: name.into(), got, expected };
    let array = array.cast::<PyUntypedArray>().map_err(|_| wrong("no array of NumPy".into()))?;
    match is_right(&array.dtype()) {
        true => Ok(Tensor { name: name.into(), shape: array.shape().to_vec(), data: Vec::new() }),
        false => Err(wrong(array.dtype().to_string()).into()),
    }
}

/// Floating-point numbers of an array, all finite.
pub fn floats(name: &str, array: &Bound<'_, PyAny>) -> Result<Tensor<f64>, Refusal> {
    let tensor = float_shape(name, array)?;
    let read = |array: &Bound<'_, PyAny>| -> Result<Option<Vec<f64>>, Refusal> {
        match entries(&tensor, array, |_, x: f32| Ok(f64::from(x)))? {
            None => entries(&tensor, array, |_, x: f64| Ok(x)),
            found => Ok(found),
        }
    };
    let data = match read(array)? {
        Some(data) => data,
        None => {
            // Halves of many kinds, long doubles, the other byte order, no alignment. Short ones lose nothing in 32 bits.
            let short = array.getattr("dtype")?.getattr("itemsize")?.extract::<usize>()? <= 4;
            read(&plain(array, if short { "float32" } else { "float64" })?)?.unwrap_or_default()
        }
    };
    Ok(Tensor::finite(name, &tensor.shape, data)?)
}

/// Whole numbers of an array.
pub fn whole(name: &str, array: &Bound<'_, PyAny>) -> Result<Tensor<u32>, Refusal> {
    let tensor = whole_shape(name, array)?;
    let read = |array: &Bound<'_, PyAny>| -> Result<Option<Vec<u32>>, Refusal> {
        macro_rules! first_of {
            ($($kind:ty),*) => {
                $(if let Some(found) =
                    entries(&tensor, array, |i, x: $kind| Tensor::entry(name, i, i128::from(x)))?
                {
                    return Ok(Some(found));
                })*
            };
        }
        first_of!(i64, i32, u32, u64, u8, i8, u16, i16);
        Ok(None)
    };
    let data = match read(array)? {
        Some(data) => data,
        None => {
            let signed = array.getattr("dtype")?.getattr("kind")?.extract::<char>()? == 'i';
            read(&plain(array, if signed { "int64" } else { "uint64" })?)?.unwrap_or_default()
        }
    };
    Ok(Tensor { data, ..tensor })
}

/// The same numbers as NumPy holds them by itself.
fn plain<'py>(array: &Bound<'py, PyAny>, dtype: &str) -> PyResult<Bound<'py, PyAny>> {
    array.py().import("numpy")?.call_method1("require", (array, dtype, ["ALIGNED"]))
}

/// The entries of an aligned array of `T`, row by row, each as the engine holds it; nothing of another array.
fn entries<T: Element + Copy, X, Y>(
    tensor: &Tensor<Y>,
    array: &Bound<'_, PyAny>,
    hold: impl Fn(usize, T) -> Result<X, TensorError>,
) -> Result<Option<Vec<X>>, Refusal> {
    let py = array.py();
    let Ok(typed) = array.cast::<PyArrayDyn<T>>() else { return Ok(None) };
    if typed.ndim() > 2 {
        return Err(tensor.shaped("must be a matrix or a vector").into());
    }
    if !typed.is_aligned() {
        return Ok(None);
    }
    let read = || -> Result<Vec<X>, Refusal> {
        let borrowed: PyReadonlyArrayDyn<'_, T> = typed.try_readonly().map_err(Failure::from)?;
        let view = borrowed.as_array();
        let mut data = Vec::new();
        let bytes = view.len() as f64 * size_of::<X>() as f64;
        let refused = |_| {
            Failure::new(format!(
                "tensor {} needs {} of memory: allocation failed",
                tensor.name,
                readable(bytes)
            ))
        };
        data.try_reserve_exact(view.len()).map_err(refused)?;
        for (index, &x) in view.iter().enumerate() {
            data.push(hold(index, x)?);
            if index % AT_ONCE == AT_ONCE - 1 {
                py.check_signals()?;
                py.detach(|| ());
            }
        }
        Ok(data)
    };
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(data) => data.map(Some),
        Err(panic) => Err(panicked(&*panic).into()),
    }
}

/// The tensors of a dictionary by name; nothing if it is empty.
pub fn import(arrays: &Bound<'_, PyDict>) -> Result<Option<Import>, Refusal> {
    gathered(arrays, floats, whole)
}

/// The same without their entries: what takes no memory yet.
pub fn shapes(arrays: &Bound<'_, PyDict>) -> Result<Option<Import>, Refusal> {
    gathered(arrays, float_shape, whole_shape)
}

/// How an array becomes a tensor by its name.
type Take<X> = fn(&str, &Bound<'_, PyAny>) -> Result<Tensor<X>, Refusal>;

fn gathered(
    arrays: &Bound<'_, PyDict>,
    floats: Take<f64>,
    whole: Take<u32>,
) -> Result<Option<Import>, Refusal> {
    if arrays.is_empty() {
        return Ok(None);
    }
    let get = |name: &str| arrays.get_item(name).ok().flatten();
    let import = Import::gather(
        |name| get(name).map(|array| floats(name, &array)).transpose(),
        |name| get(name).map(|array| whole(name, &array)).transpose(),
    );
    import.map(Some)
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

/// Whole numbers with 64 bits, as the tensor libraries like their indices. A copy that stands for what the engine holds, so it
/// cannot be written to either.
pub fn indices<'py>(py: Python<'py>, data: &[u32], columns: Option<usize>) -> PyResult<Bound<'py, PyAny>> {
    let wide: Vec<i64> = py.detach(|| data.iter().map(|&x| i64::from(x)).collect());
    let array = match columns {
        Some(columns) => matrix(py, wide, columns)?.into_any(),
        None => wide.into_pyarray(py).into_any(),
    };
    array.call_method1("setflags", (false,))?;
    Ok(array)
}

/// A read-only view of rows that `owner` keeps alive.
#[allow(unsafe_code)]
pub fn view<'py, T: Element>(
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
