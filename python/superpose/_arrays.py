"""Conversion of arrays of any library to NumPy arrays, without a copy where possible.

The engine reads any element type, alignment and stride, so this module only finds the array.
"""

from __future__ import annotations

import functools
import json
from typing import Any, Dict, Mapping, Optional, TypedDict

import numpy

from ._given import refuse_functions


class Embeddings(TypedDict, total=False):
    """Arrays that take the place of drawn embeddings."""

    z_in: Any
    z_out: Any
    z_trig: Any
    z_eos: Any
    w_in: Any


class Tensors(Embeddings, total=False):
    """Arrays that take the place of what a run would draw."""

    tokens: Any
    position: Any
    labels: Any
    test_tokens: Any
    test_position: Any
    test_labels: Any


class ReadOnly(numpy.ndarray):
    """A read-only view of the engine's memory. Consumers of DLPack may ignore that an array is read-only, so they get a copy. Views of it
    are of this class, too; what is computed from it is an ordinary array or number of NumPy."""

    def __dlpack__(self, **keywords: Any) -> Any:
        return numpy.array(self, subok=False).__dlpack__(**keywords)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        # NumPy 1 does not give return_scalar.
        return array[()] if array.ndim == 0 else array.view(numpy.ndarray)

    def __getitem__(self, index: Any) -> Any:
        found = self.view(numpy.ndarray)[index]
        # An index by an array copies.
        return found if not isinstance(found, numpy.ndarray) or found.flags.writeable else found.view(ReadOnly)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return numpy.array(self, subok=False).__reduce_ex__(protocol)

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        return _computed(super().__array_function__(function, types, arguments, keywords))


#: Methods that compute something or copy, without a call of ``__array_wrap__``.
_METHODS = """__copy__ __deepcopy__ argmax argmin argpartition argsort astype byteswap choose compress copy dot flatten ravel repeat round
searchsorted take""".split()


def _method(name: str) -> Any:
    inherited = getattr(numpy.ndarray, name)

    @functools.wraps(inherited, assigned=["__name__"])
    def call(array: ReadOnly, *arguments: Any, **keywords: Any) -> Any:
        return _computed(inherited(array, *arguments, **keywords))

    return call


for _name in _METHODS:
    setattr(ReadOnly, _name, _method(_name))


def _computed(found: Any) -> Any:
    """Returns new memory as an ordinary array or number. Only a view of the engine's memory cannot be written to."""
    if not isinstance(found, ReadOnly) or not found.flags.writeable:
        return found
    return found[()] if found.ndim == 0 else found.view(numpy.ndarray)


def guarded(array: Any) -> numpy.ndarray:
    """Returns the array as one that cannot be made writeable and that DLPack copies."""
    return numpy.asarray(memoryview(array).toreadonly()).view(ReadOnly)


def tensors(given: Mapping[str, Any]) -> Dict[str, numpy.ndarray]:
    """Returns the tensors that are not ``None`` as NumPy arrays, by name."""
    return {name: array(name, value) for name, value in given.items() if value is not None}


def inputs(given: Mapping[str, Any]) -> Dict[str, numpy.ndarray]:
    """Returns the keywords of a call that name inputs of a run as NumPy arrays. Another name is a ``TypeError``."""
    refuse_functions(given)
    for name in given:
        if name not in Tensors.__annotations__:
            raise TypeError(f"unexpected keyword argument {name!r}; the arrays are {', '.join(Tensors.__annotations__)}")
    return tensors(given)


def embeddings(keys: Dict[str, Any]) -> Dict[str, numpy.ndarray]:
    """Removes the embeddings from keywords, and returns them as NumPy arrays, by name."""
    return tensors({name: keys.pop(name) for name in Embeddings.__annotations__ if name in keys})


def maybe(name: str, value: Any) -> Optional[numpy.ndarray]:
    """Returns the value as a NumPy array, or ``None`` for ``None``."""
    return None if value is None else array(name, value)


def array(name: str, value: Any) -> numpy.ndarray:
    """Returns the value as a NumPy array. Raises a ``ValueError`` that names the tensor and the cause if it cannot be read."""
    if type(value) is numpy.ndarray:
        return value
    try:
        found = _array(value)
    except Exception as error:
        # Libraries raise different exceptions for a tensor without storage, on another device, or deleted.
        cause = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ValueError(f"tensor {name} is of type {_type(value)} and cannot be read as an array: {cause}") from error
    if found is None:
        weight = "; give its .weight" if hasattr(value, "weight") else ""
        raise ValueError(f"tensor {name} is of type {_type(value)}: must be an array (NumPy, DLPack or the array interface){weight}")
    if isinstance(found, numpy.ma.MaskedArray) and numpy.ma.is_masked(found):
        raise ValueError(f"tensor {name} has masked entries: must have none; fill them first, such as with .filled(0)")
    return found


def _array(value: Any) -> Optional[numpy.ndarray]:
    if isinstance(value, numpy.ndarray):
        return value
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        # A torch tensor: detach it from the graph and copy it to the CPU. NumPy has no bfloat16.
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            value = value.float()
    if hasattr(value, "__array__") or hasattr(value, "__array_interface__") or isinstance(value, (list, tuple)):
        return numpy.asarray(value)
    if hasattr(value, "__dlpack__"):
        return numpy.from_dlpack(value)
    return None


def written(array: numpy.ndarray, file: str) -> str:
    """Writes a matrix to a safetensors file as the tensor ``array``, and returns the name of the file."""
    kind = "F64" if array.dtype == numpy.float64 else "F32"
    if array.dtype.kind != "f" or array.ndim != 2:
        raise ValueError(f"array of type {array.dtype} and shape {array.shape}: must be a matrix of floating-point numbers")
    data = numpy.ascontiguousarray(array, dtype="<f8" if kind == "F64" else "<f4")
    header = json.dumps({"array": {"dtype": kind, "shape": list(data.shape), "data_offsets": [0, data.nbytes]}}).encode()
    header += b" " * (-len(header) % 8)
    with open(file, "wb") as opened:
        opened.write(len(header).to_bytes(8, "little") + header)
        data.tofile(opened)
    return file


def _type(value: Any) -> str:
    return type(value).__name__
