"""Arrays that are handed out, and damaged files of results."""

import copy
import json
import pickle
import statistics

import numpy
import pytest

import superpose
from superpose import Config

TINY = {"vocab": 40, "dim": 24, "length": 4, "samples": 500}


@pytest.fixture(scope="module")
def model():
    return Config(**TINY).model()


@pytest.mark.parametrize(
    "reduced",
    [
        lambda m: m.mean(),
        lambda m: m.sum(),
        lambda m: m.max(),
        lambda m: m.std(),
        lambda m: m.argmax(),
        lambda m: m.trace(),
        lambda m: m.any(),
        lambda m: m[0].dot(m[1]),
        lambda m: m[0] @ m[1],
        lambda m: numpy.median(m),
        lambda m: numpy.argmin(m),
        lambda m: numpy.linalg.norm(m),
        lambda m: numpy.vdot(m, m),
        lambda m: m[0, 0],
    ],
)
def test_reductions_are_numbers(model, reduced):
    found = reduced(model.m2)
    assert isinstance(found, numpy.generic), type(found)
    assert hash(found) == hash(found.item()) and round(float(found), 3) == pytest.approx(round(found.item(), 3))


def test_numbers_of_arrays_work_in_the_standard_library(model):
    means = [model.m2.mean(), model.m1.mean()]
    assert isinstance(round(means[0], 3), (float, numpy.floating))
    assert statistics.mean(means) == pytest.approx(sum(means) / 2)


@pytest.mark.parametrize(
    "computed",
    [
        lambda m: m + 1,
        lambda m: m @ m,
        lambda m: m.dot(m),
        lambda m: m.mean(0),
        lambda m: m.copy(),
        lambda m: copy.copy(m),
        lambda m: copy.deepcopy(m),
        lambda m: pickle.loads(pickle.dumps(m)),
        lambda m: numpy.unique(m),
        lambda m: m.astype(float),
        lambda m: m.argsort(),
        lambda m: m.cumsum(),
        lambda m: m.clip(0, 1),
        lambda m: m.round(2),
        lambda m: m.take([0, 1]),
        lambda m: m.repeat(2),
        lambda m: m.flatten(),
        lambda m: m.T.ravel(),
        lambda m: m[[0, 1]],
        lambda m: m[m > 0],
        lambda m: numpy.concatenate([m, m]),
        lambda m: numpy.where(m > 0, m, 0),
        lambda m: numpy.einsum("ij->i", m),
        lambda m: numpy.sort(m),
        lambda m: numpy.zeros_like(m),
        lambda m: numpy.linalg.svd(m)[1],
    ],
)
def test_computed_arrays_are_ordinary(model, computed):
    found = computed(model.m2)
    assert type(found) is numpy.ndarray and found.flags.writeable


def test_views_stay_read_only(model):
    for view in (model.m2.T, model.m2[1:], model.m2.reshape(-1), numpy.transpose(model.m2), numpy.broadcast_to(model.m2, (2, 24, 24))):
        assert not view.flags.writeable and numpy.shares_memory(view, model.m2)
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 1


def test_arrays_cannot_be_made_writeable(model):
    network = Config(**TINY, steps=2).network()
    task = Config(**TINY).task()
    for array in (*model.tensors().values(), *network.tensors().values(), *network.data, *task.train, *task.test):
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
            array.setflags(write=True)
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
            array.flags.writeable = True


@pytest.fixture(scope="module")
def result():
    return Config(**TINY).run()


@pytest.mark.parametrize(
    "change",
    [
        {"record": None},
        {"record": [1]},
        {"record": {}},
        {"kind": 3},
        {"kind": ["run"]},
        {"kind": "walk"},
        {"text": 3},
        {"text": ""},
        {"html": None},
        {"figure": "svg"},
        {"figure": [1, 2]},
    ],
)
def test_damaged_results_are_refused(change, result, tmp_path):
    file = tmp_path / "x.json"
    result.save(file)
    saved = json.loads(file.read_text())
    for checksum in ({}, {"checksum": None}):
        file.write_text(json.dumps({**saved, **change, **checksum}))
        with pytest.raises(ValueError, match=r"x.json: not a result that save wrote$"):
            superpose.load(file)


def test_foreign_files_are_no_results(result, tmp_path):
    file = tmp_path / "x.json"
    for text in (result.to_json(), "[" * 100_000, '{"a":' * 100_000, "", "null", "[]", "3", '"run"', "{}", "{"):
        file.write_text(text)
        with pytest.raises(ValueError, match=r"x.json: not a result that save wrote$"):
            superpose.load(file)


def test_changed_results_are_refused(result, tmp_path):
    file = tmp_path / "x.json"
    result.save(file)
    saved = json.loads(file.read_text())
    # Another layout is the same content, and files of earlier versions have no checksum.
    for same in (saved, {name: value for name, value in saved.items() if name != "checksum"}):
        file.write_text(json.dumps(same, indent=2, sort_keys=True))
        assert superpose.load(file) == result
    saved["record"]["accuracy"]["mean"] += 1e-3
    file.write_text(json.dumps(saved))
    with pytest.raises(ValueError, match=r"x.json: its content was changed after it was saved"):
        superpose.load(file)
