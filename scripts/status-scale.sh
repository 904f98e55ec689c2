#!/usr/bin/env bash
# How long `specimen status` takes on a run of 1,000 shards (an idle machine, please): once with the rows of one run of
# the noise network, laid out as one attempt of each of so many shards; and once, where Slurm is installed, with half of
# those rows in a run that was handed in to a Slurm of one node, so that its ledger owes every shard to one array and the
# queue is asked about all its tasks. Each is the median of five times by the clock. Needs `make build`.
set -euo pipefail
cd "$(dirname "$0")/.."
specimen=$(realpath "${CARGO_TARGET_DIR:-target}/release/specimen")
shards=${SHARDS:-1000}
scratch=$(mktemp -d)
end() {
    [ ! -e "$scratch/cluster" ] || scripts/slurm-cluster.sh stop "$scratch/cluster" >/dev/null 2>&1 || true
    rm -rf "$scratch"
}
trap end EXIT

for ((i = 0; i < shards; i++)); do echo "shape $i"; done >"$scratch/prompts.txt"
plan=(experiments/specs/ci/stub.toml --set "dataset.name='$scratch/prompts.txt'" --limit "$shards" --set timing.blocks=1
    --set 'cell=[{ name = "ar", timed = false }]')

# Rows of the files of the first attempt, up to a number of them, as an attempt of each shard of a run.
lay() { # folder of the attempt, run, number
    local file
    for file in records timing steps; do
        awk -v shards="$2/shards" -v file="$file.jsonl" -v most="$3" 'NR <= most {
            folder = shards "/" NR - 1 "/attempts/1"
            if (file == "records.jsonl") system("mkdir -p " folder)
            print >(folder "/" file)
            close(folder "/" file)
        }' "$1/$file.jsonl"
    done
}

# The median of five, with what the run is: by the clock, and of the processor, which a busy machine changes less.
measure() { # run, what it is
    local TIMEFORMAT='%R %U %S'
    for _ in 1 2 3 4 5; do
        { time "$specimen" status "$1" >"$scratch/said" 2>/dev/null; } 2>&1
    done | awk '{ print $1, $2 + $3 }' | sort -n >"$scratch/seconds"
    grep -E '^(items|slurm)' "$scratch/said"
    awk -v what="$2" 'NR == 3 { printf "status of %s: %.2f s, %.2f s of the processor\n", what, $1, $2 }' "$scratch/seconds"
}

"$specimen" run "${plan[@]}" --jobs 1 --out "$scratch/run" >/dev/null 2>&1
mv "$scratch/run/shards/0/attempts/0" "$scratch/first"
lay "$scratch/first" "$scratch/run" "$shards"
measure "$scratch/run" "$shards shards"

PATH=$PATH:/usr/sbin
if ! command -v slurmctld >/dev/null; then
    echo "no Slurm here (Debian: slurmctld slurmd slurm-client munge): the ledger of a cluster is not measured" >&2
    exit 0
fi
started=$(MAX_ARRAY_SIZE=$((shards + 1)) scripts/slurm-cluster.sh start "$scratch/cluster")
eval "$started"
# Held, so that every task is there to be asked about.
printf '[slurm]\nextra = ["--hold"]\n' >"$scratch/held.toml"
"$specimen" run "${plan[@]}" --executor slurm --profile "$scratch/held.toml" --shards "$shards" --detach \
    --out "$scratch/cluster-run" >/dev/null 2>&1
lay "$scratch/first" "$scratch/cluster-run" $((shards / 2))
measure "$scratch/cluster-run" "$shards shards owed by a cluster"
