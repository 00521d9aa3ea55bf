"""What a call found: fields by name, printed as on the command line, a table in a notebook, a data frame on request."""

from __future__ import annotations

import html
import json
from typing import Any, Dict, Iterator, List, Optional, Type

from . import _engine


class Fields:
    """Values by name: ``fields.mean``. Nested ones are fields, too."""

    __slots__ = ("_values",)

    def __init__(self, values: Dict[str, Any]) -> None:
        self._values = values

    def __getattr__(self, name: str) -> Any:
        if name == "_values":
            raise AttributeError(name)
        try:
            return _dressed(self._values[name])
        except KeyError:
            raise AttributeError(f"no field {name}: there are {', '.join(self._values)}") from None

    __getitem__ = __getattr__

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self._values]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fields) and self.to_dict() == other.to_dict()

    def __repr__(self) -> str:
        return f"({', '.join(f'{name}={_dressed(value)!r}' for name, value in self._values.items())})"

    def __reduce__(self) -> Any:
        return Fields, (self._values,)

    def to_dict(self) -> Dict[str, Any]:
        """Plain dictionaries and lists, named as in ``--json``."""
        plain: Dict[str, Any] = json.loads(json.dumps(self._values))
        return plain


class Result(Fields):
    """The record of a call, with the names of ``--json`` on the command line.

    >>> import superpose
    >>> result = superpose.Config(vocab=64, dim=64, samples=4096).run()
    >>> result.lock_rate.mean > 0.99
    True
    >>> result.to_dict()["config"]["vocab"]
    64
    """

    __slots__ = ("_record", "_text", "_rows_in")

    def __init__(self, record: _engine.Record, rows: Optional[str] = None) -> None:
        self._record = record
        self._rows_in = rows

    def __getattr__(self, name: str) -> Any:
        # Read from the engine's record when someone first looks.
        if name == "_values":
            self._values = json.loads(self._record.json())
            return self._values
        if name == "_text":
            self._text = self._record.text()
            return self._text
        if name.startswith("__") or name in ("_record", "_rows_in"):
            raise AttributeError(name)
        return super().__getattr__(name)

    def __str__(self) -> str:
        return self._text.rstrip("\n")

    __repr__ = __str__

    def __reduce__(self) -> Any:
        return _restored, (type(self), self._values, self._text, self._rows_in)

    def to_rows(self) -> List[Dict[str, Any]]:
        """The table behind the data frames: a row per cell, point or decoder where the result is a table, else one row with
        all fields, nested names joined by underscores."""
        if self._rows_in is None:
            return [flat(self._values)]
        rows = self._values[self._rows_in]
        if isinstance(rows, dict):
            rows = [{"name": name, **row} for name, row in rows.items()]
        return [flat(row) for row in rows]

    def to_pandas(self) -> Any:
        """A pandas data frame of :meth:`to_rows`."""
        import pandas

        return pandas.DataFrame(self.to_rows())

    def to_polars(self) -> Any:
        """A polars data frame of :meth:`to_rows`."""
        import polars

        return polars.DataFrame(self.to_rows(), infer_schema_length=None)

    def _repr_html_(self) -> str:
        title = self._text.split("\n", 1)[0]
        return sheet(self._values, title) if self._rows_in is None else table(self.to_rows(), title)


def _restored(kind: Type[Result], values: Dict[str, Any], text: str, rows: Optional[str]) -> Result:
    result = kind.__new__(kind)
    result._values, result._text, result._rows_in = values, text, rows
    return result


def _dressed(value: Any) -> Any:
    if isinstance(value, dict):
        return Fields(value)
    if isinstance(value, list):
        return [_dressed(item) for item in value]
    return value


def flat(values: Dict[str, Any], prefix: str = "") -> Dict[str, Any]:
    """One level of names: ``{"accuracy": {"mean": 1}}`` becomes ``{"accuracy_mean": 1}``."""
    row: Dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            row.update(flat(value, f"{prefix}{name}_"))
        else:
            row[prefix + name] = value
    return row


#: Rows that a notebook shows.
SHOWN = 20


def table(rows: List[Dict[str, Any]], title: str) -> str:
    """Rows as an HTML table."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [[row.get(name) for name in names] for row in rows[:SHOWN]]
    more = f"<p>and {len(rows) - SHOWN} more rows</p>" if len(rows) > SHOWN else ""
    return _table(title, names, lines) + more


def sheet(values: Dict[str, Any], title: str) -> str:
    """One record as an HTML table: a line per quantity, with its interval where it has one, without the configuration."""
    lines: List[List[Any]] = []
    for name, value in values.items():
        if name == "config":
            continue
        if isinstance(value, dict) and {"low", "high"} <= value.keys():
            middle = value.get("mean", value.get("estimate"))
            lines.append([name, middle, value["low"], value["high"]])
        elif isinstance(value, dict):
            lines += [[f"{name}_{inner}", x, None, None] for inner, x in flat(value).items() if x is not None]
        elif value is not None:
            lines.append([name, value, None, None])
    return _table(title, ["", "value", "low", "high"], lines)


def _table(title: str, names: List[str], lines: List[List[Any]]) -> str:
    def cell(value: Any, tag: str) -> str:
        shown = f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)
        return f"<{tag}>{html.escape(shown)}</{tag}>"

    head = "".join(cell(name, "th") for name in names)
    body = "".join(f"<tr>{''.join(cell(value, 'td') for value in line)}</tr>" for line in lines)
    return f"<table><caption>{html.escape(title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
