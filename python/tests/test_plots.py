"""Results are drawn, saved, loaded and turned into tables of other libraries."""

import json

import numpy
import pytest

import superpose
from superpose import Config

TINY = {"vocab": 40, "dim": 24, "length": 4, "samples": 500}
FLAGS = ["--vocab", 40, "--dim", 24, "--length", 4, "--samples", 500]

DRAWN = {
    "run": lambda: Config(**TINY).run(),
    "train": lambda: Config(steps=3, **TINY).train(),
    "threshold": lambda: superpose.threshold(find="samples", vocab=40, dim=24, length=4, half_width=0.3),
    "phase": lambda: superpose.phase(x=("dim", 8, 64), y=("samples", 50, 5000), resolution=5, vocab=40, length=4),
    "plan": lambda: superpose.plan(500, 16, accuracy=0.9),
    "sweep": lambda: superpose.sweep(
        Config(vocab=40, length=4), axes={"dim": numpy.array([8, 16]), "samples": [100, 1000], "trigger": ["keys", "values"]}
    ),
}
NOT_DRAWN = {
    "bound": lambda: superpose.bound(vocab=30, dim=16, length=4, seeds=2),
    "memory": lambda: superpose.memory(facts=30, dim=16, repeats=3),
    "inspect": lambda: superpose.inspect(numpy.random.default_rng(0).standard_normal((60, 24)), facts=40),
    "predict": lambda: Config(**TINY).predict(),
    "estimate": lambda: superpose.estimate(**TINY),
}


