"""Measures how much longer a call from Python takes than the engine itself, on a tiny configuration.

    python bench/python_overhead.py

Runs timed inside the engine alternate with calls from Python. The difference of their medians in each batch is the overhead: checking
arguments, releasing and acquiring the interpreter lock, and creating a result, with and without reading it.
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


if __name__ == "__main__":
    main()
