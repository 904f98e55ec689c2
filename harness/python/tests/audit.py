"""Compares the numbers of a run with those that follow from its raw rows, and prints those that differ.

It is a second writing: it shares no code with the program, and follows docs/how-we-measure.md. Settings and words (such
as which cell is exact) are taken from the run; numbers are not. What it cannot recompute is named.
"""

import argparse
import csv
import json
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

from audit_names import (
    AVERAGES, CHANGE, COLUMNS, GIVEN, HEADS, HYPERVOLUME, PRINTED, SETTINGS, STEP, ends, leaves, measure_of, number,
    numbers_of, unit,
)
from audit_run import Run
from audit_statistics import ends_of
from audit_verdicts import gate, tune


class Audit:
    """Numbers that were compared, those that differ, and names of those that nothing here recomputes."""

    def __init__(self, run):
        self.run, self.compared, self.differ, self.unknown = run, 0, [], Counter()
        self.read = set()
        self.metrics = {metric for metric, _ in run.metrics}

    def check(self, file, cell, name, printed, want, half=0.0):
        self.compared += 1
        same = printed is None and want is None
        if printed is not None and want is not None:
            low, high = ends_of(want)
            slack = half * 1.000001 + 1e-8 * max(abs(low), abs(high)) + 1e-15
            same = low - slack <= printed <= high + slack
        if not same:
            self.differ.append(f"{file}: {cell}: {name}: printed {printed}, recomputed {want}")

    def tree(self, file, cell, printed, want, names=lambda x: x):
        """Every number of a part of a JSON file, by the name that its path stands for."""
        want = {name: x for name, x in want.items() if ".own." not in f".{name}"}
        for path, x in leaves(printed):
            name = names(path)
            is_part = x is None and not path.endswith(".value")
            same = [key for key in want if key == name or is_part and key.startswith(f"{name}.")]
            for key in same:
                self.check(file, cell, key, x, want.pop(key))
            if not same and x is not None:
                self.unknown[f"{file}: {re.sub(r'[.][0-9]+', '.*', name)}"] += 1
        for name, x in want.items():
            if x is not None:
                self.check(file, cell, name, None, x)

    def json(self):
        self.tree("summary.json", "the run", self.run.summary["timing_quality"], self.run.machine_numbers())
        for cell, words in self.run.words.items():
            self.tree("summary.json", cell, numbers_of(words), self.run.numbers[cell], measure_of)
        for (metric, cell), row in self.run.metrics.items():
            names = [f"metrics.{metric}", *ends(f"metrics.{metric}")]
            want = {name: self.run.numbers[cell][name] for name in names if name in self.run.numbers[cell]}
            if want:
                printed = {"metrics": {metric: {"value": row["value"], "ci95": row["ci95"]}}}
                self.tree(f"metrics/{metric}", cell, printed, want, measure_of)

    def column(self, cell, column):
        """Whether a column's number is recomputed, and the number."""
        stem, end = (column[:-3], column[-3:]) if column[-3:] in ("_lo", "_hi") else (column, "")
        path, numbers = COLUMNS.get(stem, stem), self.run.numbers[cell]
        if stem.removesuffix("_distance") in self.metrics:
            path = f"metrics.{stem.removesuffix('_distance')}" + ".own.distance" * stem.endswith("_distance")
            if stem.endswith("_distance") and self.run.is_exact(cell):
                return True, None
        return path in numbers, numbers.get(path + {"_lo": ".ci95.0", "_hi": ".ci95.1", "": ""}[end])

    def sheet(self, name, want_of):
        path = self.run.folder / "report" / name
        self.read.add(name)
        if not path.is_file():
            return
        for row in csv.DictReader(path.open(encoding="utf-8")):
            want = want_of(row)
            for column, text in row.items():
                if column in want:
                    self.check(name, row["cell"], column, number(text), want[column])
                elif number(text) is not None and column not in GIVEN and column.split(".")[0] not in SETTINGS:
                    self.unknown[f"{name}: {column}"] += 1

    def table_row(self, row):
        known = {column: self.column(row["cell"], column) for column in row}
        return {column: x for column, (is_known, x) in known.items() if is_known}

    def markdown(self):
        """The printed table: rounded numbers, marks, and the lines below it."""
        path = self.run.folder / "report" / "table.md"
        text = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        table = [[x.strip() for x in line.strip("| ").split("|")] for line in text if line[:1] == "|"]
        heads, rows = table[0] if table else [], table[2:]
        for at, head in enumerate(heads[1:], 1):
            name = re.sub(r" [↑↓]$", "", head)
            metric = name.removeprefix("abs. Δ ").split(" ")[0]
            if name not in HEADS and metric not in self.metrics:
                if any(PRINTED.fullmatch(row[at]) for row in rows):
                    self.unknown[f"table.md: {name}"] += len(rows)
                continue
            column = HEADS.get(name) or metric + "_distance" * name.startswith("abs. Δ ")
            for row in rows:
                self.printed(row[0], name, column, row[at])
            if head != name and any(self.column(row[0], column)[0] for row in rows):
                self.marks(name, column, {row[0]: row[at] for row in rows}, 1 if head.endswith("↑") else -1)
        for line in text:
            metric = line.split(" minus the baseline's, paired", 1)[0]
            names = ("vs_baseline.difference", "vs_baseline.n", "vs_baseline.z", "own.holm", "vs_baseline.detectable")
            found = CHANGE.findall(line) if metric in self.metrics else []
            if found:
                n = sum(f"metrics.{metric}.own.p" in x for x in self.run.numbers.values())
                self.check("table.md", "the run", f"{metric}: lines of differences", len(found), n)
            for cell, *shown in found:
                for name, x in zip(names, shown):
                    want = self.run.numbers[cell].get(f"metrics.{metric}.{name}")
                    if "<" in x:  # a p value that is only said to be smaller
                        x = x.split()[-1]
                        want = max(want, float(x))
                    self.check("table.md", cell, f"{metric} {name}", float(x), want, unit(x))
            if " prompt by prompt" in line:
                path = "speedup_e2e" if line.startswith("Speedup e2e") else "speedup"
                names = [f"{path}_{x}{end}" for x in ("geomean", "median") for end in ("", "_lo", "_hi")]
                for cell, *shown in AVERAGES.findall(line):
                    for name, x in zip(names, shown):
                        if x:
                            self.check("table.md", cell, name, float(x), self.column(cell, name)[1], unit(x))

    def printed(self, cell, name, column, shown):
        is_known, want = self.column(cell, column)
        found = PRINTED.fullmatch(re.sub(r"[^\d.,\[\]± -]", "", shown))
        if not is_known or (found is None and "—" not in shown):
            self.unknown[f"table.md: {name}"] += bool(found) or "—" not in shown
            return
        value, half, low, high = found.groups() if found else [None] * 4
        scale = 100 if "%" in name else 1
        if want is not None:  # AR drafts nothing, and has 1 here as papers do
            want = want * scale + (column == "accepted_per_step" and self.run.words[cell]["family"] == "plain")
        self.check("table.md", cell, name, number(value), want, unit(value))
        interval = [self.column(cell, column + at)[1] for at in ("_lo", "_hi")]
        for end, x, sign in zip(interval, (low, high), (-1, 1)):
            if half:
                reach = tuple(sorted(sign * (e - want) for e in ends_of(end)))
                self.check("table.md", cell, f"{name} ±", float(half), reach, unit(half))
            elif found:
                self.check("table.md", cell, f"{name} []", number(x), end, unit(x))

    def marks(self, name, column, shown, up):
        """The best and the second of a group, among rows that compete."""
        groups = defaultdict(dict)
        for cell in shown:
            words, value = self.run.words[cell], self.column(cell, column)[1]
            is_image_metric = column.removesuffix("_distance") in self.metrics
            rests = self.run.baseline(cell) == cell or words["n_failed"] or value is None
            if not rests and not (is_image_metric and self.run.is_exact(cell)):
                group = words["model"], words["dataset"], self.run.baseline(cell), words["guarantee"]
                groups[group][cell] = up * round(value, 12)
        places = dict.fromkeys(shown, 0)
        for group in groups.values():
            ranks = sorted(set(group.values()), reverse=True)
            if len(ranks) > 1:
                places |= {cell: 2 for cell, x in group.items() if x == ranks[0]}
                places |= {cell: 1 for cell, x in group.items() if x == ranks[1] and len(group) > 2}
        for cell, text in shown.items():
            self.check("table.md", cell, f"{name}: mark", 2 if text[:2] == "**" else int(text[:1] == "*"), places[cell])

    def figures(self):
        """The tables of the figures that are of cells."""
        run, plain = self.run, {}
        for cell, x in run.numbers.items():
            if x["decode_s"] and run.baseline(cell):
                plain[cell] = (x["decode_s"] - x["prefill_s"]) / x["own.verified"]

        def step(row):
            cell = row["cell"]
            if cell not in plain:
                return dict.fromkeys(("seconds_per_verification", "in_baseline_steps", "speedup"))
            wall = {phase: run.numbers[cell][f"{x}_s"] / run.numbers[cell]["own.verified"] for phase, x in STEP.items()}
            seconds = wall[row["phase"]] if row["phase"] in wall else plain[cell] - sum(wall.values())
            return {
                "seconds_per_verification": seconds, "in_baseline_steps": seconds / plain[run.baseline(cell)],
                "tokens_per_verification": run.numbers[cell]["pooled_tpf"], "speedup": run.numbers[cell]["speedup"],
            }

        def depth(row):
            return {"accepted_of_tested": run.numbers[row["cell"]].get(f"acceptance_by_depth.{int(row['depth']) - 1}")}

        def moved(row):
            found = {"tvd_spent_per_image": run.numbers[row["cell"]]["tvd_spent"]} | self.speeds(row["cell"], "decode")
            return dict.fromkeys(found) if row["why"] else found

        def image(row):  # what another program does not report is 0 in records
            found = images[row["cell"], row["prompt_id"], row["sample"]]
            counts = {name: x for name, x in found.items() if name != "sample" and isinstance(x, (int, float))}
            return {name: x or None for name, x in counts.items()} if run.is_foreign(row["cell"]) else counts

        images = {(row["cell"], row["prompt_id"], str(row["sample"])): row for x in run.records.values() for row in x}
        self.sheet("phases.csv", step)
        self.sheet("acceptance.csv", depth)
        self.sheet("tvd.csv", moved)
        self.sheet("projected.csv", self.table_row)
        self.sheet("images.csv", image)

    def diagnostics(self):
        """The tables of what was looked into inside a run, from its files."""
        paths = self.run.folder.glob("diagnostics/*/*.json")
        files = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
        found = {(x["diagnostic"], x["cell"]): x for x in files}

        def of(x, **counts):
            return counts | {"images": x["n_images"], "repeated": x["n_repeated"]}

        def confidence(row):
            x = found["confidence", row["cell"]]["confidence"]
            k = round(float(row["from"]) * len(x["target"]))
            tested, accepted = (x[name][k] if x[name] else None for name in ("tested", "accepted"))
            return of(x, target_tokens=x["target"][k], tested=tested, accepted=accepted, target_mean=x["target_mean"])

        def paths_of(row):
            x = found["draft-paths", row["cell"]]["draft_paths"]
            low, high = x["range"]
            k = round((float(row["from"]) - low) / (high - low) * len(x["counts"]))
            return of(x, trees=x["counts"][k], mean=x["mean"], trees_with_one_path=x["n_single"])

        def risen(row):
            x = found["risen-tokens", row["cell"]]["risen_tokens"]
            tally = x[row["of"]]
            pairs = {f"{at:g}": pair for at, *pair in zip(x["log2_ratio"], tally["guesses"], tally["hits"])}
            guesses, hits = (pairs | {"risen": tally["risen"], "not risen": tally["not_risen"]})[row["log2_ratio"]]
            return of(x, guesses=guesses, hits=hits)

        def features(row):
            (x,) = [x for x in found["feature-rows", row["cell"]]["feature_rows"] if x["key"] == row["image"]]
            name, n = ("between", x["n_rows"]) if row["map"] == "between-rows" else ("last_row", x["n_cols"])
            return {"cosine": x[name][n * (int(row["row"]) - 1) + int(row["column"]) - 1]}

        tables = {"confidence": confidence, "paths": paths_of, "risen-tokens": risen, "features": features}
        for name, want in tables.items():
            self.sheet(f"{name}.csv", lambda row, want=want: {} if row.get("why") else want(row))

    def speeds(self, cell, times):
        name = "speedup" if times == "decode" else "speedup_e2e"
        found = {f"speedup{end}": self.column(cell, name + end)[1] for end in ("", "_lo", "_hi")}
        return found | ({"speedup_lo": None, "speedup_hi": None} if self.run.baseline(cell) == cell else {})

    def quality(self, row):
        """What a figure has of a cell on its vertical axis, and what decides there, each with its interval."""
        metric, cell, is_far = row["metric"], row["cell"], row["quantity"].startswith("absolute")
        stem, apart = f"metrics.{metric}", "own.distance" if is_far else "vs_baseline"
        names = [f"{stem}.{apart}{x}" for x in ("" if is_far else ".difference", ".ci95.0", ".ci95.1")]
        value, apart = ([self.run.numbers[cell].get(x) for x in part] for part in ([stem, *ends(stem)], names))
        apart = [0.0, None, None] if cell == self.run.baseline(cell) else apart
        return value if row["quantity"] == "value" else apart, apart

    def points(self, row):
        want = self.speeds(row["cell"], row["times"])
        values, apart = self.quality(row)
        for name, found in (("quality", values), ("difference", apart)):
            want |= {f"{name}{end}": x for end, x in zip(("", "_lo", "_hi"), found) if f"{name}{end}" in row}
        want |= {column: x for column, x in self.table_row(row).items() if column in ("nfe", "accepted_per_step")}
        return want if row.get("times", "decode") else dict.fromkeys(want)

    def pareto(self):
        self.sheet("pareto.csv", self.points)
        for path in self.run.folder.glob("report/sweep-*.csv"):
            self.sheet(path.name, self.points)
        path, page = (self.run.folder / "report" / name for name in ("pareto.csv", "index.html"))
        rows = [row for row in csv.DictReader(path.open(encoding="utf-8")) if row["times"]] if path.is_file() else []
        words, exact, groups, dominated = self.run.words, self.run.is_exact, defaultdict(list), {}
        shown = rows[0]["metric"] if rows and rows[0]["quantity"] == "value" else None
        rise = {row["higher_is_better"] for (metric, _), row in self.run.metrics.items() if metric == shown}
        up = 1 if rise == {True} else -1

        def dominates(a, b):
            if exact(b["cell"]) or number(a["speedup"]) <= number(b["speedup"]):
                return exact(a["cell"]) and number(a["speedup"]) > number(b["speedup"])
            column = "difference" if b["difference"] else "quality"
            bar = 0.0 if exact(a["cell"]) and b["difference"] else number(a[column])
            shown = number(b[column + ("_lo" if up > 0 else "_hi")] or b[column])
            return up * (shown - bar) <= 0

        for row in sorted(rows, key=lambda row: -number(row["speedup"])):
            cell = words[row["cell"]]
            front = groups[cell["model"], cell["dataset"], self.run.baseline(row["cell"])]
            dominated[row["cell"]] = any(dominates(a, row) for a in front)
            self.check("pareto.csv", row["cell"], "dominated", number(row["dominated"]), float(dominated[row["cell"]]))
            if not dominated[row["cell"]] and not cell["n_failed"]:
                front.append(row)
        text = page.read_text(encoding="utf-8") if page.is_file() else ""
        for shown, worst in HYPERVOLUME.findall(text):
            plain = {row["cell"]: number(row["quality"]) for row in rows if row["baseline"] == "true"}
            height = {row["cell"]: number(row["quality"]) for row in rows}
            height |= {x: plain[self.run.baseline(x)] for x in height if exact(x) and self.run.baseline(x) in plain}
            least, area = min(up * x for x in height.values()), 0.0
            self.check("index.html", "the run", "worst quality", number(worst), up * least, unit(worst))
            for row in next(iter(groups.values())):
                gain = up * height[row["cell"]] - least
                if gain > 0 and number(row["speedup"]) > 1:
                    area, least = area + gain * (number(row["speedup"]) - 1), least + gain
            self.check("index.html", "the run", "hypervolume", number(shown), area, unit(shown))