@pytest.fixture
def no_packages(monkeypatch):
    """None of the optional packages is found."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


@pytest.mark.parametrize("name", [*DRAWN, *NOT_DRAWN])
def test_results_are_saved_and_loaded(name, tmp_path):
    result = {**DRAWN, **NOT_DRAWN}[name]()
    result.save(tmp_path / "a.json")
    again = superpose.load(tmp_path / "a.json")
    assert again == result and str(again) == str(result) and again._repr_html_() == result._repr_html_()
    assert json.loads(result.to_json()) == result.to_dict() == again.to_dict() and again.to_json() == result.to_json()
    assert repr(again) == repr(result) and repr(result).startswith(f"<superpose {name}: ") and "\n" not in repr(result)
    if name in NOT_DRAWN:
        with pytest.raises(ValueError, match=f"a result of {name} has no figure"):
            result.plot()


def test_other_files_are_not_loaded(tmp_path):
    (tmp_path / "b.json").write_text("{}")
    with pytest.raises(ValueError, match="b.json: not a result that save"):
        superpose.load(tmp_path / "b.json")


#: For each panel: its labels, and the names in its legend.
PANELS = {
    "run": [
        ("share", "", []),
        ("standard deviation over signal", "", []),
        ("standard deviation over signal", "", []),
    ],
    "train": [
        ("step", "share", ["accuracy", "memory accuracy", "lock rate", "three steps"]),
        ("step", "cross-entropy, nats", ["training", "test"]),
        ("step", "cosine", ["with step 2 of the early phase", "with the trigger"]),
        ("step", "trigger lead", ["over the spread of the tokens"]),
    ],
    "threshold": [("samples N", "recall accuracy", ["level", "one run"])],
    "phase": [
        ("dimension d", "samples N", ["boundary", "predicted boundary", "cell run, prediction inside its 95% interval"]),
        ("dimension d", "samples N", ["memory: mean bias", "memory: interference", "predicted boundary"]),
        # The scale of colours.
        ("", "recall accuracy", []),
    ],
    "plan": [("dimension d", "samples N needed", ["checked", "extrapolated"])],
    "sweep": [
        ("dim", "recall accuracy", [f"samples = {samples}, trigger = {trigger}" for samples in (100, 1000) for trigger in ("keys", "values")])
    ],
}


@pytest.mark.parametrize("name", DRAWN)
def test_matplotlib_draws_every_series(name, tmp_path):
    matplotlib = pytest.importorskip("matplotlib.figure")
    result = DRAWN[name]()
    figure = result.plot()
    assert isinstance(figure, matplotlib.Figure)
    legends = [[text.get_text() for text in axes.get_legend().get_texts()] if axes.get_legend() else [] for axes in figure.axes]
    assert [(axes.get_xlabel(), axes.get_ylabel(), names) for axes, names in zip(figure.axes, legends)] == PANELS[name]
    lines = [line.get_xydata() for line in figure.axes[0].lines]
    if name == "run":
        # Six measures: bars with both ends of their intervals.
        assert [bar.get_width() for bar in figure.axes[0].patches[:1]] == [result.accuracy.mean] and [len(line) for line in lines] == [6, 6]
    elif name == "train":
        accuracy = [(point.step, point.accuracy) for point in result.trajectory]
        assert len(lines) == 4 and numpy.array_equal(lines[0], accuracy) and len(figure.axes[1].lines) == 2
    elif name == "threshold":
        assert sorted(map(tuple, lines[0])) == sorted((trial.size, trial.share) for trial in result.trials)
    elif name == "phase":
        for line, pieces in zip(lines, (result.boundary, result.predicted_boundary)):
            # Pieces of a boundary are parts of one line, with a gap after each.
            assert numpy.array_equal(line[~numpy.isnan(line[:, 0])], [point for piece in pieces for point in piece])
        assert len(lines) == 3 and len(lines[2]) == result.measured
        assert figure.axes[0].get_xscale() == figure.axes[0].get_yscale() == "log"
    elif name == "plan":
        assert [tuple(point) for point in lines[-1]] == [(result.cheapest.dim, result.cheapest.samples)] and len(lines) == 4
    else:
        drawn = {tuple(point) for line in lines for point in line}
        assert {(row["dim"], row["accuracy"]) for row in result.to_rows()} <= drawn
    figure.savefig(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("train", [*FLAGS, "--steps", 3]),
        ("phase", ["--x", "dim:8..64", "--y", "samples:50..5000", "--resolution", 5, "--vocab", 40, "--length", 4]),
        ("plan", ["--facts", 500, "--length", 16, "--accuracy", 0.9]),
    ],
)
def test_without_matplotlib_the_figure_is_that_of_the_command_line(name, flags, command, no_packages, tmp_path):
    drawing = DRAWN[name]().plot()
    command(name, *flags, "--svg", tmp_path / "there.svg")
    there = (tmp_path / "there.svg").read_text(encoding="utf-8")
    assert drawing.svg == drawing._repr_svg_() == there
    drawing.save(tmp_path / "here.svg")
    assert (tmp_path / "here.svg").read_text(encoding="utf-8") == there


@pytest.mark.parametrize("name", DRAWN)
def test_saved_results_are_drawn_without_matplotlib(name, no_packages, tmp_path):
    result = DRAWN[name]()
    result.save(tmp_path / "a.json")
    drawing = superpose.load(tmp_path / "a.json").plot()
    assert drawing.svg == result.plot().svg and drawing.svg.startswith("<svg")
    with pytest.raises(ValueError, match=r"must be a name that ends with .svg; other formats need matplotlib: pip install 'superpose\[plots\]'"):
        drawing.savefig(tmp_path / "a.png")


@pytest.mark.parametrize("package", ["pandas", "polars", "xarray"])
def test_missing_packages_say_how_to_install_them(package, no_packages):
    found = superpose.sweep(axes={"dim": [8, 16]}, vocab=30, length=4, samples=100)
    with pytest.raises(ImportError, match=rf"{package} is not installed: pip install superpose\[tables\]"):
        getattr(found, f"to_{package}")()


def test_sweep_is_an_xarray():
    pytest.importorskip("xarray")
    found = superpose.sweep(Config(vocab=30, length=4, samples=7), axes={"dim": numpy.array([8, 16]), "samples": [100, 300]}, repeats=2)
    data = found.to_xarray()
    assert dict(data.sizes) == {"dim": 2, "samples": 2, "seed": 2}
    row = found.to_rows()[-1]
    assert float(data.accuracy.sel(dim=row["dim"], samples=row["samples"], seed=row["seed"])) == row["accuracy"]
    with pytest.raises(ValueError, match="a result of run is no sweep"):
        Config(**TINY).run().to_xarray()
