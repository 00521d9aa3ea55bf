"""The bindings of the engine: errors for unusual arrays and values, memory limits, read-only views, interruption."""

import re
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time

import numpy
import pytest

import superpose
from superpose import Config, _engine

SMALL = Config(vocab=20, dim=16, length=4, samples=300)


@pytest.fixture(scope="module")
def model():
    return SMALL.model()


def script(text, **options):
    """Runs a script in a separate process, which may crash without ending the tests."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=120, **options
    )


# Dimensions and alignment.


@pytest.mark.parametrize("count", [3, 32, 33, 64])
def test_wrong_number_of_dimensions_names_the_tensor(model, count):
    try:
        floats, whole = numpy.zeros((1,) * count), numpy.zeros((1,) * count, int)
    except ValueError:
        pytest.skip("this NumPy has no such arrays")
    vector = numpy.zeros(1, int)
    calls = {
        "z_in": lambda: SMALL.run(z_in=floats),
        "z_trig": lambda: SMALL.model(z_trig=floats),
        "w_in": lambda: Config(samples=300, steps=1, rate=0.1).train(w_in=floats),
        "tokens": lambda: SMALL.run(tokens=whole, position=vector),
        "position": lambda: model.attention([[1, 2]], whole),
        "m": lambda: model.logits(m=floats),
        "w": lambda: model.gradients(numpy.zeros((16, 16)), floats),
    }
    for name, call in calls.items():
        with pytest.raises(ValueError, match=rf"tensor {name} has shape \[1, 1, 1.*\]: must be "):
            call()
    with pytest.raises(ValueError, match="tensor tokens has shape .*: must be a matrix, a row per sequence"):
        model.logits(whole, vector)


def unaligned(array):
    raw = numpy.zeros(array.nbytes + 1, "u1")[1:]
    view = raw.view(array.dtype).reshape(array.shape)
    view[...] = array
    assert not view.flags.aligned
    return view


def test_engine_reads_unaligned_arrays():
    rows = numpy.random.default_rng(0).standard_normal((20, 16))
    record = _engine.run(SMALL, {"z_in": unaligned(rows)}, None, None, None, None)
    plain = _engine.run(SMALL, {"z_in": rows}, None, None, None, None)
    part = lambda text: text.json().split('"train_seconds"')[0]  # noqa: E731
    assert part(record) == part(plain)
    tokens, position = numpy.full((5, 4), 3), numpy.zeros(5, int)
    model = _engine.Model(Config(vocab=20), {"tokens": unaligned(tokens), "position": position}, None, None)
    assert (model.tensor("tokens") == 3).all()
    with pytest.raises(ValueError, match="tensor z_in holds no array of NumPy"):
        _engine.run(SMALL, {"z_in": [[1.0]]}, None, None, None, None)


# Memory.

LIMITED = """
    import resource, sys
    import numpy, superpose
    model = superpose.Config(vocab=20, dim=16, length=4, samples=300).model(threads=1)
    used = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmSize:"))
    resource.setrlimit(resource.RLIMIT_AS, (used * 1024 + 1_500_000_000,) * 2)
    zeros = lambda kind, *shape: numpy.broadcast_to(numpy.zeros((), kind), shape)
    try:
        {call}
        print("done")
    except ValueError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory limits are read from /proc")
@pytest.mark.parametrize(
    "call",
    [
        "superpose.Config(vocab=20, dim=16).run(tokens=zeros('int64', 300_000_000, 4), position=zeros('int64', 300_000_000))",
        "superpose.Config(vocab=20, dim=16).model(tokens=zeros('int8', 300_000_000, 4), position=zeros('int32', 300_000_000))",
        "superpose.Config(samples=100).run(z_in=zeros('float32', 20_000_000, 64))",
        "superpose.Config(samples=100).run(z_in=zeros('float16', 20_000_000, 64))",
        "superpose.Config(samples=100).train(z_out=zeros('float64', 20_000_000, 64))",
        "model.logits(zeros('int64', 300_000_000, 4), zeros('int64', 300_000_000))",
        "model.attention(zeros('uint16', 300_000_000, 4), zeros('int64', 300_000_000))",
        "superpose.Config(vocab=20, dim=16, samples=20_000_000).model()",
    ],
)
def test_arrays_that_do_not_fit_are_refused_before_copying(call):
    done = script(LIMITED.format(call=call))
    assert done.returncode == 0, done.stderr
    assert re.search("this needs about .* GB of memory, and 1.5 GB are available", done.stdout), done.stdout


