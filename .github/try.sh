#!/usr/bin/env bash
# Unpacks and installs the files of a release from a folder, without Rust in the path, and runs them.
#
#     .github/try.sh FOLDER                   needs Python with venv
set -euo pipefail
folder=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python=$(command -v python3 || command -v python)
"$python" -m venv venv
python=$(ls venv/bin/python venv/Scripts/python.exe 2> /dev/null || true)
PATH=$(tr ':' '\n' <<< "$PATH" | grep -v cargo | paste -sd: -)
if command -v cargo rustc; then
    echo "Rust is in the path" >&2
    exit 1
fi

tar -xzf "$folder"/superpose-*.tar.gz
program=$(ls superpose-*/superpose superpose-*/superpose.exe 2> /dev/null || true)
"$program" --version
"$program" run --vocab 64 --dim 32 --length 4 --samples 4096 --repeats 2

"$python" -m pip install --quiet --only-binary :all: "$folder"/*.whl
"$python" - << 'PYTHON'
import superpose
config = superpose.Config(vocab=64, dim=32, length=4, samples=4096, repeats=2)
print(superpose.__version__, config.predict().accuracy, config.run().accuracy.mean)
PYTHON
