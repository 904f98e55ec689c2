#!/usr/bin/env bash
# Runs fuzz targets for SECONDS each (600 unless told), one after the other; a finding ends with its file and status 1.
# Needs `cargo install cargo-fuzz`. On a stable toolchain RUSTC_BOOTSTRAP=1 lets the compiler count what is reached; no
# sanitizer is used, because nothing here is unsafe: overflows, debug assertions, hangs and memory are what is looked for.
# usage: scripts/fuzz.sh [SECONDS] [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/../harness/fuzz"

seconds=${1:-600}
shift || true
targets=("$@")
if [ "${#targets[@]}" -eq 0 ]; then
    mapfile -t targets < <(ls targets | sed 's/\.rs$//')
fi
export RUSTC_BOOTSTRAP=1

# What a target knows beside its seeds: words of its format, and files that tests of the workspace have anyway.
words() {
    case $1 in
        spec) echo words/spec.dict ;;
        coco | parti | rows | messages | safetensors) echo words/json.dict ;;
        arrays) echo words/array.dict ;;
        checkpoint) echo words/pickle.dict ;;
        picture) echo words/picture.dict ;;
    esac
}
more() {
    case $1 in
        spec) echo ../../experiments/specs/ci ;;
        picture) echo ../../metrics/pixels/tests/golden/prep ;;
        rows) echo ../../results/record/tests/old_runs/schema-1/shards/0/attempts/0 ;;
    esac
}

for target in "${targets[@]}"; do
    mkdir -p "corpus/$target"
    dictionary=$(words "$target")
    # shellcheck disable=SC2046 # no path here has blanks
    cargo fuzz run --fuzz-dir . --release --debug-assertions --sanitizer none "$target" \
        "corpus/$target" "seeds/$target" $(more "$target") -- \
        -max_total_time="$seconds" -timeout=60 -rss_limit_mb=4096 -max_len=65536 -print_final_stats=1 \
        ${dictionary:+-dict="$dictionary"}
done