def test_copying_a_large_input_can_be_interrupted():
    done = script(
        """
        import os, signal, threading, time
        import numpy, superpose
        model = superpose.Config(vocab=20, dim=16, length=4, samples=300).model()
        tokens = numpy.broadcast_to(numpy.int64(1), (10_000_000, 20))
        position = numpy.zeros(10_000_000, int)
        began = time.perf_counter()
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            model.attention(tokens, position, w=numpy.zeros((16, 16)))
        except KeyboardInterrupt:
            print(time.perf_counter() - began)
        """
    )
    assert done.returncode == 0, done.stderr
    assert 0.1 <= float(done.stdout) < 2.0


# Arrays out.


def test_views_are_read_only(model):
    for name, array in model.tensors().items():
        assert not array.flags.writeable, name
        with pytest.raises(ValueError):
            array[(0,) * array.ndim] = 1
    assert model.tokens.dtype == model.position.dtype == model.labels.dtype == numpy.int64
    assert model.tokens.shape == (300, 4)


def test_dlpack_gets_copies(model):
    # Unversioned DLPack cannot mark an array as read-only.
    copy = numpy.from_dlpack(model.m2)
    assert numpy.array_equal(copy, model.m2) and not numpy.shares_memory(copy, model.m2)


def test_copies_can_be_given_to_torch(model):
    torch = pytest.importorskip("torch")
    before = model.m2.copy()
    torch.from_dlpack(model.m2.copy()).zero_()
    assert numpy.array_equal(model.m2, before) and before.any()


# Values that could be mistaken for others.


def test_numbers_too_large_for_32_bits_name_the_tensor(model):
    large = numpy.zeros((16, 16))
    large[1, 2] = 1e39
    zero = numpy.zeros((16, 16))
    sentence = r"tensor {} holds 1e39 at index 18: every entry must be below 3.4e38"
    for name, call in {
        "m": lambda: model.logits(m=large),
        "w": lambda: model.attention(w=large),
    }.items():
        with pytest.raises(ValueError, match=sentence.format(name)):
            call()
    with pytest.raises(ValueError, match=sentence.format("m")):
        model.gradients(large, zero)
    with pytest.raises(ValueError, match=sentence.format("w")):
        model.gradients(zero, large)
    with pytest.raises(ValueError, match=sentence.format("z_in")):
        Config(samples=300).run(z_in=large + numpy.eye(16))
    wide = SMALL.replace(precision="f64").model()
    assert numpy.isfinite(wide.logits(m=large)).all()


def test_non_finite_results_raise_value_error(model):
    with pytest.raises(ValueError, match="m or w is too large: what follows from them is not finite"):
        model.logits(m=numpy.full((16, 16), 3e38))
    with pytest.raises(ValueError, match="m or w is too large"):
        model.attention(w=numpy.full((16, 16), 3e38))
    with pytest.raises(ValueError, match="m or w is too large"):
        model.gradients(numpy.full((16, 16), 3e38), numpy.full((16, 16), 3e38))


@pytest.mark.filterwarnings("ignore:Casting complex")
def test_complex_numbers_are_refused():
    for value in (numpy.complex64(50 + 7j), numpy.complex128(50), numpy.array(50 + 7j), 50 + 7j):
        with pytest.raises(ValueError, match=r"vocab = .*50.*: must be a whole number"):
            Config(vocab=value)
        with pytest.raises(ValueError, match=r"eta = .*50"):
            Config(regime="exact", eta=value)


def test_equal_configurations_have_equal_hashes():
    minus, plus = (Config(steps=1, weight_decay=zero) for zero in (-0.0, 0.0))
    assert minus == plus and hash(minus) == hash(plus)


def test_bytes_are_refused():
    for name in ("embedding_file", "import"):
        with pytest.raises((TypeError, ValueError), match=r"b'x'|bytes"):
            Config(**{name: b"x"})
    with pytest.raises(ValueError, match=r"embedding_tensor = b'x': must be a word"):
        Config(embedding_tensor=b"x", embedding_file="a")
    with pytest.raises(ValueError, match=r"embedding = b'gaussian': must be "):
        Config(embedding=b"gaussian")


def test_masked_entries_are_refused(model):
    rows = numpy.ma.masked_array(numpy.eye(20, 16), mask=numpy.eye(20, 16, 1))
    with pytest.raises(ValueError, match="tensor z_in has masked entries: must have none"):
        SMALL.run(z_in=rows)
    with pytest.raises(ValueError, match="tensor m has masked entries"):
        model.logits(m=rows[:16])
    assert SMALL.run(z_in=numpy.ma.masked_array(numpy.eye(20, 16))).config.vocab == 20


