"""Training: records and checkpoints equal the command line's, interruption and continuation, errors."""

import json
import pickle
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time

import numpy
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

import superpose
from superpose import Config

SMALL = {"vocab": 40, "dim": 16, "length": 6, "samples": 800, "test_samples": 300, "steps": 30, "every": 5, "rate": 0.03}

CASES = [
    {},
    {"precision": "f64", "optimiser": "sgd", "momentum": 0.5, "rate": 0.5, "trigger": "keys", "seed": 3},
    {"width": 24, "activation": "gelu", "train_first_layer": True, "batch": 200, "schedule": "cosine"},
    {"heads": 2, "factored": True, "train_embeddings": True, "optimiser": "muon", "positions": "learned"},
    {"warm_start": True, "positions": "sinusoidal", "weight_decay": 0.1, "early_stopping": 2, "precision": "f64"},
]


def flags(keys):
    given = [(f"--{name.replace('_', '-')}", value) for name, value in keys.items()]
    return [part for flag, value in given for part in ([flag] if value is True else [flag, value])]


def untimed(record):
    record["outcome"]["seconds"] = 0
    return record


@pytest.mark.parametrize("case", CASES)
def test_record_and_checkpoint_equal_the_command_line(command, tmp_path, case):
    keys, theirs, ours = {**SMALL, **case}, tmp_path / "theirs.safetensors", tmp_path / "ours.safetensors"
    printed = json.loads(command("train", *flags(keys), "--checkpoint", theirs, "--json"))
    training = Config(**keys).train(checkpoint=ours)
    assert untimed(training.to_dict()) == untimed(printed)
    saved, again = load_file(theirs), load_file(ours)
    assert saved.keys() == again.keys()
    arrays = training.tensors()
    for name, array in saved.items():
        assert array.tobytes() == again[name].tobytes(), name
        if "." not in name:  # the others are the optimiser's state
            assert arrays[name].dtype == array.dtype and arrays[name].size == array.size, name
            assert arrays[name].tobytes() == array.tobytes(), name
    assert {"m", "z_in", "z_out", "z_trig", "z_eos"} <= arrays.keys()
    assert {"key", "query"} <= arrays.keys() if case.get("factored") else "w" in arrays
    # Training without a checkpoint and with other threads gives the same result and the same text.
    alone = Config(**keys).train(threads=3)
    assert untimed(alone.to_dict()) == untimed(printed)
    assert str(alone) == command("train", *flags(keys)).rstrip("\n")


def test_loss_follows_from_the_arrays():
    """Computes the loss of the last record from the arrays and the definition of the model."""
    config = Config(**{**SMALL, "precision": "f64"})
    training, drawn = config.train(), config.replace(**dict.fromkeys(["steps", "every", "rate"])).model()
    z = training.tensors()
    for name in ("z_in", "z_out", "z_trig", "z_eos"):
        assert numpy.array_equal(z[name], getattr(drawn, name)), name
    assert not z["m"].flags.writeable and not z["m"].flags.owndata
    at = numpy.arange(drawn.tokens.shape[1]) == drawn.position[:, None]
    x = z["z_in"][drawn.tokens] + at[..., None] * z["z_trig"]
    scores = numpy.exp(x @ (z["w"] @ z["z_eos"]))
    heads = (scores[..., None] * x).sum(1) / scores.sum(1)[:, None]
    logits = heads @ z["m"].T @ z["z_out"].T
    loss = numpy.log(numpy.exp(logits).sum(1)) - logits[numpy.arange(len(logits)), drawn.labels]
    assert training.trajectory[-1].step == 30
    assert abs(loss.mean() - training.trajectory[-1].loss) < 1e-12


def test_tables_and_copies():
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    training = Config(**{**SMALL, "every": 1}).train()
    frame, curves = training.to_pandas(), training.curves()
    assert list(frame.step) == list(range(31)) == list(curves["step"])
    assert numpy.array_equal(curves["loss"], training.to_polars()["loss"].to_numpy())
    assert curves["loss"].dtype == "float64" and curves["step"].dtype.kind == "i" and set(curves) == set(frame)
    page = training._repr_html_()
    assert page.startswith("<h4>30 steps of adamw at rate 0.03") and "<th>trigger lead</th>" in page
    assert ">0</td>" in page and ">30</td>" in page and page.count("<tr>") <= 21 and "more rows" not in page
    again = pickle.loads(pickle.dumps(training))
    assert again == training and str(again) == str(training) and again._repr_html_() == page
    assert type(again) is superpose.Training and numpy.array_equal(again.tensors()["m"], training.tensors()["m"])


