"""Compare the map of lock rates from round to round with runs (docs/theory/rounds.md).

    python bench/rounds.py target/release/superpose

draws models with uniform tokens and the trigger in keys whose predicted map has an unstable fixed point, runs one and two rounds of
each on 40 seeds, and prints the fixed point beside the lock rate of the first round at which the second one is as likely to be
higher as to be lower. Needs NumPy.
"""

import csv
import math
import pathlib
import subprocess
import sys
import tempfile
from statistics import NormalDist

import numpy

SEEDS = 40
MODELS = 24


def normal(x):
    """The normal distribution function."""
    return 0.5 * (1 + numpy.vectorize(math.erf)(numpy.asarray(x) / math.sqrt(2)))


class Map:
    """The lock rate of the second round as a function of that of the first. Scores are in units of 1 / (L^2 V)."""

    def __init__(self, vocab, dim, length, samples):
        self.sizes = vocab, dim, length, samples
        quantile = NormalDist().inv_cdf
        self.scores = numpy.array([quantile((vocab - i - 0.5) / vocab) for i in range(vocab)])
        self.present = 1 - (1 - 1 / vocab) ** (length - 1)
        self.ratios = numpy.linspace(-1, 6, 141)
        self.rates = numpy.array([1 - self.wrong(ratio).sum() for ratio in self.ratios])

    def wrong(self, ratio):
        """How often each token takes the attention, the most favoured first; `ratio`: trigger's score over the spread of tokens."""
        beaten = numpy.array([(self.scores < score - ratio).mean() for score in self.scores])
        return self.present * (1 - self.present) ** numpy.arange(len(self.scores)) * beaten

    def terms(self):
        """Variances of the first round's token scores: mean bias, the others."""
        v, d, l, n = self.sizes
        c = d / v
        m2, m3, m4 = 1 + c, 1 + 3 * c + c**2, 1 + 6 * c + 6 * c**2 + c**3
        p2 = 1 / d + 1 / v + 1 / n
        bias = l**4 * v * m3 * (1 + 2 / d + 2 / v) / (n**2 * d**3)
        covariance = l**3 * v**2 * m2 * m4 / (n**2 * d**4)
        pairs = l**2 * v**2 * m2 * (1 + 2 * c + l / v) * p2 / (n**2 * d**2)
        lengths = 2 * l**2 * v * m2 / (n**2 * d**2)
        return bias, covariance + pairs + lengths

    def first(self):
        """The lock rate of the first round of a typical run."""
        v, d, l, n = self.sizes
        trigger = (1 - 1 / l) * (1 - 1 / v) * (1 - 1 / n)
        return numpy.interp(trigger / math.sqrt(sum(self.terms()) + trigger**2 / d), self.ratios, self.rates)

    def next(self, rate):
        """The lock rate of the next round."""
        v, d, l, n = self.sizes
        c = d / v
        m2, m3, m4 = 1 + c, 1 + 3 * c + c**2, 1 + 6 * c + 6 * c**2 + c**3
        wrong = self.wrong(numpy.interp(rate, self.rates, self.ratios))
        trigger = l * rate * (1 - 1 / l) * (1 + v / n)
        # A favoured token is long and lies along large eigenvalues of the covariance.
        excess = numpy.maximum(numpy.maximum(self.scores, 0) ** 2 - 1, 0) / d
        times = (l - 1) / v / self.present
        offset = wrong / n * (l**2 * v * ((1 + excess) / d + excess * m3 / m2 / d) + l * v * times * (1 + excess) ** 2)
        bias, others = self.terms()
        favoured = l**4 * v**2 * m4 * (wrong**2).sum() * (1 + 2 / d + 2 / v) / (n**2 * d**3)
        spread = math.sqrt(bias * rate**2 + favoured + others * l + trigger**2 / d)
        nodes, weights = numpy.polynomial.hermite_e.hermegauss(21)
        own = numpy.unique(numpy.linspace(0, v - 1, 41).astype(int))
        total = 0.0
        for node, weight in zip(nodes, weights / weights.sum()):
            for token in own:
                above = 1 - normal((trigger + spread * node + offset[token] - offset) / spread)
                total += weight * math.exp(numpy.log1p(-self.present * numpy.minimum(above, 1 - 1e-12)).sum()) / len(own)
        return total

    def fixed_point(self):
        """The smallest lock rate above which rounds raise it; None: there is none."""
        rates = numpy.geomspace(max(self.rates[0], 1.2 / self.sizes[2]), 0.97, 16)
        rises = [self.next(rate) >= rate for rate in rates]
        for low, high, before, after in zip(rates, rates[1:], rises, rises[1:]):
            if after and not before:
                for _ in range(8):
                    middle = (low + high) / 2
                    low, high = (low, middle) if self.next(middle) >= middle else (middle, high)
                return (low + high) / 2
        return None


