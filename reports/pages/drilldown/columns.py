"""Runs as columns of plain data, for the pages' scripts."""

import json
import math
from collections.abc import Sequence
from typing import Any

from bnnbench.engine.records.cost import COSTS
from bnnbench.engine.records.record import Record
from bnnbench.methods.fitting.work import UNITS
from bnnbench.reports.read.facts import provenance_entries

DIGITS = 6
LONGEST_ERROR = 600


def method_runs(
    runs: Sequence[Record], origins: dict[str, int], longest_error: int = LONGEST_ERROR
) -> dict[str, Any]:
    """Return the columns of a method's runs, and whether a command can repeat them."""
    first = runs[0]
    return {
        "repeatable": "source" in first.run and first.external is None,
        "runs": run_columns(runs, origins, longest_error),
    }


def run_columns(
    runs: Sequence[Record], origins: dict[str, int], longest_error: int
) -> dict[str, object]:
    """Return the columns of a method's runs; new provenances are added to `origins`.

    Errors are cut to their last characters.
    """
    provenances = [
        json.dumps(provenance_entries(r), ensure_ascii=False, sort_keys=True) for r in runs
    ]
    columns: dict[str, object] = {
        "key": [r.key for r in runs],
        "fold": column_of([r.fold for r in runs]),
        "seed": column_of([r.seed for r in runs]),
        "status": column_of([r.outcome.status for r in runs]),
        "finished": column_of(
            [str(r.circumstances.provenance.get("finished", ""))[:19] for r in runs]
        ),
        "origin": column_of([origins.setdefault(text, len(origins)) for text in provenances]),
    }
    for name in COSTS:
        values = [r.cost and r.cost.value(name) for r in runs]
        if name not in UNITS or any(values):
            columns[name] = column_of(values)
    if errors := {
        i: r.outcome.error[-longest_error:] for i, r in enumerate(runs) if r.outcome.error
    }:
        columns["errors"] = errors
    return columns


def column_of(values: Sequence[object]) -> object:
    """Return the values as a list, or a single value if all are equal."""
    plain = [_plain(value) for value in values]
    return plain[0] if all(value == plain[0] for value in plain) else plain


def _plain(value: object) -> object:
    """Return a value in JSON form: numbers with six digits, non-finite ones by name."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else "−∞"
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 10**DIGITS):
        return int(value)
    return float(f"{value:.{DIGITS}g}")
