"""Experiments return the same records as the command line."""

import json
import sqlite3

import numpy
import pytest
from safetensors.numpy import save_file

import superpose
from superpose import Config

TINY = {"vocab": 40, "dim": 30, "length": 4, "trigger": "keys"}
FLAGS = ["--vocab", 40, "--dim", 30, "--length", 4, "--trigger", "keys"]


def without(record, *names):
    return {name: value for name, value in record.items() if name not in names}


def test_threshold(command):
    found = superpose.threshold(find="samples", half_width=0.2, **TINY)
    printed = json.loads(command("threshold", "--find", "samples", "--half-width", 0.2, *FLAGS, "--json"))
    assert without(found.to_dict(), "seconds") == without(printed, "seconds")
    assert str(found).startswith("Critical samples N for")
    same = superpose.threshold(Config(**TINY), find="samples", half_width=0.2)
    assert same.observed == found.observed


def test_phase(command):
    sizes = {"vocab": 40, "length": 4}
    found = superpose.phase(x=("dim", 8, 64), y=("samples", 50, 5000), resolution=6, **sizes)
    printed = json.loads(
        command("phase", "--x", "dim:8..64", "--y", "samples:50..5000", "--resolution", 6, "--vocab", 40, "--length", 4, "--json")
    )
    assert without(found.to_dict(), "seconds") == without(printed, "seconds")
    same = superpose.phase(x="dim:8..64", y="samples:50..5e3", resolution=6, scale=("log", "log"), **sizes)
    assert same.cells == found.cells
    assert len(found.to_rows()) == 36 and {"dim", "samples", "accuracy"} <= found.to_rows()[0].keys()


def test_plan(command):
    found = superpose.plan(facts=500, length=16, accuracy=0.9)
    assert found.to_dict() == json.loads(command("plan", "--facts", 500, "--length", 16, "--accuracy", 0.9, "--json"))
    assert str(found) == command("plan", "--facts", 500, "--length", 16, "--accuracy", 0.9).rstrip("\n")


def test_bound(command):
    found = superpose.bound(vocab=30, dim=16, length=4, seeds=2)
    printed = command("bound", "--vocab", 30, "--dim", 16, "--length", 4, "--seeds", 2, "--json")
    assert found.to_dict() == json.loads(printed)
    bounds = ["coverage", "linear", "genie", "surrogate"]
    assert [row["name"] for row in found.to_rows()] == [*bounds, "argmax", "assignment", "mmse", "mmse_assignment", "three_step"]


def test_inspect(command, tmp_path):
    path = tmp_path / "rows.safetensors"
    save_file({"rows": numpy.random.default_rng(0).standard_normal((300, 20)).astype("float32")}, path)
    found = superpose.inspect(path, accuracy=0.9)
    assert found.to_dict() == json.loads(command("inspect", path, "--accuracy", 0.9, "--json"))
    with pytest.raises(ValueError, match="rows.safetensors: tensor columns is missing"):
        superpose.inspect(path, "columns")


@pytest.mark.parametrize(
    "keys",
    [
        {"facts": 60, "repeats": 4},
        {"facts": 20, "dim": 100, "rule": "hopfield", "repeats": 3, "seed": 5},
        {"facts": 30, "dim": 10, "rule": "trained", "width": 12, "steps": 200, "rate": 0.03, "optimiser": "adam", "repeats": 2},
        {"facts": 30, "dim": 16, "rule": "trained", "convention": "literature", "repeats": 2},
        {"facts": 30, "dim": 10, "rule": "trained", "labels": "mod:5", "zipf": 1.5, "batch": 8, "steps": 50, "embedding": "gaussian"},
        {"find": "facts", "dim": 24, "half_width": 0.2, "max_runs": 60, "rule": "least-squares", "accuracy": 0.9},
    ],
)
def test_memory(command, keys):
    flags = [part for name, value in keys.items() for part in (f"--{name.replace('_', '-')}", value)]
    found = superpose.memory(**keys)
    assert without(found.to_dict(), "seconds") == without(json.loads(command("memory", *flags, "--json")), "seconds")
    # The last line has the time.
    assert str(found).split("\n")[:-1] == command("memory", *flags).rstrip("\n").split("\n")[:-1]
    assert len(found.to_pandas()) == 1 and found._repr_html_().startswith("<h4>")


def test_defaults_of_a_memory(command):
    assert without(superpose.memory().to_dict(), "seconds") == without(json.loads(command("memory", "--json")), "seconds")
    found, printed = superpose.memory(find="facts", dim=16), json.loads(command("memory", "--find", "facts", "--dim", 16, "--json"))
    assert without(found.to_dict(), "seconds") == without(printed, "seconds")


