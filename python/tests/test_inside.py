"""Looking inside and stepping in: hooks, own losses, pure steps, activations, gradients, copies."""

import copy
import pickle

import numpy
import pytest

import superpose
from superpose import STOP, Config

SMALL = {"vocab": 40, "dim": 16, "length": 6, "samples": 800, "test_samples": 300, "steps": 30, "every": 10, "precision": "f64"}


def close(ours, theirs):
    for name, array in theirs.items():
        size = max(1.0, numpy.abs(array).max())
        assert numpy.abs(ours[name] - array).max() <= 1e-12 * size, name


# Hooks


def momentum(kept=0.5):
    directions = {}

    def hook(step):
        for name, gradient in step.gradients.items():
            directions[name] = kept * directions.get(name, 0) + gradient
        return {name: array - step.rate * directions[name] for name, array in step.parameters.items()}

    return hook


def adam(first=0.9, second=0.999, epsilon=1e-8):
    means = {}

    def hook(step):
        found = {}
        for name, array in step.parameters.items():
            m, v = means.get(name, (0.0, 0.0))
            g = step.gradients[name]
            m, v = means[name] = first * m + (1 - first) * g, second * v + (1 - second) * g * g
            count = step.number + 1
            found[name] = array - step.rate / (1 - first**count) * m / (numpy.sqrt(v) / numpy.sqrt(1 - second**count) + epsilon)
        return found

    return hook


@pytest.mark.parametrize(
    ("hook", "rule"),
    [(momentum, {"optimiser": "sgd", "momentum": 0.5, "rate": 0.5}), (adam, {"optimiser": "adam", "rate": 0.02})],
    ids=["momentum", "adam"],
)
@pytest.mark.parametrize(
    "keys",
    [{}, {"heads": 2, "factored": True, "train_embeddings": True}, {"width": 24, "train_first_layer": True, "batch": 100, "schedule": "cosine"}],
    ids=["plain", "heads", "mlp"],
)
def test_own_optimiser_equals_the_same_rule(hook, rule, keys):
    ours = Config(**SMALL, **keys, rate=rule["rate"], optimiser="muon").train(hook=hook())
    theirs = Config(**SMALL, **keys, **rule).train()
    close(ours.tensors(), theirs.tensors())
    assert ours.outcome.accuracy == theirs.outcome.accuracy


def test_hook_that_returns_none_changes_nothing():
    seen = []
    training = Config(**SMALL).train(hook=lambda step: seen.append(step))
    plain = Config(**SMALL).train()
    assert training.trajectory == plain.trajectory and training.outcome.accuracy == plain.outcome.accuracy
    # A result says that a function took part, also where it changed nothing.
    assert (training.functions, plain.functions) == (["hook"], []) and training != plain
    for text in (repr(training), str(training), training.to_json()):
        assert "hook" in text
    assert [step.number for step in seen] == list(range(30)) and seen[0].parameters.keys() == {"m", "w"}
    assert not seen[0].parameters["m"].any() and seen[-1].parameters["m"].any(), "what was kept stays as it was"
    for arrays in (seen[0].gradients, seen[0].parameters):
        with pytest.raises(ValueError, match="read-only"):
            arrays["m"][0, 0] = 1
    with pytest.raises(TypeError, match="does not support item assignment"):
        seen[0].gradients["m"] = 0
    with pytest.raises(ValueError, match="what the loss returned = None: must be the loss, a number, and its derivatives"):
        Config(**SMALL).train(loss=lambda logits, labels: None)
    assert "Step(number=0" in repr(seen[0])


def test_hook_replaces_some_arrays():
    frozen = Config(**SMALL).train(hook=lambda step: {"w": step.parameters["w"]})
    assert not frozen.tensors()["w"].any() and frozen.tensors()["m"].any()


def test_hook_stops_the_run():
    training = Config(**SMALL).train(hook=lambda step: STOP if step.number == 7 else None)
    assert training.steps_taken == 7 and training.stopped_early
    assert numpy.array_equal(training.tensors()["m"], Config(**{**SMALL, "steps": 7}).train().tensors()["m"])
    assert repr(STOP) == "superpose.STOP"


