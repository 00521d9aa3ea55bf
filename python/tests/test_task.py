"""Training and test sequences of the caller: arrays, tasks, labels of any kind."""

import json
import pickle
import re

import numpy
import pytest

import superpose
from superpose import Config, Task

VOCAB, LENGTH, TRAIN, TEST = 20, 4, 2000, 500


def data(count, seed):
    generator = numpy.random.default_rng(seed)
    tokens, position = generator.integers(0, VOCAB, (count, LENGTH)), generator.integers(0, LENGTH, count)
    return tokens, position, tokens[numpy.arange(count), position]


def by_token(count, seed):
    tokens, position, informative = data(count, seed)
    return tokens, position, (3 * informative + 1) % VOCAB


def by_pair(count, seed):
    tokens, position, informative = data(count, seed)
    following = tokens[numpy.arange(count), (position + 1) % LENGTH]
    return tokens, position, (informative + following) % VOCAB


def at_random(count, seed):
    tokens, position, _ = data(count, seed)
    return tokens, position, numpy.random.default_rng(seed + 9).integers(0, VOCAB, count)


CONFIG = Config(vocab=VOCAB, dim=24, trigger="keys", precision="f64")


@pytest.mark.parametrize("rule", [by_token, by_pair, at_random])
def test_accuracy_is_that_of_the_given_test_data(rule):
    task = Task(rule(TRAIN, 0), rule(TEST, 1))
    result, model = CONFIG.run(task=task), CONFIG.model(task=task)
    right = model.logits(task.test.tokens, task.test.position).argmax(1) == task.test.labels
    assert result.accuracy.mean == right.mean()
    assert (result.config.samples, result.config.test_samples, result.config.length) == (TRAIN, TEST, LENGTH)
    assert result.test == "given" and "Test: given sequences." in str(result)
    # With attention on the informative token the memory is a mean of outer products over the samples.
    informative = task.train.tokens[numpy.arange(TRAIN), task.train.position]
    outputs = (model.z_out - model.z_out.mean(0))[task.train.labels]
    memory = outputs.T @ model.z_in[informative] / TRAIN
    asked = task.test.tokens[numpy.arange(TEST), task.test.position]
    placed = (model.z_in[asked] @ memory.T @ model.z_out.T).argmax(1) == task.test.labels
    assert result.memory_accuracy.mean == placed.mean()
    has_budget = result.noise.logits.signal is not None
    assert has_budget == (rule is by_token)
    assert ("more than the informative token" in str(result)) == (rule is not by_token)
    # Labels of which nothing can be learned are guessed.
    assert rule is not at_random or result.accuracy.mean < 3 / VOCAB


def test_labels_of_a_task_may_be_fewer_than_tokens():
    def grouped(count, seed):
        tokens, position, informative = data(count, seed)
        return tokens, position, (informative * 3 + 1) % 8

    config, task = CONFIG.replace(labels="mod:8"), Task(grouped(TRAIN, 0), grouped(TEST, 1))
    result, model = config.run(task=task), config.model(task=task)
    logits = model.logits(task.test.tokens, task.test.position)
    assert logits.shape == (TEST, 8) and result.accuracy.mean == (logits.argmax(1) == task.test.labels).mean() > 0.5
    with pytest.raises(ValueError, match="tensor labels holds .* below"):
        config.run(task=Task(by_token(TRAIN, 0), by_token(TEST, 1)))


def test_trained_network_is_tested_on_the_given_data():
    task = Task(by_pair(TRAIN, 0), by_pair(TEST, 1))
    training = CONFIG.replace(steps=20, rate=0.05, heads=2).train(task=task)
    right = training.logits(task.test.tokens, task.test.position).argmax(1) == task.test.labels
    assert training.outcome.accuracy.mean == right.mean()
    assert training.test == "given" and numpy.array_equal(training.data.labels, task.train.labels)
    network = CONFIG.replace(steps=20, rate=0.05, heads=2).network(task=task)
    assert numpy.array_equal(network.data.tokens, task.train.tokens)


def test_contradictory_labels_need_test_data(tmp_path):
    from safetensors.numpy import save_file

    tokens, position, labels = by_token(TRAIN, 0)
    labels = labels.copy()
    labels[7] = (labels[7] + 1) % VOCAB
    arrays = dict(tokens=tokens, position=position, labels=labels)
    refusal = r"tensor labels holds \d+ at index 7: token \d+ has the label \d+ in other samples.*test_tokens"
    trained = CONFIG.replace(steps=2)
    for call in (CONFIG.run, CONFIG.model, trained.train, trained.network, CONFIG.task):
        with pytest.raises(ValueError, match=refusal):
            call(**arrays)
    # Searches and sweeps take them in a file.
    save_file(arrays, tmp_path / "data.safetensors")
    keys = dict(import_=tmp_path / "data.safetensors")
    for call in (
        CONFIG.replace(**keys).run,
        lambda: superpose.threshold(CONFIG.replace(dim=None), find="dim", **keys),
        lambda: superpose.phase(CONFIG.replace(dim=None), x=("dim", 8, 16), y=("width", 20, 40), **keys),
    ):
        with pytest.raises(ValueError, match=refusal):
            call()
    for row in superpose.sweep(CONFIG, axes={"dim": [8, 16]}, **keys).to_rows():
        assert row["status"] == "failed" and re.search(refusal, row["reason"])
    test = dict(zip(("test_tokens", "test_position", "test_labels"), by_token(TEST, 1)))
    assert CONFIG.run(**arrays, **test).accuracy.mean > 0.9
    del test["test_labels"]
    with pytest.raises(ValueError, match="give test_tokens, test_position and test_labels"):
        CONFIG.run(**arrays, **test)


