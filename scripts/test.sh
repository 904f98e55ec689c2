#!/usr/bin/env bash
# Runs the tests of the whole workspace, then those of the Python package, and closes with what was skipped and one line
# of counts: `N passed, N failed, N skipped`. A passed test of Rust that says it skipped counts in both. Arguments go to
# cargo, and with any the Python tests do not run. The exit status is cargo's, or that of the Python tests where cargo's
# is 0.
set -uo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
export SPECIMEN_SKIP_LOG="$scratch/skipped"
# Tests run side by side, one a core: further threads of each would wait for one another.
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
: >"$SPECIMEN_SKIP_LOG"

cargo test --release --workspace --no-fail-fast "$@" | tee "$scratch/log"
status=${PIPESTATUS[0]}

if [ $# -eq 0 ]; then
    scripts/python-tests.sh | tee -a "$scratch/log"
    python_status=${PIPESTATUS[0]}
    [ "$status" -ne 0 ] || status=$python_status
fi

sort -u "$SPECIMEN_SKIP_LOG" >"$scratch/skips"
n_skipped=$(awk 'END { print NR }' "$scratch/skips")
printf '\nskipped: %s\n' "$n_skipped"
cat "$scratch/skips"
awk -v skipped="$n_skipped" '
    /^test result: / { passed += $4; failed += $6 }
    END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }
' "$scratch/log"
exit "$status"
