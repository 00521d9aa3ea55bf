"""A configuration: keys, defaults, errors, copies."""

import ast
import inspect
import json
import pathlib
import pickle

import numpy
import pytest

import superpose
from superpose import Config

#: A tiny training run, for settings that need ``steps``.
TINY = {"vocab": 8, "dim": 8, "length": 2, "samples": 8, "test_samples": 8, "steps": 1}


def engine_keys():
    """Returns all keys of the engine, from its error message for an unknown key."""
    with pytest.raises(TypeError) as caught:
        Config(no_such_key=1)
    return str(caught.value).split("there are ")[1].split(", ")


def flags(keys):
    return [f"--{name.replace('_', '-')}={json.dumps(x).strip(chr(34))}" for name, x in keys.items()]


def test_defaults_are_those_of_the_command_line(command):
    defaults = Config().to_dict()
    printed = json.loads(command("predict", "--json"))["config"]
    assert printed.items() <= defaults.items()
    # Some keys are printed only if they differ from the default: giving the default must change nothing.
    unprinted = {name: defaults[name] for name in defaults.keys() - printed.keys() - TINY.keys()}
    typed = {name: value for name, value in unprinted.items() if value is not None}
    assert {"optimiser", "rate", "heads", "factored"} <= typed.keys()
    trained = json.loads(command("train", "--json", *flags({**typed, **TINY})))["config"]
    assert trained == {**{name: defaults[name] for name in trained}, **TINY}
    assert printed.keys() <= trained.keys()


def test_signature_and_stub_agree_with_the_engine():
    settings = Config().to_dict()
    assert settings.keys() == set(engine_keys())
    for name, value in settings.items():
        # Giving the default value must equal giving nothing. These two are refused where they would have no effect.
        base = TINY if name not in TINY else {}
        alone = {} if name in ("activation", "accumulate") else {name: value}
        assert Config(**{**base, **alone}) == Config(**base), name
    defaults = {"import_" if name == "import" else name: value for name, value in settings.items()}
    shown = {name: parameter.default for name, parameter in inspect.signature(Config).parameters.items()}
    assert shown == defaults
    stub = ast.parse((pathlib.Path(superpose.__file__).parent / "_settings.pyi").read_text())
    config = next(node for node in stub.body if isinstance(node, ast.ClassDef) and node.name == "Settings")
    new = next(node for node in config.body if isinstance(node, ast.FunctionDef) and node.name == "__new__")
    names = [argument.arg for argument in new.args.kwonlyargs]
    values = [ast.literal_eval(default) for default in new.args.kw_defaults]
    assert dict(zip(names, values)) == defaults
    properties = {node.name for node in config.body if isinstance(node, ast.FunctionDef)}
    assert set(names) <= properties
    for name, value in defaults.items():
        assert getattr(Config(), name) == value


TRAINING = {
    "steps": 10,
    "optimiser": "muon",
    "rate": 0.5,
    "schedule": "cosine",
    "batch": 64,
    "momentum": 0.5,
    "weight_decay": 0.1,
    "every": 2,
    "early_stopping": 3,
    "warm_start": True,
    "heads": 2,
    "positions": "rotary",
    "factored": True,
    "train_embeddings": True,
    "train_first_layer": True,
    "width": 32,
    "embedding": "clustered",
    "clusters": 4,
    "spread": 0.25,
}


def test_settings_of_training(tmp_path):
    config = Config(**TRAINING)
    for name, value in TRAINING.items():
        assert getattr(config, name) == value and type(getattr(config, name)) is type(value), name
    assert config.to_dict().items() >= TRAINING.items()
    assert eval(repr(config)) == config and pickle.loads(pickle.dumps(config)) == config
    assert config.replace(factored=None).factored is False
    assert Config(embedding="low_rank", rank=5).rank == 5
    path = tmp_path / "train.toml"
    path.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in TRAINING.items()))
    assert Config.from_toml(path) == config


@pytest.mark.parametrize("keys", [{"steps": 0}, {"steps": 5, "optimiser": "adamw", "factored": False, "heads": 1}])
def test_keys_given_at_their_default(keys):
    config = Config(**keys)
    assert repr(config) == f"Config({', '.join(f'{name}={keys[name]!r}' for name in sorted(keys))})"
    assert pickle.loads(pickle.dumps(config)) == config
    assert config.replace(vocab=64) == Config(vocab=64, **keys)