@pytest.mark.parametrize(
    ("hook", "sentence"),
    [
        (lambda step: {"nope": step.parameters["m"]}, "the hook returned nope: must be a trained tensor: m, w"),
        (lambda step: {"m": numpy.zeros((2, 3))}, r"the hook returned m of shape \[2, 3\]: must be \[16, 16\]"),
        (lambda step: 5, "what the hook returned = 5: must be None, superpose.STOP, or a dictionary"),
        (lambda step: {"m": numpy.full((16, 16), numpy.nan)}, "m"),
        (3, "hook = 3: must be a function of a Step"),
    ],
)
def test_wrong_hooks_are_refused(hook, sentence):
    with pytest.raises(ValueError, match=sentence):
        Config(**SMALL).train(hook=hook)


def test_exception_of_a_hook_ends_the_run():
    def hook(step):
        if step.number == 3:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        Config(**SMALL).train(hook=hook)
    told = []
    Config(**SMALL).train(hook=lambda step: None, progress=lambda done, total, note: told.append((done, total)))
    assert [*dict.fromkeys(told)] == [(done, 30) for done in range(31)], "counts at every step"


def test_hooks_are_not_stored_and_are_given_again(tmp_path):
    with pytest.raises(ValueError, match="store is given together with a function"):
        Config(**SMALL).train(hook=momentum(), store=tmp_path / "a.sqlite")
    path, rule = tmp_path / "a.safetensors", {"optimiser": "sgd", "rate": 0.5}

    def sgd(step):
        return {name: array - step.rate * step.gradients[name] for name, array in step.parameters.items()}

    Config(**SMALL, **rule).train(checkpoint=path, hook=lambda step: STOP if step.number == 10 else sgd(step))
    for store in (None, tmp_path / "a.sqlite"):
        with pytest.raises(ValueError, match="made with a hook of the caller, which it does not hold: give the hook again"):
            superpose.Config().train(checkpoint=path, store=store)
    assert superpose.Config().train(checkpoint=path, hook=sgd).steps_taken == 30
    close(superpose.Config().train(checkpoint=path, hook=sgd).tensors(), Config(**SMALL, **rule).train().tensors())


def test_losses_are_not_stored_and_are_given_again(tmp_path):
    with pytest.raises(ValueError, match="store is given together with a function"):
        Config(**SMALL).train(loss=cross_entropy, store=tmp_path / "a.sqlite")
    path = tmp_path / "a.safetensors"
    trained = Config(**SMALL).train(checkpoint=path, loss=cross_entropy)
    for keys in ({}, {"hook": lambda step: None}):
        with pytest.raises(ValueError, match="made with a loss of the caller"):
            superpose.Config().train(checkpoint=path, **keys)
    assert superpose.Config().train(checkpoint=path, loss=cross_entropy).outcome.accuracy == trained.outcome.accuracy


# Losses


def cross_entropy(logits, labels):
    shifted = logits - logits.max(1, keepdims=True)
    shares = numpy.exp(shifted) / numpy.exp(shifted).sum(1, keepdims=True)
    rows = numpy.arange(len(labels))
    loss = -numpy.log(shares[rows, labels]).mean()
    shares[rows, labels] -= 1
    return loss, shares / len(labels)


@pytest.mark.parametrize("keys", [{}, {"width": 24, "batch": 100, "train_embeddings": True, "train_first_layer": True}], ids=["plain", "mlp"])
def test_own_cross_entropy_equals_the_engine(keys):
    ours, theirs = (Config(**SMALL, **keys).train(loss=loss) for loss in (cross_entropy, None))
    close(ours.tensors(), theirs.tensors())
    numpy.testing.assert_allclose(ours.curves()["loss"], theirs.curves()["loss"], rtol=1e-12)


def test_other_losses_train():
    def squares(logits, labels):
        error = logits - numpy.eye(logits.shape[1])[labels]
        return (error**2).sum(1).mean(), 2 * error / len(labels)

    training = Config(**SMALL, rate=0.03).train(loss=squares)
    loss = training.curves()["loss"]
    assert loss[-1] < 0.9 * loss[0] and abs(loss[0] - 1) < 1e-12


@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        (lambda logits, labels: (0.0, logits[:, :3]), r"loss returned derivatives of shape \[800, 3\]: must be \[800, 40\]"),
        (lambda logits, labels: (0.0, "x"), "tensor dlogits is of type str"),
        (3, "loss = 3: must be a function of logits and labels"),
    ],
)
def test_wrong_losses_are_refused(loss, sentence):
    with pytest.raises(ValueError, match=sentence):
        Config(**SMALL).train(loss=loss)


# Networks


