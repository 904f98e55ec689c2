#!/usr/bin/env bash
# How well a run fills a cluster: 5,000 prompts in 16 shards on 16 devices of one simulated node (an idle machine, please;
# 4 minutes).
# The network is the noise network with the latency of another model put on top, so the devices do nothing but wait:
# LlamaGen-XL at 384x384 is taken to need 25 s an image (576 tokens; assumed, not measured here), 50 times as fast.
# Prints the time from the first to the last act of `specimen run`, and what it would be if no device ever idled.
# Needs `make build` and Debian's slurmctld, slurmd, slurm-client and munge.
set -euo pipefail
cd "$(dirname "$0")/.."
specimen=${CARGO_TARGET_DIR:-target}/release/specimen
prompts=${PROMPTS:-5000} devices=${DEVICES:-16} shards=${SHARDS:-16} wait_ms=${WAIT_MS:-500}
scratch=$(mktemp -d)
trap 'scripts/slurm-cluster.sh stop "$scratch/cluster" || true; rm -rf "$scratch"' EXIT

eval "$(CPUS=$devices GPUS=$devices scripts/slurm-cluster.sh start "$scratch/cluster")"
for ((i = 0; i < prompts; i++)); do echo "shape $i wait $wait_ms"; done >"$scratch/prompts.txt"
printf '[slurm]\ngres = "gpu:1"\ncpus = 1\n' >"$scratch/profile.toml"
start=$(date +%s.%N)
"$specimen" run experiments/specs/ci/stub.toml --executor slurm --profile "$scratch/profile.toml" --shards "$shards" \
    --set "dataset.name='$scratch/prompts.txt'" --limit "$prompts" --set 'cell=[{ name = "ar", timed = false }]' \
    --out "$scratch/run" >/dev/null
end=$(date +%s.%N)
awk "BEGIN {
    ideal = $prompts * $wait_ms / 1000 / $devices; taken = $end - $start
    printf \"%d images of %.3f s on %d devices in %d shards: %.1f s, ideal %.1f s, ratio %.3f\n\",
        $prompts, $wait_ms / 1000, $devices, $shards, taken, ideal, ideal / taken
}"
