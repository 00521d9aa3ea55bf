"""Compares the results of several builds of superpose, or of one build on several (emulated) processors, bit for bit.

    python3 bench/same_bits.py native=target/release/superpose \
        avx2="qemu-x86_64 -cpu max target/release/superpose" \
        aarch64="qemu-aarch64 -L /usr/aarch64-linux-gnu target/aarch64-unknown-linux-gnu/release/superpose"

Runs the commands below and a sweep of 800 cells with each. Everything that they print or store must be equal, except times.
"""

import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

SMALL = "--vocab 64 --dim 24 --length 6 --samples 600 --test-samples 200 --threads 1"
COMMANDS = [
    f"run {SMALL}",
    f"run {SMALL} --repeats 3 --trigger keys",
    f"run {SMALL} --regime exact",
    f"run {SMALL} --regime exact --eta 300",
    f"run {SMALL} --precision f64",
    f"run {SMALL} --width 40 --activation relu",
    f"run {SMALL} --width 40 --activation gelu --regime exact",
    f"run {SMALL} --width 33 --activation tanh --trigger keys",
    f"run {SMALL} --embedding sphere --labels mod:7",
    f"run {SMALL} --embedding rademacher --keep 2",
    f"run {SMALL} --embedding low_rank --rank 9",
    f"run {SMALL} --embedding clustered --clusters 8 --spread 0.7",
    "run --vocab 40 --dim 42 --length 5 --samples 500 --test-samples 200 --embedding orthonormal --threads 1",
    f"run {SMALL} --zipf 1 --noise-vocab 30",
    f"train {SMALL} --steps 12 --every 4",
    f"train {SMALL} --steps 12 --optimiser muon --momentum 0.9 --heads 2 --batch 128",
    f"train {SMALL} --steps 12 --optimiser adamw --width 20 --train-first-layer --train-embeddings",
    "predict --vocab 512 --dim 128 --trigger keys",
    "predict --vocab 300 --dim 64 --width 200 --activation gelu",
    "plan --facts 50000 --length 1024",
    "predict --vocab 200 --dim 100 --length 8 --trigger keys --keep 3",
    "threshold --find samples --vocab 40 --dim 30 --length 4 --trigger keys --threads 1 --max-runs 40",
    "memory --dim 16 --threads 1",
]
SWEEP = """
length = 5
test_samples = 64
repeats = 8
[axes]
regime = ["exact", "infinitesimal"]
trigger = ["keys", "values"]
dim = [8, 17, 24, 33, 64]
vocab = [30, 65]
samples = [100, 333]
[[points]]
eta = 1.0
[[points]]
eta = 200.0
[rays]
width = "dim + 3"
"""
TIMES = ("seconds", "version")


def without_times(value):
    """Returns the value without the entries that may differ."""
    if isinstance(value, dict):
        return {key: without_times(entry) for key, entry in value.items() if not key.endswith(TIMES)}
    return [without_times(entry) for entry in value] if isinstance(value, list) else value


def results(launcher, folder):
    """Yields the name and result of every command and of every cell."""
    launcher = [str(pathlib.Path(word).resolve()) if "/" in word and pathlib.Path(word).is_file() else word for word in shlex.split(launcher)]
    for command in COMMANDS:
        done = subprocess.run([*launcher, *command.split(), "--json"], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{command}: {done.stderr}")
        yield command, without_times(json.loads(done.stdout))
    (folder / "sweep.toml").write_text(SWEEP)
    subprocess.run([*launcher, "sweep", "sweep.toml"], cwd=folder, check=True, capture_output=True)
    lines = subprocess.run([*launcher, "export", "sweep.sqlite", "--format", "jsonl"], cwd=folder, check=True, capture_output=True, text=True)
    for line in lines.stdout.splitlines():
        cell = without_times(json.loads(line))
        yield f"cell {cell['key']}", cell


def main():
    launchers = dict(argument.split("=", 1) for argument in sys.argv[1:])
    first, *others = launchers
    all_results = {}
    for name in launchers:
        with tempfile.TemporaryDirectory() as folder:
            all_results[name] = dict(results(launchers[name], pathlib.Path(folder)))
        cells = sum(key.startswith("cell ") for key in all_results[name])
        print(f"{name}: {len(all_results[name]) - cells} commands, {cells} cells", flush=True)
    wrong = 0
    for name in others:
        keys = all_results[first].keys() | all_results[name].keys()
        differ = sorted(key for key in keys if all_results[first].get(key) != all_results[name].get(key))
        print(f"{name}: {len(differ)} of {len(keys)} results differ from {first}")
        for key in differ[:20]:
            print(f"  {key}")
        wrong += len(differ)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