@pytest.mark.parametrize("keys", [{}, {"heads": 3, "optimiser": "sgd", "rate": 0.5}, {"warm_start": True, "width": 12}])
def test_pure_steps_equal_the_loop(keys):
    config = Config(**{**SMALL, "steps": 5}, **keys)
    start = network = config.network()
    before = {name: numpy.array(array) for name, array in start.tensors().items()}
    for _ in range(5):
        network = network.step()
    theirs = config.train()
    for name, array in start.tensors().items():
        assert numpy.array_equal(array, before[name]), name
    assert network.steps_taken == 5 and start.steps_taken == 0
    for name, array in theirs.tensors().items():
        assert numpy.array_equal(network.tensors()[name], array), name
    for other in (pickle.loads(pickle.dumps(network)), pickle.loads(pickle.dumps(theirs)).model, copy.deepcopy(network)):
        assert numpy.array_equal(other.step().tensors()["m"], network.step().tensors()["m"])


def test_minibatch_steps_and_gradients():
    config = Config(**SMALL, train_embeddings=True)
    network = config.network().step()
    batch = [array[:50] for array in network.data]
    assert not numpy.array_equal(network.step(*batch).tensors()["m"], network.step().tensors()["m"])
    loss, gradients = network.gradients(*batch, by=["m", "w", "z_in", "z_out", "z_trig", "z_eos"])
    tensors, generator = network.tensors(), numpy.random.default_rng(0)
    for name, gradient in gradients.items():
        direction, size = generator.standard_normal(gradient.shape), 1e-5
        ends = [network.replace(**{name: tensors[name] + sign * size * direction}).gradients(*batch).loss for sign in (1, -1)]
        assert abs((ends[0] - ends[1]) / (2 * size) - (gradient * direction).sum()) < 1e-7, name
    assert abs(loss - cross_entropy(network.logits(*batch[:2]), batch[2])[0]) < 1e-12
    with pytest.raises(ValueError, match="tensor nope: must be one of"):
        network.gradients(by=["nope"])
    with pytest.raises(ValueError, match="belong together"):
        network.gradients(batch[0], batch[1])
    with pytest.raises(ValueError, match="must have 6 columns"):
        network.logits(batch[0][:, :3], batch[1] * 0)
    with pytest.raises(ValueError, match="every entry must be below the number of labels = 40"):
        network.gradients(batch[0], batch[1], batch[2] + 40)


def test_cache_names_the_activations():
    training = Config(**SMALL, heads=2, width=20).train()
    network = training.model
    cache = network.cache(*[array[:10] for array in network.data[:2]])
    shapes = {name: array.shape for name, array in cache.items()}
    assert shapes == {
        "scores": (10, 2, 6), "attention": (10, 2, 6), "head": (10, 2, 16), "before": (10, 2, 20), "features": (10, 2, 20),
        "output": (10, 16), "logits": (10, 40),
    }
    weights = numpy.exp(cache["scores"]) / numpy.exp(cache["scores"]).sum(-1, keepdims=True)
    numpy.testing.assert_allclose(cache["attention"], weights, rtol=1e-12)
    numpy.testing.assert_allclose(cache["logits"], cache["output"] @ network.tensors()["z_out"].T, atol=1e-12)
    numpy.testing.assert_allclose(cache["output"], cache["features"].reshape(10, -1) @ network.tensors()["m"].T, atol=1e-12)
    assert "before" not in Config(**SMALL).network().cache()
    with pytest.raises(ValueError, match="activation nope: must be one of scores, attention"):
        network.cache(names=["nope"])
    recalled = (training.logits().argmax(1) == training.data.labels).mean()
    assert recalled > 0.9 * training.outcome.accuracy.mean and training.attention().shape == (800, 2, 6)
    assert "heads=2, steps_taken=30" in repr(network) and network.trained == ("m", "w") and network.config.vocab == 40


@pytest.mark.parametrize("heads", [1, 3])
def test_attention_and_logits_are_those_of_the_cache(heads):
    training = Config(**SMALL, heads=heads).train()
    tokens, position = training.data.tokens[:20], training.data.position[:20]
    for source in (training, training.model):
        cache = training.model.cache(tokens, position)
        assert numpy.array_equal(source.attention(tokens, position), cache["attention"])
        assert numpy.array_equal(source.logits(tokens, position), cache["logits"])
        assert numpy.array_equal(source.attention(), training.model.cache()["attention"])
    # Attention weights from the arrays: a softmax of the scores of the keys, of which the informative one has the trigger.
    tensors = training.tensors()
    keys = tensors["z_in"][tokens]
    keys[numpy.arange(20), position] += tensors["z_trig"]
    for head, w in enumerate(numpy.split(tensors["w"], heads)):
        scores = numpy.exp(keys @ w @ tensors["z_eos"])
        weights = scores / scores.sum(1, keepdims=True)
        numpy.testing.assert_allclose(cache["attention"][:, head], weights, rtol=1e-10)


