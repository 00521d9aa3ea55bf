"""Measures critical numbers of samples with `superpose threshold` and compares them with the predictions.

    python bench/thresholds.py docs/validation/crossing.csv thresholds.csv --every 3 --superpose target/release/superpose

Takes every third configuration of a file made by the example `simulate`, searches N at an accuracy of one half with at most 400 runs
and a half width of 3%, on as many processes as there are cores, and prints how often the prediction is close. Beside it stands how
often an exact theory would be as close, given the intervals.
"""

import argparse
import csv
import json
import math
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

COLUMNS = ["trigger", "vocab", "dim", "length"]


def search(superpose, row, seed):
    """The measured critical N with its interval, and the prediction; None where the search found no crossing."""
    flags = [flag for column in COLUMNS for flag in (f"--{column}", row[column])]
    command = [superpose, "threshold", "--find", "samples", "--json", "--threads", "1", "--half-width", "0.03"]
    result = subprocess.run([*command, "--seed", str(seed), *flags], capture_output=True, text=True)
    if result.returncode != 0:
        return None
    record = json.loads(result.stdout)
    observed = record.get("observed", {})
    if not observed.get("low") or not observed.get("high") or record.get("predicted") is None:
        return None
    return [row[column] for column in COLUMNS] + [observed["estimate"], observed["low"], observed["high"], record["predicted"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells")
    parser.add_argument("out")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--superpose", default="superpose")
    options = parser.parse_args()
    with open(options.cells) as file:
        rows = {tuple(row[c] for c in COLUMNS): row for row in csv.DictReader(file) if not row["width"]}
    rows = list(rows.values())[:: options.every]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda job: search(options.superpose, job[1], 10**6 + 1000 * job[0]), enumerate(rows))
        found = [line for line in found if line is not None]
    with open(options.out, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*COLUMNS, "samples", "low", "high", "predicted"])
        writer.writerows(found)
    errors = [(math.log(line[7] / line[4]), math.log(line[6] / line[5]) / 3.92) for line in found]
    print(f"{len(found)} of {len(rows)} searches have an interval")
    inside = sum(line[5] <= line[7] <= line[6] for line in found)
    print(f"prediction inside the 95% interval: {inside / len(found):.1%}")
    for share in (0.1, 0.15, 0.25):
        limit = math.log1p(share)
        close = sum(abs(error) < limit for error, _ in errors) / len(errors)
        exact = sum(math.erf(limit / max(spread, 1e-9) / math.sqrt(2)) for _, spread in errors) / len(errors)
        print(f"within {share:.0%}: {close:.1%}; an exact theory: {exact:.1%}")


if __name__ == "__main__":
    main()