def test_sweep_counts_cells_that_cannot_run_here_apart():
    points = [{"vocab": 24, "dim": 12}, {"vocab": 100_000_000, "dim": 16384}]
    found = superpose.sweep(points=points, samples=200, test_samples=100)
    assert (found.done, found.failed, found.not_run) == (1, 0, 1)
    assert [row["status"] for row in found.to_rows()] == ["done", "not run"]
    assert "memory" in found.cells[1].reason


def test_sweep_of_a_file_and_of_axes(command, tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text('vocab = 30\nlength = 4\nrepeats = 2\n[axes]\nsamples = [200, 2000]\ndim = [8, 16]\n[rays]\nlead = "2 + dim / 8"\n')
    found = superpose.sweep(path)
    assert (found.done, found.failed, len(found.cells)) == (8, 0, 8)
    rows = {row["key"]: row for row in found.to_rows()}
    with sqlite3.connect(tmp_path / "sweep.sqlite") as store:
        kept = dict(store.execute("select key, accuracy from results"))
    assert kept == {key: row["accuracy"] for key, row in rows.items()}
    same = superpose.sweep(
        axes={"samples": numpy.array([200, 2000]), "dim": range(8, 17, 8)},
        rays={"lead": "2 + dim / 8"},
        repeats=2,
        vocab=30,
        length=4,
    )
    assert [row["accuracy"] for row in same.to_rows()] == [row["accuracy"] for row in found.to_rows()]
    ranged = superpose.sweep(axes={"samples": {"from": 200, "to": 2000, "steps": 2}}, points=[{"dim": 8, "vocab": 20}])
    assert [(row["samples"], row["dim"]) for row in ranged.to_rows()] == [(200, 8), (2000, 8)]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: superpose.threshold(find="depth"), "find = depth: must be one of samples, dim, width, length, vocab"),
        (lambda: superpose.threshold(find="samples", accuracy=2.0), "accuracy = 2: must be"),
        (lambda: superpose.threshold(find="samples", half_width=0), "half_width = 0: must be from 0.001 to 1"),
        (lambda: superpose.threshold(find="samples", repeats=3), "repeats is given"),
        (lambda: superpose.threshold(find="samples", range=(10, 5)), "range = 10..5: must be"),
        (lambda: superpose.threshold(find="samples", range=(-1, 5)), "range = -1: must be a whole number"),
        (lambda: superpose.threshold(find="samples", threads=0), "threads = 0: must be a whole number from 1 to 1024"),
        (lambda: superpose.threshold(find="samples", measure="luck"), "measure = luck: must be"),
        (lambda: superpose.phase(x="dim", y="samples:1..9"), r"x = .*must be \(size, low, high\)"),
        (lambda: superpose.phase(x=("dim", 2, 9), y=("dim", 1, 9)), "x and y are both dim"),
        (lambda: superpose.phase(x=("dim", 2, 9), y=("samples", 1, 9), scale="odd"), "scale = odd: must be"),
        (lambda: superpose.plan(facts=0, length=3), "facts = 0: must be a whole number from 2 to"),
        (lambda: superpose.plan(facts="few", length=3), "facts = few: must be a whole number"),
        (lambda: superpose.bound(vocab=20000), "vocab = 20000: must be a whole number from 2 to 10000"),
        (lambda: superpose.bound(seeds=1), "seeds = 1: must be a whole number from 2 to 1000"),
        (lambda: superpose.sweep(axes={"vocab": []}), r"vocab = \[\]: must have a value"),
        (lambda: superpose.sweep(axes={"size": [1]}), "unknown key size: there are axes"),
        (lambda: superpose.sweep(vocab=3, axes={"vocab": [3, 4]}), "vocab is given twice"),
        (lambda: superpose.sweep(axes={"vocab": [1, 20]}), "the cell with vocab = 1: vocab = 1: must be"),
        (lambda: superpose.memory(facts=1), "facts = 1: must be a whole number from 2"),
        (lambda: superpose.memory(facts="few"), "facts = few: must be a whole number"),
        (lambda: superpose.memory(rule="best"), "rule = best: must be one of hebbian, least-squares, trained, hopfield"),
        (lambda: superpose.memory(rule=3), "rule = 3: must be one of hebbian"),
        (lambda: superpose.memory(zipf="steep"), "zipf = steep: must be a number"),
        (lambda: superpose.memory(width=10), "width = 10: only with rule = trained"),
        (lambda: superpose.memory(rule="trained", rate=1e9), "rate = 1000000000: must be from 1e-12 to 1000000"),
        (lambda: superpose.memory(half_width=0.1), "half_width is given without find"),
        (lambda: superpose.memory(max_runs=100), "max_runs is given without find"),
        (lambda: superpose.memory(find="dim"), "find = dim: must be facts"),
        (lambda: superpose.memory(find="facts", facts=30), "facts is given with find"),
        (lambda: superpose.memory(find="facts", repeats=3), "repeats is given with find"),
        (lambda: superpose.memory(find="facts", half_width=0), "half_width = 0: must be"),
        (lambda: superpose.memory(find="facts", max_runs=3), "max_runs = 3: must be"),
        (lambda: superpose.memory(facts=2**20, dim=256, threads=1024), "facts = 1048576: needs about .* GB of memory"),
        (lambda: superpose.memory(threads=0), "threads = 0: must be a whole number from 1 to 1024"),
        (lambda: Config().predict(accuracy=0), "accuracy = 0: must be above 0 and below 1"),
        (lambda: Config(vocab=10**9, dim=10**9).run(), "this needs about .* of memory"),
        (lambda: Config(eta=1e20, gamma=1e30, eta2=1e30, regime="exact", samples=100).run(), "not finite"),
    ],
)
def test_invalid_arguments_raise_value_error(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda file: superpose.inspect(file),
        lambda file: superpose.sweep(file),
        lambda file: superpose.load(file),
        lambda file: Config.from_toml(file),
        lambda file: Config(import_=file).run(),
        lambda file: Config(import_=file).model(),
        lambda file: Config(import_=file, steps=5).train(),
        lambda file: Config(embedding_file=file, embedding_tensor="y").run(),
        lambda file: Config(steps=1, samples=100).train(checkpoint=file),
        lambda file: Config(samples=100).run(export=file),
        lambda file: Config(embedding_file=file, embedding_tensor="y").predict(),
        lambda file: superpose.threshold(embedding_file=file, embedding_tensor="y", find="samples"),
        lambda file: superpose.phase(embedding_file=file, embedding_tensor="y", x=("dim", 16, 32), y=("samples", 100, 200)),
        lambda file: superpose.bound(embedding_file=file, embedding_tensor="y"),
        lambda file: superpose.memory(embedding_file=file, embedding_tensor="y"),
        lambda file: superpose.Task.load(file),
        lambda file: Config(import_=file, steps=5).network(),
        lambda file: Config(embedding_file=file, embedding_tensor="y", steps=5).network(),
        lambda file: Config(import_=file).task(),
        lambda file: superpose.sweep(axes={"samples": [100, 200]}, embedding_file=file, embedding_tensor="y"),
        lambda file: Config(steps=1, samples=100).train(store=file),
        lambda file: superpose.sweep(axes={"samples": [100, 200]}, store=file),
        lambda file: superpose.threshold(find="samples", vocab=20, store=file),
    ],
)
def test_missing_files_raise_the_same_exception(call):
    with pytest.raises(FileNotFoundError, match="missing/file.safetensors"):
        call("missing/file.safetensors")


