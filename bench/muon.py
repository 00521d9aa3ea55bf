"""Measures memory accuracy after steps by Muon's rule at random models, trigger in the keys, to compare the formula with.

    python bench/muon.py target/release/superpose 96 16 docs/validation/muon.csv

Program, number of models, seeds for each, output. Sizes are log-uniform: V 80 to 500, d 24 to 160, N/V 1 to 40; the exponent of Zipf's law
is 0 for a quarter of the models and uniform up to 1.5 for the others. `cargo test -p superpose-theory muon` compares the predictions.
"""

import json
import math
import random
import subprocess
import sys

SEED = 20261119


def main(program: str, count: int, seeds: int, out: str) -> None:
    draw = random.Random(SEED)

    def log(low: float, high: float) -> float:
        return math.exp(draw.uniform(math.log(low), math.log(high)))

    lines = ["vocab,dim,samples,zipf,seeds,memory_accuracy,memory_accuracy_se"]
    for index in range(count):
        vocab, dim = round(log(80, 500)), round(log(24, 160))
        samples = round(vocab * log(1, 40))
        zipf = 0.0 if index % 4 == 0 else round(draw.uniform(0, 1.5), 2)
        flags = dict(vocab=vocab, dim=dim, samples=samples, zipf=zipf, length=2, repeats=seeds, seed=1000 * index, test_samples=16)
        line = [part for name, value in flags.items() for part in (f"--{name.replace('_', '-')}", str(value))]
        command = [program, "run", "--trigger", "keys", "--early-rule", "muon", "--json", "--threads", "1", *line]
        record = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        means = record["by_seed"]["memory_accuracy"]
        mean = sum(means) / seeds
        error = math.sqrt(sum((x - mean) ** 2 for x in means) / (seeds - 1) / seeds)
        lines.append(f"{vocab},{dim},{samples},{zipf},{seeds},{mean:.5f},{error:.5f}")
        print(lines[-1], flush=True)
        with open(out, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
