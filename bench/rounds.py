"""Compare the predicted fixed point of rounds with runs (docs/theory/rounds.md).

    python bench/rounds.py target/release/superpose [MODELS [SEEDS]]

draws models with uniform tokens and the trigger in keys for which `superpose predict --rounds 2` prints an unstable fixed point. It runs one and two rounds of each on SEEDS seeds and prints the predicted
fixed point beside the first lock rate at which the second is as likely to be higher as to be lower, with its standard error and the share
of runs that move in the predicted direction. Needs NumPy.
"""

import csv
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy

# First lock rates that enter the fit: close to 0 and 1 lie the stable fixed points.
LOW, HIGH = 0.04, 0.9

# Predicted mean lock rate of the first round that models aim at; twice as much is accepted. Fixed points are mostly between 0.1 and 0.25, so
# that runs lie on both sides.
TYPICAL = 0.17


def predict(superpose, sizes, rounds):
    """Predicted lock rate of the last round, and the condition with the fixed point of rounds if there is one."""
    flags = [f"--{name}={size}" for name, size in zip(("vocab", "dim", "length", "samples"), sizes)]
    command = [superpose, "predict", *flags, "--trigger=keys", f"--rounds={rounds}", "--json"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    of_rounds = [condition for condition in found["conditions"] if condition["subject"] == "rounds"]
    return found["lock_rate"], of_rounds[0] if of_rounds else None


def models(superpose):
    """Random sizes that have a fixed point, at the number of samples with the typical first lock rate."""
    random = numpy.random.default_rng(20)

    def log_uniform(low, high):
        return int(round(math.exp(random.uniform(math.log(low), math.log(high)))))

    while True:
        vocab, dim, length = log_uniform(72, 144), log_uniform(32, 72), log_uniform(40, 96)
        low, high = math.log(2 * vocab), math.log(64 * vocab)
        for _ in range(6):
            sizes = vocab, dim, length, int(round(math.exp((low + high) / 2)))
            first = predict(superpose, sizes, 1)[0]
            low, high = (low, (low + high) / 2) if first > TYPICAL else ((low + high) / 2, high)
        condition = predict(superpose, sizes, 2)[1] if first < 2 * TYPICAL else None
        if condition:
            yield sizes, condition["right"]


def crossing(first, rises):
    """The lock rate at which a logistic fit in its logarithm gives even odds of a rise, and the standard error of its logarithm."""
    x = numpy.c_[numpy.ones(len(first)), numpy.log(first)]
    w = numpy.zeros(2)
    for _ in range(60):
        p = 1 / (1 + numpy.exp(-x @ w))
        information = (x * (p * (1 - p))[:, None]).T @ x + 0.01 * numpy.eye(2)
        w += numpy.linalg.solve(information, x.T @ (rises - p) - 0.01 * w)
    slope = numpy.array([-1 / w[1], w[0] / w[1] ** 2])
    return math.exp(-w[0] / w[1]), math.sqrt(slope @ numpy.linalg.solve(information, slope))


def run(superpose, found, seeds, folder):
    """Lock rates by sizes, number of rounds and seed; runs that the store in the folder has are not repeated."""
    lines = [f"repeats = {seeds}", "test_samples = 512", 'trigger = "keys"', "[axes]", "rounds = [1, 2]"]
    for (vocab, dim, length, samples), _ in found:
        lines += ["[[points]]", f"vocab = {vocab}", f"dim = {dim}", f"length = {length}", f"samples = {samples}"]
    (folder / "rounds.toml").write_text("\n".join(lines))
    sweep = ["sweep", "rounds.toml", "--store", "rounds.sqlite", "--threads", "1"]
    export = ["export", "rounds.sqlite", "--format", "csv", "--out", "rounds.csv"]
    for command in (sweep, export):
        subprocess.run([superpose, *command], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    rows = list(csv.DictReader((folder / "rounds.csv").open()))
    names = "vocab", "dim", "length", "samples", "rounds", "seed"
    return {tuple(int(row[name]) for name in names): float(row["lock_rate"]) for row in rows}


def main(superpose, count=22, seeds=200):
    superpose = pathlib.Path(superpose).resolve()
    found = [model for model, _ in zip(models(superpose), range(int(count)))]
    with tempfile.TemporaryDirectory() as folder:
        report(found, run(superpose, found, int(seeds), pathlib.Path(folder)), int(seeds))


def report(found, rate, seeds):
    """Prints a line per model, and how many predictions agree."""
    print("| V, d, L, N | lock rate by round | predicted | measured | 95% interval | ratio | runs in the predicted direction |")
    print("|---|---|---|---|---|---|---|", flush=True)
    ratios, errors, inside = [], [], 0
    for sizes, fixed in found:
        rates = numpy.array([[rate[(*sizes, rounds, seed)] for rounds in (1, 2)] for seed in range(seeds)])
        kept = (rates[:, 0] > LOW) & (rates[:, 0] < HIGH)
        first, rises = rates[kept, 0], rates[kept, 1] > rates[kept, 0]
        measured, error = crossing(first, rises)
        low, high = (measured * math.exp(side * 1.96 * error) for side in (-1, 1))
        inside += low < fixed < high
        ratios.append(measured / fixed)
        errors.append(error)
        means = ", ".join(f"{mean:.2f}" for mean in rates.mean(0))
        side = ((first > fixed) == rises).sum()
        print(f"| {', '.join(map(str, sizes))} | {means} | {fixed:.3f} | {measured:.3f} | {low:.3f} to {high:.3f} | {measured / fixed:.2f} | {side} of {kept.sum()} |", flush=True)
    logs = numpy.log(ratios)
    within = (numpy.abs(logs) < math.log(1.2)).sum()
    mean, rms = logs.mean(), math.sqrt((logs**2).mean())
    low, high = (math.exp(mean + side * 1.96 * logs.std(ddof=1) / math.sqrt(len(logs))) for side in (-1, 1))
    print(f"\nwithin 20%: {within} of {len(logs)}; interval holds the prediction: {inside} of {len(logs)}")
    print(f"geometric mean of the ratio {math.exp(mean):.2f} ({low:.2f} to {high:.2f}); rms of its logarithm {rms:.3f}, of which the seeds explain {math.sqrt(numpy.mean(numpy.square(errors))):.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
