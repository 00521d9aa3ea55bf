"""Arrays passed to and returned by the package: accepted types, errors, shared memory."""

import numpy
import pytest

from superpose import Config

SMALL = Config(samples=300, length=4)


def rows(count=20, dim=12, dtype="float64"):
    generator = numpy.random.default_rng(0)
    return (generator.standard_normal((count, dim)) / dim**0.5).astype(dtype)


def test_arrays_determine_the_sizes():
    model = SMALL.model(z_in=rows())
    assert (model.config.vocab, model.config.dim) == (20, 12)
    assert numpy.array_equal(model.z_in, rows().astype("float32"))
    assert "arrays z_in" in SMALL.run(z_in=rows()).config["import"]
    with pytest.raises(ValueError, match=r"tensor z_in has shape \[20, 12\]: vocab was given as 30; omit it or give 20"):
        SMALL.replace(vocab=30).run(z_in=rows())


def test_first_layer_selects_the_attention_mlp_model():
    assert SMALL.run(w_in=rows()).config.width == 20


@pytest.mark.parametrize("precision", ["f32", "f64"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", ">f8", "longdouble"])
def test_every_floating_point_type_is_accepted(precision, dtype):
    given = rows(dtype=dtype)
    model = SMALL.replace(precision=precision).model(z_in=given)
    assert model.z_in.dtype == ("float32" if precision == "f32" else "float64")
    assert numpy.array_equal(model.z_in, given.astype(model.z_in.dtype))


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "uint64", ">i4"])
def test_every_integer_type_is_accepted(dtype):
    tokens = numpy.random.default_rng(1).integers(0, 20, (50, 4)).astype(dtype)
    position = (numpy.arange(50) % 4).astype(dtype)
    model = Config(vocab=20, dim=12).model(tokens=tokens, position=position)
    assert numpy.array_equal(model.tokens, tokens) and numpy.array_equal(model.position, position)
    assert (model.config.samples, model.config.length) == (50, 4)


def test_strided_arrays_are_accepted():
    wide = rows(20, 24)
    for view in (wide[:, ::2], numpy.asfortranarray(rows()), rows()[::-1]):
        assert numpy.array_equal(SMALL.replace(precision="f64").model(z_in=view).z_in, view)


def test_arrays_are_views_that_outlive_the_model():
    model = SMALL.model()
    first, again = model.m1, model.m1
    assert first.ctypes.data == again.ctypes.data and not first.flags.writeable and not first.flags.owndata
    with pytest.raises(ValueError):
        first[0, 0] = 1.0
    copy = first.copy()
    del model, again
    junk = [SMALL.model() for _ in range(5)]
    assert numpy.array_equal(first, copy) and junk


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"z_in": rows()[0]}, r"tensor z_in has shape \[12\]: must be a matrix"),
        ({"z_in": rows().astype(int)}, "tensor z_in holds int64: must hold floating-point numbers"),
        ({"z_in": rows().astype(complex)}, "tensor z_in holds complex128"),
        ({"z_in": numpy.full((20, 12), numpy.nan)}, "tensor z_in holds NaN at index 0: every entry must be finite"),
        ({"z_in": numpy.zeros((0, 12))}, "must be a matrix with at least one row"),
        ({"z_in": rows(), "z_trig": numpy.zeros(5)}, "dim must be 12, as in tensor z_in"),
        ({"z_eos": numpy.zeros(128)}, "tensor z_eos holds 0"),
        ({"z_in": "rows"}, "tensor z_in is of type str: must be an array"),
        ({"tokens": rows(), "position": [0]}, "tensor tokens holds float64: must hold whole numbers"),
        ({"tokens": [[1, 2], [3, -4]], "position": [0, 1]}, "tensor tokens holds -4 at index 3: every entry must be from 0"),
        ({"tokens": [[1, 2], [3, 4]], "position": [0, 2]}, "tensor position holds 2 at index 1"),
        ({"tokens": [[1, 2], [3, 1000]], "position": [0, 1]}, "tensor tokens holds 1000 at index 3"),
        ({"labels": [1, 2]}, "tensor tokens .* is missing"),
        ({"tokens": [[1, 2], [3]], "position": [0, 1]}, "inhomogeneous"),
    ],
)
def test_invalid_arrays_raise_value_error(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        Config(samples=100 if "tokens" not in given and "labels" not in given else None).run(**given)


def test_attention_and_logits_of_given_sequences():
    model = Config(vocab=20, dim=16, length=4, samples=2000).model()
    tokens, position = numpy.array([[3, 1, 4], [1, 5, 9]]), numpy.array([0, 2])
    weights, logits = model.attention(tokens, position), model.logits(tokens, position)
    assert weights.shape == (2, 3) and logits.shape == (2, 20)
    assert numpy.allclose(weights.sum(1), 1.0) and weights.dtype == numpy.float32
    assert numpy.array_equal(weights.argmax(1), position)
    uniform = model.attention(tokens, position, w=numpy.zeros((16, 16)))
    assert numpy.allclose(uniform, 1 / 3)
    head = model.z_in[tokens] + (numpy.arange(3) == position[:, None])[..., None] * model.z_trig
    by_hand = (weights[..., None] * head).sum(1) @ model.m2.T @ model.z_out.T
    assert numpy.allclose(logits, by_hand, rtol=1e-4, atol=1e-9)
    for given, sentence in [
        ({"tokens": tokens}, "tokens and position belong together"),
        ({"tokens": tokens, "position": [0]}, r"tensor position has shape \[1\]: must be a vector of 2"),
        ({"tokens": tokens + 20, "position": position}, "tensor tokens holds 23 at index 0"),
        ({"tokens": tokens, "position": [0, 3]}, "tensor position holds 3 at index 1"),
        ({"tokens": tokens[0], "position": position}, "must be a matrix, a row per sequence"),
        ({"tokens": tokens[:0], "position": position[:0]}, "at least one sequence"),
        ({"w": numpy.zeros((3, 3))}, r"tensor w has shape \[3, 3\]: must be 16 rows of 16"),
        ({"m": numpy.zeros((16, 3))}, r"tensor m has shape \[16, 3\]: must be 16 rows of 16"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            model.logits(**given)


class Exported:
    """An object that only supports DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack_objects_are_accepted():
    assert numpy.array_equal(SMALL.replace(precision="f64").model(z_in=Exported(rows())).z_in, rows())


def test_torch_tensors_are_accepted():
    torch = pytest.importorskip("torch")
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        given = torch.tensor(rows(), dtype=dtype, requires_grad=True)
        model = SMALL.replace(precision="f64").model(z_in=given)
        assert numpy.array_equal(model.z_in, given.detach().double().numpy())
    back = torch.from_numpy(SMALL.model().m1.copy())
    assert back.shape == (128, 128)


def test_jax_arrays_are_accepted():
    jax = pytest.importorskip("jax")
    for dtype in ("float32", "bfloat16"):
        given = jax.numpy.asarray(rows(), dtype=dtype)
        model = SMALL.model(z_in=given)
        assert numpy.array_equal(model.z_in, numpy.asarray(given.astype("float32")))


def test_layer_in_place_of_its_weights_is_named():
    class Embedding:
        weight = rows()

    with pytest.raises(ValueError, match="tensor z_in is of type Embedding: .*; give its .weight"):
        SMALL.run(z_in=Embedding())
