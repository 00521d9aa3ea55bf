"""What was given, looked at before the engine sees it: a sentence names the parameter, the value and what is allowed."""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional, SupportsFloat, SupportsIndex, Union

#: A number of Python, NumPy or anything that turns into one. Counts may be written 1e6.
Number = Union[SupportsFloat, SupportsIndex]
#: A file.
Path = Union[str, "os.PathLike[str]"]

#: Characters of a value that a sentence shows.
SHOWN = 60


def wrong(name: str, value: Any, allowed: str) -> ValueError:
    """The error of a parameter."""
    shown = repr(value)
    return ValueError(f"{name} = {shown if len(shown) <= SHOWN else shown[: SHOWN - 3] + '...'}: must be {allowed}")


def number(name: str, value: Any) -> float:
    """A number; neither a truth nor a text."""
    kind = type(value).__name__
    if isinstance(value, (str, bytes, bool, complex)) or kind in ("bool_", "bool"):
        raise wrong(name, value, "a number")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise wrong(name, value, "a number") from None


def word(name: str, value: Any, allowed: str = "a word") -> str:
    """A text."""
    if not isinstance(value, str):
        raise wrong(name, value, allowed)
    return value


def truth(name: str, value: Any) -> bool:
    """True or False, of Python or NumPy."""
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    raise wrong(name, value, "True or False")


def mapping(name: str, value: Any) -> Mapping[str, Any]:
    """Values by name, or nothing."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise wrong(name, value, "a dictionary of keys and their values")
    return value


def path(name: str, value: Any) -> str:
    """The name of a file."""
    try:
        # The file system's own bytes are a name, too.
        found = os.fsdecode(value)
    except TypeError:
        raise wrong(name, value, "the path of a file") from None
    if not found:
        raise wrong(name, value, "the path of a file")
    return found


def maybe_path(name: str, value: Any) -> Optional[str]:
    """The name of a file, or nothing."""
    return None if value is None else path(name, value)


def text_of(file: str) -> str:
    """What a text file holds."""
    with open(file, "rb") as opened:
        content = opened.read()
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file}: not UTF-8 text at byte {error.start}") from None
