"""Shared fixtures: the folder of the repository and the binary of the command line."""

import os
import pathlib
import signal
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A shell starts background jobs with SIGINT ignored, and programs that they start inherit this. Tests send the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def superpose_binary():
    """The binary to compare with: ``SUPERPOSE_BINARY``, or the newest one that cargo has built."""
    named = os.environ.get("SUPERPOSE_BINARY")
    if named is not None:
        assert pathlib.Path(named).is_file(), f"SUPERPOSE_BINARY = {named}: no such file"
        return pathlib.Path(named)
    built = [ROOT / "target" / profile / "superpose" for profile in ("debug", "release")]
    found = [path for path in built if path.is_file()]
    if not found:
        pytest.skip("no superpose binary: cargo build, or set SUPERPOSE_BINARY")
    return max(found, key=lambda path: path.stat().st_mtime)


@pytest.fixture
def command(superpose_binary):
    """A function that runs the command line and returns its output."""

    def run(*arguments):
        done = subprocess.run([superpose_binary, *map(str, arguments)], capture_output=True, text=True, check=True)
        return done.stdout

    return run
