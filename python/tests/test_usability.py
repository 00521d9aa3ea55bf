"""Usability: round trips of configurations, no silently ignored arguments, clear errors, informative tables, types."""

import decimal
import inspect
import io
import pickle
import re
import subprocess
import sys
import time
import types

import numpy
import pytest

import superpose
from superpose import Config

TINY = {"vocab": 40, "dim": 24, "length": 4, "samples": 500}


class OnlyWrites:
    def write(self, text):
        return len(text)


# Progress bars


@pytest.mark.parametrize("stream", [None, OnlyWrites(), io.StringIO()], ids=["none", "only writes", "closed"])
@pytest.mark.parametrize("progress", [None, True])
def test_progress_works_with_any_stderr(monkeypatch, stream, progress):
    if isinstance(stream, io.StringIO):
        stream.close()
    monkeypatch.setattr("superpose._progress.DELAY", 0.0)
    monkeypatch.setattr(sys, "stderr", stream)
    assert Config(vocab=256, dim=64, samples=100_000).run(progress=progress, threads=1).accuracy.mean > 0


def test_foreign_module_named_ipython_is_ignored(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    assert Config(**TINY).run().repeats == 1


def test_progress_is_a_line_of_text_without_tqdm(monkeypatch, capsys):
    monkeypatch.setattr("superpose._progress._FOUND", {"tqdm": False})
    monkeypatch.setattr("superpose._progress.DELAY", 0.0)
    shown, end = [], time.monotonic() + 60

    def until_a_line(step):
        shown.extend(filter(None, capsys.readouterr()))
        line = re.search(r"loss [0-9.]+, accuracy [0-9.]+ \d+ of 1000000, \d+ s", "".join(shown))
        return superpose.STOP if line or time.monotonic() > end else None

    Config(vocab=40, dim=16, steps=1_000_000).train(progress=True, threads=1, hook=until_a_line)
    assert time.monotonic() < end, shown
    # It is cleared at the end.
    rest = capsys.readouterr()
    assert rest.out == "" and rest.err.endswith("\r") and not rest.err.split("\r")[-2].strip()


# Round trips of configurations


@pytest.mark.parametrize(
    "config",
    [
        Config(),
        Config(**TINY),
        Config(width=30, activation="he2", **TINY),
        Config(gamma=3.0, eta2=2.0, regime="exact", **TINY),
        Config(steps=5, optimiser="sgd", rate=0.5, heads=2, factored=True, **TINY),
        Config(steps=0),
        Config(embedding="clustered", clusters=4, labels="mod:5", zipf=1.0, **TINY),
        Config(embedding_file="x.safetensors", embedding_tensor="y"),
        Config(import_="x.safetensors"),
    ],
    ids=repr,
)
def test_configuration_round_trips(config):
    assert Config(**config.to_dict()) == config
    assert repr(Config(**Config().to_dict())) == "Config()"
    assert eval(repr(Config(**config.to_dict()))) == config


def test_configuration_of_a_result_reproduces_it():
    for keys in ({}, {"width": 30}, {"gamma": 3.0}, {"repeats": 2}):
        result = Config(**TINY, **keys).run()
        again = Config(**result.config)
        assert again == Config(**result.config.to_dict()) == Config(**TINY, **keys)
        assert again.run() == result and pickle.loads(pickle.dumps(result)) == result
        assert again.replace(seed=1).run() != result
    training = Config(steps=3, **TINY).train()
    assert Config(**training.config).train() == training
    model = Config(**TINY).model()
    assert numpy.array_equal(Config(**model.config).model().m2, model.m2)


def test_arrays_are_not_taken_for_a_file():
    rows = numpy.random.default_rng(0).standard_normal((20, 12))
    result = Config(samples=100).run(z_in=rows, z_trig=rows[0])
    sentence = r"import = arrays z_in, z_trig: arrays are not part of a configuration; .*run\(z_in=\.\.\., z_trig=\.\.\.\)"
    with pytest.raises(ValueError, match=sentence):
        Config(**result.config)
    keys = {name: value for name, value in result.config.to_dict().items() if name != "import"}
    assert Config(**keys).run(z_in=rows, z_trig=rows[0]) == result
    # A file may have such a name.
    assert Config(import_="arrays of mine").import_ == "arrays of mine"


# No argument is silently ignored


@pytest.fixture
def description(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text("vocab = 20\ndim = 8\n[axes]\nsamples = [50, 100]\n")
    return path


@pytest.mark.parametrize("given", [{"repeats": 5}, {"noise": True}, {"axes": {}}, {"points": []}, {"vocab": 30}])
def test_file_excludes_other_sweep_arguments(description, given):
    with pytest.raises(ValueError, match=f"{next(iter(given))} given together with a file"):
        superpose.sweep(description, **given)


AXES = {"x": ("dim", 8, 16), "y": ("samples", 50, 500)}


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Config(**{"import": "a", "import_": "b"}), "import and import_ are both given"),
        (lambda: Config().replace(**{"import": "a", "import_": "b"}), "import and import_ are both given"),
        (lambda: Config(embedding_file=5), "embedding_file = 5: must be the name of a file"),
        (lambda: Config(embedding_file=b"x"), "embedding_file = b'x': must be the name of a file"),
        (lambda: Config(import_=b"x"), "import = b'x': must be the name of a file"),
        (lambda: superpose.sweep(b"sweep.toml"), "file = b'sweep.toml': must be the name of a file"),
        (lambda: Config().run(export=5), "export = 5: must be the name of a file"),
        (lambda: Config().run(progress="yes"), "progress = yes: must be None, True, False or a function"),
        (lambda: Config(steps=1).train(store=""), "store = '': must be the name of a file"),
        (lambda: superpose.threshold(find="samples", store=""), "store = '': must be the name of a file"),
        (lambda: superpose.threshold({"vocab": 3}, find="samples"), "config = {'vocab': 3}: must be a Config"),
        (lambda: superpose.phase(**{**AXES, "x": "dim=8..32"}), r"x = dim=8..32: must be \(size, low, high\)"),
        (lambda: superpose.phase(**{**AXES, "x": 5}), r"x = 5: must be \(size, low, high\)"),
        (lambda: superpose.phase(**AXES, scale=("log",)), r"scale = \('log',\): must be"),
        (lambda: superpose.phase(**AXES, scale=("log", "linear", "x")), r"scale = \('log', 'linear', 'x'\): must be"),
        (lambda: superpose.sweep(axes=[1]), r"axes = \[1\]: must be a dictionary"),
        (lambda: superpose.sweep(points={"vocab": 3}), "points = {'vocab': 3}: must be a list of dictionaries"),
        (lambda: superpose.sweep(points=[3]), "points = 3: must be a dictionary"),
        (lambda: superpose.sweep(rays={"samples": 20}), "rays: samples = 20: must be a word"),
        (lambda: superpose.sweep(axes={"samples": [float("nan")]}), "samples = nan: must be a string, a boolean, a finite number"),
        (lambda: superpose.sweep(axes={"samples": [None]}), "samples = None: must be a string"),
        (lambda: superpose.sweep(axes={"samples": [float("inf")]}), "samples = inf: must be a string"),
        (lambda: superpose.sweep(axes={"samples": {50, 100}}), "samples = {.*}: must be a string"),
        (lambda: superpose.sweep(axes={"samples": (n for n in [50])}), "samples = <generator"),
        (lambda: superpose.sweep(axes={"samples": [decimal.Decimal(50)]}), r"samples = Decimal\('50'\): must be a string"),
        (lambda: superpose.sweep(axes={3: [1]}), "key = 3: must be a word"),
        (lambda: superpose.inspect("x", tensor=3), "tensor = 3: must be a word"),
        (lambda: superpose.inspect(3), "file = 3: must be the name of a file"),
        (lambda: superpose.inspect(None), "file = None: must be the name of a file"),
    ],
)
def test_errors_name_the_argument(call, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        call()
    assert len(str(caught.value)) < 250


def test_lists_are_accepted_as_axes():
    assert superpose.phase(x=["dim", 8, 16], y=["samples", 50, 500], resolution=3, scale=["log", "linear"], vocab=20).measured > 0


def test_errors_in_text_files_name_the_file(tmp_path):
    path = tmp_path / "broken.toml"
    path.write_bytes(b"vocab = 3 # \xff\n")
    for call in (Config.from_toml, superpose.sweep):
        with pytest.raises(ValueError, match=r"broken.toml: not UTF-8 text at byte 12"):
            call(path)


# Results as dictionaries


def test_results_as_dictionaries():
    result = Config(**TINY).run()
    assert len(result) == len(list(result)) == len(result.keys()) and set(dict(result)) == set(result.to_dict())
    assert result.get("accuracy") == result.accuracy == result["accuracy"] and result.get("nope", 3) == 3
    assert "accuracy" in result and "nope" not in result and bool(result)
    with pytest.raises(KeyError, match="no field nope: there are config, repeats"):
        result["nope"]
    with pytest.raises(TypeError, match="field 0: must be one of config"):
        result[0]


# Numbers


@pytest.mark.parametrize("keys", [{"dim": "64"}, {"lead": "4"}, {"factored": "true", "steps": 1}, {"samples": "1e3"}])
def test_text_is_no_number(keys):
    name = next(iter(keys))
    # Quoted if it looks like a number, so that it is seen to be text.
    with pytest.raises(ValueError, match=f"{name} = '?{keys[name]}'?: must be"):
        Config(**keys)


def test_whole_numbers_of_a_plan_are_int():
    plan = superpose.plan(500, 16, accuracy=0.9)
    assert type(plan.cheapest.dim) is int and type(plan.cheapest.samples) is int and type(plan.request.facts) is int
    assert all(type(row["parameters"]) is int for row in plan.to_rows() if row["parameters"] is not None)


# Documentation and types


def test_settings_are_listed_by_dir():
    defaults = {"import_" if name == "import" else name for name in Config().to_dict()}
    assert defaults <= set(dir(Config())) and defaults <= set(dir(Config))


def public():
    calls = [getattr(superpose, name) for name in ("bound", "estimate", "inspect", "memory", "phase", "plan", "sweep", "threshold")]
    methods = [Config.run, Config.train, Config.predict, Config.model, Config.network, Config.from_toml, Config.replace]
    return [Config, *calls, *methods]


@pytest.mark.parametrize("call", public(), ids=lambda call: call.__qualname__)
def test_every_parameter_is_documented(call):
    said = inspect.getdoc(call)
    for name in inspect.signature(call).parameters:
        if name not in ("self", "cls"):
            explained = any(name in line.split(":")[0].replace(",", " ").split() for line in said.splitlines() if ":" in line)
            assert explained or f"``{name}``" in said, name


def test_stubs_agree_with_the_package(tmp_path):
    """Type annotations are complete, stubs agree with the package, and typical calls type-check. Needs mypy."""
    pytest.importorskip("mypy")
    script = tmp_path / "script.py"
    script.write_text(
        "from typing import Optional\n\nimport numpy\nimport superpose\n"
        "print(superpose.__version__, superpose.Config(seed=numpy.int64(3), vocab=1e2).vocab + 1)\n"
        'superpose.phase(x=("dim", 2, 3), y="samples:1..3", resolution=numpy.int64(10), scale=("log", "linear"))\n'
        'superpose.threshold(find="samples", max_runs=1e3, range=[10, 20], threads=numpy.int64(2))\n'
        "def hook(step: superpose.Step) -> None: ...\n"
        "superpose.Config(steps=3).train(hook=hook).model.cache()['logits'].shape\n"
        "result = superpose.Config().run(task=superpose.Config().task())\n"
        "mean: float = result.accuracy.mean\n"
        "vocab: int = result.config.vocab\n"
        "low: float = superpose.Config(steps=3).train().outcome.lock_rate.low\n"
        "cheapest = superpose.plan(10, 4).cheapest\n"
        "dim: float = cheapest.dim if cheapest else 0\n"
        "found: bool = superpose.inspect('a', facts=50).raw.facts > 3\n"
        "estimate: Optional[float] = superpose.bound(vocab=40, z_in=[[0.5]]).decoders.own.estimate\n"
        "cell = superpose.sweep(axes={'dim': [16, 32]}, vocab=40).cells[0]\n"
        "size: int = cell.vocab\n"
        "accuracy: Optional[float] = cell.accuracy\n"
        "superpose.phase(x='dim:2..3', y='samples:1..3', repeats=3, z_in=numpy.ones((2, 2)), trigger='keys')\n"
    )
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import superpose\n"
        "superpose.Config().run().acuracy\n"
        "superpose.Config().run().accuracy.median\n"
        'superpose.threshold(find="sample")\n'
        'superpose.memory(rule="hebb")\n'
        'superpose.plan(10, 4, trigger="key")\n'
        'superpose.Config(activation="rely")\n'
        'superpose.threshold(find="samples", vocabulary=40)\n'
        'superpose.phase(x="dim:2..3", y="samples:1..3", trigger="key")\n'
        "superpose.bound().decoders.own.estimates\n"
        "superpose.sweep().cells[0].acuracy\n"
    )
    cache = f"--cache-dir={tmp_path}"
    for arguments in (["mypy", "--strict", cache, "-p", "superpose"], ["mypy", "--strict", cache, str(script)], ["mypy.stubtest", "superpose"]):
        done = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", cache, str(wrong)], capture_output=True, text=True, cwd=tmp_path)
    lines = [line.split(":")[1] for line in done.stdout.splitlines() if ": error:" in line]
    assert lines == [str(line) for line in range(2, 12)], done.stdout