def load(path):
    text = Path(path).read_text(encoding="utf-8")
    if str(path).endswith(".json"):
        return json.loads(text)
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib
    return tomllib.loads(text)


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="folder of a finished run")
    parser.add_argument("--costs", type=load, help="the cost table of its report")
    parser.add_argument("--gate", nargs=3, type=load, metavar=("ANSWER", "BASELINE", "RULES"),
                        help="what `gate --format json` answered, in a file, and what it compared with")
    asked = parser.parse_args(words)
    if not (Path(asked.run) / "merged" / "summary.json").is_file():
        parser.error(f"{asked.run}: there is no finished run")
    audit = Audit(Run(asked.run))
    if asked.costs:
        audit.run.project(asked.costs)
    audit.json()
    audit.sheet("table.csv", audit.table_row)
    audit.markdown()
    audit.figures()
    audit.diagnostics()
    audit.pareto()
    tune(audit)
    if asked.gate:
        gate(audit, *asked.gate)
    print("\n".join([*audit.differ, f"{audit.compared} numbers compared, {len(audit.differ)} differ"]))
    unread = sorted({x.name for x in (audit.run.folder / "report").glob("*.csv")} - audit.read - {"tune.csv"})
    print("not read: report/table.html, table.tex, figures and index.html but its hypervolume", *unread, sep=", ")
    for name, n in sorted(audit.unknown.items()):
        print(f"not recomputed: {name} ({n})")
    return int(bool(audit.differ))


if __name__ == "__main__":
    sys.exit(main())
