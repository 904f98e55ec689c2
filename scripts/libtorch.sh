#!/bin/sh
# Fills .libtorch/ with a libtorch of 2.11 to 2.13. The tch crate is made for 2.13.0; the headers of an older one get
# what it lacks from scripts/torch_compat.h.
#
#   scripts/libtorch.sh [FOLDER]          FOLDER is .libtorch of this checkout unless given
#
# Takes the first that works:
#   1. FOLDER is already filled: nothing to do.
#   2. $LIBTORCH is a libtorch of 2.11 to 2.13: its `lib` and `include` are linked.
#   3. A python3 or python on PATH has a torch of 2.11 to 2.13: what is needed of it is linked.
#   4. pip downloads the wheels of 2.13.0 (x86-64 Linux, CPython 3.10 or later): 540 MB to fetch, 1.3 GB of free disk
#      while it unpacks, 0.5 GB afterwards.
# CUDA=1 takes the CUDA libraries as well; by pip these are several GB more. TORCH=2.11.0 downloads that version and looks
# nowhere else. Only wheels whose SHA-256 is in scripts/wheels are taken; WHEEL_HASHES names another folder of such lists.
#
# `build-version` is written last and is what marks a folder as filled, so an interrupted run never leaves
# something that looks whole; of an older libtorch it is `older-version`, since tch refuses what a `build-version` says
# that is not 2.13.0. `licences` has the licence texts of the packages that the libraries are from, where these have
# some; `make dist` packs them. A failure is one sentence on stderr and exit status 1.
set -eu

want=2.13.0
asked=${TORCH:-}
served='2.11 to 2.13'
cuda=${CUDA:-0}
root=$(cd "$(dirname "$0")/.." && pwd)
dest=${1:-$root/.libtorch}
tmp=

fail() {
    printf 'libtorch: %s\n' "$*" >&2
    exit 1
}

say() { printf 'libtorch: %s\n' "$*"; }

# Whether a version is one of those that are served.
is_served() {
    case $1 in 2.11.* | 2.12.* | "$want") true ;; *) false ;; esac
}

# The version of the libtorch or Python package torch in folder $1, without a suffix such as +cpu.
version_of() {
    if [ -f "$1/older-version" ]; then
        sed -n '1s/[+[:space:]].*//; 1p' "$1/older-version"
    elif [ -f "$1/build-version" ]; then
        sed -n '1s/[+[:space:]].*//; 1p' "$1/build-version"
    elif [ -f "$1/version.py" ]; then
        sed -n "s/^__version__[^'\"]*['\"]\([^'\"+]*\).*/\1/p" "$1/version.py"
    fi
}

# The first part that a libtorch in folder $1 lacks; nothing when it is whole.
missing_in() {
    for part in include/torch/csrc/api/include/torch/torch.h lib/libtorch_cpu.so lib/libtorch.so lib/libc10.so \
        $([ "$cuda" = 1 ] && echo lib/libtorch_cuda.so); do
        [ -e "$1/$part" ] || {
            echo "$part"
            return
        }
    done
}

# A temporary folder inside FOLDER, removed on every way out; those of runs that are dead go too.
begin() {
    mkdir -p "$dest" 2>/dev/null || fail "cannot create $dest; choose another folder or make it writable"
    for old in "$dest"/tmp.*; do
        [ -d "$old" ] || continue
        kill -0 "${old##*.}" 2>/dev/null || rm -rf "$old"
    done
    tmp=$dest/tmp.$$
    trap 'rm -rf "$tmp"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    mkdir "$tmp" 2>/dev/null || fail "cannot write in $dest; make it writable"
    mkdir "$tmp/wheels" "$tmp/pip"
}

# Moves what begin and its successors prepared into place: libtorch $2 from $1.
finish() {
    lacks=$(missing_in "$tmp")
    [ -z "$lacks" ] || fail "$1 lacks $lacks, so $dest was not filled"
    marker=build-version
    [ "$2" = "$want" ] || {
        marker=older-version
        complete_headers
    }
    rm -f "$dest/build-version" "$dest/older-version"
    rm -rf "$dest/lib" "$dest/include" "$dest/licences"
    mv "$tmp/include" "$dest/include"
    mv "$tmp/lib" "$dest/lib"
    [ ! -e "$tmp/licences" ] || mv "$tmp/licences" "$dest/licences"
    echo "$2" >"$tmp/$marker"
    mv "$tmp/$marker" "$dest/$marker"
    say "$dest holds libtorch $2 from $1"
    exit 0
}

