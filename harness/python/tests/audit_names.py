"""Names of numbers: in files of a run, in columns, in the heads of a table; and how a printed number is read."""

import re

COLUMNS = {
    "decode_s_per_image": "decode_s", "e2e_s_per_image": "e2e_s", "projected_speedup": "own.projected",
    "measured_speedup": "speedup", "tvd_spent_per_image": "tvd_spent",
}
MEASURES = (
    (r"^measures\.", ""), (r"^(.+)\.value$", r"\1"), (r"^wall_s\.(\w+)", r"\1_s"),
    (r"^pooled\.nodes", "nodes_per_verification"), (r"^pooled\.drafts", "drafts_per_verification"),
    (r"^pooled\.", "pooled_"), (r"\.(geomean|median)_ci95", r"_\1.ci95"),
    (r"^(speedup\w*)\.(geomean|median)$", r"\1_\2"), (r"^predicted_speedup\.ratio_m", "m"),
    (r"^measured_to_predicted$", "measured_to_predicted_speedup"), (r"^predicted_speedup\.", ""),
)
HEADS = {
    "n images": "n_images", "speedup ×": "speedup", "speedup e2e ×": "speedup_e2e",
    "accepted / step": "accepted_per_step", "tokens / forward": "tokens_per_forward", "tokens+skips / forward": "tpf",
    "NFE / image": "nfe",
    "decode s / image": "decode_s", "prompt to image s / image": "e2e_s", "overhead % of decode": "overhead_fraction",
    "measured / predicted": "measured_to_predicted_speedup", "projected speedup ×": "projected_speedup",
}
STEP = {
    "target forward": "target", "draft": "draft", "schedule": "schedule", "acceptance walk": "verify",
    "bookkeeping": "update",
}
SETTINGS = ("method", "model", "sampling", "external")  # columns of swept ones
GIVEN = (
    "baseline", "dominated", "prompt", "prompt_id", "sample", "seed", "depth", "value", "width", "height",
    "from", "to", "row", "column", "log2_ratio",
)
CHANGE = re.compile(r"(\S+) ([+-][\d.]+) \((\d+), z ([+-][\d.]+), p ((?:\\?< )?[\d.]+), ([\d.]+)\)")
AVERAGES = re.compile(r"(\S+) ([\d.]+)(?: \[([\d.]+), ([\d.]+)\])? / ([\d.]+)(?: \[([\d.]+), ([\d.]+)\])?")
HYPERVOLUME = re.compile(r"Hypervolume of the frontier ([\d.]+) ×.*?reference point \(1 ×, (-?[\d.]+)")
PRINTED = re.compile(r"(-?[\d.]+)(?: ± ([\d.]+)| \[(-?[\d.]+), (-?[\d.]+)\])?")


def number(text):
    try:
        return {"true": 1.0, "false": 0.0}[text] if text in ("true", "false") else float(text)
    except (TypeError, ValueError):
        return None


def unit(text):
    """Half of the last printed digit."""
    return 0.5 * 10.0 ** -len(text.partition(".")[2]) if text else 0.0


def ends(name):
    return [f"{name}.ci95.{at}" for at in (0, 1)]


def leaves(x, path=""):
    """The numbers and nulls below a place of a JSON file."""
    if isinstance(x, (dict, list)):
        for key, part in x.items() if isinstance(x, dict) else enumerate(x):
            yield from leaves(part, f"{path}.{key}" if path else str(key))
    elif x is None or (isinstance(x, (int, float)) and not isinstance(x, bool)):
        yield path, x


def numbers_of(words):
    """What of a cell of a summary are numbers, its metrics by name."""
    rest = {name: x for name, x in words.items() if name not in ("params", "sampling", "metrics", "why")}
    return rest | {"metrics": {x["metric"]: x for x in words["metrics"]}}


def measure_of(path):
    """The name of a number, in summaries of this and of earlier versions."""
    for old, new in MEASURES:
        path = re.sub(old, new, path)
    return path
