"""`bnnbench report export RESULTS --format parquet|csv|latex|pairs|trials`: every score, for other
tools. The last two formats are CSV files of the differences between all pairs of methods, and of
all trials of hyperparameter searches.
"""

import importlib.util
import io
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from bnnbench.commands.terminal.parser import Parser
from bnnbench.datasets.reading.third_party_text import cell, legible
from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.engine.records.cost import COSTS
from bnnbench.engine.records.record import Record
from bnnbench.engine.store.tables import metric_rows
from bnnbench.reports.pages.exports.listing import RUN_COLUMNS, run_rows
from bnnbench.reports.pages.exports.pairs import pair_table
from bnnbench.reports.pages.exports.tables import latex
from bnnbench.reports.pages.exports.trials import trial_table
from bnnbench.reports.pages.report.content import content
from bnnbench.reports.pages.report.margins import add_margins, margins
from bnnbench.reports.read.bundles import results_of
from bnnbench.reports.read.load import Results, store_names
from bnnbench.reports.read.merge import merged
from bnnbench.reports.style.words import counted

WRITTEN, MISUSED, DAMAGED = 0, 2, 3
"""Exit codes; `DAMAGED` means that all readable runs were written."""

FORMATS = {"parquet": ".parquet", "csv": ".csv", "latex": ".tex", "pairs": ".csv", "trials": ".csv"}
ENGINES = ("pyarrow", "fastparquet")


def main(arguments: Sequence[str]) -> int:
    """Write the file, and return the exit code."""
    parser = Parser("bnnbench report export", description=__doc__)
    parser.add_argument(
        "results", nargs="+", type=Path, help="folders of results, or bundles; several are merged"
    )
    parser.add_argument("--format", choices=FORMATS, default="csv")
    parser.add_argument("--out", type=Path, help="the file (default: results.<ending>)")
    add_margins(parser)
    options = parser.parse_args(arguments)
    out = options.out or Path(f"results{FORMATS[options.format]}")
    try:
        if options.format == "parquet":
            needs_parquet()
        suites = list(_results(options.results).values())
        if options.format == "latex":
            contents = [content(results, margins(options.margin)) for results in suites]
            text = latex([table for one in contents for table in one.tables]).encode()
        elif options.format == "pairs":
            text = pair_table(suites, margins(options.margin)).encode()
        elif options.format == "trials":
            text = trial_table(suites).encode()
        else:
            text = written(frame(suites), options.format)
        out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(out, text)
    except (ValueError, OSError) as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return MISUSED
    damage = [d for results in suites for d in results.damage]
    for d in damage:
        print(legible(f"damaged: {d.key}: {d.reason}"), file=sys.stderr)
    runs = counted(sum(len(results.records) for results in suites), "run")
    print(f"{out}: {runs} of {counted(len(suites), 'suite')}")
    return DAMAGED if damage else WRITTEN


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


def _results(paths: Sequence[Path]) -> dict[str, Results]:
    """Return suite → its results, with several stores merged."""
    by_suite: dict[str, dict[str, Results]] = {}
    for name, path in zip(store_names(paths), paths, strict=True):
        for suite, results in results_of(path).items():
            by_suite.setdefault(suite, {})[name] = results
    return {suite: merged(stores) for suite, stores in sorted(by_suite.items())}