@pytest.mark.parametrize("call", ["run", "model"])
def test_run_and_model_refuse_training_steps(call):
    with pytest.raises(ValueError, match="steps = 1000: .*three steps of the early phase"):
        getattr(Config(steps=1000), call)()


def test_arguments_are_keywords():
    with pytest.raises(TypeError):
        Config(512)
    with pytest.raises(TypeError, match="unknown key vocabulary: did you mean vocab. All keys: vocab, dim"):
        Config(vocabulary=3)


@pytest.mark.parametrize("value", [1000, 1e3, numpy.int32(1000), numpy.float64(1000), numpy.uint16(1000)])
def test_integers_of_any_type(value):
    assert Config(samples=value).samples == 1000


@pytest.mark.parametrize("value", [True, numpy.True_])
def test_booleans_of_any_type(value):
    assert Config(steps=10, factored=value).factored is True


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
        ({"trigger": 3}, "trigger = 3: must be one of values, keys"),
        ({"zipf": 20}, "zipf = 20: must be from 0 to 10"),
        ({"eta": float("inf")}, "eta = inf: must be a number"),
        ({"gamma": 1.0, "lead": 2.0}, "gamma and lead are both given: the lead sets gamma"),
        ({"activation": "relu"}, "activation is given without width"),
        ({"labels": "mod:600"}, "labels = mod:600: mod:M needs M from 2 to vocab = 512"),
        ({"embedding": "orthonormal"}, "orthonormal embeddings need dim of at least vocab"),
        ({"seed": 2**64 - 1}, "seed = 18446744073709551615: at most"),
        ({"repeats": 0}, "repeats = 0: must be a whole number from 1 to 1000000"),
        ({"vocab": True}, "vocab = true: must be a whole number"),
        ({"steps": 10, "factored": 1}, "factored = 1: must be true or false"),
        ({"steps": 10, "factored": "yes"}, "factored = yes: must be true or false"),
        ({"steps": 10, "optimiser": "newton"}, "optimiser = newton: must be one of"),
        ({"steps": 10, "rate": -1}, "rate = -1: must be above 0"),
        ({"steps": 10, "train_first_layer": True}, "train_first_layer = true: needs width"),
        ({"rate": 0.1}, "rate is given without steps"),
        ({"embedding": "low_rank"}, r"rank = \(none\): needed with embedding = low_rank"),
    ],
)
def test_invalid_values_raise_value_error_with_the_engine_message(keys, sentence):
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
    path.write_text('vocab = 1e2\nlabels = "mod:10"\nzipf = 1\njson = true\nthreads = 2\ndevice = "cuda"\n')
    assert Config.from_toml(path) == Config(vocab=100, labels="mod:10", zipf=1.0)
    path.write_text("vocabulary = 3")
    with pytest.raises(ValueError, match="run.toml: line 1 .*unknown key vocabulary"):
        Config.from_toml(path)
    path.write_text("vocab = [")
    with pytest.raises(ValueError, match="run.toml"):
        Config.from_toml(path)
    path.write_text("vocab = true")
    with pytest.raises(ValueError, match="run.toml: line 1 .*vocab = true: must be a whole number"):
        Config.from_toml(path)
    with pytest.raises(OSError):
        Config.from_toml(tmp_path / "missing.toml")


def test_kept_tokens_are_at_most_the_sequence():
    config = Config(vocab=60, dim=30, length=40, samples=400, test_samples=200, keep=3)
    assert config.keep == 3 and Config().keep is None
    rate = config.run().kept_rate.mean
    assert config.predict().lock_rate < config.predict().kept_rate < 1 and 0 < rate < 1
    for keep in (0, 41, -1, "x", 2**63):
        with pytest.raises((ValueError, TypeError), match="keep"):
            Config(length=40, keep=keep)
    found = superpose.sweep(axes={"keep": [1, 3, 40]}, vocab=60, dim=30, length=40, samples=400, test_samples=200)
    rates = {row["keep"]: row["kept_rate"] for row in found.to_rows()}
    assert rates[3] == rate and rates[1] < rates[3] < rates[40] == 1
