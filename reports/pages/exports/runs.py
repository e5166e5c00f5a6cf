"""Every score as a table, for other tools."""

import csv
import importlib.util
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import IO, Any

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


SCORE_COLUMNS = ("scored_on", "condition", "metric", "value", "unit")
COLUMNS = (*RUN_COLUMNS, *SCORE_COLUMNS)
NUMBERS = frozenset({*COSTS, "value"})
CONDITION_METRIC = COLUMNS.index("condition"), COLUMNS.index("metric")

Row = tuple[Any, ...]


def rows(suites: Iterable[Results]) -> Iterator[Row]:
    """Yield one row per score, with the run's key, cost and provenance, in the order of names.

    Runs without a score (diverged, failed) have one row without condition, metric and value.
    """
    for results in suites:
        for record in sorted(results.records, key=_place):
            yield from sorted(_scores(record, results.places), key=itemgetter(*CONDITION_METRIC))


def write_csv(suites: Iterable[Results], file: IO[bytes]) -> None:
    """Write the rows as CSV; numbers that are unknown are empty."""
    text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows(suites):
        writer.writerow("" if value != value else cell(value) for value in row)
    text.detach()


def parquet(suites: Iterable[Results]) -> bytes:
    """Return the rows as the bytes of a file in the format Parquet."""
    buffer = io.BytesIO()
    pd.DataFrame(rows(suites), columns=list(COLUMNS)).to_parquet(buffer, index=False)
    return buffer.getvalue()


def _place(record: Record) -> Row:
    return (
        *(record.profile, record.dataset, record.circumstances.origin),
        *(record.method, record.fold, record.seed, record.key),
    )


def _scores(record: Record, places: Mapping[str, str]) -> Iterator[Row]:
    """Yield the rows of one run."""
    (run,) = run_rows([record], places)
    scores = [row[3:5] + row[8:] for row in metric_rows([record])]
    for score in scores or [("", "", "", math.nan, "")]:
        yield tuple(map(_value, COLUMNS, (*run, *score)))


def _value(column: str, value: Any) -> Any:
    if column not in NUMBERS:
        return value
    return math.nan if value == "" else float(value)
