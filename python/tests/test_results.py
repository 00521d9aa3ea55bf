"""Results: fields, text, tables, copies."""

import pickle

import pytest

import superpose
from superpose import Config


@pytest.fixture(scope="module")
def result():
    return Config(vocab=40, dim=24, length=6, samples=700, repeats=2).run()


def test_fields(result):
    assert 0 <= result.accuracy.low <= result.accuracy.mean <= result.accuracy.high <= 1
    assert result.config.vocab == 40 and result["config"]["dim"] == 24
    assert "accuracy" in dir(result) and "accuracy" in list(result)
    assert repr(result.accuracy).startswith("(mean=")
    with pytest.raises(AttributeError, match="no field precision: there are config, repeats"):
        result.precision
    plain = result.to_dict()
    plain["config"]["vocab"] = 3
    assert result.config.vocab == 40


def test_text_equals_the_command_line(result, command):
    printed = command("run", "--vocab", 40, "--dim", 24, "--length", 6, "--samples", 700, "--repeats", 2)
    timing = "Trained in"
    assert str(result).split(timing)[0] == printed.split(timing)[0] and timing in str(result)
    assert repr(result).startswith("<superpose run: Recall of V = ") and "accuracy" in repr(result) and "\n" not in repr(result)


def test_html_has_headings_tables_and_bars(result):
    page = result._repr_html_()
    assert page.startswith("<h4>Recall of V = 40 facts") and ">lock rate</td>" in page
    assert "<h4>Noise in the logits" in page and "background:currentColor" in page
    assert "config" not in page


def test_results_can_be_pickled(result):
    again = pickle.loads(pickle.dumps(result))
    assert again == result and str(again) == str(result) and again._repr_html_() == result._repr_html_()


def test_data_frames(result):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = result.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == 1
    assert frame.accuracy_mean[0] == result.accuracy.mean and frame.config_vocab[0] == 40
    assert isinstance(result.to_polars(), polars.DataFrame)
    assert result.to_polars()["accuracy_mean"][0] == result.accuracy.mean


def test_data_frames_of_tables():
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    plan = superpose.plan(facts=500, length=16, accuracy=0.9, width=1000, activation="he2")
    assert len(plan.to_pandas()) == len(plan.curve) == len(plan.to_polars()) > 2
    found = superpose.sweep(axes={"samples": [100, 5000]}, vocab=20, dim=16, length=4, noise=True)
    assert list(found.to_pandas().samples) == [100, 5000]
    assert found.to_polars()["noise_logits_signal"][0] > 0
    page = found._repr_html_()
    assert "<th>samples</th>" in page and "2 done, 0 failed" in page


def test_small_errors_have_digits():
    values = {"accuracy": {"mean": 0.99997, "low": 1.2e-5, "high": 1.0}}
    result = superpose.Config(vocab=64, dim=64, samples=4096).run()
    shown = superpose._result._restored(type(result), values, str(result), "", None, "run")
    assert repr(shown).endswith("accuracy 0.999970 [1.2e-5, 1.0000]>")
    # Predictions and memories have them, too.
    predicted = superpose.Config(vocab=300, dim=300, length=4, samples=10**6, trigger="keys").predict()
    assert 0 < 1 - predicted.accuracy < 5e-5 and "recall accuracy    0.9999" in str(predicted)
    stored = superpose.memory(facts=400, dim=320, repeats=200)
    assert stored.accuracy.mean > 0.99995 and "1.0000  [0.99995" in str(stored)
