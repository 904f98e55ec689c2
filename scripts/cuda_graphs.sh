#!/bin/sh
# Makes libspecimen_graphs.so, through which steps run as CUDA graphs, from the headers of a libtorch of 2.11 to 2.13. It
# needs a C++ compiler and no GPU. CUDA's headers are those of CUDA_HOME, or two wheels that pip downloads (4 MB).
# `make libtorch CUDA=1` runs this script. A library of the same source for the same version of torch is left as it is.
#
#   scripts/cuda_graphs.sh [LIBTORCH [OUT]]   LIBTORCH is the variable of that name or .libtorch of this checkout unless
#                                             given, OUT the folder of the program, target/release; the library is found
#                                             there, and in libtorch's `lib`
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
dest=${1:-${LIBTORCH:-$root/.libtorch}}
out=${2:-${CARGO_TARGET_DIR:-$root/target}/release}

fail() {
    printf 'cuda_graphs: %s\n' "$*" >&2
    exit 1
}

[ -e "$dest/include/ATen/cuda/CUDAGraph.h" ] ||
    fail "$dest is no libtorch with headers; scripts/libtorch.sh fills it"
source=$root/harness/weights/graphs/cuda_graphs.cc
made=$out/libspecimen_graphs.so
version=$(sed -n 's/^ *\(#define TORCH_VERSION \)\{0,1\}"\([0-9.]*\).*/\2/p' \
    "$dest/include/torch/headeronly/version.h" 2>/dev/null || true)
if [ -n "$version" ] && [ "$made" -nt "$source" ] && grep -qaF "specimen graphs of torch $version" "$made"; then
    exit 0
fi
compiler=${CXX:-c++}
command -v "$compiler" >/dev/null || fail "there is no C++ compiler $compiler; install one or set CXX"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [ -n "${CUDA_HOME:-}" ] && [ -e "$CUDA_HOME/include/cuda_runtime_api.h" ]; then
    headers=$CUDA_HOME/include
else
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$tmp" \
        --require-hashes --requirement "$root/scripts/wheels/cuda-headers.txt" 2>"$tmp/pip.log" ||
        fail "pip could not download CUDA's headers: $(sed -n '$p' "$tmp/pip.log"); set CUDA_HOME to a CUDA toolkit"
    for wheel in "$tmp"/*.whl; do
        python3 -m zipfile -e "$wheel" "$tmp"
    done
    found=$(find "$tmp" -name cuda_runtime_api.h | head -n 1)
    [ -n "$found" ] || fail "the downloaded wheels have no cuda_runtime_api.h; set CUDA_HOME to a CUDA toolkit"
    headers=$(dirname "$found")
fi
"$compiler" -std=c++20 -O1 -fPIC -shared -DUSE_CUDA -I"$dest/include" -I"$dest/include/torch/csrc/api/include" \
    -isystem "$headers" -o "$tmp/libspecimen_graphs.so" "$source" || fail "the compiler failed; the reason is above"
mkdir -p "$out"
mv "$tmp/libspecimen_graphs.so" "$made"
printf 'cuda_graphs: %s\n' "$made"
