"""Records from tables of scores and runs, without settings, for counts in the specification."""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path

import pandas as pd

from bnnbench.engine.records.cost import Cost
from bnnbench.engine.records.flat import gathered
from bnnbench.engine.records.record import Record
from tests.reports.synthetic import filled

CASE = ["profile", "dataset", "method", "fold", "seed"]
SCORE = ["condition", "metric", "value", "origin"]


def records_of_tables(folder: Path) -> tuple[Record, ...]:
    """Return the records, with what the tables contain."""
    scores = pd.read_csv(folder / "metrics.csv.gz")
    runs = pd.read_csv(folder / "runs.csv.gz")
    described = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    by_run: dict[tuple, list[tuple]] = defaultdict(list)
    cases, values = (zip(*map(scores.get, names), strict=True) for names in (CASE, SCORE))
    for case, score in zip(cases, values, strict=True):
        by_run[case].append(score)
    return tuple(
        filled(_record(run, by_run[tuple(run[column] for column in CASE)], described))
        for run in runs.to_dict("records")
    )


def _record(
    run: Mapping[str, object], scores: Iterable[tuple], described: Mapping[str, Mapping]
) -> Record:
    by_condition: dict[str, dict[str, float]] = defaultdict(dict)
    origins: dict[str, str] = {}
    for condition, metric, value, origin in scores:
        by_condition[str(condition)][str(metric)] = float(value)
        origins[str(condition)] = str(origin)
    label, profile, dataset = (str(run[name]) for name in ("method", "profile", "dataset"))
    case = described["cases"][profile][dataset]
    settings: dict[str, object] = {"type": described["methods"].get(label, "")}
    costs = {f.name: run[f.name] for f in fields(Cost) if f.name in run and _known(run[f.name])}
    finished = {"commit": run["commit"], "machine": run["machine"], "device": run["device"]}
    return gathered(
        key=str(run["key"]),
        suite=str(run["suite"]),
        profile=profile,
        dataset=dataset,
        origin=str(run["origin"]),
        method=label,
        fold=int(str(run["fold"])),
        seed=int(str(run["seed"])),
        run={"suite": run["suite"], "profile": profile, "method": settings},
        status=str(run["status"]),  # pyright: ignore
        error=None if run["status"] == "completed" else "the bundle does not say why",
        scores=dict(by_condition),
        condition_origins=origins,
        diagnostics={},
        cost=Cost(**costs) if "fit_seconds" in costs else None,  # pyright: ignore
        facts=case["facts"],
        provenance=finished | {"finished": run["finished"]},
        target=case["target"],
        title=case["title"],
        reproduces=tuple(described["reproduces"][profile]),
    )


def _known(value: object) -> bool:
    return isinstance(value, (int, float)) and not math.isnan(value)
