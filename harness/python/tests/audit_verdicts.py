"""Verdicts of the audit: the standings of a tuning and the checks of a gate."""

import csv
import re
from collections import defaultdict
from itertools import product

import numpy as np
from audit_names import leaves, measure_of, number, numbers_of
from audit_run import PAIRED
from audit_statistics import LEAST, distance, ends_of, student, t_quantile

NEARER = ("target-nll",)  # of a relaxed cell, nearer to the baseline is better


def tune(audit):
    """A tuning: of each bound, how far a setting is inside, with an interval of Student's t; the first is the best."""
    path, run = audit.run.folder / "report" / "tune.csv", audit.run
    rows = list(csv.DictReader(path.open(encoding="utf-8"))) if path.is_file() else []
    bounds, inside = {row["constraint"] for row in rows}, defaultdict(list)
    for row in rows:
        cell, base, objective = row["setting"], run.baseline(row["setting"]), row["objective"]
        found = margin(audit, cell, base, row["constraint"], 0.05 / len(bounds))
        value = student(list(run.by_prompt(cell, objective).values()), 0.05)
        if objective in NEARER and value[0] is not None:
            value = away(run, cell, base, objective, 0.05)
        found |= dict(zip(("value", "low", "high"), value))
        for name, x in found.items():
            audit.check("tune.csv", f"{cell}, {row['constraint']}", name, number(row[name]), x)
        ends = (found["slack_low"], found["slack_high"])
        inside[cell, row["standing"]].append(ends if None not in ends else (-1.0, 1.0))  # without ends, not decided
    for (cell, standing), ends in inside.items():
        misses = any(high < 0 for _, high in ends)
        found = "meets" if all(low >= 0 for low, _ in ends) else "misses" if misses else "not decided"
        audit.check("tune.csv", cell, f"{standing} ({found} here)", 1.0, float(standing == found))
    meets = [number(row["value"]) for row in rows if row["standing"] == "meets"]
    if meets:
        rising = {x["higher_is_better"] for (metric, _), x in run.metrics.items() if metric == rows[0]["objective"]}
        falls = rows[0]["objective"] in ("nfe", "decode_s", "e2e_s", "tvd_spent", *NEARER) or rising == {False}
        audit.check("tune.csv", rows[0]["setting"], "the best", meets[0], (min if falls else max)(meets))


def away(run, cell, base, metric, alpha):
    """How far a cell is from its baseline, with an interval."""
    ours, theirs = (run.by_prompt(x, metric) for x in (cell, base))
    middle, *ends = student([ours[at] - theirs[at] for at in ours.keys() & theirs.keys()], alpha)
    far = [x and ends_of(x)[0] for x in distance(ends)]
    return [0.0] * 3 if run.is_exact(cell) else [abs(middle), *far]


def margin(audit, cell, base, constraint, alpha):
    run = audit.run
    name, sign, plain, factor, plus = re.fullmatch(
        rf"(.+?)([<>]=)({re.escape(base)})?(?:\*([\d.]+))?([+-]?[\d.]+)?", constraint
    ).groups()
    name = next((x for x in audit.metrics if x.split(":")[0] == name), name)
    up, slope, plus = 1 if sign == ">=" else -1, float(factor or 1) if plain else 0.0, float(plus or 0)
    ours, theirs = run.by_prompt(cell, name), run.by_prompt(base, name)
    value, other = (float(np.mean(list(x.values()))) if x else None for x in (ours, theirs))
    out, exact = {"measured": value, "bound": plus + slope * (other or 0.0)}, False
    parts = [up * (ours[at] - slope * theirs.get(at, 0.0) - plus) for at in ours]
    if name in audit.metrics and name.split(":")[0] not in PAIRED and run.is_exact(cell):
        parts, exact = [up * (theirs[at] - slope * theirs[at] - plus) for at in theirs], True
    slack = student(parts, alpha)
    if exact and len(set(parts)) == 1:
        slack = [parts[0]] * 3
    if name in NEARER and ours and not exact and slope == 1 and up * plus < 0:
        middle, low, high = away(run, cell, base, name, alpha)
        slack = [x if x is None else abs(plus) - x for x in (middle, high, low)]
    out |= dict(zip(("slack", "slack_low", "slack_high"), slack)) | {"prompts_to_decide": None}
    if exact or slack[1] is None or not slack[1] < 0 < slack[2] or not slack[0]:
        return out
    low, high, sd = max(LEAST, len(parts) + 1), 2 * len(parts), np.std(parts, ddof=1)

    def is_enough(n):
        return t_quantile(1 - alpha / 2, n - 1) * sd / n**0.5 <= abs(slack[0])

    while not is_enough(high):
        high *= 2
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
    return out | {"prompts_to_decide": low}


def gate(audit, answer, baseline, rules):
    """The verdicts of a gate on a machine without a label, which checks no times."""
    want, stored = [], {}
    for words in baseline.get("summary", baseline)["cells"]:
        stored[words["id"]] = {measure_of(path): x for path, x in leaves(numbers_of(words))}
    for rule, cell in product(rules["rule"], stored):
        name, before = rule["measure"], stored[cell]
        if "runner" in rule or not any(re.fullmatch(re.escape(x).replace(r"\*", ".*"), cell) for x in rule["cells"]):
            continue
        # A rule with a direction needs a better and a worse: there it is the distance from the baseline's.
        is_near = name in NEARER and not audit.run.is_exact(cell) and rule.get("direction", "both") != "both"
        new = [audit.column(cell, f"{name}{'_distance' * is_near}{end}")[1] for end in ("", "_lo", "_hi")]
        path = f"metrics.{name}{'.vs_baseline' * is_near}" if name in audit.metrics else name
        old = [before.get(path + x) for x in (".difference" * is_near, ".ci95.0", ".ci95.1")]
        if is_near and old[0] is not None:
            old = [abs(old[0]), *distance(old[1:])]
        n = min(audit.run.numbers[cell]["n_images"], before["n_images"])
        if new[0] is None or old[0] is None or n < rule.get("min_n", 0):
            continue
        moved, ends = new[0] - old[0], [ends_of(x) for x in (*new[1:], *old[1:]) if x is not None]
        meet = len(ends) == 4 and ends[0][0] <= ends[3][1] and ends[2][0] <= ends[1][1]
        passed = {
            "exact": abs(moved) <= 1e-12 * abs(old[0]), "absolute": abs(moved) <= rule.get("tolerance", 0),
            "relative": abs(moved) <= rule.get("tolerance", 0) * abs(old[0]), "interval": meet or not moved,
            "window": rule.get("low", 0) <= new[0] <= rule.get("high", 0),
        }[rule["kind"]]
        good = {"higher-is-better": moved >= 0, "lower-is-better": moved <= 0}.get(rule.get("direction"), False)
        want.append((cell, name, {"baseline": old[0], "measured": new[0], "passed": float(passed or good)}))
    audit.check("gate", "the run", "checks", len(answer["checks"]), len(want))
    for check, (cell, name, found) in zip(answer["checks"], want):
        for key, x in found.items():
            audit.check("gate", cell, f"{name} {key}", number(check[key]), x)