# Error messages.


@pytest.mark.parametrize("value", ["2", True, 2**70, 0, -1, 1.5, 1025, [2], None.__class__])
def test_invalid_threads_name_the_parameter(model, value):
    zero = numpy.zeros((16, 16))
    for call in (
        lambda: SMALL.run(threads=value),
        lambda: SMALL.model(threads=value),
        lambda: model.logits(threads=value),
        lambda: model.gradients(zero, zero, threads=value),
        lambda: superpose.threshold(SMALL, find="samples", threads=value),
        lambda: superpose.memory(facts=5, threads=value),
    ):
        with pytest.raises(ValueError, match=r"threads = .*: must be a whole number from 1 to 1024"):
            call()


@pytest.mark.skipif(sys.platform != "linux", reason="address spaces are limited on Linux")
def test_threads_beyond_the_address_space_are_refused():
    code = """
import resource, superpose
config = superpose.Config(vocab=24, dim=12, length=4, samples=200, test_samples=100)
resource.setrlimit(resource.RLIMIT_AS, (2_000_000_000, 2_000_000_000))
for call in (config.run, lambda threads: superpose.threshold(config, find="samples", threads=threads)):
    try:
        call(threads=1000)
    except ValueError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("threads = 1000: must be at most ") == 2, done.stdout


def test_threads_of_any_numeric_type():
    assert SMALL.run(threads=2.0).accuracy == SMALL.run(threads=numpy.int8(1)).accuracy


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: SMALL.predict(accuracy="0.5"), "accuracy = '0.5': must be a number"),
        (lambda: superpose.threshold(SMALL, find="samples", half_width="f64"), "half_width = f64: must be a number"),
        (lambda: superpose.threshold(SMALL, find=None), "find = None: must be one of samples, dim"),
        (lambda: superpose.threshold(SMALL, find="depth"), "find = depth: must be one of samples, dim"),
        (lambda: superpose.threshold(SMALL, find="samples", criterion=1), "criterion = 1: must be "),
        (lambda: superpose.threshold(SMALL, find="samples", range=[10]), r"range = \[10\]: must be two whole numbers"),
        (lambda: superpose.threshold(SMALL, find="samples", range=10), "range = 10: must be two whole numbers"),
        (lambda: superpose.threshold(SMALL, find="samples", range=(1, "b")), "range = b: must be a whole number"),
        (lambda: superpose.threshold(SMALL, find="samples", store=""), "store = '': must be the name of a file"),
        (lambda: superpose.phase(SMALL, x=("dim", 8, 16), y=("samples", 50, 500), store=""), "store = ''"),
        (lambda: superpose.phase(SMALL, x=(5, 8, 16), y=("samples", 50, 500)), "x = 5: must be "),
        (lambda: superpose.phase(SMALL, x=("dim", 8, 16), y=("samples", 50, 500), max_share="a"), "max_share = a: must be a number"),
        (lambda: superpose.plan(facts=100, length=8, activation=5), "activation = 5: must be "),
        (lambda: superpose.plan(facts=100, length=8, trigger=None), "trigger = None: must be "),
        (lambda: superpose.sweep(axes={"dim": [8]}, samples=50, retry_failed=1), "retry_failed = 1: must be True or False"),
        (lambda: superpose.bound(vocab=40, dim=20, accuracy=None), "accuracy = None: must be a number"),
        (lambda: superpose.memory(find=5), "find = 5: must be facts"),
        (lambda: superpose.memory(find="facts", half_width="a"), "half_width = a: must be a number"),
    ],
)
def test_errors_name_parameter_and_value(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_lists_and_arrays_are_ranges():
    found = [
        superpose.threshold(SMALL, find="samples", range=range, half_width=0.3, max_runs=40).to_dict()
        for range in ([20, 50], (20, 50), numpy.array([20, 50]))
    ]
    assert "50" in str(found[0]["unreached"])
    assert found[0]["unreached"] == found[1]["unreached"] == found[2]["unreached"]


def test_error_messages_are_short():
    for call in (
        lambda: Config(vocab=10**400),
        lambda: Config(regime="exact", eta=1e300),
        lambda: superpose.plan(facts=100, length=8, accuracy=1e-300, dim=8, samples=10),
        lambda: Config(seed=-(10**300)),
    ):
        try:
            call()
        except ValueError as error:
            assert len(str(error)) < 200, error


def test_ctrl_c_during_conversion_is_raised():
    class Slow:
        def __float__(self):
            raise KeyboardInterrupt

        __index__ = __int__ = __float__

    with pytest.raises(KeyboardInterrupt):
        Config(eta=Slow())


class Raising:
    def __init__(self, error):
        self.error = error

    def __array__(self, *arguments, **options):
        raise self.error


@pytest.mark.parametrize("error", [NotImplementedError("no storage"), RuntimeError("deleted\nsecond line"), KeyError("k")])
def test_unreadable_arrays_are_named_with_the_cause(model, error):
    for name, call in {
        "z_in": lambda: SMALL.run(z_in=Raising(error)),
        "m": lambda: model.logits(m=Raising(error)),
        "position": lambda: model.attention([[1]], Raising(error)),
    }.items():
        with pytest.raises(ValueError, match=rf"tensor {name} is of type Raising and cannot be read as an array: ") as raised:
            call()
        assert "\n" not in str(raised.value) and raised.value.__cause__ is error
    with pytest.raises(KeyboardInterrupt):
        SMALL.run(z_in=Raising(KeyboardInterrupt()))


def test_unsupported_torch_tensors_are_named():
    torch = pytest.importorskip("torch")
    rows = torch.eye(20, 16)
    odd = [rows.to("meta"), rows.to_sparse(), torch.nested.nested_tensor([rows[0], rows[1, :3]])]
    odd += [rows.to(torch.float8_e4m3fn)] if hasattr(torch, "float8_e4m3fn") else []
    for tensor in odd:
        with pytest.raises(ValueError, match="tensor z_in "):
            SMALL.run(z_in=tensor)


# Ctrl-C ends the work within a short time.

LONG = {
    "sweep": "superpose.sweep(axes={'seed': [0, 1, 2]}, vocab=2000, dim=256, samples=4_000_000, regime='exact', eta=1000, store=store)",
    "threshold": "superpose.threshold(find='samples', vocab=3000, dim=256, length=64, regime='exact', eta=1000, range=(3_000_000, 30_000_000))",
    "phase": "superpose.phase(x=('dim', 256, 300), y=('samples', 3_000_000, 4_000_000), vocab=3000, regime='exact', eta=1000, resolution=8)",
    "orthonormal": "superpose.Config(embedding='orthonormal', vocab=5000, dim=5100, samples=100).run()",
    "low rank": "superpose.Config(embedding='low_rank', rank=2000, vocab=50_000, dim=2000, samples=100).run()",
    "evaluation": "superpose.Config(vocab=4000, dim=512, samples=100, test_samples=10_000_000).run()",
    "logits": "model.logits(threads=1)",
    "bound": "superpose.bound(vocab=1000, dim=1000, seeds=10)",
    "memory": "superpose.memory(facts=20_000, dim=1000, rule='trained', repeats=2)",
    "train": "superpose.Config(vocab=3000, dim=256, samples=4_000_000, steps=10, rate=0.1).train()",
}


@pytest.mark.parametrize("name", LONG)
def test_no_work_continues_after_ctrl_c(name, tmp_path):
    text = f"""
        import time, superpose
        store = {str(tmp_path / "store.sqlite")!r}
        if {name == "logits"}:
            model = superpose.Config(vocab=4000, dim=500, length=2, samples=100_000).model()
        print("begun", flush=True)
        try:
            {LONG[name]}
            print("finished")
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        time.sleep(0.3)
        began = time.process_time()
        time.sleep(0.7)
        print(time.process_time() - began, flush=True)
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(text)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout.readline() == "begun\n", child.stderr.read()
        time.sleep(1.0)
        sent = time.perf_counter()
        child.send_signal(signal.SIGINT)
        said = child.stdout.readline()
        took = time.perf_counter() - sent
        assert said == "interrupted\n", said or child.stderr.read()
        left = float(child.stdout.readline())
    finally:
        child.kill()
        child.communicate()
    # Work that can be kept has a second to finish, plus the polling interval; the margin is for a busy machine.
    assert took < 4.0, took
    assert left < 0.05, f"{left} s of work in 0.7 s after"
    if name == "sweep":
        # Unfinished cells are not recorded as failures.
        with sqlite3.connect(tmp_path / "store.sqlite") as opened:
            assert opened.execute("select count(*) from results").fetchone() == (0,)
