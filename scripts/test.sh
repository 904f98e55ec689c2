#!/usr/bin/env bash
# Runs the tests of the whole workspace, then those of the Python package, and closes with what was skipped and one line
# of counts: `N passed, N failed, N skipped`. A passed test of Rust that says it skipped counts in both. Arguments go to
# cargo, and with any the tests of Python do not run. The exit status is cargo's, or where that is 0, that of the first
# other tests that failed.
#
# Without arguments what mostly waits runs beside the rest, and is printed after it: the tests on a cluster and those of
# Python.
set -uo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
# What runs beside does not hear an interrupt.
trap 'trap - INT TERM; kill 0; exit 130' INT TERM
export SPECIMEN_SKIP_LOG="$scratch/skipped"
# Tests run side by side, two a core, since some wait and a suite may end with a long one; further threads of each would
# wait for one another.
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}" RUST_TEST_THREADS="${RUST_TEST_THREADS:-$((2 * $(env -u OMP_NUM_THREADS nproc)))}"
: >"$SPECIMEN_SKIP_LOG"
# TEST_TIMES=FILE records what each binary and each test took.
[ -z "${TEST_TIMES:-}" ] || export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="python3 $PWD/scripts/test_times.py"

tests() { cargo test --release --workspace --no-fail-fast "$@"; }

: >"$scratch/log"
if [ $# -ne 0 ]; then
    tests "$@" | tee "$scratch/log"
    status=${PIPESTATUS[0]}
elif tests --no-run; then
    {
        scripts/python-tests.sh
        python_status=$?
        tests --test slurm
        slurm_status=$?
        [ "$python_status" -eq 0 ] || exit "$python_status"
        exit "$slurm_status"
    } >"$scratch/beside" 2>&1 &
    tests -- --skip on_slurm:: | tee "$scratch/log"
    status=${PIPESTATUS[0]}
    wait $!
    beside_status=$?
    tee -a "$scratch/log" <"$scratch/beside"
    [ "$status" -ne 0 ] || status=$beside_status
else
    status=101
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
