"""Every score as a table, for other tools."""

import importlib.util
import io
import math
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from bnnbench.datasets.reading.third_party_text import cell
from bnnbench.engine.records.cost import COSTS
from bnnbench.engine.records.record import Record
from bnnbench.engine.store.tables import metric_rows
from bnnbench.reports.pages.exports.listing import RUN_COLUMNS, run_rows
from bnnbench.reports.read.load import Results

FORMATS = {"parquet": ".parquet", "csv": ".csv", "latex": ".tex", "pairs": ".csv", "trials": ".csv"}
ENGINES = ("pyarrow", "fastparquet")


def needs_parquet() -> None:
    """Raise ValueError, with the remedy, if no package can write Parquet."""
    if not any(importlib.util.find_spec(name) for name in ENGINES):
        raise ValueError(
            "Parquet needs pyarrow: pip install pyarrow (or pip install -e '.[parquet]'); "
            "--format csv needs no package"
        )


def frame(suites: Iterable[Results]) -> pd.DataFrame:
    """Return one row per score, with the run's key, cost and provenance.

    Runs without a score (diverged, failed) have one row without condition, metric and value.
    """
    parts = [_scores(results.records, results.places) for results in suites]
    return pd.concat(parts, ignore_index=True)


SCORE_COLUMNS = ("scored_on", "condition", "metric", "value", "unit")
NUMBERS = (*COSTS, "value")


def _scores(records: Sequence[Record], places: Mapping[str, str]) -> pd.DataFrame:
    """Return the rows of one suite, in the order of names."""
    rows = []
    for record in records:
        (run,) = run_rows([record], places)
        scores = [row[3:5] + row[8:] for row in metric_rows([record])]
        rows += [(*run, *score) for score in scores or [("", "", "", math.nan, "")]]
    table = pd.DataFrame(rows, columns=[*RUN_COLUMNS, *SCORE_COLUMNS])
    for name in NUMBERS:
        table[name] = [math.nan if value == "" else float(value) for value in table[name]]
    order = ["profile", "dataset", "origin", "method", "fold", "seed", "key", "condition", "metric"]
    return table.sort_values(order, kind="stable")


def written(table: pd.DataFrame, kind: str) -> bytes:
    """Return the table as the bytes of a file."""
    if kind == "csv":
        return table.map(cell).to_csv(index=False, lineterminator="\n").encode()
    buffer = io.BytesIO()
    table.to_parquet(buffer, index=False)
    return buffer.getvalue()
