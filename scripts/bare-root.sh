#!/usr/bin/env bash
# Unpacks a release archive into an empty root folder that has glibc's libraries, /dev and /proc besides, and runs its
# program there: no torch, no Python, no compiler, no shell. (The loader reads in /proc where a program is.)
#
#   scripts/bare-root.sh ARCHIVE [WORDS...]    WORDS go to the program: `quickstart --limit 4` unless given
#
# Needs root, or a system on which users may have namespaces of their own. Prints what was in the root, what the program
# prints, and the seconds of both steps. The exit status is the program's; 1 where it could not be started.
set -euo pipefail

fail() {
    printf 'bare-root: %s\n' "$*" >&2
    exit 1
}

[ $# -gt 0 ] || fail "which archive? scripts/bare-root.sh ARCHIVE [WORDS...]"
archive=$1
shift
[ $# -gt 0 ] || set -- quickstart --limit 4
[ -f "$archive" ] || fail "no archive at $archive; run \`make dist\`"

namespace=(unshare --mount)
[ "$(id -u)" = 0 ] || namespace+=(--map-root-user)
"${namespace[@]}" true 2>/dev/null || fail "this needs root, or user namespaces, which this system does not allow"

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
begun=$SECONDS
tar -xJf "$archive" -C "$root" || fail "$archive cannot be unpacked"
unpacked=$((SECONDS - begun))
program=$(cd "$root" && echo specimen-*/bin/specimen)
[ -x "$root/$program" ] || fail "$archive has no specimen-*/bin/specimen"

# The loader, and the libraries that it finds outside of the archive.
env -u LD_LIBRARY_PATH LD_TRACE_LOADED_OBJECTS=1 "$root/$program" |
    awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^\//) print $i }' | grep -v "^$root/" | sort -u |
    while read -r library; do
        case ${library##*/} in
        ld-linux* | libc.so.* | libm.so.* | libmvec.so.* | libdl.so.* | libpthread.so.* | librt.so.* | libutil.so.*)
            mkdir -p "$root${library%/*}"
            cp -L "$library" "$root$library"
            ;;
        *) fail "the archive takes $library from the system" ;;
        esac
    done
mkdir "$root/dev" "$root/proc" "$root/tmp" "$root/desk"
echo "bare-root: besides the archive: $(cd "$root" && find . -type f -not -path './specimen-*' | sort | tr '\n' ' ')"

begun=$SECONDS
status=0
# shellcheck disable=SC2016
"${namespace[@]}" sh -c 'mount --rbind /dev "$1/dev" && mount --rbind /proc "$1/proc" && root=$1 && program=/$2 && shift 2 &&
    exec env -i PATH="$PATH" HOME=/desk chroot "$root" "$program" "$@"' sh "$root" "$program" "$@" || status=$?
echo "bare-root: unpacked in $unpacked s; \`specimen $*\` took $((SECONDS - begun)) s, exit status $status"
exit "$status"
