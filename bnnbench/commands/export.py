"""`bnnbench export`: finished runs in the columns of a public board, beside its published results.

The format scoringbench writes one parquet file for each method, as the results repository of
ScoringBench has them, from the runs of `bnnbench uci --profile scoringbench`.
"""

import argparse
import importlib
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.commands.terminal.parser import Parser
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.wording import counted

if TYPE_CHECKING:
    import pandas as pd

FORMATS = ("scoringbench",)
WRITTEN, MISUSED = 0, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 2 if nothing was written."""
    options = _parser().parse_args(arguments)
    try:
        table = _exported(options)
        if options.published:
            _print_beside(table, options.published, options.metric)
    except (ValueError, OSError, ImportError) as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return MISUSED
    return WRITTEN


def _parser() -> Parser:
    parser = Parser("bnnbench export", description=__doc__)
    parser.add_argument(
        "results", type=Path, help="folder of results, as given to a suite by --out"
    )
    parser.add_argument("--format", choices=FORMATS, default=FORMATS[0])
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("output"),
        help="folder of the files (default: %(default)s)",
    )
    parser.add_argument(
        "--published",
        type=Path,
        metavar="DIR",
        help="folder of published results of the board: print them beside these runs, with paired "
        "decisions where the test rows are the same",
    )
    parser.add_argument(
        "--metric", default="crps", help="column of the comparison (default: %(default)s)"
    )
    return parser


def _exported(options: argparse.Namespace) -> "pd.DataFrame":
    """Write the files, and return their rows."""
    load = importlib.import_module("bnnbench.reports.read.load")  # slow to import, as pandas is
    rows = importlib.import_module("bnnbench.reports.public_board.rows")
    results = [load.read(folder) for folder in load.suite_folders(options.results)]
    chosen = [one for one in results if any(map(rows.by_the_protocol, one.records))]
    used = (chosen or results)[0]
    table = rows.rows_of(used.store, used.records)
    for path in rows.write_models(table, options.out):
        print(path)
    runs, models = counted(len(table), "row"), counted(table["model"].nunique(), "model")
    print(f"{runs} of {models}")
    return table


def _print_beside(ours: "pd.DataFrame", folder: Path, metric: str) -> None:
    published = importlib.import_module("bnnbench.reports.public_board.published")
    comparison = importlib.import_module("bnnbench.reports.public_board.comparison")
    theirs = published.read_published(folder)
    comparison.require_metric(metric, ours, theirs)
    print(f"\n{metric}: means over folds; rows marked as published were made by others")
    _print_table(comparison.HEADINGS, comparison.beside(ours, theirs, metric))
    if pairs := comparison.paired(ours, theirs, metric):
        print("\non the same test rows: differences by fold, with 95 % intervals, unadjusted")
        _print_table(comparison.PAIRED, pairs)
    for line in comparison.unpaired(ours, theirs):
        print(legible(line))


def _print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    lines = [headings, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print(legible("  ".join(cells).rstrip()))