def test_store_equals_the_command_line(command, tmp_path):
    ours, theirs = tmp_path / "ours.sqlite", tmp_path / "theirs.sqlite"
    Config(**SMALL).train(store=ours)
    command("train", *flags(SMALL), "--store", theirs)
    for table in ("results", "trajectory"):
        rows = []
        for path in (ours, theirs):
            with sqlite3.connect(path) as store:
                names = [row[1] for row in store.execute(f"pragma table_info({table})") if row[1] not in ("seconds", "created")]
                quoted = ", ".join(f'"{name}"' for name in names)
                rows.append(store.execute(f"select {quoted} from {table} order by 1, 2").fetchall())
        assert rows[0] == rows[1] and len(rows[0]) == (1 if table == "results" else 7)


def test_checkpoints_continue_between_python_and_command_line(command, superpose_binary, tmp_path):
    keys = {**SMALL, "steps": 4000, "every": 50, "batch": 100, "train_embeddings": True}
    whole = untimed(Config(**keys).train().to_dict())
    path = tmp_path / "theirs.safetensors"
    child = subprocess.Popen([superpose_binary, "train", *map(str, flags(keys)), "--checkpoint", path], stdout=subprocess.DEVNULL)
    step = half_way(path, child)
    child.kill()
    child.wait()
    assert 0 < step < 4000
    assert untimed(Config().train(checkpoint=path).to_dict()) == whole
    path = tmp_path / "ours.safetensors"
    stopped_by_ctrl_c(keys, path)
    assert 0 < steps_in(path) < 4000
    assert untimed(json.loads(command("train", "--checkpoint", path, "--json"))) == whole


@pytest.mark.parametrize("case", [{}, {"optimiser": "sgd", "precision": "f64"}])
def test_training_continues_after_ctrl_c(tmp_path, case):
    keys, path = {**SMALL, "steps": 4000, "every": 50, **case}, tmp_path / "run.safetensors"
    stopped_by_ctrl_c(keys, path)
    assert 0 < steps_in(path) < 4000
    told = []
    again = Config(**keys).train(checkpoint=path, progress=lambda *event: told.append(event))
    whole = Config(**keys).train()
    assert untimed(again.to_dict()) == untimed(whole.to_dict())
    for name, array in whole.tensors().items():
        assert array.tobytes() == again.tensors()[name].tobytes(), name
    # Steps taken before the interruption are not repeated.
    done, total, note = told[-1]
    assert done == total < 4000 and note.startswith("loss ")


def steps_in(path):
    """Returns the steps taken according to a checkpoint, or -1 if there is none."""
    try:
        with safe_open(path, "numpy") as opened:
            return json.loads(opened.metadata()["counters"])["step"]
    except OSError:
        return -1


def half_way(path, child):
    end = time.monotonic() + 60
    while (step := steps_in(path)) < 100:
        assert time.monotonic() < end and child.poll() is None, "no checkpoint"
        time.sleep(0.002)
    return step


