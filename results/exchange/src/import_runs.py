"""Logs the runs of runs.jsonl to a project of Weights & Biases: python import_runs.py PROJECT"""

import json
import sys
from pathlib import Path

import wandb

for line in Path(__file__).with_name("runs.jsonl").read_text(encoding="utf-8").splitlines():
    cell = json.loads(line)
    summary = cell.pop("summary")
    with wandb.init(project=sys.argv[1], job_type="specimen", **cell) as run:
        run.summary.update(summary)
