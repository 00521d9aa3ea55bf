"""Embeddings of one's own in searches and sweeps: arrays and files."""

import numpy
import pytest

import superpose

SMALL = dict(length=4, test_samples=256, trigger="keys")


def rows(count=60, dim=24, seed=0):
    return numpy.random.default_rng(seed).standard_normal((count, dim)) / dim**0.5


def stretched(count=60, dim=24, seed=0):
    """Rows whose variance falls with the column, of mean squared length 1."""
    scaled = rows(count, dim, seed) * (1 + numpy.arange(dim)) ** -0.4
    return scaled / numpy.sqrt((scaled**2).sum(1).mean())


@pytest.fixture
def file(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "e.safetensors"
    safetensors.save_file({"words": rows().astype("float32")}, str(path))
    return path


def test_threshold_takes_arrays_and_predicts_for_them():
    found = superpose.threshold(find="samples", half_width=0.3, z_in=stretched(30), **SMALL)
    assert (found.config.vocab, found.config.dim) == (30, 24)
    assert found.observed.low <= found.observed.estimate <= found.observed.high
    # The runs are those of run() with the same array.
    size, share = found.trials[0].size, found.trials[0].share
    assert superpose.Config(samples=size, **SMALL).run(z_in=stretched(30)).accuracy.mean == share
    # The prediction is that of predict() for these rows, which differs from that for random vectors.
    config = superpose.Config(**SMALL)
    assert found.predicted == pytest.approx(config.predict(z_in=stretched(30)).critical.samples, abs=1)
    assert config.replace(vocab=30, dim=24).predict().critical.samples < found.observed.low <= found.predicted <= found.observed.high


@pytest.mark.parametrize("source", ["array", "file"])
def test_phase_takes_rows_and_predicts_for_them(source, file):
    from safetensors.numpy import save_file

    save_file({"words": stretched()}, str(file))
    given = {"z_in": stretched()} if source == "array" else {"embedding_file": file, "embedding_tensor": "words"}
    keys = dict(repeats=1, test_samples=64, trigger="keys")
    found = superpose.phase(x=("length", 2, 16), y=("samples", 50, 2000), resolution=5, vocab=60, **given, **keys)
    assert (found.config.vocab, found.config.dim) == (60, 24)
    measured = [cell for cell in found.cells if cell.measured]
    assert len(measured) == found.measured > 3
    differences = []
    for cell in measured:
        sizes = superpose.Config(vocab=60, length=cell.x, samples=cell.y, **keys)
        assert cell.predicted == pytest.approx(sizes.predict(z_in=stretched()).accuracy, abs=2e-3)
        differences.append(abs(cell.predicted - sizes.replace(dim=24).predict().accuracy))
    assert max(differences) > 0.05


def test_sweep_takes_arrays_and_keeps_them_by_digest(tmp_path):
    store = tmp_path / "s.sqlite"

    def sweep(array):
        return superpose.sweep(axes={"samples": [100, 200]}, z_in=array, store=store, **SMALL).to_rows()

    first, again, other = sweep(rows()), sweep(rows()), sweep(rows(seed=1))
    assert [row["key"] for row in first] == [row["key"] for row in again]
    assert {row["key"] for row in first}.isdisjoint(row["key"] for row in other)
    assert first[0]["dim"] == 24 and len(first[0]["input_digest"]) == 64


def test_files_are_taken_and_refused_after_a_change(file, tmp_path):
    import safetensors.numpy

    keys = dict(embedding_file=file, embedding_tensor="words", store=tmp_path / "s.sqlite", **SMALL)
    assert superpose.threshold(find="samples", vocab=25, half_width=0.3, **keys).config.dim == 24
    assert len(superpose.sweep(axes={"vocab": [20, 40]}, samples=100, **keys).to_rows()) == 2
    axes = dict(x=("vocab", 20, 40), y=("samples", 50, 500), resolution=3)
    assert superpose.phase(**axes, **keys).config.dim == 24
    safetensors.numpy.save_file({"words": rows(seed=1).astype("float32")}, str(file))
    for call in (
        lambda: superpose.threshold(find="samples", vocab=25, **keys),
        lambda: superpose.sweep(axes={"vocab": [20, 40]}, samples=100, **keys),
        lambda: superpose.phase(**axes, **keys),
    ):
        with pytest.raises((ValueError, RuntimeError, OSError), match="embedding_file = .*e.safetensors: its tensors"):
            call()


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: superpose.threshold(find="dim", z_in=rows()), "find = dim: the columns"),
        (lambda: superpose.threshold(find="vocab", z_in=rows()), "find = vocab: the rows of z_in"),
        (lambda: superpose.phase(x=("dim", 8, 64), y=("samples", 50, 5000), z_in=rows()), "x = dim: the columns"),
        (lambda: superpose.sweep(axes={"dim": [8, 16]}, z_in=rows()), "dim = .several values.: the columns"),
        (lambda: superpose.sweep(axes={"embedding": ["sphere"]}, z_in=rows()), "embedding = "),
    ],
)
def test_sizes_that_arrays_fix_cannot_vary(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_unknown_array_is_a_type_error():
    for call in (superpose.Config().run, superpose.Config().train, superpose.Config().model, superpose.Config().network):
        with pytest.raises(TypeError, match="z_inn.*z_in, z_out"):
            call(z_inn=rows())


def test_predict_measures_the_rows(file):
    plain = superpose.Config(vocab=60, dim=24, samples=2000, length=4, trigger="keys").predict().accuracy
    config = superpose.Config(vocab=60, samples=2000, embedding_file=file, embedding_tensor="words", length=4, trigger="keys")
    array = superpose.Config(samples=2000, length=4, trigger="keys").predict(z_in=rows())
    for found in (config.predict(), array):
        assert (found.config.dim, found.rows.count) == (24, 60)
        assert abs(found.accuracy - plain) < 0.1
    with pytest.raises(TypeError, match="z_inn"):
        superpose.Config().predict(z_inn=rows())


def test_inspect_predicts_sizes(file):
    from safetensors.numpy import save_file

    found = superpose.inspect(file, accuracy=0.5, facts=40, length=4).sizes
    same = superpose.inspect(rows().astype("float32"), accuracy=0.5, facts=40, length=4).sizes
    predicted = superpose.Config(vocab=40, samples=4000, length=4, trigger="keys", embedding_file=file, embedding_tensor="words").predict()
    assert found == same and abs(found.accuracy - predicted.accuracy) < 0.01
    assert abs(found.fewest_samples / predicted.critical.samples - 1) < 0.05
    # Exactly the prediction for the rows multiplied by the scale.
    scaled = file.with_name("scaled.safetensors")
    save_file({"words": (found.scale * rows()).astype("float32")}, str(scaled))
    keys = dict(vocab=40, samples=found.samples, length=4, trigger="keys", embedding_file=scaled, embedding_tensor="words")
    critical = superpose.Config(**keys).predict(accuracy=0.5).critical
    assert (found.fewest_samples, found.largest_length) == (critical.samples, critical.length)
    # Rows of any length are scaled to the length of the trigger.
    long = superpose.inspect(4.5 * rows().astype("float32"), accuracy=0.5, facts=40, length=4).sizes
    assert abs(long.accuracy - found.accuracy) < 1e-6 and abs(long.scale * 4.5 / found.scale - 1) < 1e-6
    assert found.error is None and "V = 40, d = 24 lie outside" in found.error_reason
    assert superpose.inspect(rows(70, 40), accuracy=0.5, facts=60, length=4).sizes.error == 0.025

    class Layer:
        weight = rows()

    with pytest.raises(ValueError, match="must be the name of a file or an array; give the .weight of a layer"):
        superpose.inspect(Layer())
    values = superpose.inspect(file, accuracy=0.5, facts=40, length=4, trigger="values").sizes
    assert values.accuracy != found.accuracy and (found.trigger, values.trigger) == ("keys", "values")
    with pytest.raises(ValueError, match="trigger = both: must be "):
        superpose.inspect(file, facts=9, trigger="both")
    assert "sizes" not in superpose.inspect(file)
    with pytest.raises(ValueError, match="facts = 61: must be a whole number from 2 to 60"):
        superpose.inspect(file, facts=61)
    with pytest.raises(ValueError, match="output_tensor is given together with facts"):
        superpose.inspect(file, output_tensor="words", facts=9)


def test_run_and_train_warn_of_rows_that_are_not_as_long_as_the_trigger():
    config = superpose.Config(samples=300, **SMALL)
    assert abs(config.run(z_in=rows()).rows_over_trigger - 1) < 0.25 and config.run().rows_over_trigger is None
    for found in (config.run(z_in=4 * rows()), config.replace(steps=1).train(z_in=4 * rows())):
        assert 3 < found.rows_over_trigger < 5 and "times as long as the trigger" in str(found)
    assert "as long as the trigger" not in str(config.run(z_in=rows()))
    # A trigger of the same length needs no warning.
    trigger = numpy.full(24, 4 / 24**0.5)
    assert "as long as the trigger" not in str(config.run(z_in=4 * rows(), z_trig=trigger))


def test_bound_takes_embeddings(file):
    keys = dict(length=4, seeds=4, accuracy=0.3, trigger="keys")
    found = superpose.bound(z_in=rows().astype("float32"), **keys)
    assert (found.config.vocab, found.config.dim, found.config["import"]) == (60, 24, "arrays z_in")
    assert found.bounds.linear is None and found.bounds.coverage > 0 and found.decoders.mmse.bound == found.bounds.coverage
    other = superpose.bound(embedding_file=file, embedding_tensor="words", vocab=60, **keys)
    # The file's rows are drawn in another order.
    assert abs(other.decoders.argmax.estimate / found.decoders.argmax.estimate - 1) < 0.5
    with pytest.raises(ValueError, match="task is given: decoders are compared on drawn sequences"):
        superpose.bound(task=superpose.Config(**SMALL).task(), **keys)


def test_bound_takes_a_decoder():
    keys = dict(vocab=40, dim=20, length=4, seeds=2)
    seen = []

    def labels(step):
        seen.append(step)
        return (step.z_in @ step.m.T @ step.z_out.T).argmax(axis=1)

    found = superpose.bound(decoder=labels, **keys)
    assert found.decoders.own.estimate == found.decoders.argmax.estimate and found.decoders.own.bound == found.bounds.coverage
    assert "your decoder" in str(found) and [row["name"] for row in found.to_rows()][-2:] == ["own", "three_step"]
    assert seen[0].samples == numpy.inf and seen[0].z_in.shape == (40, 20) and not seen[0].m.flags.writeable
    guess = superpose.bound(decoder=lambda step: numpy.zeros(40, dtype=int), **keys)
    assert guess.decoders.own.estimate is None and guess.decoders.own.limit < 0.1
    with_mlp = superpose.bound(decoder=lambda step: numpy.arange(40) + step.w_in.shape[0] * 0, width=30, **keys)
    assert with_mlp.decoders.own.limit < 0.2

    def fails(step):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        superpose.bound(decoder=fails, **keys)
    for answer, sentence in (
        (numpy.zeros(3, dtype=int), r"int64 of shape \[3\]: must be whole labels, \[40\], or real scores, \[40, 40\]"),
        (numpy.zeros(40), r"float64 of shape \[40\]"),
        (numpy.zeros((40, 40, 2)), r"shape \[40, 40, 2\]"),
        (numpy.zeros((40, 3)), r"shape \[40, 3\]"),
        (numpy.zeros((40, 40), dtype=complex), "complex128"),
        (numpy.full((40, 40), numpy.nan), "not finite"),
        (numpy.full(40, 99), "label 99: must be below 40"),
        (None, "array"),
    ):
        with pytest.raises(ValueError, match=sentence):
            superpose.bound(decoder=lambda step: answer, **keys)
    with pytest.raises(ValueError, match="decoder = 3: must be a function of a FirstStep"):
        superpose.bound(decoder=3, **keys)


def test_memory_takes_keys(file):
    keys = dict(facts=30, repeats=4, embedding_tensor="words")
    found, array = superpose.memory(embedding_file=file, **keys), superpose.memory(z_in=rows().astype("float32"), facts=30, repeats=4)
    assert (found.config.dim, found.accuracy) == (24, array.accuracy) and found.config.input_digest is not None
    assert superpose.memory(facts=30, repeats=4, dim=24).accuracy != found.accuracy
    assert (array.config.embedding_file, array.config.embedding_tensor) == ("arrays z_in", "z_in")
    # All rows are keys of the first memory: its accuracy is that of a sum of outer products with unit values.
    one = superpose.memory(z_in=numpy.eye(24), facts=24, repeats=1)
    assert one.accuracy.mean == 1.0 and one.margin.mean > 0.0
    held = superpose.memory(embedding_file=file, embedding_tensor="words", find="facts", half_width=0.3)
    assert 2 <= held.threshold.found.estimate <= 60
    for given, sentence in (
        ({**keys, "facts": 61}, "facts = 61: the matrix of keys has 60 rows"),
        ({**keys, "dim": 8}, "dim = 8: tensor words has 24 columns; omit dim"),
        ({**keys, "rule": "hopfield"}, "embedding_file = .*Hopfield network"),
        ({"facts": 30}, "embedding_file = .*embedding_tensor is missing"),
        ({**keys, "z_in": rows()}, "embedding_file = .*z_in is given as well"),
    ):
        with pytest.raises(ValueError, match=sentence):
            superpose.memory(embedding_file=file, **given)
