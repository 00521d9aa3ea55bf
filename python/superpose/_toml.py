"""Conversion of a sweep described in Python to the TOML of a sweep file."""

from __future__ import annotations

import json
import math
import os
from typing import Any, Iterable, List, Mapping, Optional, Sequence

from ._definitions import chosen
from ._given import mapping, word, wrong


def sweep_text(
    base: Mapping[str, Any],
    axes: Optional[Mapping[str, Any]],
    points: Optional[Sequence[Mapping[str, Any]]],
    rays: Optional[Mapping[str, str]],
) -> str:
    """Returns the TOML of a sweep. Raises a ``ValueError`` that names a value which TOML cannot represent."""
    moving = ""
    if points is not None:
        if not points:
            raise wrong("points", points, "a list of at least one dictionary; leave it out if no keys vary together")
        moving = f"points = [{', '.join(_value('points', point) for point in points)}]\n"
    formulas = {name: word(f"rays: {name}", formula) for name, formula in mapping("rays", rays).items()}
    values = mapping("axes", axes)
    for name in values:
        if values[name] is None and not chosen({name: None}):
            raise wrong(name, None, "a list of values or a range under axes")
    return f"{_lines(chosen(dict(base)))}{moving}[axes]\n{_lines(chosen(dict(values)))}[rays]\n{_lines(formulas)}"


def point_list(points: Any) -> Optional[List[Mapping[str, Any]]]:
    """Returns the points of a sweep as a list, or ``None`` for ``None``."""
    if points is None:
        return None
    if isinstance(points, (str, bytes, Mapping)) or not isinstance(points, Iterable):
        raise wrong("points", points, "a list of dictionaries")
    return [mapping("points", point) for point in points]


def _lines(table: Mapping[str, Any]) -> str:
    return "".join(f"{_name(name)} = {_value(name, value)}\n" for name, value in table.items())


def _name(name: Any) -> str:
    return json.dumps(word("key", name))


def _value(name: str, value: Any) -> str:
    # NumPy arrays and numbers become lists and Python numbers.
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_name(key)} = {_value(f'{name}.{key}', inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, (list, tuple, range)):
        return "[" + ", ".join(_value(name, item) for item in value) + "]"
    if isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return json.dumps(value, ensure_ascii=False)
    raise wrong(name, value, "a string, a boolean, a finite number, or a list of these")