def models():
    """Random models with a fixed point near the first round's lock rate, so that seeds lie on both sides."""
    random = numpy.random.default_rng(1)

    def log_uniform(low, high):
        return int(round(math.exp(random.uniform(math.log(low), math.log(high)))))

    while True:
        sizes = log_uniform(48, 128), log_uniform(32, 80), log_uniform(48, 200)
        best = None
        for samples in numpy.geomspace(4 * sizes[0], 40 * sizes[0], 7).astype(int):
            found = Map(*sizes, samples)
            first = found.first()
            fixed = found.fixed_point() if 0.04 < first < 0.8 else None
            if fixed and 0.1 < fixed < 0.6:
                distance = abs(math.log(first / fixed))
                if distance < 0.8 and (best is None or distance < best[0]):
                    best = distance, (*sizes, int(samples)), fixed
        if best:
            yield best[1:]


def crossing(first, rises):
    """The lock rate at which a logistic fit in its logarithm gives even odds of a rise."""
    x = numpy.c_[numpy.ones(len(first)), numpy.log(first)]
    w = numpy.zeros(2)
    for _ in range(60):
        p = 1 / (1 + numpy.exp(-x @ w))
        w += numpy.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + 0.01 * numpy.eye(2), x.T @ (rises - p) - 0.01 * w)
    return math.exp(-w[0] / w[1])


def main(superpose):
    found = [model for model, _ in zip(models(), range(MODELS))]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        lines = [f"repeats = {SEEDS}", "test_samples = 1024", 'trigger = "keys"', "[axes]", "rounds = [1, 2, 3]"]
        for (vocab, dim, length, samples), _ in found:
            lines += ["[[points]]", f"vocab = {vocab}", f"dim = {dim}", f"length = {length}", f"samples = {samples}"]
        (folder / "rounds.toml").write_text("\n".join(lines))
        for command in (["sweep", "rounds.toml", "--store", "r.sqlite"], ["export", "r.sqlite", "--format", "csv", "--out", "r.csv"]):
            subprocess.run([pathlib.Path(superpose).resolve(), *command], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        rows = list(csv.DictReader((folder / "r.csv").open()))
    rate = {(*(int(row[key]) for key in ("vocab", "dim", "length", "samples", "rounds", "seed")),): float(row["lock_rate"]) for row in rows}
    print("| V, d, L, N | lock rate by round | predicted | measured | ratio | seeds on the predicted side |\n|---|---|---|---|---|---|")
    ratios = []
    for sizes, fixed in found:
        rates = numpy.array([[rate[(*sizes, rounds, seed)] for rounds in (1, 2, 3)] for seed in range(SEEDS)])
        kept = (rates[:, 0] > 0.002) & (rates[:, 0] < 0.98)
        first, rises = rates[kept, 0], rates[kept, 1] > rates[kept, 0]
        measured = crossing(first, rises)
        ratios.append(measured / fixed)
        side = ((first > fixed) == rises).sum()
        means = ", ".join(f"{mean:.2f}" for mean in rates.mean(0))
        print(f"| {', '.join(map(str, sizes))} | {means} | {fixed:.3f} | {measured:.3f} | {measured / fixed:.2f} | {side} of {kept.sum()} |", flush=True)
    ratios = numpy.array(ratios)
    within = (numpy.abs(numpy.log(ratios)) < math.log(1.2)).sum()
    print(f"\nwithin 20%: {within} of {len(ratios)}; geometric mean ratio {math.exp(numpy.log(ratios).mean()):.2f}")


if __name__ == "__main__":
    main(sys.argv[1])
