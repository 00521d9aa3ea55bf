"""Mistakes in arguments: each is refused by a message that names it."""

import numpy
import pytest

import superpose
from superpose import Config

TINY = {"vocab": 40, "dim": 24, "length": 4, "samples": 500}


@pytest.fixture(scope="module")
def network():
    return Config(**TINY, steps=2).network()


@pytest.mark.parametrize(
    "varied", [{"axes": {"dim": [8, 16]}}, {"points": [{"dim": 8}, {"dim": 16}]}, {"rays": {"dim": "vocab"}, "axes": {"vocab": [8, 16]}}]
)
def test_keywords_and_axes_of_a_sweep_exclude_each_other(varied):
    for config in (None, Config(dim=30, samples=100)):
        with pytest.raises(ValueError, match="dim is given twice"):
            superpose.sweep(config, dim=64, **varied)
    # What the configuration says is a default.
    cells = superpose.sweep(Config(dim=30, samples=100, length=4), **varied).cells
    assert [cell.dim for cell in cells] == [8, 16]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Config(vocb=None), "unknown key vocb: did you mean vocab"),
        (lambda: Config().replace(vocb=None), "unknown key vocb: did you mean vocab"),
        (lambda: superpose.threshold(find="dim", vocb=None), "unknown key vocb: did you mean vocab"),
        (lambda: superpose.estimate(vocb=None), "unknown key vocb: did you mean vocab"),
        (lambda: superpose.bound(vocb=None), "unknown key vocb"),
        (lambda: superpose.sweep(vocb=None, axes={"dim": [8]}), "unknown key vocb"),
        (lambda: superpose.sweep(axes={"dimm": None}), "unknown key dimm"),
        (lambda: superpose.sweep(axes={"dim": None}), "dim = None: must be a list of values"),
    ],
)
def test_none_hides_no_mistake(call, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        call()


def test_none_is_the_default():
    assert Config(dim=None) == Config() and Config(dim=64, vocab=40).replace(dim=None) == Config(vocab=40)
    cell = superpose.sweep(Config(dim=64), axes={"samples": [100]}, dim=None, width=None).cells[0]
    assert cell.dim == Config().dim


def test_none_replaces_no_array(network):
    for name in ("m", "foo"):
        with pytest.raises(ValueError, match=f"tensor {name} is of type NoneType: must be an array"):
            network.replace(**{name: None})


def test_settings_are_keywords():
    for value in (5, {"vocab": 64}, Config()):
        with pytest.raises(TypeError, match=r"settings are keywords, such as Config\(vocab=64\)"):
            Config(value)


def test_points_are_not_empty():
    for points in ([], (), iter([])):
        with pytest.raises(ValueError, match=r"points = .*: must be a list of at least one dictionary"):
            superpose.sweep(axes={"dim": [8]}, points=points)
    assert len(superpose.sweep(points=({"dim": dim} for dim in (8, 16)), samples=100).cells) == 2


def test_steps_cannot_be_changed():
    def hook(step):
        with pytest.raises(AttributeError, match="rate"):
            step.rate = 5
        with pytest.raises(AttributeError, match="speed"):
            step.speed = 5

    assert Config(**TINY, steps=2).train(hook=hook).steps_taken == 2


@pytest.mark.parametrize(
    "answer",
    [
        lambda loss, by: ("a", by),
        lambda loss, by: (None, by),
        lambda loss, by: (1j, by),
        lambda loss, by: (numpy.complex128(1j), by),
        lambda loss, by: (True, by),
        lambda loss, by: (numpy.ones(1), by),
        lambda loss, by: (by, loss),
        lambda loss, by: by,
        lambda loss, by: None,
    ],
)
def test_losses_return_a_number_and_an_array(answer):
    with pytest.raises(ValueError, match=r"what the loss returned = .*: must be the loss, a number, and its derivatives .* \[500, 40\]"):
        Config(**TINY, steps=2).train(loss=lambda logits, labels: answer(1.0, numpy.zeros(logits.shape)))


@pytest.mark.parametrize("number", [float, int, numpy.float32, numpy.array])
def test_losses_are_numbers_of_any_kind(number):
    training = Config(**TINY, steps=2).train(loss=lambda logits, labels: (number(2), numpy.zeros(logits.shape)))
    assert training.trajectory[0].loss == 2


def test_what_hooks_and_by_name_are_words(network):
    with pytest.raises(ValueError, match=r"what the hook returned = \{3: .*: must be a dictionary of arrays by name"):
        Config(**TINY, steps=2).train(hook=lambda step: {3: numpy.zeros((24, 24))})
    for by in ([None], 3, ["m", 2]):
        with pytest.raises(ValueError, match="by = .*: must be a name or a list of names"):
            network.gradients(by=by)
    with pytest.raises(ValueError, match="names = .*: must be a name or a list of names"):
        network.cache(names=[None])


@pytest.mark.parametrize(("name", "loader"), [("x.npy", "numpy.load"), ("x.NPZ", "numpy.load"), ("x.pt", "torch.load"), ("x.pth", "torch.load")])
@pytest.mark.parametrize(
    ("parameter", "call"),
    [
        ("file", superpose.inspect),
        ("file", superpose.Task.load),
        ("import", lambda file: Config(import_=file)),
        ("embedding_file", lambda file: Config(embedding_file=file)),
        ("embedding_file", lambda file: superpose.memory(embedding_file=file)),
        ("embedding_file", lambda file: superpose.bound(embedding_file=file)),
        ("embedding_file", lambda file: superpose.sweep(axes={"samples": [100]}, embedding_file=file)),
        ("import", lambda file: superpose.threshold(find="samples", import_=file)),
    ],
)
def test_files_of_other_libraries_are_loaded_first(name, loader, parameter, call):
    with pytest.raises(ValueError, match=f"^{parameter} = {name}: must be a safetensors file.*; load it with {loader}"):
        call(name)


def test_inspect_takes_lists():
    rows = numpy.random.default_rng(0).standard_normal((60, 16))
    assert superpose.inspect(rows.tolist()) == superpose.inspect(rows)
    assert superpose.inspect(tuple(map(tuple, rows.tolist()))).dim == 16
    for wrong, sentence in (([], "array of type float64 and shape .*: must be a matrix"), (["a.safetensors"], "must be a matrix"), ([[1.0], [1.0, 2.0]], "tensor array is of type list")):
        with pytest.raises(ValueError, match=sentence):
            superpose.inspect(wrong)
