"""The numbers of a run, from its raw rows, as docs/how-we-measure.md says: what `audit.py` compares with."""

import json
import math
from collections import defaultdict
from itertools import product
from pathlib import Path
from urllib.parse import unquote

import numpy as np
from audit_statistics import (
    LEAST, NORMAL, bca, detectable, distance, hettmansperger_sheather, holm, p_value, t_quantile,
)

PHASES = ("text_encode", "prefill", "draft", "schedule", "target", "verify", "update", "vq_decode", "save")
PAIRED = ("psnr", "ssim", "lpips", "token-match", "first-difference", "difference-gap")
BOOTSTRAPPED = (*PAIRED, "clip-score", "aesthetic", "pickscore", "hpsv2.0", "hpsv2.1", "imagereward")


def verified(row):
    return row["n_steps"] - row["skipped_steps"]


def steps_of(row):
    return verified(row), row["n_draft_forwards"]


#: What one image has of a count.
RATES = {
    "accepted_per_step": lambda row: row["accepted"] / verified(row),
    "tokens_per_forward": lambda row: row["emitted"] / verified(row),
    "tpf": lambda row: (row["emitted"] + row["skipped_tokens"]) / verified(row),
    "nfe": lambda row: row["nfe"],
    "step_compression": lambda row: row["n_tokens"] / row["nfe"],
    "tvd_spent": lambda row: row["tvd_spent"],
}


def observed(row):
    """What counts once: a prompt, or a batch of images that were decoded together."""
    batch = row.get("batch") or {"size": 1}
    return row["prompt"] if batch["size"] == 1 else str((row["session"], row["block"], batch["index"]))


def mean(values):
    return float(np.mean(values)) if len(values) else None


def by_prompt(rows, of=np.mean):
    """The columns of the rows of each prompt, in the order of the prompts."""
    found = defaultdict(list)
    for prompt, *columns in rows:
        found[prompt].append(columns)
    return np.array([of(found[prompt], axis=0) for prompt in sorted(found)])


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


