"""A configuration: keys, defaults, errors, copies."""

import ast
import inspect
import pathlib
import pickle

import numpy
import pytest

import superpose
from superpose import Config

FILES = ("embedding_file", "embedding_tensor", "output_embedding", "import_")


def test_defaults_are_those_of_the_command_line(command):
    import json

    printed = json.loads(command("predict", "--json"))["config"]
    assert Config().to_dict() == printed


def test_signature_and_stub_say_what_the_engine_says():
    defaults = {**dict.fromkeys(FILES), **Config().to_dict()}
    shown = {name: parameter.default for name, parameter in inspect.signature(Config).parameters.items()}
    assert shown == defaults
    stub = ast.parse((pathlib.Path(superpose.__file__).parent / "_config.pyi").read_text())
    config = next(node for node in stub.body if isinstance(node, ast.ClassDef) and node.name == "Config")
    new = next(node for node in config.body if isinstance(node, ast.FunctionDef) and node.name == "__new__")
    names = [argument.arg for argument in new.args.kwonlyargs]
    values = [ast.literal_eval(default) for default in new.args.kw_defaults]
    assert dict(zip(names, values)) == defaults
    properties = {node.name for node in config.body if isinstance(node, ast.FunctionDef)}
    assert set(names) <= properties
    for name, value in defaults.items():
        assert getattr(Config(), name) == value


def test_arguments_are_keywords():
    with pytest.raises(TypeError):
        Config(512)
    with pytest.raises(TypeError, match="unknown key vocabulary: there are vocab, dim"):
        Config(vocabulary=3)


@pytest.mark.parametrize("value", [1000, 1e3, numpy.int32(1000), numpy.float64(1000), numpy.uint16(1000)])
def test_whole_numbers_of_any_kind(value):
    assert Config(samples=value).samples == 1000


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"vocab": 1}, "vocab = 1: must be a whole number from 2 to 2147483647"),
        ({"vocab": -3}, "vocab = -3: must be a whole number"),
        ({"vocab": 2.5}, "vocab = 2.5: must be a whole number"),
        ({"vocab": "many"}, "vocab = many: must be a whole number"),
        ({"vocab": [1]}, r"vocab = \[1\]: must be a whole number"),
        ({"vocab": 10**30}, "vocab = 10"),
        ({"vocab": float("nan")}, "vocab = nan: must be a whole number"),
        ({"trigger": "nowhere"}, "trigger = nowhere: must be one of values, keys"),
        ({"trigger": 3}, "trigger = 3: must be a word"),
        ({"zipf": 20}, "zipf = 20: must be from 0 to 10"),
        ({"eta": float("inf")}, "eta = inf: must be from 1e-20 to 1e20"),
        ({"gamma": 1.0, "lead": 2.0}, "gamma and lead are both given: the lead sets gamma"),
        ({"activation": "relu"}, "activation is given without width"),
        ({"labels": "mod:600"}, "labels = mod:600: mod:M needs M from 2 to vocab = 512"),
        ({"embedding": "orthonormal"}, "orthonormal embeddings need dim of at least vocab"),
        ({"seed": 2**64 - 1}, "seed = 18446744073709551615: at most"),
        ({"repeats": 0}, "repeats = 0: must be a whole number from 1 to 1000000"),
    ],
)
def test_what_cannot_be_is_a_value_error_with_the_engines_sentence(keys, sentence):
    with pytest.raises(ValueError, match=sentence):
        Config(**keys)


def test_equal_hashed_pickled_printed():
    config = Config(vocab=64, trigger="keys", width=100, activation="he2")
    again = pickle.loads(pickle.dumps(config))
    assert again == config and hash(again) == hash(config) and type(again) is Config
    assert again != Config(vocab=64) and config != "config"
    assert eval(repr(config)) == config
    assert Config(vocab=512) == Config()
    assert config.replace(width=None, activation=None).width is None
    with pytest.raises(AttributeError, match="no setting size"):
        config.size
    with pytest.raises(AttributeError):
        config.vocab = 3


def test_from_toml(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('vocab = 1e2\nlabels = "mod:10"\nzipf = 1\njson = true\nthreads = 2\n')
    assert Config.from_toml(path) == Config(vocab=100, labels="mod:10", zipf=1.0)
    path.write_text("vocabulary = 3")
    with pytest.raises(ValueError, match="run.toml: unknown key vocabulary"):
        Config.from_toml(path)
    path.write_text("vocab = [")
    with pytest.raises(ValueError, match="run.toml"):
        Config.from_toml(path)
    path.write_text("vocab = true")
    with pytest.raises(ValueError, match="run.toml: vocab = true: must be a whole number"):
        Config.from_toml(path)
    with pytest.raises(OSError):
        Config.from_toml(tmp_path / "missing.toml")
