"""Arrays of any library as the engine takes them: NumPy, aligned, 32 or 64 bits. No copy where none is needed."""

from __future__ import annotations

from typing import Any, Dict

import numpy

#: Tensors that may take the place of generated ones, those of ``--import``.
FLOATS = ("z_in", "z_out", "z_trig", "z_eos", "w_in")
WHOLE = ("tokens", "position", "labels")


def tensors(given: Dict[str, Any]) -> Dict[str, numpy.ndarray]:
    """The tensors that were given, by name."""
    kinds = {name: floats if name in FLOATS else whole for name in FLOATS + WHOLE}
    return {name: kinds[name](name, value) for name, value in given.items() if value is not None}


def floats(name: str, value: Any) -> numpy.ndarray:
    """Floating-point numbers; shorter ones are widened to 32 bits, which loses nothing."""
    array = _array(name, value)
    if array.dtype == numpy.float64 or array.dtype == numpy.float32:
        dtype = array.dtype.newbyteorder("=")
    elif array.dtype.kind == "f" or "float" in array.dtype.name:
        dtype = numpy.dtype(numpy.float32 if array.dtype.itemsize <= 2 else numpy.float64)
    else:
        raise ValueError(f"tensor {name} holds {array.dtype}: must hold floating-point numbers")
    return numpy.require(array, dtype, ["ALIGNED"])


def whole(name: str, value: Any) -> numpy.ndarray:
    """Whole numbers."""
    array = _array(name, value)
    if array.dtype.kind not in "iu":
        raise ValueError(f"tensor {name} holds {array.dtype}: must hold whole numbers")
    dtype = numpy.uint64 if array.dtype == numpy.uint64 else numpy.int64
    return numpy.require(array, dtype, ["ALIGNED"])


def _array(name: str, value: Any) -> numpy.ndarray:
    if isinstance(value, numpy.ndarray):
        return value
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        # A torch tensor: off the tape and off the device. NumPy has no bfloat16.
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            value = value.float()
    if hasattr(value, "__array__") or hasattr(value, "__array_interface__") or isinstance(value, (list, tuple)):
        return numpy.asarray(value)
    if hasattr(value, "__dlpack__"):
        return numpy.from_dlpack(value)
    raise ValueError(f"tensor {name} is of type {type(value).__name__}: must be an array (NumPy, DLPack or the array interface)")
