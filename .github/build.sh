#!/usr/bin/env bash
# Builds the files of a release for one target into a folder: an archive with the program, shell completions, README and
# licence, and a wheel of the Python package. On Linux zig links both against glibc 2.17 (manylinux2014).
#
#     .github/build.sh TARGET FOLDER          needs cargo, maturin and, on Linux, cargo-zigbuild and zig
set -euo pipefail
target=$1 folder=$2
cd "$(dirname "$0")/.."
version=$(cargo pkgid -p superpose | sed 's/.*[#@]//')
case $target in
    *linux*) build=(cargo zigbuild --target "$target.2.17") wheel=(--zig --compatibility manylinux2014) ;;
    *) build=(cargo build --target "$target") wheel=() ;;
esac
"${build[@]}" --release --locked -p superpose
maturin build --release --target "$target" ${wheel[@]+"${wheel[@]}"} --out "$folder"

program=${CARGO_TARGET_DIR:-target}/$target/release/superpose
case $target in *windows*) program=$program.exe ;; esac
name=superpose-$version-$target
mkdir -p "$folder/$name/completions"
cp "$program" README.md LICENSE "$folder/$name"
for shell in bash zsh fish; do
    "$program" completions $shell > "$folder/$name/completions/superpose.$shell"
done
tar -C "$folder" -czf "$folder/$name.tar.gz" "$name"
rm -r "${folder:?}/$name"
