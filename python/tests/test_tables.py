"""Results as tables of a notebook, and as rows."""

import superpose
from superpose import Config

TINY = {"vocab": 40, "dim": 24, "length": 4, "samples": 500}


def test_run_table_shows_configuration_and_limit():
    page = Config(**TINY).run()._repr_html_()
    assert "attention only, d = 24, N = 500 samples" in page and "limits recall" in page
    several = Config(repeats=7, **TINY).run()._repr_html_()
    assert "seeds 0 to 6" in several


def test_prediction_table_states_conditions():
    page = Config(**TINY).predict()._repr_html_()
    assert "<p>capacity: d^2 &gt; 4 (V + d) log V" in page and "{" not in page


def test_threshold_table_shows_interval_or_reason():
    page = superpose.threshold(find="samples", vocab=600, dim=4, length=4, range=(10, 2000))._repr_html_()
    assert "not reached: at most" in page and "d = 4, L = 4, V = 600" in page
    page = superpose.threshold(find="samples", vocab=60, dim=40, length=4, half_width=0.02, max_runs=30)._repr_html_()
    assert "not as precise as 0.02: the runs were used up" in page


def test_capacity_table_shows_interval():
    found = superpose.memory(find="facts", dim=16, half_width=0.2)
    interval = found.threshold.found
    page = found._repr_html_()
    assert f'>facts</td><td style="text-align:right">{interval.estimate:,}</td>' in page and f"[{interval.low:,}, {interval.high:,}]" in page


def test_bound_table_includes_the_bounds():
    found = superpose.bound(vocab=30, dim=16, length=4, seeds=2)
    rows = {row["name"]: row for row in found.to_rows()}
    assert rows["linear"]["estimate"] == found.bounds.linear and rows["three_step"]["limit"] == found.three_step.limit
    assert all(row.keys() == rows["linear"].keys() for row in rows.values())
    page = found._repr_html_()
    assert f'>coverage</td><td style="text-align:right">{found.bounds.coverage:.0f}</td>' in page
    assert ">three-step algorithm</td>" in page


def test_plan_table_shows_feasibility():
    plan = superpose.plan(500, 16, accuracy=0.9)
    cheapest = [row for row in plan.to_rows() if row["cheapest"]]
    assert [row["dim"] for row in cheapest] == [plan.cheapest.dim]
    assert "Cheapest: dimension d = 170" in plan._repr_html_()
    none = superpose.plan(500, 16, accuracy=0.9, dim=8)
    assert not none.feasible and [row["forbids_term"] for row in none.to_rows()] == ["interference"]
    assert none.to_rows()[0].keys() == plan.to_rows()[0].keys()
    page = none._repr_html_()
    assert "No model within these limits" in page and "What binds: interference in the memory" in page


def test_phase_diagram_names_its_sizes_and_has_a_picture():
    found = superpose.phase(x=("dim", 8, 64), y=("samples", 50, 5000), resolution=6, vocab=40, length=4, measure="lock_rate")
    rows = found.to_rows()
    assert list(rows[0]) == ["dim", "samples", "lock_rate", "measured", "low", "high", "predicted", "dominant_part", "dominant_term"]
    assert [row["lock_rate"] for row in rows] == [cell.value for cell in found.cells]
    page = found._repr_html_()
    assert page.startswith("<h4>Lock rate over dim d and samples N")
    measured = page.split('<g shape-rendering="crispEdges">')[1].split("</g>")[0]
    assert measured.count("<rect") == 36 and ">boundary<" in page and ">predicted boundary<" in page
    # A dot or a diamond for each cell that was run: the prediction is inside its interval, or outside.
    inside = [cell.low <= cell.predicted <= cell.high for cell in found.cells if cell.measured]
    assert page.count("<circle") == sum(inside) + any(inside)
    assert f"inside {sum(inside)} of the 95% intervals of {len(inside)} cells" in page
    assert "<th>lock_rate</th>" in page and "cells run" in page


def test_sweep_table_has_varied_columns_first_and_no_empty_ones():
    found = superpose.sweep(axes={"samples": [200, 400], "factored": [False, True]}, steps=2, **{**TINY, "samples": None})
    rows = found.to_rows()
    assert list(rows[0])[:2] == ["samples", "factored"] and list(rows[0])[-1] == "key"
    assert [row["factored"] for row in rows] == [False, True, False, True]
    assert not [name for name in rows[0] if all(row[name] is None for row in rows)]
    assert "width" not in rows[0] and len(rows[0]) < len(found.cells[0])
    page = found._repr_html_()
    assert "<tr><th>samples</th><th>factored</th><th>accuracy</th>" in page and "<th>key</th>" not in page
    assert "<th>vocab</th>" not in page and "<th>reason</th>" not in page


def test_sweep_table_shows_failures():
    found = superpose.sweep(axes={"eta": [1.0, 1e20]}, regime="exact", gamma=1e30, eta2=1e30, **TINY)
    assert found.failed > 0 and "<th>reason</th>" in found._repr_html_()


def test_settings_and_fields_are_shown_as_tables():
    page = Config(**TINY)._repr_html_()
    assert "<td>vocab</td><td>40</td><td>given</td>" in page and "<td>lead</td><td>4</td><td></td>" in page
    assert Config(**TINY).run().noise._repr_html_().startswith("<table>")
