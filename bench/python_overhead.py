"""Measures what calls from Python and hooks cost, and fails if it is too much.

    python bench/python_overhead.py

Runs of a tiny configuration timed inside the engine alternate with calls from Python. The difference of their medians in each batch is the
overhead: checking arguments, releasing and acquiring the interpreter lock, and creating a result, with and without reading it. The limit is
10 microseconds.

Then the cost of a hook that does nothing is compared with a training step at V = 512, d = 128, N = 8,192, on one thread and in processor time.
The limit is 5% of a step. It is measured twice: on steps with few samples, where the hook's cost is not lost in noise and is the same, because the
hook gets the parameters and gradients, not the samples; and as the difference of steps with and without a hook at that size. This difference
includes the cost of computing on the caller's thread and the noise of the machine.
"""

import statistics
import sys
import time

import superpose
from superpose import _engine

BATCHES, RUNS = 200, 50

#: Microseconds that a call may take longer than the engine, and the share of a step that a hook may take.
MAX_CALL, MAX_HOOK = 10.0, 0.05


def timed(call):
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def call_overhead():
    """Microseconds that ``Config.run()`` takes longer than the engine."""
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
    return 1e6 * statistics.median(overheads["Config.run()"])


def seconds_of_a_step(samples, steps, hook):
    """Processor time of a step: the difference of two runs leaves the steps alone."""

    def seconds(count):
        config = superpose.Config(vocab=512, dim=128, samples=samples, steps=count, test_samples=8, every=1000)
        started = time.process_time()
        config.train(hook=hook, threads=1)
        return time.process_time() - started

    return (seconds(steps + 1) - seconds(1)) / steps


def nothing(step):
    return None


def hook_share():
    """The share of a step that a hook takes which does nothing: from its cost alone, and from the difference at full size."""
    cost = statistics.median(seconds_of_a_step(8, 300, nothing) - seconds_of_a_step(8, 300, None) for _ in range(7))
    with_hook, without = [], []
    for i in range(20):
        # Which of the two comes first alternates.
        for hook in (nothing, None) if i % 2 else (None, nothing):
            (without if hook is None else with_hook).append(seconds_of_a_step(8192, 10, hook))
    plain = statistics.median(without)
    differences = [a / b - 1 for a, b in zip(with_hook, without)]
    low, middle, high = statistics.quantiles(differences, n=4)
    print(f"a training step: {1e3 * plain:.1f} ms; a hook that does nothing: {1e6 * cost:.0f} us ({100 * cost / plain:.2f}%)")
    print(f"steps with it: {1e3 * statistics.median(with_hook):.1f} ms, {100 * middle:+.1f}% (quartiles {100 * low:+.1f}% to {100 * high:+.1f}%)")
    return cost / plain, middle


def main():
    overhead, shares = call_overhead(), hook_share()
    failures = []
    if overhead > MAX_CALL:
        failures.append(f"a call takes {overhead:.1f} us longer than the engine: must be at most {MAX_CALL:.0f} us")
    if max(shares) > MAX_HOOK:
        failures.append(f"a hook that does nothing takes {100 * max(shares):.1f}% of a step: must be at most {100 * MAX_HOOK:.0f}%")
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
