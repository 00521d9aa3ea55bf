"""A small SVG picture of a phase diagram for notebooks: one square per cell, the measured and the predicted boundary."""

from __future__ import annotations

import html
from typing import Any, Dict, List, Sequence, Tuple

import numpy

#: Length of a side, in pixels.
SIDE = 280

#: Colours of accuracy 0 and 1.
PALE, DARK = (247, 251, 255), (8, 81, 156)


def picture(values: Dict[str, Any]) -> str:
    """Returns the SVG of a phase diagram's record."""
    columns, rows = values["columns"], values["rows"]
    width, height = SIDE / len(columns), SIDE / len(rows)
    squares = "".join(
        f'<rect x="{index % len(columns) * width:.4g}" y="{SIDE - (index // len(columns) + 1) * height:.4g}"'
        f' width="{width:.4g}" height="{height:.4g}" fill="{_colour(cell["value"])}">'
        f"<title>{html.escape(_said(values, cell))}</title></rect>"
        for index, cell in enumerate(values["cells"])
    )
    lines = _lines(values["boundary"], columns, rows, "") + _lines(values["predicted_boundary"], columns, rows, "6 4")
    said = [
        f'<text x="4" y="{SIDE + 16}">{values["x"]["size"]} {columns[0]:,} to {columns[-1]:,}, to the right; '
        f"{values['y']['size']} {rows[0]:,} to {rows[-1]:,}, upwards</text>",
        f'<text x="4" y="{SIDE + 32}">boundary at {values["accuracy"]:g}: measured, and predicted (dashed)</text>',
    ]
    box = f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIDE + 120}" height="{SIDE + 40}" font-size="12" fill="currentColor">'
    return f'{box}<g stroke="none">{squares}</g>{lines}{"".join(said)}</svg>'


def _said(values: Dict[str, Any], cell: Dict[str, Any]) -> str:
    how = "measured" if cell["measured"] else "filled in"
    return f"{values['x']['size']} {cell['x']:,}, {values['y']['size']} {cell['y']:,}: {values['measure']} {cell['value']:.3f}, {how}"


def _colour(share: float) -> str:
    mixed = (round(pale + min(max(share, 0.0), 1.0) * (dark - pale)) for pale, dark in zip(PALE, DARK))
    return f"rgb({','.join(map(str, mixed))})"


def _lines(boundary: Sequence[Sequence[Tuple[float, float]]], columns: List[int], rows: List[int], dashes: str) -> str:
    def places(at: Sequence[float], ticks: List[int]) -> Any:
        # A cell's value belongs to its centre.
        return numpy.interp(at, ticks, (numpy.arange(len(ticks)) + 0.5) / len(ticks) * SIDE)

    def line(points: Sequence[Tuple[float, float]]) -> str:
        across, up = places([x for x, _ in points], columns), places([y for _, y in points], rows)
        path = " ".join(f"{x:.4g},{SIDE - y:.4g}" for x, y in zip(across, up))
        return f'<polyline points="{path}" fill="none" stroke="#d95f02" stroke-width="2" stroke-dasharray="{dashes}"/>'

    return "".join(map(line, boundary))
