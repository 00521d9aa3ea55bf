"""The tables of results: which rows a record has, what its columns are called, and how a notebook shows them."""

from __future__ import annotations

import html
import json
from typing import Any, Callable, Dict, Iterable, List, Sequence

from . import _engine
from ._map import picture

Row = Dict[str, Any]

#: Rows that a notebook shows.
SHOWN = 20


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
            "predicted": cell["predicted"],
            **_cause("dominant", cell["dominant"]),
        }
        for cell in values["cells"]
    ]


def _bound(values: Dict[str, Any]) -> List[Row]:
    three_step = {"name": "three_step", **values["three_step"]}
    bound = {**dict.fromkeys(three_step), "name": "bound", "estimate": values["bound"]}
    return [bound, *({"name": name, **found} for name, found in values["decoders"].items()), three_step]


def _sweep(values: Dict[str, Any]) -> List[Row]:
    """Without columns that are empty in all rows; what varies first, the hash last."""
    defaults = _defaults()

    def line(cell: Dict[str, Any]) -> Row:
        # The store knows no truths: 1, or nothing.
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
    settings: Dict[str, Any] = json.loads(_engine.Config()._json())
    return settings


def page(kind: str, values: Dict[str, Any], text: str) -> str:
    """What a notebook shows: the first lines of the text, the table, and the sentences of the text."""
    title, *others = (line.strip() for line in text.split("\n"))
    about = others[0] if others and _is_prose(others[0]) else ""
    below = [line for line in others if line != about and _is_prose(line) and line.endswith(".")]
    above = picture(values) if kind == "phase" else ""
    shown = {"sweep": _of_interest, "train": _along}.get(kind, list)
    body = table(shown(rows(kind, values))) if kind in _ROWS else sheet(values)
    caption = "<br>".join(html.escape(line) for line in (title, about) if line)
    notes = "".join(f"<p>{html.escape(line)}</p>" for line in below)
    return f"{above}<table><caption>{caption}</caption>{body}</table>{notes}"


def _is_prose(line: str) -> bool:
    """Lines of a table have columns apart."""
    return bool(line) and "  " not in line


def _of_interest(found: List[Row]) -> List[Row]:
    """What varies in a sweep and what was measured; the data frame has the rest."""
    measures = ("accuracy", "memory_accuracy", "one_step_accuracy", "lock_rate", "attention_mass", "margin")
    defaults, all_names = _defaults(), list(found[0]) if found else []
    names = [name for name in all_names if name in measures or (name in defaults and varies(found, name))]
    failed = ["status", "reason"] if "reason" in all_names else []
    return [{name: row[name] for name in [*names, *failed]} for row in found]


def _along(found: List[Row]) -> List[Row]:
    """As many as a notebook shows, the first and the last among them."""
    every = -(-len(found) // (SHOWN - 1))
    return found[::every] + ([] if (len(found) - 1) % every == 0 else found[-1:])


def table(found: Sequence[Row], most: int = SHOWN) -> str:
    """Rows as the inside of an HTML table."""
    names = list(dict.fromkeys(name for row in found for name in row))
    lines = [[row.get(name) for name in names] for row in found[:most]]
    more = f'<tfoot><tr><td colspan="{len(names)}">and {len(found) - most} more rows</td></tr></tfoot>'
    return _table(names, lines) + (more if len(found) > most else "")


def sheet(values: Dict[str, Any]) -> str:
    """One record as the inside of an HTML table: a line per quantity, with its interval where it has one, without the
    configuration."""
    lines = _lines("", {name: value for name, value in values.items() if name != "config"})
    return _table(["", "value", "low", "high"], list(lines))


def _lines(prefix: str, values: Dict[str, Any]) -> Iterable[List[Any]]:
    for name, value in values.items():
        name = prefix + name
        if isinstance(value, dict):
            middle = next((key for key in ("mean", "estimate") if key in value), None)
            if middle is not None and {"low", "high"} <= value.keys():
                yield [name, value[middle], value["low"], value["high"]]
                value = {key: x for key, x in value.items() if key not in (middle, "low", "high")}
            yield from _lines(f"{name}_", value)
        elif isinstance(value, list) and value and all(isinstance(item, dict) and "text" in item for item in value):
            # Things that say in words what they are.
            yield from ([name, item["text"], None, None] for item in value)
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