# Gives the headers of an older libtorch a torch.h that declares what they lack; a link becomes folders of links.
complete_headers() {
    if [ ! -L "$tmp/include" ]; then
        at=$tmp/include/torch/csrc/api/include/torch
        mv "$at/torch.h" "$at/torch_as_published.h"
        write_torch_h torch_as_published.h >"$at/torch.h"
        return
    fi
    from=$headers
    rm "$tmp/include"
    at=$tmp/include
    mkdir "$at"
    for part in torch csrc api include torch torch.h; do
        for entry in "$from"/*; do
            [ "${entry##*/}" = $part ] || ln -s "$entry" "$at/"
        done
        from=$from/$part
        at=$at/$part
        [ $part = torch.h ] || mkdir "$at"
    done
    write_torch_h "$from" >"$at"
}

# A torch.h that includes the one at $1.
write_torch_h() {
    echo '#pragma once'
    echo "#include \"$1\""
    cat "$root/scripts/torch_compat.h"
}

# Links a whole libtorch: folder $1, version $2.
link_folder() {
    begin
    headers=$1/include
    ln -s "$1/lib" "$tmp/lib"
    ln -s "$1/include" "$tmp/include"
    [ ! -d "$1/licences" ] || ln -s "$1/licences" "$tmp/licences"
    finish "$1" "$2"
}

# Links what is needed of the Python package torch in folder $1; python $2 fetches what it stands on. Version $3.
link_package() {
    version=$3
    begin
    headers=$1/include
    mkdir "$tmp/lib"
    ln -s "$1/include" "$tmp/include"
    site=$(dirname "$1")
    if [ "$cuda" = 1 ]; then
        set -- "$1" "$2" "$1"/lib/*.so* "$site"/nvidia/*/lib/*.so*
    else
        set -- "$1" "$2" "$1"/lib/libtorch_cpu.so "$1"/lib/libtorch.so "$1"/lib/libc10.so "$1"/lib/libgomp* \
            "$site"/nvidia/*/lib/libcudart.so.13 "$site"/nvidia/*/lib/libcupti.so.13
    fi
    package=$1 python=$2
    shift 2
    for lib; do
        [ ! -e "$lib" ] || ln -sf "$lib" "$tmp/lib/"
    done
    for texts in "$site"/torch-*.dist-info/licenses "$site"/nvidia_cuda_runtime-*.dist-info/licenses \
        "$site"/nvidia_cuda_cupti-*.dist-info/licenses; do
        [ -d "$texts" ] || continue
        mkdir -p "$tmp/licences"
        name=${texts%.dist-info/licenses}
        cp -R "$texts" "$tmp/licences/${name##*/}"
    done
    if [ ! -e "$tmp/lib/libcudart.so.13" ] || [ ! -e "$tmp/lib/libcupti.so.13" ]; then
        # A build of torch for CUDA needs these two to load at all; a build for CPUs does not.
        if grep -q 'libcudart\.so\.13' "$tmp/lib/libtorch_cpu.so" 2>/dev/null; then
            download "$python" cuda-libraries
        fi
    fi
    finish "$package" "$version"
}

# Downloads the wheels of lists with python $1 and unpacks what is needed of them.
download() {
    python=$1
    shift
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
        fail "$(command -v "$python") is Python $("$python" -c 'import platform; print(platform.python_version())'), the wheel of torch $want needs CPython 3.10 or later$note"
    "$python" -m pip --version >/dev/null 2>&1 ||
        fail "$(command -v "$python") has no pip to download torch $want with; install it (Debian: apt-get install python3-pip) or set LIBTORCH$note"
    say "downloading with $(command -v "$python") -m pip: $*"
    for list; do
        shift
        list=${WHEEL_HASHES:-$root/scripts/wheels}/$list.txt
        [ -f "$list" ] || fail "$list: no such list of hashes; make it with scripts/wheel_hashes.py, or set LIBTORCH$note"
        set -- "$@" --requirement "$list"
    done
    # The lists name all that is needed.
    TMPDIR=$tmp/pip "$python" -m pip download --disable-pip-version-check --no-cache-dir --only-binary=:all: --no-deps \
        --require-hashes --dest "$tmp/wheels" "$@" 2>"$tmp/pip.log" ||
        fail "pip could not download torch $want or what it needs: $(sed -n '/[^[:space:]]/h; ${g;p;}' "$tmp/pip.log")$note"
    say "unpacking"
    "$python" - "$tmp" "$cuda" 2>"$tmp/unpack.log" <<'PYTHON' || fail "cannot unpack the wheels: $(sed -n '${p;}' "$tmp/unpack.log")"
import pathlib, shutil, sys, zipfile

out, cuda = pathlib.Path(sys.argv[1]), sys.argv[2] == "1"
cpu_libs = ("libtorch_cpu.so", "libtorch.so", "libc10.so", "libgomp", "libcudart.so.", "libcupti.so.")
for wheel in sorted((out / "wheels").glob("*.whl")):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            parts = name.split("/")
            if ".." in parts or "\\" in name:
                sys.exit(f"{wheel.name}: the entry {name!a} leads out of its folder: do not trust the file")
            if parts[:2] == ["torch", "include"] and parts[-1]:
                target = out.joinpath(*parts[1:])
            elif parts[0] in ("torch", "nvidia") and parts[-2:-1] == ["lib"] and ".so" in parts[-1]:
                if not cuda and not parts[-1].startswith(cpu_libs):
                    continue
                target = out / "lib" / parts[-1]
            elif parts[0].endswith(".dist-info") and parts[1] == "licenses" and parts[-1]:
                target = out.joinpath("licences", parts[0].removesuffix(".dist-info"), *parts[2:])
            else:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(name) as source, open(target, "wb") as sink:
                shutil.copyfileobj(source, sink, 1 << 20)
    wheel.unlink()
PYTHON
}

