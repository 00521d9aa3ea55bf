"""Tables of results: the rows and columns of a record's data frame, and values as HTML tables."""

from __future__ import annotations

import html
from typing import Any, Callable, Dict, Iterable, List, Sequence, Tuple

from . import _engine

Row = Dict[str, Any]

#: Rows of a table that a notebook shows.
MAX_ROWS = 20


def flat(values: Dict[str, Any], prefix: str = "") -> Row:
    """One level of names: ``{"accuracy": {"mean": 1}}`` becomes ``{"accuracy_mean": 1}``."""
    row: Row = {}
    for name, value in values.items():
        if isinstance(value, dict):
            row.update(flat(value, f"{prefix}{name}_"))
        else:
            row[prefix + name] = value
    return row


def rows(kind: str, values: Dict[str, Any]) -> List[Row]:
    """The table of a record: a row per cell, point, decoder or step where it has those, else one row with all fields."""
    make = _ROWS.get(kind)
    return make(values) if make else [flat(values)]


def _cause(name: str, cause: Any) -> Row:
    """A part of the model and its noise term, where there is one."""
    return {f"{name}_{key}": (cause or {}).get(key) for key in ("part", "term")}


def _plan(values: Dict[str, Any]) -> List[Row]:
    def line(point: Dict[str, Any]) -> Row:
        sizes = {name: point[name] for name in ("dim", "width", "parameters", "samples", "allowed")}
        return {**sizes, "cheapest": point == values["cheapest"], **_cause("forbids", point["forbids"])}

    return [line(point) for point in values["curve"]]


def _phase(values: Dict[str, Any]) -> List[Row]:
    x, y, measure = values["x"]["size"], values["y"]["size"], values["measure"]
    return [
        {
            x: cell["x"],
            y: cell["y"],
            measure: cell["value"],
            "measured": cell["measured"],
            "low": cell["low"],
            "high": cell["high"],
            "predicted": cell["predicted"],
            **_cause("dominant", cell["dominant"]),
        }
        for cell in values["cells"]
    ]


def _bound(values: Dict[str, Any]) -> List[Row]:
    three_step = {"name": "three_step", **values["three_step"]}
    bounds = values["bounds"]
    empty = dict.fromkeys(three_step)
    samples = ({**empty, "name": name, "estimate": bounds[name]} for name in ("coverage", "linear", "genie", "surrogate"))
    return [*samples, *({"name": name, **found} for name, found in values["decoders"].items()), three_step]


def _sweep(values: Dict[str, Any]) -> List[Row]:
    """The cells without columns that are empty in all rows: settings that vary first, the key last."""
    defaults = _defaults()

    def line(cell: Dict[str, Any]) -> Row:
        # The store has no booleans: true is 1, false is empty.
        return {name: bool(value) if isinstance(defaults.get(name), bool) else value for name, value in flat(cell).items()}

    found = [line(cell) for cell in values["cells"]]
    names = list(dict.fromkeys(name for row in found for name in row))
    full = [name for name in names if any(row.get(name) not in (None, False) for row in found)]
    first = [name for name in full if name in defaults and varies(found, name)]
    order = [*first, *(name for name in full if name not in first and name != "key"), "key"]
    return [{name: row.get(name) for name in order} for row in found]


def _train(values: Dict[str, Any]) -> List[Row]:
    return [flat(record) for record in values["trajectory"]]


_ROWS: Dict[str, Callable[[Dict[str, Any]], List[Row]]] = {
    "plan": _plan,
    "phase": _phase,
    "bound": _bound,
    "sweep": _sweep,
    "train": _train,
}


def varies(found: Sequence[Row], name: str) -> bool:
    """Whether a column holds more than one value."""
    return any(row.get(name) != found[0].get(name) for row in found)


def _defaults() -> Dict[str, Any]:
    return _engine.Config()._settings()


def cells(kind: str, values: Dict[str, Any]) -> str:
    """The cells of a sweep or of a phase diagram as an HTML table; nothing for other records, whose page has all of it."""
    if kind not in ("sweep", "phase"):
        return ""
    found = rows(kind, values)
    return f"<table>{table(_of_interest(found) if kind == 'sweep' else found)}</table>"


def grid(values: Dict[str, Any]) -> Tuple[List[str], List[str], List[Row]]:
    """The settings that vary in a sweep, its measures, and its rows."""
    found = rows("sweep", values)
    all_names = list(found[0]) if found else []
    measures = [name for name in all_names if f"{name}_variance" in all_names]
    return [name for name in all_names if name in _defaults() and varies(found, name)], measures, found


def _of_interest(found: List[Row]) -> List[Row]:
    """The settings that vary in a sweep and what was measured; the data frame has the rest."""
    defaults, all_names = _defaults(), list(found[0]) if found else []
    measures = [name for name in all_names if f"{name}_variance" in all_names]
    names = [name for name in all_names if name in measures or (name in defaults and varies(found, name))]
    failed = ["status", "reason"] if "reason" in all_names else []
    return [{name: row[name] for name in [*names, *failed]} for row in found]


def table(found: Sequence[Row], limit: int = MAX_ROWS) -> str:
    """Rows as the inside of an HTML table."""
    names = list(dict.fromkeys(name for row in found for name in row))
    lines = [[row.get(name) for name in names] for row in found[:limit]]
    more = f'<tfoot><tr><td colspan="{len(names)}">and {len(found) - limit} more rows</td></tr></tfoot>'
    return _table(names, lines) + (more if len(found) > limit else "")


def sheet(values: Dict[str, Any]) -> str:
    """Values as the inside of an HTML table: a line per quantity, with its interval where it has one."""
    return _table(["", "value", "low", "high"], list(_lines("", values)))


def _lines(prefix: str, values: Dict[str, Any]) -> Iterable[List[Any]]:
    for name, value in values.items():
        name = prefix + name
        if isinstance(value, dict):
            middle = next((key for key in ("mean", "estimate") if key in value), None)
            if middle is not None and {"low", "high"} <= value.keys():
                yield [name, value[middle], value["low"], value["high"]]
                value = {key: x for key, x in value.items() if key not in (middle, "low", "high")}
            yield from _lines(f"{name}_", value)
        elif value is not None and value != []:
            yield [name, value, None, None]


def _table(names: Sequence[str], lines: Sequence[Sequence[Any]]) -> str:
    def cell(value: Any, tag: str) -> str:
        return f"<{tag}>{html.escape(_shown(value))}</{tag}>"

    head = "".join(cell(name, "th") for name in names)
    body = "".join(f"<tr>{''.join(cell(value, 'td') for value in line)}</tr>" for line in lines)
    return f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    if isinstance(value, list):
        several = ", ".join(_shown(item) for item in value[:5])
        return several if len(value) <= 5 else f"{several}, ... ({len(value)} in all)"
    return "" if value is None else str(value)
