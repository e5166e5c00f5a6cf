"""Stores of the runs in docs/bundle: `python -m tests.reports.bundle FOLDER`.

The bundle keeps scores and how runs ended, neither settings nor facts; what comparisons need of
these is filled in.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from bnnbench.suites.engine.store.record import Cost, Record
from tests.reports.synthetic import keep, record

BUNDLE = Path(__file__).parents[2] / "docs" / "bundle"
TYPES = {"Class frequency": "marginal", "Training mean": "marginal"}
"""Labels of the bundle → registered name, where comparisons depend on it."""
TITLES = {
    "mnist-640-mlp": "MNIST, 640 images, MLP",
    "mnist-2560-lenet": "MNIST, 2,560 images, LeNet",
    "mnist-10240-mlp": "MNIST, 10,240 images, MLP",
}
TARGET = {"name": "target", "unit": "", "mean": 0.0, "std": 1.0}
ARMS = ("active_learning", "active_learning_mnist")
"""Suites whose labels end in the name of an arm."""


def runs_of_bundle(suite: str) -> list[Record]:
    """Return the records of a suite in the bundle."""
    case = ["profile", "dataset", "method", "fold", "seed"]
    scores = pd.read_csv(BUNDLE / suite / "metrics.csv.gz")
    by_run = {name: rows for name, rows in scores.groupby(case)}
    runs = pd.read_csv(BUNDLE / suite / "runs.csv.gz")
    return [_record(suite, run, by_run.get(tuple(run[case]))) for _, run in runs.iterrows()]


def _record(suite: str, run: pd.Series, scores: pd.DataFrame | None) -> Record:
    found: dict[str, dict[str, float]] = {}
    origins: dict[str, str] = {}
    for row in () if scores is None else scores.itertuples():
        found.setdefault(row.condition, {})[row.metric] = float(row.value)
        origins[row.condition] = row.origin
    settings: dict[str, object] = {"type": TYPES.get(run.method, f"methods.x:{run.method}")}
    more: Mapping[str, object] = {}
    if suite in ARMS:
        more = {"acquisition": {"rule": run.method.rpartition("-")[2]}}
    return record(
        run.method,
        run.dataset,
        int(run.fold),
        int(run.seed),
        scores=found,
        settings=settings,
        suite=suite,
        title=TITLES.get(run.dataset, ""),
        profile=run.profile,
        origin=run.origin,
        condition_origins=origins,
        status=run.status,
        cost=Cost(float(run.fit_seconds), float(run.predict_seconds), float(run.peak_bytes)),
        target=TARGET if any("rmse" in named for named in found.values()) else None,
        error=None if run.status == "completed" else run.status,
        run={"suite": suite, "profile": run.profile, **more},
        **({"facts": {"pool_rows": 1}} if suite in ARMS else {}),
    )


def main() -> None:
    """Keep a store of every suite of the bundle in the folder."""
    folder = Path(sys.argv[1])
    for place in sorted(BUNDLE.glob("*/metrics.csv.gz")):
        suite = place.parent.name
        keep(folder / suite, runs_of_bundle(suite))
        print(folder / suite)


if __name__ == "__main__":
    main()
