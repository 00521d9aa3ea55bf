"""Compare predicted with measured recall for given input embeddings (docs/validation/rows.md).

    python bench/rows.py [MATRICES [SEEDS [FIRST]]]

draws matrices with a power-law spectrum, a shared mean, near-duplicates and unequal lengths, and a number of samples each. It prints predicted
beside measured memory accuracy, lock rate and recall, and their rms errors. Needs the Python package.
"""

import sys

import numpy

import superpose

MEASURES = ("memory_accuracy", "lock_rate", "accuracy")


def matrix(random, rows, dim):
    """Rows of mean squared length 1, and what they were drawn with."""
    decay, mean, twins, spread = random.uniform(0, 1.4), random.uniform(0, 0.6), random.uniform(0, 0.3), random.uniform(0, 0.3)
    drawn = random.standard_normal((rows, dim)) * numpy.arange(1, dim + 1) ** (-decay / 2)
    drawn /= numpy.sqrt((drawn**2).sum(1).mean())
    drawn += mean * random.standard_normal(dim) / dim**0.5
    pairs = int(twins * rows / 2)
    drawn[:pairs] = drawn[pairs : 2 * pairs] + 0.5 * random.standard_normal((pairs, dim)) / dim**0.5
    drawn *= numpy.exp(spread * random.standard_normal((rows, 1)))
    return drawn / numpy.sqrt((drawn**2).sum(1).mean()), (decay, mean, twins, spread)


def main():
    matrices, seeds, first = [int(given) for given in (*sys.argv[1:], *("40", "8", "0")[len(sys.argv) - 1 :])]
    errors, noise = [], []
    print("decay,mean,twins,spread,V,d,L,N,trigger," + ",".join(f"{name},{name}_predicted" for name in MEASURES))
    for number in range(matrices):
        random = numpy.random.default_rng([20261116, first + number])
        rows, dim = (int(numpy.exp(random.uniform(*numpy.log(ends)))) for ends in ((60, 800), (32, 384)))
        z_in, drawn = matrix(random, rows, dim)
        length, samples = (int(numpy.exp(random.uniform(*numpy.log(ends)))) for ends in ((4, 32), (rows, 100 * rows)))
        trigger = ("keys", "values")[number % 2]
        config = superpose.Config(length=length, samples=samples, trigger=trigger, repeats=seeds, seed=number)
        run, predicted = config.run(z_in=z_in), config.predict(z_in=z_in)
        pairs = [(run[name].mean, predicted[name]) for name in MEASURES]
        errors.append([b - a for a, b in pairs])
        noise.append([numpy.var(run.by_seed[name], ddof=1) / seeds for name in MEASURES])
        sizes = [*(f"{value:.2f}" for value in drawn), rows, dim, length, samples, trigger]
        print(",".join([*map(str, sizes), *(f"{value:.4f}" for pair in pairs for value in pair)]), flush=True)
    for name, error, variance in zip(MEASURES, numpy.array(errors).T, numpy.array(noise).T):
        print(f"# {name}: rms error {numpy.sqrt((error**2).mean()):.4f}, of which seeds {numpy.sqrt(variance.mean()):.4f}; bias {error.mean():+.4f}; largest {abs(error).max():.3f}")


if __name__ == "__main__":
    main()
