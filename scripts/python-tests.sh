#!/bin/sh
# Runs the tests of harness/python with pytest, and of the Python that scripts and documents name. Arguments go to pytest.
#
# Where python3 lacks pytest, pandas or polars, they are installed into a virtual environment in target/python-tests
# (CARGO_TARGET_DIR is respected), which sees the packages of python3 too. It stays there for the next time.
# Without python3, or without pytest and pip, the tests are skipped by name; with STRICT=1 that is a failure.
# SPECIMEN_BIN is the program under test: target/release/specimen unless it is set.
set -u
cd "$(dirname "$0")/.." || exit 1

target=${CARGO_TARGET_DIR:-target}
venv=$target/python-tests
export PYTHONDONTWRITEBYTECODE=1

skip() {
    line="SKIPPED: the tests of harness/python: $*"
    echo "$line" >&2
    if [ "${STRICT:-}" = 1 ]; then
        echo 'test result: FAILED. 0 passed; 1 failed; 0 skipped'
        exit 1
    fi
    [ -z "${SPECIMEN_SKIP_LOG:-}" ] || echo "$line" >>"$SPECIMEN_SKIP_LOG"
    exit 0
}

has() { "$1" -c "import $2" >/dev/null 2>&1; }

# Installs packages into the virtual environment; a Python of a distribution may lack what puts pip into it.
install() {
    site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))') || return 1
    python3 -m pip install --quiet --disable-pip-version-check --target "$site" "$@" 2>"$venv/pip.log"
}

command -v python3 >/dev/null || skip "no python3 on PATH"
python=python3
if ! has python3 'pytest, pandas, polars'; then
    python=$venv/bin/python
    if ! has "$python" 'pytest, pandas, polars'; then
        rm -rf "$venv"
        mkdir -p "$target"
        python3 -m venv --without-pip --system-site-packages "$venv" || skip "python3 cannot make a virtual environment"
        # Without wheels of pandas and polars for this Python, the tests of them skip by name.
        install --require-hashes --requirement scripts/wheels/python-tests.txt ||
            install --require-hashes --requirement scripts/wheels/pytest.txt ||
            skip "pip cannot install pytest: $(sed -n '/[^[:space:]]/h; ${g;p;}' "$venv/pip.log")"
    fi
fi
exec "$python" -m pytest -p no:cacheprovider -q --rootdir harness/python "${@:-harness/python/tests}"
