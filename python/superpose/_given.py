"""What was given, looked at before it is made into what the engine takes: a sentence names the parameter, the value and what is
allowed. What goes to the engine as it is, the engine looks at."""

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
    shown = value if isinstance(value, str) and value else repr(value)
    return ValueError(f"{name} = {shown if len(shown) <= SHOWN else shown[: SHOWN - 3] + '...'}: must be {allowed}")


def word(name: str, value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise wrong(name, value, "a word")
    return value


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
        found = os.fspath(value)
    except TypeError:
        found = None
    if not isinstance(found, str) or not found:
        raise wrong(name, value, "the name of a file")
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