def test_missing_embeddings_of_a_sweep_file_raise_the_same_exception(tmp_path):
    description = tmp_path / "sweep.toml"
    description.write_text('embedding_file = "missing/file.safetensors"\nembedding_tensor = "y"\n[axes]\nsamples = [50, 100]\n')
    with pytest.raises(FileNotFoundError, match="missing/file.safetensors"):
        superpose.sweep(description)


def test_estimate(command):
    found = superpose.estimate(Config(vocab=300, dim=64), samples=10_000)
    printed = json.loads(command("estimate", "--vocab", 300, "--dim", 64, "--samples", 10_000, "--json"))
    assert without(found.to_dict(), "available") == without(printed, "available")
    assert found.fits and "on one thread" in str(found) and found.config.samples == 10_000
    more = superpose.estimate(vocab=300, dim=64, samples=10_000_000, threads=1)
    assert more.thread_seconds > 100 * found.thread_seconds and more.threads == 1
    with pytest.raises(ValueError, match="vocab = 1: must be a whole number from 2"):
        superpose.estimate(vocab=1)


def test_inspect_takes_arrays(tmp_path):
    from safetensors.numpy import save_file

    rows = numpy.random.default_rng(0).standard_normal((300, 24))
    for array in (rows, rows.astype("float32"), rows.T.copy().T):
        path = tmp_path / "rows.safetensors"
        save_file({"array": numpy.ascontiguousarray(array)}, path)
        assert superpose.inspect(array) == superpose.inspect(path)
    with pytest.raises(ValueError, match="must be a matrix of floating-point numbers"):
        superpose.inspect(rows[0])
    with pytest.raises(ValueError, match="name matrices of a file"):
        superpose.inspect(rows, tensor="x")


def test_prediction_takes_the_sizes_of_files(tmp_path):
    from safetensors.numpy import save_file

    save_file({"rows": numpy.random.default_rng(0).standard_normal((600, 24))}, tmp_path / "rows.safetensors")
    found = Config(embedding_file=tmp_path / "rows.safetensors", embedding_tensor="rows").predict()
    assert found.config.dim == 24 and "d = 24," in str(found) and "d = 128" not in str(found)
    with pytest.raises(FileNotFoundError, match="missing.safetensors"):
        Config(import_="missing.safetensors").predict()
