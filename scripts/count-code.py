#!/usr/bin/env python3
"""Counts the code lines of the product: Rust below src/, without blank lines, comments, docs and inline tests.

    python3 scripts/count-code.py            lines by crate, the most first, and all of them
    python3 scripts/count-code.py --tests    lines of tests: folders tests/ and inline tests, blank lines left out
"""
import re
import subprocess
import sys
from collections import Counter

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*)|(?P<block>/\*)|(?P<raw>\bb?r(?P<hash>\#*)".*?"(?P=hash))"""
    r"""|(?P<string>b?"(?:\\.|[^"\\])*")|(?P<char>b?'(?:\\[^\n]+?|[^\\'\n])')""",
    re.S,
)


def without_comments(text):
    """The text with comments blanked; line ends stay. Contents of strings are replaced where they could hold braces."""
    out, at = [], 0
    while found := TOKEN.search(text, at):
        out.append(text[at : found.start()])
        at = found.end()
        if found["block"]:
            depth = 1
            while depth:
                step = re.compile(r"/\*|\*/").search(text, at)
                if not step:
                    at = len(text)
                    break
                depth += 1 if step[0] == "/*" else -1
                at = step.end()
            out.append("\n" * text.count("\n", found.start(), at))
        elif found["comment"]:
            pass
        else:
            out.append(re.sub(r"[{}]", "_", found[0]))
    return "".join([*out, text[at:]])


def split_tests(text):
    """Lines of code, and lines of inline tests: items behind #[cfg(test)]."""
    code, tests, lines = [], [], text.split("\n")
    at = 0
    while at < len(lines):
        if lines[at].strip().startswith("#[cfg(test)]"):
            depth, began = 0, False
            while at < len(lines):
                tests.append(lines[at])
                depth += lines[at].count("{") - lines[at].count("}")
                began = began or "{" in lines[at]
                at += 1
                if depth == 0 and (began or lines[at - 1].rstrip().endswith(";")):
                    break
        else:
            code.append(lines[at])
            at += 1
    return (sum(bool(line.strip()) for line in part) for part in (code, tests))


def main():
    files = subprocess.run(["git", "ls-files", "*.rs"], capture_output=True, text=True, check=True).stdout.split()
    product, tests = Counter(), Counter()
    for path in files:
        crate, slash, _ = path.partition("/src/")
        code, inline = split_tests(without_comments(open(path, encoding="utf-8").read()))
        if path.endswith("/tests.rs"):
            tests[crate] += code + inline
        elif slash and "/tests/" not in path:
            product[crate] += code
            tests[crate] += inline
        elif "/tests/" in path or path.startswith("harness/testdata"):
            tests[path.split("/tests/")[0]] += code + inline
    shown = tests if "--tests" in sys.argv else product
    for crate, lines in shown.most_common():
        print(f"{lines:7} {crate}")
    print(f"{sum(shown.values()):7} in all")


if __name__ == "__main__":
    main()
