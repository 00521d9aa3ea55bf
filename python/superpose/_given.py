"""Validation of arguments that Python converts before it calls the engine.

Each error names the parameter, the value and what is allowed. The engine validates arguments that it receives unchanged.
"""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional, SupportsFloat, SupportsIndex, Union

#: A number of Python or NumPy, or any object that converts to one. Counts may be written 1e6.
Number = Union[SupportsFloat, SupportsIndex]
#: A path to a file.
Path = Union[str, "os.PathLike[str]"]

#: Maximum number of characters of a value in an error message.
SHOWN = 60


def wrong(name: str, value: Any, allowed: str) -> ValueError:
    """Returns the error for a parameter with a value that is not allowed."""
    # In one line: the representation of an array has several.
    shown = value if isinstance(value, str) and value else " ".join(repr(value).split())
    return ValueError(f"{name} = {shown if len(shown) <= SHOWN else shown[: SHOWN - 3] + '...'}: must be {allowed}")


def refuse_functions(keys: Mapping[str, Any]) -> None:
    """Refuses a hook or a loss where nothing calls it."""
    for name in ("hook", "loss"):
        if name in keys:
            raise TypeError(f"{name} is given: only train calls it; other calls run the engine alone")


def word(name: str, value: Any) -> str:
    """Returns the value if it is a string."""
    if not isinstance(value, str):
        raise wrong(name, value, "a word")
    return value


def mapping(name: str, value: Any) -> Mapping[str, Any]:
    """Returns the value if it is a mapping, or an empty one for ``None``."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise wrong(name, value, "a dictionary of keys and their values")
    return value


def path(name: str, value: Any) -> str:
    """Returns the path as a string."""
    try:
        found = os.fspath(value)
    except TypeError:
        found = None
    if not isinstance(found, str) or not found:
        raise wrong(name, value, "the name of a file")
    return found


def maybe_path(name: str, value: Any) -> Optional[str]:
    """Returns the path as a string, or ``None`` for ``None``."""
    return None if value is None else path(name, value)


#: What reads files of arrays that are not safetensors, by the end of their names.
_LOADERS = {".npy": "numpy.load", ".npz": "numpy.load", ".pt": "torch.load", ".pth": "torch.load"}


def tensor_file(name: str, value: Any, allowed: str = "a safetensors file") -> str:
    """Returns the path of a safetensors file as a string. Files of other libraries are refused by the end of their names."""
    found = path(name, value)
    loader = _LOADERS.get(os.path.splitext(found)[1].lower())
    if loader:
        raise wrong(name, found, f"{allowed}; load it with {loader}")
    return found


def text_of(file: str) -> str:
    """Returns the content of a UTF-8 text file."""
    with open(file, "rb") as opened:
        content = opened.read()
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file}: not UTF-8 text at byte {error.start}") from None