class Run:
    """What the rows of a run say."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.summary = json.loads((self.folder / "merged" / "summary.json").read_text(encoding="utf-8"))
        self.spec = json.loads((self.folder / "manifest.json").read_text(encoding="utf-8"))["spec"]
        self.cells = {cell["name"]: cell for cell in self.spec["cells"]}
        self.words = {cell["id"]: cell for cell in self.summary["cells"]}
        self.records, self.times, self.machine = defaultdict(list), [], []
        for row in lines(self.folder / "merged" / "records.jsonl"):
            self.records[row["cell"]].append(row)
        self.steps = {row["key"]: row["steps"] for row in lines(self.folder / "merged" / "steps.jsonl")}
        self.ok = {row["key"]: row for rows in self.records.values() for row in rows if row["status"] == "ok"}
        for attempt in sorted(self.folder.glob("shards/*/attempts/*")):
            finished = {row["block"]: row for row in lines(attempt / "machine.jsonl")}
            timed = set()
            for row in lines(attempt / "timing.jsonl"):
                row["cell"], row["prompt"], row["sample"] = map(unquote, row["key"].split("/"))
                row["session"] = (attempt.parts[-3], attempt.name)
                row["place"] = (row["session"], row["prompt"], row["sample"])
                counts = not row["warmup"] and row["key"] in self.ok and self.cells[row["cell"]]["timed"]
                if counts and (row["block"] in finished or "imported" in self.cells[row["cell"]]):
                    self.times.append(row)
                    timed.add(row["block"])
            others = [row["others"] for block, row in finished.items() if block in timed]
            self.machine += [x for x in others if x is not None]
        self.metrics = {}
        for path in self.folder.glob("metrics/*/*.json"):
            row = json.loads(path.read_text(encoding="utf-8"))
            self.metrics[row["metric"], row["cell"]] = row | {"path": path}
        self.numbers = {cell: self.cell(cell) for cell in self.cells}
        for metric in {metric for metric, _ in self.metrics}:
            name = f"metrics.{metric}.own.p"
            for cell, p in holm({cell: x[name] for cell, x in self.numbers.items() if name in x}).items():
                self.numbers[cell][f"metrics.{metric}.own.holm"] = p

    def is_foreign(self, cell):
        return "external" in self.cells[cell] or "imported" in self.cells[cell]

    def is_exact(self, cell):
        return self.words[cell]["guarantee"] == "exact"

    def baseline(self, cell):
        ours = self.cells[cell]
        named = {other["external"].get("baseline") for other in self.cells.values() if "external" in other}
        base = ours["external"].get("baseline") if "external" in ours else None
        base = base or (ours["base"] if ours["base"] in named else "ar")
        wanted = (base, ours["model"], ours["sampling"])
        found = {(x["base"], x["model"], x["sampling"]) == wanted: name for name, x in self.cells.items()}
        return found.get(True)

    def counts(self, cell):
        """Means over images, and rates over the pooled steps."""
        rows = [row for row in self.records[cell] if row["status"] == "ok"]
        out = {"n_images": len(rows), "n_failed": len(self.records[cell]) - len(rows)}
        for name in ("out_of_support", "residual_fallbacks"):
            out[name] = sum(row[name] for row in rows) if rows and not self.is_foreign(cell) else None
        known = rows and all(row["nfe"] for row in rows)
        out["nfe"] = mean([row["nfe"] for row in rows]) if known else None
        known = known and all(row["n_tokens"] for row in rows)
        out["step_compression"] = mean([row["n_tokens"] / row["nfe"] for row in rows]) if known else None
        rates = ("accepted_per_step", "tokens_per_forward", "tpf")
        if self.is_foreign(cell) or not rows:
            return out | dict.fromkeys((*rates, *(f"pooled_{name}" for name in rates), "tvd_spent"))
        steps = np.array([verified(row) for row in rows])
        given = np.array([(row["accepted"], row["emitted"], row["emitted"] + row["skipped_tokens"]) for row in rows]).T
        for name, tokens in zip(rates, given):
            out |= {name: mean(tokens / steps), f"pooled_{name}": tokens.sum() / steps.sum()}
        out["tvd_spent"] = mean([row["tvd_spent"] for row in rows])
        if any(row["forced"] for row in rows):
            out["accepted_per_step_unforced"] = mean(np.array([sum(row["accepted_by_depth"]) for row in rows]) / steps)
        nodes = sum(step[0] + 1 for row in rows for step in self.steps[row["key"]] if step[3])
        out["nodes_per_verification"] = nodes / steps.sum()
        out["drafts_per_verification"] = sum(row["n_draft_forwards"] for row in rows) / steps.sum()
        for depth in range(max(len(row["tested_by_depth"]) for row in rows)):
            tested = sum(sum(row["tested_by_depth"][depth : depth + 1]) for row in rows)
            accepted = sum(sum(row["accepted_by_depth"][depth : depth + 1]) for row in rows)
            out[f"acceptance_by_depth.{depth}"] = accepted / tested if tested else None
        return out

    def pairs(self, cell, base):
        """Rows of the cell with those of the baseline, of one session."""
        theirs = {row["place"]: row for row in self.times if row["cell"] == base}
        rows = [row for row in self.times if row["cell"] == cell and row["place"] in theirs]
        return [(row, theirs[row["place"]]) for row in rows]

    def ratio(self, pairs, name, key):
        """A speedup over observations, by the names of its measures."""
        out = dict.fromkeys((name, f"{name}_geomean", f"{name}_median", f"{name}.observations.n"))
        if len({observed(row) for row, _ in pairs}) < 2:
            return out
        theirs, ours = by_prompt([(observed(row), other[key], row[key]) for row, other in pairs]).T
        n, logs = len(ours), np.log(theirs / ours)
        ends = {name: bca(lambda k: (k @ theirs) / (k @ ours), n)}
        ends[f"{name}_geomean"] = bca(lambda k: np.exp(k @ logs / k.sum(axis=1)), n)
        if n >= LEAST:
            out[f"{name}_median"] = float(np.median(theirs / ours))
            ends[f"{name}_median"] = hettmansperger_sheather(theirs / ours)
        out |= {name: theirs.sum() / ours.sum(), f"{name}_geomean": math.exp(logs.mean()), f"{name}.observations.n": n}
        return out | {f"{x}.ci95.{at}": pair[at] for x, pair in ends.items() for at in (0, 1)}

    def wall(self, cell):
        """Mean seconds of each phase, of the sessions that timed every cell with a time; observations count once."""
        seen, names = defaultdict(set), [f"{x}_s" for x in (*PHASES, "decode", "e2e")]
        for row in self.times:
            seen[row["session"]].add(row["cell"])
        every = set().union(*seen.values())
        rows = [row for row in self.times if row["cell"] == cell and seen[row["session"]] >= every]
        if not rows:
            return dict.fromkeys(names)
        columns = [[observed(row), *map(row["phases_ns"].get, PHASES), row["decode_ns"], row["e2e_ns"]] for row in rows]
        out = dict(zip(names, by_prompt(columns).mean(axis=0) / 1e9))
        steps = by_prompt([(observed(row), verified(self.ok[row["key"]])) for row in rows]).mean()
        if self.is_foreign(cell):
            return dict.fromkeys(names) | {"e2e_s": out["e2e_s"]}
        return out | {"own.verified": steps}

    def scores(self, metric, cell):
        """The score of each prompt and sample."""
        scores = self.metrics.get((metric, cell), {}).get("per_item") or {}
        return {tuple(map(unquote, key.split("/")[1:])): x for key, x in scores.items()}

    def metric(self, metric, cell, base):
        row, scores, theirs = self.metrics[metric, cell], self.scores(metric, cell), self.scores(metric, base)
        name, kind = f"metrics.{metric}", metric.split(":")[0]
        out = {f"{name}.n": len(scores) or row["n"], f"{name}.own.distance": None}
        if row["value"] is None or not scores or row.get("imported"):
            return out | ({} if row["value"] is not None else {name: None, f"{name}.ci95": None})
        sums, sizes = by_prompt([(prompt, x, 1) for (prompt, _), x in scores.items()], np.sum).T
        n, value, ends = len(sums), mean(list(scores.values())), [None, None]
        if kind in BOOTSTRAPPED:
            ends = bca(lambda k: (k @ sums) / (k @ sizes), n)
        elif n > 1:
            reach = t_quantile(0.975, n - 1) * (sums / sizes).std(ddof=1) / math.sqrt(n)
            ends = [value - reach, value + reach]
        out |= {name: value, f"{name}.ci95.0": ends[0], f"{name}.ci95.1": ends[1]}
        common = [] if cell == base or kind in PAIRED else sorted(scores.keys() & theirs.keys())
        if len({prompt for prompt, _ in common}) < 2:
            return out | {f"{name}.vs_baseline": None}
        both = by_prompt([(at[0], scores[at], theirs[at]) for at in common])
        d = both[:, 0] - both[:, 1]
        d[abs(d) <= 1e-5 * abs(both).max()] = 0.0
        n, se, ends = len(d), d.std(ddof=1) / math.sqrt(len(d)), bca(lambda k: k @ d / k.sum(axis=1), len(d))
        found = {"difference": d.mean(), "se": se, "n": n, "detectable": se * detectable(n - 1)}
        found |= {"ci95.0": ends[0], "ci95.1": ends[1]}
        if se > 0:
            found["z"] = d.mean() / se
            out[f"{name}.own.p"] = p_value(found["z"], n - 1)
        far = distance(ends)
        out |= {f"{name}.own.distance": abs(d.mean())} | {f"{name}.own.distance.ci95.{at}": far[at] for at in (0, 1)}
        return out | {f"{name}.vs_baseline.{key}": x for key, x in found.items()}

    def cell(self, cell):
        """Every number of a cell that its rows give, by its name in the summary."""
        base, out, wall = self.baseline(cell), self.counts(cell), self.wall(cell)
        pairs = self.pairs(cell, base)
        out |= self.ratio([] if self.is_foreign(cell) else pairs, "speedup", "decode_ns")
        out |= self.ratio(pairs, "speedup_e2e", "e2e_ns") | wall
        costs = ("r_verify", "c_draft", "predicted_speedup", "measured_to_predicted_speedup")
        out |= dict.fromkeys(("overhead_fraction", *costs))
        if wall["decode_s"]:
            out["overhead_fraction"] = 1 - (wall["prefill_s"] + wall["target_s"] + wall["draft_s"]) / wall["decode_s"]
        if pairs and not self.is_foreign(cell):
            sides = [
                by_prompt([
                    (observed(row), *map(row["phases_ns"].get, ("target", "draft")), *steps_of(self.ok[row["key"]]))
                    for row in side
                ]).mean(axis=0)
                for side in zip(*pairs)
            ]
            target, draft, steps, drafts = sides[0]
            plain = sides[1][0] / sides[1][2]
            each = [target / steps / plain, draft / drafts / plain if drafts else 0.0]
            each.append(out["pooled_tpf"] / (each[0] + each[1] * out["drafts_per_verification"]))
            out |= dict(zip(costs, [*each, out["speedup"] / each[2] if out["speedup"] else None]))
        times = np.array([row["decode_ns"] for row in self.times if row["cell"] == cell], dtype=float)
        far = abs(times - np.median(times)) if len(times) else times
        n_far = int((NORMAL.inv_cdf(0.75) * far > 10 * np.median(far)).sum()) if len(times) else 0
        out |= {"timing_quality.n_timed": len(times), "timing_quality.n_outliers": n_far}
        for metric in {metric for metric, name in self.metrics if name == cell}:
            out |= self.metric(metric, cell, base)
        return out

    def machine_numbers(self):
        """Drift of the session and baseline that moved most, and the share of other processes."""
        drifts, short = [1.0], set()
        bases, sessions = {self.baseline(cell) for cell in self.cells}, {row["session"] for row in self.times}
        for base, session in product(bases, sessions):
            rows = defaultdict(list)
            for row in self.times:
                if (row["cell"], row["session"]) == (base, session):
                    rows[row["block"]].append(row["decode_ns"])
            third, blocks = len(rows) // 3, sorted(rows)
            if third:
                first, last = ([x for block in part for x in rows[block]] for part in (blocks[:third], blocks[-third:]))
                drifts.append(np.median(last) / np.median(first))
            elif rows:
                short.add(session)
        drift = max(drifts, key=lambda x: abs(math.log(x))) if len(drifts) > 1 else None
        return {"drift": drift, "short_sessions": len(short), "others_busy_mean": mean(self.machine)}

    def project(self, table):
        """Speedups that the counts give under a cost table."""
        sizes = [(1.0, 1.0), *((x["nodes"], x["steps"]) for x in table["verification"])]
        drafters = {x["proposer"]: x["steps"] for x in table.get("drafter", [])}
        for cell, out in self.numbers.items():
            out["own.projected"] = None
            nodes = out.get("nodes_per_verification")
            if nodes is not None and nodes <= sizes[-1][0]:
                proposer = self.cells[cell]["method"]["drafter"]["proposer"]
                drafts = out["drafts_per_verification"] * drafters[proposer] if out["drafts_per_verification"] else 0.0
                out["own.projected"] = out["pooled_tpf"] / (np.interp(nodes, *zip(*sizes)) + drafts)

    def by_prompt(self, cell, measure):
        """A measure of each prompt, for differences; of a speedup, what it is linear in."""
        if self.is_foreign(cell) and measure in (*RATES, "speedup", "decode_s") and measure != "nfe":
            return {}
        if (measure, cell) in self.metrics:
            rows = [(prompt, x) for (prompt, _), x in self.scores(measure, cell).items()]
        elif measure in ("decode_s", "e2e_s"):
            key = measure.replace("_s", "_ns")
            rows = [(row["prompt"], row[key] / 1e9) for row in self.times if row["cell"] == cell]
        elif measure in ("speedup", "speedup_e2e"):
            pairs, key = self.pairs(cell, self.baseline(cell)), "decode_ns" if measure == "speedup" else "e2e_ns"
            ours, theirs = by_prompt([(row["prompt"], row[key], other[key]) for row, other in pairs]).T
            linear = theirs.sum() / ours.sum() + (theirs - theirs.sum() / ours.sum() * ours) / ours.mean()
            return dict(zip(sorted({row["prompt"] for row, _ in pairs}), linear))
        else:
            rows = [(row["prompt_id"], RATES[measure](row)) for row in self.ok.values() if row["cell"] == cell]
        return dict(zip(sorted({prompt for prompt, _ in rows}), by_prompt(rows)[:, 0])) if rows else {}