def test_activations_must_fit_into_memory():
    network = Config(vocab=50_000, dim=8, length=2, samples=2_000_000, steps=1).network()
    for call in (network.logits, network.cache):
        with pytest.raises(ValueError, match=r"this needs about .* of memory, and .* are available"):
            call()


def test_network_needs_training_settings():
    with pytest.raises(ValueError, match="steps = 0: training needs at least 1"):
        Config(vocab=20, dim=8).network()


# Copies


def test_models_are_pickled_and_copied():
    rows = numpy.random.default_rng(0).standard_normal((30, 12))
    for model in (Config(vocab=30, dim=12, samples=300).model(), Config(samples=300).model(z_in=rows)):
        again = pickle.loads(pickle.dumps(model))
        assert all(numpy.array_equal(again.tensors()[name], array) for name, array in model.tensors().items())
        assert again.config == model.config and copy.deepcopy(model) is model


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_dlpack_hands_out_copies(library):
    consumer = pytest.importorskip(library)
    model, training = Config(vocab=30, dim=12, samples=300).model(), Config(**SMALL).train()
    task, network = Config(vocab=30, samples=300).task(), Config(vocab=30, samples=300, steps=1).network()
    data = (*task.train, *task.test, *network.data, *training.data, model.tokens)
    for array in (model.m2, model.m2[:3], training.tensors()["m"], *data):
        before, found = numpy.array(array), consumer.from_dlpack(array)
        assert not numpy.shares_memory(numpy.asarray(found), array)
        if library == "torch":
            found.zero_()
        assert numpy.array_equal(array, before) and before.any()


# Repeats


def test_repeats_have_values_for_each_seed():
    result = Config(vocab=40, dim=24, samples=500, repeats=3).run()
    alone = [Config(vocab=40, dim=24, samples=500, seed=seed).run() for seed in range(3)]
    assert result.by_seed.accuracy == [one.accuracy.mean for one in alone]
    assert numpy.isclose(numpy.mean(result.by_seed.lock_rate), result.lock_rate.mean)
    training = Config(**SMALL, repeats=3).train()
    assert training.by_seed.accuracy == [Config(**SMALL, seed=seed).train().outcome.accuracy.mean for seed in range(3)]
    accuracy = training.outcome.accuracy
    assert accuracy.low < accuracy.mean < accuracy.high and training.repeats == 3


@pytest.mark.parametrize("keys", [{}, {"width": 40}, {"trigger": "keys", "zipf": 1.0}, {"noise_vocab": 9}])
def test_noise_parts_add_up_to_the_logits(keys):
    config = Config(vocab=30, dim=16, length=4, samples=500, precision="f64", **keys)
    model = config.model()
    for given in ((), (model.tokens[:70], model.position[:70])):
        parts = model.noise_parts(*given)
        assert list(parts)[0] == "signal" and all(part.shape == model.logits(*given).shape for part in parts.values())
        assert numpy.allclose(sum(parts.values()), model.logits(*given), atol=1e-12)
    # Mean squares over test sequences are the budget of a run.
    task, budget = config.task(), config.run().noise.logits
    parts = model.noise_parts(task.test.tokens[:256], task.test.position[:256])
    right = numpy.arange(256), task.test.labels[:256]
    assert numpy.isclose((parts["signal"][right] ** 2).mean(), budget.signal)
    wrong = parts["interference"].copy()
    wrong[right] = 0
    assert numpy.isclose((wrong**2).sum() / 256 / 29, budget.interference)


def test_noise_parts_need_sums_over_facts():
    with pytest.raises(ValueError, match="regime = exact: the parts of a logit are defined in the infinitesimal regime"):
        Config(vocab=30, dim=16, samples=500, regime="exact").model().noise_parts()
    with pytest.raises(ValueError, match="early_rule = sign: the parts of a logit are defined for gradient steps"):
        Config(vocab=30, dim=16, samples=500, early_rule="sign").model().noise_parts()
