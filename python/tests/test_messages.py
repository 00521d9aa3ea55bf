"""What errors and results say to somebody who tries a call for the first time."""

import numpy
import pytest

import superpose
from superpose import Config, _plots

TINY = {"vocab": 40, "dim": 24, "length": 4, "samples": 500}
ROWS = numpy.random.default_rng(0).standard_normal((60, 32))


@pytest.mark.parametrize("value", ["64", "1e3"])
def test_text_that_looks_like_a_number_is_quoted(value):
    with pytest.raises(ValueError, match=f"dim = '{value}': must be"):
        Config(dim=value)


@pytest.mark.parametrize("value", [3, None.__class__, "gpu", ["cuda"]])
def test_devices_name_the_parameter(value):
    with pytest.raises(ValueError, match="device = .*: must be"):
        Config(**TINY).run(device=value)


@pytest.mark.parametrize(
    "call",
    [
        lambda **keys: superpose.threshold(find="samples", **keys),
        lambda **keys: superpose.sweep(axes={"dim": [8, 16]}, **keys),
        lambda **keys: superpose.phase(x=("dim", 8, 16), y=("samples", 50, 500), **keys),
        lambda **keys: Config(**TINY).run(**keys),
        Config,
    ],
)
@pytest.mark.parametrize("name", ["hook", "loss"])
def test_only_train_calls_functions(call, name):
    with pytest.raises(TypeError, match=f"{name} is given: only train calls it"):
        call(**{name: print})


def test_hooks_return_arrays():
    with pytest.raises(ValueError, match="what the hook returned for m = None: must be an array"):
        Config(**TINY, steps=2).train(hook=lambda step: {"m": None})


def test_one_name_is_as_good_as_a_list():
    network = Config(**TINY, steps=1).network()
    tokens, position, labels = (array[:10] for array in network.data)
    assert list(network.cache(tokens, position, names="logits")) == ["logits"]
    assert list(network.gradients(tokens, position, labels, by="m").gradients) == ["m"]


def test_training_says_what_took_part():
    several = Config(**TINY, steps=3, heads=2)
    text = str(several.train(hook=lambda step: superpose.STOP if step.number == 2 else None))
    assert "Stopped after 2 steps: the hook stopped it." in text
    assert "The hook may have replaced steps of the optimiser." in text
    assert "of the head with the highest lock rate" in text


def test_checkpoint_without_settings_must_exist(tmp_path):
    with pytest.raises(FileNotFoundError, match="none.safetensors"):
        Config().train(checkpoint=tmp_path / "none.safetensors")


def test_rows_missing_for_a_checkpoint_are_named(tmp_path):
    path, given = tmp_path / "run.safetensors", Config(length=4, samples=500, steps=2)
    given.train(checkpoint=path, z_in=ROWS[:40])
    with pytest.raises(ValueError, match="import"):
        given.train(checkpoint=path)


@pytest.mark.parametrize(("name", "loader"), [("rows.npy", "numpy.load"), ("rows.pt", "torch.load")])
def test_files_of_arrays_are_loaded_first(name, loader):
    with pytest.raises(ValueError, match=f"file = {name}: must be a safetensors file or an array; load it with {loader}"):
        superpose.inspect(name)


def test_inspected_arrays_are_named():
    rows = ROWS.copy()
    rows[3, 4] = numpy.nan
    with pytest.raises(ValueError, match="^tensor array holds NaN at index 100"):
        superpose.inspect(rows)
    with pytest.raises(ValueError, match="length = 0: must be a whole number"):
        superpose.inspect(ROWS, length=0)


def test_inspect_gives_the_range_of_samples():
    sizes = superpose.inspect(ROWS, facts=60, length=4, accuracy=0.5).sizes
    assert sizes.fewest_samples_low < sizes.fewest_samples < sizes.fewest_samples_high
    found = str(superpose.inspect(ROWS, facts=60, length=4, accuracy=0.5))
    assert f"(within the expected error, {sizes.fewest_samples_low:,} to {sizes.fewest_samples_high:,})" in found


def test_drawings_are_svg_files(tmp_path):
    drawing = _plots.Drawing("<svg/>")
    drawing.savefig(tmp_path / "run.svg")
    assert (tmp_path / "run.svg").read_text() == "<svg/>"
    with pytest.raises(ValueError, match=r"path = .*: must be a name that ends with .svg; other formats need matplotlib"):
        drawing.save(tmp_path / "run.png")