def test_sequences_have_tokens_and_positions():
    tokens, position, labels = by_token(TRAIN, 0)
    test_tokens, test_position, _ = by_token(TEST, 1)
    train = dict(tokens=tokens, position=position, labels=labels)
    for arrays, missing in (
        (dict(tokens=tokens), "position"),
        (dict(position=position), "tokens"),
        (dict(test_tokens=test_tokens), "test_position"),
        (dict(**train, test_tokens=test_tokens), "test_position"),
        (dict(**train, test_position=test_position), "test_tokens"),
    ):
        with pytest.raises(ValueError, match=rf"tensor {missing} \(needed with "):
            CONFIG.run(**arrays)


def test_unknown_labels_are_refused():
    tokens, position, labels = by_token(TRAIN, 0)
    train = dict(tokens=tokens % 10, position=position, labels=labels * 0)
    test = dict(test_tokens=tokens[:50] % 10 + 10, test_position=position[:50])
    with pytest.raises(ValueError, match=r"test_tokens .* holds 1\d at index 0: no training sample tells its label; give test_labels"):
        CONFIG.run(**train, **test)
    assert CONFIG.run(**train, **test, test_labels=labels[:50]).accuracy.mean < 0.5


def test_tokens_that_training_lacks_have_the_labels_of_the_test():
    config = Config(vocab=64, dim=32, samples=64, trigger="keys")
    task = config.task()
    informative = task.train.tokens[numpy.arange(64), task.train.position]
    assert len(set(informative)) < 64
    assert config.run(task=task).noise.logits.signal == pytest.approx(config.run().noise.logits.signal)


def test_drawn_test_of_given_training_data_is_announced():
    result = CONFIG.run(**dict(zip(("tokens", "position", "labels"), by_token(TRAIN, 0))))
    assert result.test == "drawn_for_given_training"
    assert "give test_tokens, test_position and test_labels to test on your own" in str(result)
    assert "Test:" not in str(CONFIG.run())


def test_test_sequences_without_labels_have_those_of_training():
    tokens, position, labels = by_token(TEST, 1)
    train = dict(zip(("tokens", "position", "labels"), by_token(TRAIN, 0)))
    alone = CONFIG.run(**train, test_tokens=tokens, test_position=position)
    assert alone.accuracy == CONFIG.run(**train, test_tokens=tokens, test_position=position, test_labels=labels).accuracy


def test_task_of_a_configuration_gives_the_same_run(tmp_path, command):
    config = Config(vocab=30, dim=16, length=5, samples=400, test_samples=200)
    task, drawn = config.task(), config.run()
    assert (len(task.train.labels), len(task.test.labels), task.length) == (400, 200, 5)
    for copy in (task, pickle.loads(pickle.dumps(task))):
        assert copy == task and config.run(task=copy).accuracy == drawn.accuracy
    task.save(tmp_path / "task.safetensors")
    loaded = Task.load(tmp_path / "task.safetensors")
    assert loaded == task and not loaded.train.tokens.flags.writeable
    there = json.loads(command("run", "--vocab", 30, "--dim", 16, "--import", tmp_path / "task.safetensors", "--json"))
    assert there["accuracy"]["mean"] == drawn.accuracy.mean and there["test"] == "given"


def test_thresholds_and_sweeps_take_tasks():
    task = Task(by_token(TRAIN, 0), by_token(TEST, 1))
    found = superpose.sweep(axes={"dim": [8, 16]}, task=task, vocab=VOCAB)
    for row in found.to_rows():
        assert row["accuracy"] == Config(vocab=VOCAB, dim=row["dim"]).run(task=task).accuracy.mean
    assert superpose.threshold(find="dim", task=task, vocab=VOCAB, half_width=0.3, trigger="keys").observed.estimate > 1
    with pytest.raises(ValueError, match="find = samples: the rows of tokens"):
        superpose.threshold(find="samples", task=task, vocab=VOCAB)


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda: Task(by_token(9, 0)[:2], by_token(9, 0)), r"train = \(2 values\): must be three arrays"),
        (lambda: Task(by_token(9, 0), "abc"), "test = abc: must be three arrays"),
        (lambda: Task((*by_token(9, 0)[:2], [0.5] * 9), by_token(9, 0)), "train.labels holds float64: must hold whole numbers"),
        (lambda: Task((*by_token(9, 0)[:2], [0] * 8), by_token(9, 0)), r"train has arrays of shape \(9, 4\), \(9,\), \(8,\)"),
        (lambda: Task((by_token(9, 0)[0], [4] * 9, [0] * 9), by_token(9, 0)), "train.position has 4: must be below the length 4"),
        (lambda: Task((by_token(9, 0)[0], [-1] * 9, [0] * 9), by_token(9, 0)), "train.position holds -1"),
        (lambda: Task(by_token(9, 0), (numpy.zeros((9, 3), int), [0] * 9, [0] * 9)), r"test = tokens of shape \(9, 3\): must be sequences of length 4"),
        (lambda: CONFIG.run(task=3), "task = 3: must be a superpose.Task"),
        (lambda: CONFIG.run(task=Task(by_token(9, 0), by_token(9, 0)), labels=[0] * 9), "labels given together with a task"),
        (lambda: Config(vocab=10).run(task=Task(by_token(99, 0), by_token(99, 0))), "tensor tokens holds 1[0-9] at index"),
        (lambda: CONFIG.run(test_labels=[0] * 9), "test_tokens .needed with test_labels"),
        (lambda: CONFIG.replace(test_samples=7).run(task=Task(by_token(9, 0), by_token(9, 0))), "test_samples was given as 7"),
    ],
)
def test_wrong_tasks_are_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
