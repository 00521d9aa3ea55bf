"""Long calls: they do not block other threads, can be interrupted, keep finished work and report progress."""

import ast
import importlib.util
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time

import numpy
import pytest
from safetensors.numpy import save_file

import superpose
from superpose import Config


def test_other_threads_run_during_a_call():
    ticks, over = [], threading.Event()

    def tick():
        while not over.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    started = time.perf_counter()
    Config(vocab=256, dim=64, samples=200_000, repeats=2).run(threads=1, progress=False)
    ended = time.perf_counter()
    over.set()
    thread.join()
    inside = [moment for moment in ticks if started < moment < ended]
    # If the call held the interpreter lock, there would be none. The limit is low because the machine may be busy.
    assert len(inside) > 10


CALLS = {
    "run": "superpose.Config(vocab=512, dim=256, samples=20_000_000, repeats=50).run()",
    "model": "superpose.Config(vocab=512, dim=256, samples=3_000_000, regime='exact', eta=1000).model()",
    "sweep": "superpose.sweep(axes={'samples': list(range(50_000, 50_400))}, vocab=128, store=store)",
    "threshold": "superpose.threshold(find='samples', vocab=2000, dim=300, length=64, half_width=0.001, max_runs=100000, store=store)",
    "phase": "superpose.phase(x=('dim', 16, 512), y=('samples', 1000, 200_000), repeats=20, store=store)",
    "bound": "superpose.bound(vocab=1500, dim=300, seeds=20)",
    "train": "superpose.Config(steps=1_000_000).train()",
    "memory": "superpose.memory(facts=500, rule='trained', accuracy=1.0, repeats=100_000)",
    # The first use of NumPy by the engine, with a signal pending.
    "logits": "superpose.Config(vocab=4000, dim=256, samples=100_000, length=16, steps=3).network().logits()",
    "gradients": "superpose.Config(vocab=4000, dim=512, samples=500_000, length=32, steps=3).network().gradients()",
    "capacity": "superpose.memory(find='facts', dim=256, rule='trained', half_width=0.001, max_runs=100_000)",
}


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_ends_a_long_call(name, tmp_path):
    store = tmp_path / "store.sqlite"
    script = f"""
        import time, superpose
        store = {str(store)!r}
        print("begun", flush=True)
        try:
            {CALLS[name]}
            print("finished")
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "begun\n"
    if name in ("sweep", "threshold", "phase"):
        wait_for(lambda: kept(store) > 0)
    else:
        time.sleep(1.0)
    sent = time.perf_counter()
    child.send_signal(signal.SIGINT)
    said = child.stdout.readline()
    took = time.perf_counter() - sent
    child.kill()
    assert said == "interrupted\n", child.stderr.read()
    # The signal is noticed within 50 ms and running work ends within a second; the margin is for a busy machine.
    assert took < 3.0, took
    if name == "sweep":
        before = kept(store)
        assert 0 < before < 400
        told = []
        found = superpose.sweep(
            axes={"samples": [50_000, 50_001]},
            vocab=128,
            store=store,
            progress=lambda done, total, note: told.append(total),
        )
        assert found.done == 2 and told and set(told) == {2}


def kept(store):
    if not store.exists():
        return 0
    try:
        with sqlite3.connect(store) as opened:
            return opened.execute("select count(*) from results").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happens"
        time.sleep(0.02)


def test_progress_is_reported():
    told = []
    Config(vocab=256, dim=64, samples=300_000).run(progress=lambda *event: told.append(event), threads=1)
    done, total, note = told[-1]
    assert note == "repeat 1" and 0.99 * total < done < 1.01 * total
    assert [event[0] for event in told] == sorted(event[0] for event in told) and told[0][0] < done


COUNTED = {
    "run": lambda told: Config(vocab=64, dim=32, samples=50_000, repeats=3).run(progress=told),
    "train": lambda told: Config(vocab=64, dim=32, samples=2000, steps=40, repeats=2).train(progress=told),
    "threshold": lambda told: superpose.threshold(find="samples", vocab=60, dim=40, length=4, half_width=0.2, progress=told),
    "phase": lambda told: superpose.phase(x=("dim", 8, 64), y=("samples", 50, 5000), resolution=6, vocab=40, length=4, progress=told),
    "sweep": lambda told: superpose.sweep(axes={"samples": list(range(100, 140))}, vocab=30, dim=16, progress=told),
    "bound": lambda told: superpose.bound(vocab=200, dim=60, length=8, seeds=3, progress=told),
    "memory": lambda told: superpose.memory(facts=60, dim=24, rule="trained", steps=500, repeats=30, progress=told),
    "capacity": lambda told: superpose.memory(find="facts", dim=24, rule="trained", steps=500, half_width=0.2, progress=told),
}
#: Totals of the calls that know theirs from the start. A search may need less than its limit.
TOTALS = {"train": 80, "sweep": 40, "memory": 30}


@pytest.mark.parametrize("name", COUNTED)
def test_counts_never_fall(name):
    told = []
    COUNTED[name](lambda *event: told.append(event))
    assert told
    for (done, _, note), (next_done, _, next_note) in zip(told, told[1:]):
        assert note != next_note or done <= next_done
    # Where the total is not known, it is 0.
    assert all(0 <= done <= total for done, total, _ in told if total)
    done, total, _ = told[-1]
    if name in ("run", *TOTALS):
        assert done == total == TOTALS.get(name, total) > 0
    if name in ("train", "sweep", "threshold", "phase"):
        # Every step, cell or run.
        assert {event[0] for event in told} >= set(range(1, done + 1))


@pytest.mark.parametrize("keys", [{"regime": "exact"}, {"rounds": 3}, {"early_rule": "newton", "rounds": 2}, {"early_rule": "muon"}, {"lead": 0.1}], ids=repr)
def test_a_run_reads_as_many_samples_as_it_says(keys):
    config, told = Config(vocab=64, dim=32, samples=20_000, **keys), []
    for call in (config.run, config.model):
        call(progress=lambda *event: told.append(event))
        done, total, _ = told[-1]
        assert done == total > 0 and all(event[0] <= event[1] for event in told)


def test_exception_in_progress_function_ends_the_call():
    class Enough(Exception):
        pass

    def listen(done, total, note):
        raise Enough

    with pytest.raises(Enough):
        Config(vocab=512, dim=256, samples=20_000_000, repeats=50).run(progress=listen)


def test_tqdm_bar_is_shown(capsys, monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.setattr("superpose._progress.DELAY", 0.0)
    # Long enough for a bar, which tqdm draws at most ten times a second.
    config = Config(vocab=256, dim=64, samples=3_000_000)
    config.run(progress=True, threads=1)
    shown = capsys.readouterr()
    assert shown.out == "" and "repeat 1" in shown.err and "%" in shown.err
    # Without a terminal there is no bar.
    config.run(threads=1)
    config.run(progress=False, threads=1)
    assert capsys.readouterr() == ("", "")


def test_runs_after_fork_and_in_threads():
    """No thread of the engine outlives its call, so a forked process can use the engine."""
    config = Config(vocab=256, dim=64, samples=100_000)
    expected = config.run().accuracy
    child = os.fork()
    if child == 0:
        os._exit(0 if config.run().accuracy == expected else 1)
    assert os.waitpid(child, 0)[1] == 0
    found = []
    threads = [threading.Thread(target=lambda: found.append(config.run().accuracy)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_results_do_not_depend_on_threads():
    config = Config(vocab=128, dim=48, samples=50_000)
    one, four = (config.run(threads=threads).to_dict() for threads in (1, 4))
    timings = {"train_seconds", "data_seconds", "evaluate_seconds"}
    assert {k: v for k, v in one.items() if k not in timings} == {k: v for k, v in four.items() if k not in timings}
    assert (config.model(threads=1).m2 == config.model(threads=3).m2).all()


def test_docstring_examples():
    import doctest

    import superpose._config, superpose._experiments, superpose._model, superpose._result, superpose._training  # noqa: E401

    modules = (superpose._config, superpose._experiments, superpose._model, superpose._result, superpose._training)
    for module in (superpose, *modules):
        failed, tried = doctest.testmod(module)
        assert tried > 0 and failed == 0, module.__name__


def told(block, names):
    """Yields the value of each line that ends with a literal as its comment, and that literal."""
    for line in block.splitlines():
        expression, _, comment = line.partition("  #")
        try:
            said = ast.literal_eval(comment.split(":")[0].strip())
        except (SyntaxError, ValueError):
            continue
        yield eval(expression, names), said


def test_examples_in_the_readme_and_the_book(tmp_path, monkeypatch):
    docs = pathlib.Path(__file__).resolve().parents[2] / "docs"
    pages = ["../README.md", "python.md", "how-to/results.md", "how-to/embeddings.md", "how-to/noise.md"]
    if importlib.util.find_spec("torch"):
        pages.append("how-to/pytorch.md")
    monkeypatch.chdir(tmp_path)
    # In place of the weights of a language model.
    words = numpy.random.default_rng(0).standard_normal((2500, 8)).astype("float32")
    save_file({"embeddings.word_embeddings.weight": words}, "model.safetensors")
    worth = 0
    for page in pages:
        blocks = re.findall(r"```python\n(.*?)```", (docs / page).read_text(encoding="utf-8"), re.DOTALL)
        assert blocks, page
        names = {}
        for block in blocks:
            exec(block, names)
            for value, said in told(block, names):
                assert value == pytest.approx(said, abs=5e-4), block
                worth += 1
        if page == "python.md":
            assert names["training"].steps_taken == 200
            assert superpose.Config().train(checkpoint="run.safetensors").trajectory == names["training"].trajectory
    assert worth >= 6


def test_package_is_typed():
    assert (pathlib.Path(superpose.__file__).parent / "py.typed").exists()
    assert superpose.__version__.count(".") == 2
