#!/usr/bin/env bash
# Runs the tests of the whole workspace and closes with what was skipped and one line of counts:
# `N passed, N failed, N skipped`. A passed test that says it skipped counts in both. Arguments go to cargo;
# the exit status is cargo's.
set -uo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
export SPECIMEN_SKIP_LOG="$scratch/skipped"
: >"$SPECIMEN_SKIP_LOG"

cargo test --release --workspace --no-fail-fast "$@" | tee "$scratch/log"
status=${PIPESTATUS[0]}

sort -u "$SPECIMEN_SKIP_LOG" >"$scratch/skips"
n_skipped=$(awk 'END { print NR }' "$scratch/skips")
printf '\nskipped: %s\n' "$n_skipped"
cat "$scratch/skips"
awk -v skipped="$n_skipped" '
    /^test result: / { passed += $4; failed += $6 }
    END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }
' "$scratch/log"
exit "$status"
