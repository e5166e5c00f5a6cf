"""The runs of a bundle, a folder of finished runs without their predictions.

A folder of a bundle holds one suite: complete records (`runs.tar.xz`), or the tables of earlier
versions (`runs.csv.gz`, `metrics.csv.gz`, `facts.json`), which have no settings.
"""

import functools
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path

import pandas as pd

from bnnbench.reports.read.load import MENDED, Results, read, suite_folders
from bnnbench.suites.engine.store import bundles
from bnnbench.suites.engine.store.record import Cost, Record
from bnnbench.suites.engine.store.store import Damaged, Store

TABLE = "runs.csv.gz"

RULES = {"A": "variance", "R": "random"}
"""Name of an arm of active learning → its rule, where the name is not that of the rule."""

CASE = ["profile", "dataset", "method", "fold", "seed"]
SCORE = ["condition", "metric", "value", "origin"]


def bundle_folders(path: Path) -> list[Path]:
    """Return the folders of suites in a bundle, which may itself be one, in order of their names.

    Raises ValueError where there is none.
    """
    folders = [folder for folder in (path, *sorted(path.glob("*/"))) if is_bundle(folder)]
    if not folders:
        raise ValueError(
            f"{path} holds no bundle: neither {bundles.NAME} nor {TABLE}; "
            "`bnnbench bundle RESULTS --out FOLDER` makes one"
        )
    return folders


def is_bundle(folder: Path) -> bool:
    """Return whether a folder holds the runs of a suite as a bundle does."""
    return any((folder / name).is_file() for name in (bundles.NAME, TABLE))


def holds_bundle(path: Path) -> bool:
    """Return whether a folder is a bundle, or holds folders that are."""
    return any(map(is_bundle, (path, *path.glob("*/"))))


def read_bundle(path: Path) -> dict[str, Results]:
    """Return suite → its runs, from all folders of a bundle.

    Raises ValueError where there is none, and `Damaged` where a file is altered.
    """
    by_suite: dict[str, list[Record]] = defaultdict(list)
    for folder in bundle_folders(path):
        for record in records_of(folder):
            by_suite[record.suite].append(record)
    return {
        suite: Results(Store(path / suite), tuple(records), (), ())
        for suite, records in sorted(by_suite.items())
    }


def results_of(path: Path) -> dict[str, Results]:
    """Return suite → its runs, in a folder of results or in a bundle.

    Raises ValueError where there is none, and `Damaged` where a file of a bundle is altered.
    """
    if holds_bundle(path):
        return read_bundle(path)
    return {folder.resolve().name: read(folder) for folder in suite_folders(path)}


def records_of(folder: Path) -> tuple[Record, ...]:
    """Return the records of one folder of a bundle. Raises `Damaged`."""
    whole = (folder / bundles.NAME).is_file()
    records = bundles.read(folder) if whole else _of_tables(folder)
    mended = (functools.reduce(lambda r, mend: mend(r), MENDED, record) for record in records)
    return tuple(record if whole else _with_rule(record) for record in mended)


def _with_rule(record: Record) -> Record:
    """Return a record with the rule of its arm of active learning."""
    if not record.arm:
        return record
    acquisition = {"rule": RULES.get(record.arm, record.arm)}
    return replace(record, run={**record.run, "acquisition": acquisition})


def _of_tables(folder: Path) -> Iterable[Record]:
    """Yield the records of an earlier bundle, as far as its tables tell."""
    try:
        scores = pd.read_csv(folder / "metrics.csv.gz")
        runs = pd.read_csv(folder / TABLE)
        described = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, EOFError) as error:
        raise Damaged(folder / TABLE, error) from error
    by_run: dict[tuple, list[tuple]] = defaultdict(list)
    cases, values = (zip(*map(scores.get, names), strict=True) for names in (CASE, SCORE))
    for case, score in zip(cases, values, strict=True):
        by_run[case].append(score)
    for run in runs.to_dict("records"):
        yield _record(run, by_run[tuple(run[column] for column in CASE)], described)


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
    rule = {"acquisition": {"rule": ""}} if "pool_rows" in case["facts"] else {}
    costs = {f.name: run[f.name] for f in fields(Cost) if f.name in run and _known(run[f.name])}
    finished = {"commit": run["commit"], "machine": run["machine"], "device": run["device"]}
    return Record(
        key=str(run["key"]),
        suite=str(run["suite"]),
        profile=profile,
        dataset=dataset,
        origin=str(run["origin"]),
        method=label,
        fold=int(str(run["fold"])),
        seed=int(str(run["seed"])),
        run={"suite": run["suite"], "profile": profile, "method": settings, **rule},
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