def stopped_by_ctrl_c(keys, path):
    script = f"""
        import superpose
        try:
            superpose.Config(**{keys!r}).train(checkpoint={str(path)!r})
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True)
    half_way(path, child)
    sent = time.perf_counter()
    child.send_signal(signal.SIGINT)
    assert child.stdout.readline() == "interrupted\n"
    assert time.perf_counter() - sent < 3.0
    child.wait()


def test_training_with_given_arrays(tmp_path):
    rows = numpy.random.default_rng(0).standard_normal((40, 16)) / 4
    config, path = Config(**{**SMALL, "vocab": None, "dim": None}), tmp_path / "run.safetensors"
    training = config.train(z_in=rows, checkpoint=path)
    assert numpy.array_equal(training.tensors()["z_in"], rows.astype("float32"))
    assert (training.config.vocab, training.config.dim, training.config["import"]) == (40, 16, "arrays z_in")
    again = Config().train(z_in=rows, checkpoint=path)
    assert again.trajectory == training.trajectory
    with pytest.raises(ValueError, match="import = arrays z_in: the checkpoint was made with these"):
        Config().train(checkpoint=path)


def test_progress_is_reported():
    told = []
    Config(**{**SMALL, "steps": 2000}).train(progress=lambda *event: told.append(event))
    assert told[-1][:2] == (2000, 2000) and told[-1][2].startswith("loss 0.")


def test_training_continues_after_progress_function_raises(tmp_path):
    class Enough(Exception):
        pass

    def listen(done, total, note):
        if done > 100:
            raise Enough

    config, path = Config(**{**SMALL, "steps": 3000, "every": 100}), tmp_path / "run.safetensors"
    with pytest.raises(Enough):
        config.train(checkpoint=path, progress=listen)
    assert 100 < steps_in(path) < 3000
    assert config.train(checkpoint=path).trajectory == config.train().trajectory


@pytest.mark.parametrize(
    ("keys", "call", "sentence"),
    [
        ({}, {}, "steps = 0: training needs at least 1"),
        ({"steps": 5, "repeats": 3}, {"checkpoint": "run.safetensors"}, "repeats = 3: a checkpoint holds one run"),
        ({"steps": 5, "samples": 100}, {"threads": 0}, "threads = 0: must be a whole number from 1 to 1024"),
        ({"steps": 5}, {"checkpoint": __file__}, "checkpoint: .*not a valid safetensors file"),
        ({"steps": 30, "train_embeddings": True, "optimiser": "sgd", "rate": 1e20, "samples": 100}, {}, "not finite"),
        ({"steps": 5, "vocab": 10**9, "dim": 10**9}, {}, "this needs about .* of memory"),
        ({"steps": 5}, {"z_in": [[1, 2], [3, 4]]}, "tensor z_in holds int64: must hold floating-point numbers"),
    ],
)
def test_invalid_arguments_raise_value_error(keys, call, sentence):
    with pytest.raises(ValueError, match=sentence):
        Config(**keys).train(**call)


@pytest.mark.parametrize(
    "call",
    [
        lambda device: Config(samples=100).run(device=device),
        lambda device: Config(samples=100, steps=2).train(device=device),
        lambda device: superpose.threshold(find="samples", device=device),
        lambda device: superpose.phase(x=("dim", 16, 32), y=("samples", 100, 200), device=device),
        lambda device: superpose.sweep(axes={"samples": [100]}, device=device),
        lambda device: superpose.memory(rule="trained", facts=10, device=device),
        lambda device: superpose.bound(vocab=20, seeds=2, device=device),
    ],
)
def test_device_is_named_where_it_cannot_be_used(call):
    with pytest.raises(ValueError, match="device = gpu: must be cpu, cuda, cuda:N or auto"):
        call("gpu")
    with pytest.raises(ValueError, match="no CUDA device can be used"):
        call("cuda:4096")


def test_checkpoint_of_another_configuration_is_refused(tmp_path):
    path = tmp_path / "run.safetensors"
    Config(**SMALL).train(checkpoint=path)
    before = path.read_bytes()
    for keys, sentence in [
        ({"steps": 31}, "steps = 31: the checkpoint was made with 30; use that value"),
        ({"optimiser": "sgd"}, 'optimiser = "sgd": the checkpoint was made with "adamw"'),
    ]:
        with pytest.raises(ValueError, match=sentence):
            Config(**{**SMALL, **keys}).train(checkpoint=path)
    assert path.read_bytes() == before


def test_checkpoint_refuses_other_arrays(tmp_path):
    config, path = Config(**SMALL), tmp_path / "run.safetensors"
    z_in = numpy.random.default_rng(1).standard_normal((40, 16)) / 4
    first = config.train(z_in=z_in, checkpoint=path).to_dict()
    assert untimed(config.train(z_in=z_in, checkpoint=path).to_dict()) == untimed(first)
    with pytest.raises(ValueError, match="its contents are not those that the checkpoint was made with"):
        config.train(z_in=-z_in, checkpoint=path)
