"""Embeddings of one's own in searches and sweeps: arrays and files."""

import numpy
import pytest

import superpose

SMALL = dict(length=4, test_samples=256, trigger="keys")


def rows(count=60, dim=24, seed=0):
    return numpy.random.default_rng(seed).standard_normal((count, dim)) / dim**0.5


@pytest.fixture
def file(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "e.safetensors"
    safetensors.save_file({"words": rows().astype("float32")}, str(path))
    return path


def test_threshold_and_phase_take_arrays():
    found = superpose.threshold(find="samples", half_width=0.3, z_in=rows(30), **SMALL)
    assert (found.config.vocab, found.config.dim) == (30, 24)
    assert found.observed.low <= found.observed.estimate <= found.observed.high
    # The runs are those of run() with the same array.
    size, share = found.trials[0].size, found.trials[0].share
    assert superpose.Config(samples=size, **SMALL).run(z_in=rows(30)).accuracy.mean == share
    found = superpose.phase(x=("length", 2, 16), y=("samples", 50, 2000), resolution=5, z_in=rows(), repeats=1, test_samples=64)
    assert (found.config.vocab, found.config.dim) == (60, 24)


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
    safetensors.numpy.save_file({"words": rows(seed=1).astype("float32")}, str(file))
    for call in (
        lambda: superpose.threshold(find="samples", vocab=25, **keys),
        lambda: superpose.sweep(axes={"vocab": [20, 40]}, samples=100, **keys),
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
    found = superpose.inspect(file, accuracy=0.5, facts=40, length=4).sizes
    same = superpose.inspect(rows().astype("float32"), accuracy=0.5, facts=40, length=4).sizes
    predicted = superpose.Config(vocab=40, samples=4000, length=4, trigger="keys", embedding_file=file, embedding_tensor="words").predict()
    assert found == same and found.accuracy == predicted.accuracy
    assert (found.fewest_samples, found.largest_length) == (predicted.critical.samples, predicted.critical.length)
    assert "sizes" not in superpose.inspect(file)
    with pytest.raises(ValueError, match="facts = 61: must be a whole number from 2 to 60"):
        superpose.inspect(file, facts=61)
    with pytest.raises(ValueError, match="output_tensor is given together with facts"):
        superpose.inspect(file, output_tensor="words", facts=9)


@pytest.mark.parametrize("keys", [{"z_in": 1}, {"task": 1}, {"embedding_file": "a"}])
def test_bound_says_why_it_takes_random_vectors(keys):
    with pytest.raises(ValueError, match=f"{next(iter(keys))} is given: the lower bounds .* random vectors"):
        superpose.bound(vocab=40, dim=20, length=4, **keys)


def test_memory_takes_keys(file):
    keys = dict(facts=30, repeats=4, embedding_tensor="words")
    found, array = superpose.memory(embedding_file=file, **keys), superpose.memory(z_in=rows().astype("float32"), facts=30, repeats=4)
    assert (found.config.dim, found.accuracy) == (24, array.accuracy) and found.config.input_digest is not None
    assert superpose.memory(facts=30, repeats=4, dim=24).accuracy != found.accuracy
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
        ({**keys, "z_in": rows()}, "z_in is given together with an embedding_file"),
    ):
        with pytest.raises(ValueError, match=sentence):
            superpose.memory(embedding_file=file, **given)
