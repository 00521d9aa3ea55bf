"""Numbers equal those of the command line bit for bit, and agree with automatic differentiation."""

import json
import pathlib

import numpy
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from superpose import Config

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "crates" / "lab" / "tests" / "fixtures"

CASES = [
    {"vocab": 40, "dim": 24, "length": 6, "samples": 700},
    {"vocab": 40, "dim": 24, "length": 6, "samples": 700, "precision": "f64", "regime": "exact", "trigger": "keys"},
    {"vocab": 30, "dim": 16, "length": 5, "samples": 500, "width": 50, "activation": "gelu", "seed": 7},
    {"vocab": 30, "dim": 16, "samples": 300, "noise_vocab": 9, "labels": "mod:5", "zipf": 0.5, "precision": "f64"},
]


def flags(keys):
    return [part for name, value in keys.items() for part in (f"--{name.replace('_', '-')}", value)]


@pytest.mark.parametrize("keys", CASES)
def test_arrays_equal_the_export(command, tmp_path, keys):
    theirs, ours = tmp_path / "theirs.safetensors", tmp_path / "ours.safetensors"
    printed = json.loads(command("run", *flags(keys), "--export", theirs, "--json"))
    exported = load_file(theirs)
    arrays = Config(**keys).model().tensors()
    assert arrays.keys() == exported.keys()
    for name, array in arrays.items():
        assert array.dtype == exported[name].dtype and array.shape == exported[name].shape, name
        assert array.tobytes() == exported[name].tobytes(), name
    result = Config(**keys).run(export=ours)
    assert ours.read_bytes() == theirs.read_bytes()
    found = result.to_dict()
    for timing in ("train_seconds", "data_seconds", "evaluate_seconds"):
        del found[timing], printed[timing]
    assert found == printed


@pytest.mark.parametrize("keys", CASES)
def test_exported_arrays_reproduce_the_run(keys):
    config = Config(**keys)
    arrays = config.model().tensors()
    given = {name: array for name, array in arrays.items() if name not in ("m1", "w1", "m2")}
    again = config.model(**given)
    for name in ("m1", "w1", "m2"):
        assert getattr(again, name).tobytes() == arrays[name].tobytes(), name


def test_prediction_equals_the_command_line(command):
    keys = {"vocab": 300, "dim": 90, "length": 12, "samples": 20000}
    assert Config(**keys).predict(accuracy=0.8).to_dict() == json.loads(
        command("predict", *flags(keys), "--accuracy", 0.8, "--json")
    )
    assert str(Config(**keys).predict()) == command("predict", *flags(keys)).rstrip("\n")


def fixture_names():
    return sorted(path.stem for path in FIXTURES.glob("*.safetensors"))


def load_fixture(name):
    path = FIXTURES / f"{name}.safetensors"
    with safe_open(path, "numpy") as opened:
        metadata = opened.metadata()
    keys = {"regime": "exact", "precision": "f64", "vocab": int(metadata["vocab"]), "trigger": metadata["trigger"]}
    keys.update({rate: float(metadata[rate]) for rate in ("eta", "gamma", "eta2")}, labels=metadata["labels"])
    if int(metadata["noise_vocab"]):
        keys["noise_vocab"] = int(metadata["noise_vocab"])
    tensors = load_file(path)
    if metadata["model"] == "mlp":
        keys.update(width=tensors["w_in"].shape[0], activation=metadata["activation"])
    given = {name: tensors.get(name) for name in ("z_in", "z_out", "z_trig", "z_eos", "tokens", "position", "labels")}
    if metadata["model"] == "mlp":
        given["w_in"] = tensors["w_in"]
    return keys, given, tensors


def relative(got, expected):
    norm = numpy.linalg.norm(expected)
    return numpy.linalg.norm(got - expected) / (norm if norm > 0 else 1.0)


def test_fixtures_are_found():
    assert len(fixture_names()) == 25


@pytest.mark.parametrize("name", fixture_names())
def test_gradients_agree_with_automatic_differentiation(name):
    keys, given, expected = load_fixture(name)
    model = Config(**keys).model(**given)
    for matrix in ("m1", "w1", "m2"):
        assert relative(getattr(model, matrix), expected[matrix]) < 1e-10, matrix
    found = model.gradients(expected["m"], expected["w"])
    assert abs(found.loss - expected["loss"][0]) < 1e-10
    assert relative(found.m, expected["grad_m"]) < 1e-10
    assert relative(found.w, expected["grad_w"]) < 1e-10


def test_gradients_agree_with_torch():
    """Compares with torch autograd on the model written from its definition."""
    torch = pytest.importorskip("torch")
    config = Config(vocab=30, dim=12, length=5, samples=64, precision="f64", seed=3)
    model = config.model()
    generator = numpy.random.default_rng(1)
    m = torch.tensor(generator.standard_normal((12, 12)), requires_grad=True)
    w = torch.tensor(generator.standard_normal((12, 12)), requires_grad=True)
    tensors = {name: torch.tensor(array) for name, array in model.tensors().items()}
    rows = torch.arange(64)
    x = tensors["z_in"][tensors["tokens"]]
    x[rows, tensors["position"]] += tensors["z_trig"]
    attention = torch.softmax(x @ (w @ tensors["z_eos"]), 1)
    logits = (attention.unsqueeze(1) @ x).squeeze(1) @ m.T @ tensors["z_out"].T
    loss = torch.nn.functional.cross_entropy(logits, tensors["labels"])
    loss.backward()
    # Torch tensors are accepted even if they require gradients.
    found = model.gradients(m, w)
    assert abs(found.loss - loss.item()) < 1e-12
    assert relative(found.m, m.grad.numpy()) < 1e-12
    assert relative(found.w, w.grad.numpy()) < 1e-12
    assert relative(model.attention(w=w), attention.detach().numpy()) < 1e-12
    assert relative(model.logits(m=m, w=w), logits.detach().numpy()) < 1e-12
