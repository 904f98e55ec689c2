#!/bin/sh
# Builds the site of docs/ into target/site with mdBook 0.5 (`cargo install mdbook`). A warning of mdBook is a failure.
#
#   scripts/site.sh [FOLDER]          FOLDER is target/site of this checkout unless given
#
# The pages link to files outside docs/ by relative paths, so that they read well as files. A site has no such files:
# there these links lead to the repository whose address REPOSITORY is (https://host/name/blob/main). Without it they are
# no links, and the pointer shows the path.
set -eu

repository=${REPOSITORY:-}
root=$(cd "$(dirname "$0")/.." && pwd)
dest=${1:-$root/target/site}
pages=$root/target/site-pages

fail() {
    printf 'site: %s\n' "$*" >&2
    exit 1
}

command -v mdbook >/dev/null || fail "no mdbook on PATH; run \`cargo install mdbook\`"
rm -rf "$pages" "$dest"
mkdir -p "$pages"
cp -R "$root/docs/." "$pages"

# A page in docs/ leaves it by one step up, a page in a folder of docs/ by two.
for page in "$pages"/*.md "$pages"/*/*.md; do
    case ${page#"$pages"/} in
    */*) up='\.\./\.\./' ;;
    *) up='\.\./' ;;
    esac
    if [ -n "$repository" ]; then
        sed "s#](${up}\([^)]*\))#](${repository}/\1)#g" "$page" >"$page.new"
    else
        sed "s#\[\([^]]*\)\](${up}\([^)]*\))#<span title=\"\2\">\1</span>#g" "$page" >"$page.new"
    fi
    mv "$page.new" "$page"
done

log=$root/target/site.log
mdbook build "$pages" --dest-dir "$dest" >"$log" 2>&1 || fail "$(cat "$log")"
if grep -E 'WARN|ERROR' "$log" >&2; then
    fail "mdbook warned; correct the page"
fi
rm -f "$dest/book.toml"
printf 'site: %s/index.html\n' "$dest"
