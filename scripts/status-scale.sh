#!/usr/bin/env bash
# How long `specimen status` takes on a run of 1,000 shards (an idle machine, please): the rows of one run of the noise
# network, laid out as one attempt of each of so many shards. Prints the median of five times by the clock.
# Needs `make build`.
set -euo pipefail
cd "$(dirname "$0")/.."
specimen=${CARGO_TARGET_DIR:-target}/release/specimen
shards=${SHARDS:-1000}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for ((i = 0; i < shards; i++)); do echo "shape $i"; done >"$scratch/prompts.txt"
"$specimen" run experiments/specs/ci/stub.toml --set "dataset.name='$scratch/prompts.txt'" --limit "$shards" --jobs 1 \
    --set 'cell=[{ name = "ar", timed = false }]' --out "$scratch/run" >/dev/null 2>&1
first=$scratch/run/shards/0/attempts/0
for file in records timing steps; do
    awk -v shards="$scratch/run/shards" -v file="$file.jsonl" '{
        folder = shards "/" NR - 1 "/attempts/1"
        if (file == "records.jsonl") system("mkdir -p " folder)
        print >(folder "/" file)
        close(folder "/" file)
    }' "$first/$file.jsonl"
done
rm -r "$first"
for _ in 1 2 3 4 5; do
    start=$(date +%s.%N)
    "$specimen" status "$scratch/run" >"$scratch/said"
    end=$(date +%s.%N)
    awk "BEGIN { print $end - $start }"
done | sort -n >"$scratch/seconds"
grep '^items' "$scratch/said"
awk -v shards="$shards" 'NR == 3 { printf "status of %d shards: %.2f s\n", shards, $1 }' "$scratch/seconds"