# 1. Already filled. A link to a folder of someone else's is used as it is and never changed.
[ -z "$asked" ] || is_served "$asked" || fail "TORCH=$asked is none of $served"
if is_served "$(version_of "$dest")" && [ "${asked:-$(version_of "$dest")}" = "$(version_of "$dest")" ] && [ -z "$(missing_in "$dest")" ]; then
    filled=yes
elif [ -L "$dest" ]; then
    fail "$dest is a link to something that is not a whole libtorch of $served; remove the link and try again"
else
    filled=no
fi

# 2. $LIBTORCH. It is checked even when the folder is filled, because cargo lets it win.
if [ -z "$asked" ] && [ -n "${LIBTORCH:-}" ] && [ "$LIBTORCH" != "$dest" ]; then
    remedy="unset LIBTORCH or point it at a libtorch of $served"
    case $LIBTORCH in /*) ;; *) fail "LIBTORCH=$LIBTORCH is not an absolute path; $remedy" ;; esac
    [ -d "$LIBTORCH" ] || fail "LIBTORCH=$LIBTORCH is not a folder; $remedy"
    found=$(version_of "$LIBTORCH")
    is_served "$found" ||
        fail "LIBTORCH=$LIBTORCH holds version ${found:-unknown (it has no build-version)}, expected $served; $remedy"
    lacks=$(missing_in "$LIBTORCH")
    [ -z "$lacks" ] || fail "LIBTORCH=$LIBTORCH lacks $lacks; $remedy"
    # One that this script filled has headers that are complete.
    if [ "$found" != "$want" ] && [ ! -f "$LIBTORCH/older-version" ]; then
        [ $filled = no ] ||
            fail "LIBTORCH=$LIBTORCH holds version $found, whose headers need completing, and $dest is filled already: remove $dest, or unset LIBTORCH"
        (link_folder "$LIBTORCH" "$found") || exit 1
        fail "$dest was filled from LIBTORCH=$LIBTORCH, whose headers needed completing: unset LIBTORCH, so that $dest is used"
    fi
    [ $filled = yes ] || link_folder "$LIBTORCH" "$found"
fi
[ $filled = no ] || exit 0

[ "$(uname -s) $(uname -m)" = "Linux x86_64" ] ||
    fail "only x86-64 Linux is served without help and this is $(uname -s) $(uname -m); set LIBTORCH to a libtorch of $served for it"

# 3. A Python that has torch; importing it would take seconds, so only its folder is looked up.
note=
best=
for python in python3 python; do
    command -v $python >/dev/null && $python -c '' 2>/dev/null || continue
    if [ -z "$best" ] || ! $best -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then best=$python; fi
    package=$($python -c 'import importlib.util, os
spec = importlib.util.find_spec("torch")
print(os.path.dirname(spec.origin) if spec and spec.origin else "")' 2>/dev/null) || continue
    [ -n "$package" ] && [ -z "$asked" ] || continue
    found=$(version_of "$package")
    if is_served "$found" && [ -z "$(missing_in "$package")" ]; then link_package "$package" $python "$found"; fi
    note=" (torch ${found:-of unknown version} in $package is not a whole torch of $served)"
done

# 4. The wheels.
[ -n "$best" ] || fail "no python3 on PATH to download torch $want with; install Python 3.10 or later with pip, or set LIBTORCH"
begin
if [ "$cuda" = 1 ]; then
    download $best "torch-${asked:-$want}-cuda"
else
    free_mb=$(df -Pk "$dest" | awk 'NR == 2 { print int($4 / 1000) }')
    [ "$free_mb" -ge 1300 ] || fail "unpacking torch $want takes 1300 MB in $dest and $free_mb MB are free$note"
    download $best "torch-${asked:-$want}" cuda-libraries
fi
finish "the wheels of torch ${asked:-$want}" "${asked:-$want}"
