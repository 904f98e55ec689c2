#!/usr/bin/env bash
# What the instrument itself costs, on the stub network (an idle machine, please): the driver's own processor time
# in a run of 10,000 items, then `status` and `merge` of it, then how many more images an hour two workers make
# than one on cells of the embedded model that are not timed. Needs `make build` and about 4 minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
specimen=${CARGO_TARGET_DIR:-target}/release/specimen
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

seconds_of() { # wall seconds of a command, its talk thrown away
    local start end
    start=$(date +%s.%N)
    "$@" >/dev/null 2>&1
    end=$(date +%s.%N)
    awk "BEGIN { print $end - $start }"
}

start=$(date +%s.%N)
"$specimen" run experiments/specs/ci/stub.toml --limit 3334 --out "$scratch/stub" >/dev/null 2>&1 &
driver=$!
own=0
while kill -0 "$driver" 2>/dev/null; do
    # Fields 14 and 15: user and system time of the process itself, without its children.
    own=$(awk '{ print $14 + $15 }' "/proc/$driver/stat" 2>/dev/null) || break
    finished=$(find "$scratch/stub" -name done.json 2>/dev/null | wc -l) || true
    # What comes after the last worker is merging and scoring, which is not driving.
    [ "$finished" -ge 3 ] && break
    sleep 0.03
done
end=$(date +%s.%N)
wait "$driver"
awk "BEGIN { own = $own / $(getconf CLK_TCK); wall = $end - $start;
    printf \"driver: %.2f s of processor time in %.1f s of run, %.2f %%\n\", own, wall, 100 * own / wall }"
printf 'status of 10,002 items: %.2f s\n' "$(seconds_of "$specimen" status "$scratch/stub")"
printf 'merge of 10,002 items: %.2f s\n' "$(seconds_of "$specimen" merge "$scratch/stub")"

untimed='cell=[{ name = "ar", timed = false }]'
for jobs in 1 2; do
    seconds=$(seconds_of "$specimen" run experiments/specs/quickstart.toml --set "$untimed" --set 'metric=[]' \
        --limit 32 --jobs "$jobs" --out "$scratch/tiny$jobs")
    awk "BEGIN { printf \"$jobs worker(s): 32 images of tiny in %.1f s, %.0f an hour\n\", $seconds, 32 * 3600 / $seconds }"
done
