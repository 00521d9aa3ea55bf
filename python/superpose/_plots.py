"""Figures of results: drawn by matplotlib where it is installed, otherwise the SVG of the command line."""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
import re
from typing import Any, Dict, List, Tuple

from ._given import wrong

#: Colours of series, those of the SVG.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#707070"]
#: Width and height of a panel in inches.
PANEL = (4.6, 3.4)


class Drawing:
    """A figure as SVG text: notebooks show it, ``save`` writes it."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def save(self, path: Any) -> None:
        """Writes the SVG to a file, whose name ends with ``.svg``."""
        if not os.fsdecode(path).lower().endswith(".svg"):
            raise wrong("path", os.fsdecode(path), "a name that ends with .svg; other formats need matplotlib: pip install 'superpose[plots]'")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    #: The name that matplotlib's figures have for it.
    savefig = save

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Drawing({len(self.svg)} characters of SVG; save(path) writes it)"


def drawn(figure: Dict[str, Any], svg: str) -> Any:
    """Returns a matplotlib figure, or a :class:`Drawing` where there is no matplotlib."""
    if importlib.util.find_spec("matplotlib") is None:
        return Drawing(svg)
    # Not through pyplot: the figure belongs to the caller, and no backend is chosen.
    panels = figure["panels"]
    columns = min(figure["columns"] or 3, len(panels))
    rows = -(-len(panels) // columns)
    page = importlib.import_module("matplotlib.figure").Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows), layout="constrained")
    for axes, panel in zip(page.subplots(rows, columns, squeeze=False).flat, panels):
        (kind, content), = panel.items()
        (_chart if kind == "Chart" else _bars)(axes, content)
    if figure["title"]:
        page.suptitle(_text(figure["title"]), fontsize="medium")
    return page


def _text(label: str) -> str:
    """A label with superscripts and subscripts as matplotlib writes them."""
    return re.sub(r"([\^_])\{([^}]*)\}", r"$\1{\2}$", label)


def _axis(axes: Any, name: str, axis: Dict[str, Any]) -> None:
    getattr(axes, f"set_{name}label")(_text(axis["label"]))
    if axis["log"]:
        getattr(axes, f"set_{name}scale")("log")
    if axis["range"]:
        getattr(axes, f"set_{name}lim")(*axis["range"])


def _number(value: Any) -> float:
    # JSON has no NaN: a gap in a line is null.
    return math.nan if value is None else float(value)


def _errors(items: List[Tuple[Any, Any]]) -> Any:
    """Distances to the ends of intervals, as matplotlib takes them; ``None`` if there is no interval."""
    if not any(interval for _, interval in items):
        return None
    ends = [interval or (middle, middle) for middle, interval in items]
    return [[max(0.0, _number(m) - _number(e[i])) if i == 0 else max(0.0, _number(e[i]) - _number(m)) for (m, _), e in zip(items, ends)] for i in (0, 1)]


def _chart(axes: Any, chart: Dict[str, Any]) -> None:
    axes.set_title(_text(chart["title"]), fontsize="medium")
    if chart["cells"]:
        _cells(axes, chart)
    for region in chart["regions"]:
        (left, right), (low, high) = region["x"], region["y"]
        axes.fill_between([left, right], low, high, color=COLOURS[region["category"] % len(COLOURS)], alpha=0.5, linewidth=0)
    for number, name in enumerate(chart["categories"]):
        axes.fill_between([], [], [], color=COLOURS[number % len(COLOURS)], alpha=0.5, label=_text(name))
    colours: Dict[str, str] = {}
    colour = COLOURS[0]
    for series in chart["series"]:
        name = series["name"]
        if name:
            colour = colours.setdefault(name, COLOURS[len(colours) % len(COLOURS)])
        given = series["color"]
        own = COLOURS[given["Category"] % len(COLOURS)] if isinstance(given, dict) and "Category" in given else "#999999" if given == "Muted" else colour
        style = dict(color="black" if chart["cells"] else own, label=_text(name) or None)
        (shape, data), = series["shape"].items()
        if shape == "Line":
            dash = {None: "-", "6 4": "--"}.get(series["dashes"], ":")
            axes.plot([_number(x) for x, _ in data], [_number(y) for _, y in data], linestyle=dash, **style)
        else:
            x, y = [_number(point["x"]) for point in data], [_number(point["y"]) for point in data]
            errors = _errors([(point["y"], point["interval"]) for point in data])
            axes.errorbar(x, y, yerr=errors, fmt="o", markersize=2 if series["small"] else 5, capsize=2, **style)
    for line in chart["references"]:
        draw = axes.axvline if line["vertical"] else axes.axhline
        draw(line["value"], color="#4d4d4d", linewidth=0.8, linestyle=":", label=_text(line["label"]))
    for (x, y), text in chart["marks"]:
        axes.annotate(_text(text), (x, y), xytext=(6, 6), textcoords="offset points", fontsize="small")
        axes.plot([x], [y], "o", markersize=9, fillstyle="none", color="black")
    _axis(axes, "x", chart["x"])
    _axis(axes, "y", chart["y"])
    if axes.get_legend_handles_labels()[1]:
        axes.legend(fontsize="small")


def _cells(axes: Any, chart: Dict[str, Any]) -> None:
    starts = [sorted({cell[name][0] for cell in chart["cells"]}) for name in ("x", "y")]
    edges = [[*begin, max(cell[name][1] for cell in chart["cells"])] for begin, name in zip(starts, ("x", "y"))]
    values = [[math.nan] * (len(edges[0]) - 1) for _ in edges[1][1:]]
    for cell in chart["cells"]:
        values[edges[1].index(cell["y"][0])][edges[0].index(cell["x"][0])] = _number(cell["value"])
    mesh = axes.pcolormesh(edges[0], edges[1], values, vmin=0, vmax=1, cmap="viridis")
    axes.figure.colorbar(mesh, ax=axes, label=_text(chart["value"]))


def _bars(axes: Any, bars: Dict[str, Any]) -> None:
    axes.set_title(_text(bars["title"]), fontsize="medium")
    names, series = bars["names"], bars["series"]
    height = 0.8 / max(1, len(series))
    for number, (name, items) in enumerate(series):
        places = [group + (number - (len(series) - 1) / 2) * height for group in range(len(items))]
        errors = _errors([(bar["size"], bar["interval"]) for bar in items])
        sizes = [_number(bar["size"]) for bar in items]
        axes.barh(places, sizes, height, xerr=errors, capsize=2, color=COLOURS[number % len(COLOURS)], label=_text(name) or None)
    axes.set_yticks(range(len(names)), [_text(name) for name in names])
    axes.invert_yaxis()
    _axis(axes, "x", bars["axis"])
    if any(name for name, _ in series):
        axes.legend(fontsize="small")
