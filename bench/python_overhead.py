"""Measures how much longer a call from Python takes than the engine itself, on a tiny configuration.

    python bench/python_overhead.py

Runs timed inside the engine alternate with calls from Python. The difference of their medians in each batch is the overhead: checking
arguments, releasing and acquiring the interpreter lock, and creating a result, with and without reading it.

Then the cost of a hook that does nothing is compared with a training step at V = 512, d = 128, N = 8,192, on one thread and in processor time.
"""

import statistics
import time

import superpose
from superpose import _engine

BATCHES, RUNS = 200, 50


def timed(call):
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def main():
    config = superpose.Config(vocab=8, dim=8, length=2, samples=16, test_samples=2)
    calls = {
        "Config.run()": config.run,
        "Config.run() and .accuracy.mean": lambda: config.run().accuracy.mean,
        "Config(...) alone": lambda: superpose.Config(vocab=8, dim=8, length=2, samples=16, test_samples=2),
    }
    engine, overheads = [], {name: [] for name in calls}
    for _ in range(BATCHES):
        alone = statistics.median(_engine.time_runs(config, RUNS))
        engine.append(alone)
        for name, call in calls.items():
            overheads[name].append(timed(call) - (alone if "run" in name else 0.0))
    print(f"engine alone: {1e6 * statistics.median(engine):.1f} us a run")
    for name, values in overheads.items():
        low, middle, high = statistics.quantiles(values, n=4)
        what = "above the engine" if "run" in name else "in all"
        print(f"{name}: {1e6 * middle:.1f} us {what} (quartiles {1e6 * low:.1f} to {1e6 * high:.1f})")


def hook_share(batches=7):
    """The share of a step that a hook takes which does nothing. Its cost does not depend on the number of samples, so it is measured with few."""
    base = dict(vocab=512, dim=128, test_samples=8, every=1000)

    def seconds(samples, steps, hook):
        started = time.process_time()
        superpose.Config(samples=samples, steps=steps, **base).train(hook=hook, threads=1)
        return time.process_time() - started

    # The difference of two runs leaves the steps alone.
    def step(samples, steps, hook):
        return (seconds(samples, steps + 1, hook) - seconds(samples, 1, hook)) / steps

    cost = statistics.median(step(8, 300, lambda _: None) - step(8, 300, None) for _ in range(batches))
    plain = statistics.median(step(8192, 4, None) for _ in range(batches))
    print(f"a training step: {1e3 * plain:.1f} ms; a hook that does nothing: {1e6 * cost:.0f} us ({100 * cost / plain:.3f}%)")


if __name__ == "__main__":
    main()
    hook_share()
