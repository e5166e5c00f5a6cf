"""`bnnbench export`: finished runs in the columns of a public board, beside its published results.

The format scoringbench writes one parquet file for each method, as the results repository of
ScoringBench has them, from the runs of `bnnbench uci --profile scoringbench`.
"""

import importlib
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.commands.terminal.parser import Parser
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.wording import counted

if TYPE_CHECKING:
    import pandas as pd

    from bnnbench.reports.read.load import Results

FORMATS = ("scoringbench",)
WRITTEN, MISUSED, DAMAGED = 0, 2, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, 2 if nothing was written, 3 if some runs could not be read."""
    options = _parser().parse_args(arguments)
    try:
        theirs = _published(options.published) if options.published else None
        results = _results(options.results)
        ours = _module("rows").rows_of(results.store, results.records)
        if theirs is not None:
            _module("comparison").require_metric(options.metric, ours, theirs)
        paths = _module("rows").write_models(ours, options.out)
    except (ValueError, OSError, ImportError) as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return MISUSED
    print("\n".join(map(str, paths)))
    print(f"{counted(len(ours), 'row')} of {counted(len(paths), 'model')}")
    if theirs is not None:
        _print_beside(ours, theirs, options.metric)
    for damage in results.damage:
        print(legible(f"damaged: {damage.key}: {damage.reason}"), file=sys.stderr)
    return DAMAGED if results.damage else WRITTEN


def _module(name: str) -> Any:
    """Return a module of `reports.public_board`, which is slow to import, as pandas is."""
    return importlib.import_module(f"bnnbench.reports.public_board.{name}")


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


def _results(folder: Path) -> "Results":
    """Return the results of the suite that has runs by the board's protocol, or of the first."""
    load = importlib.import_module("bnnbench.reports.read.load")
    results = [load.read(suite) for suite in load.suite_folders(folder)]
    follows = _module("rows").by_the_protocol
    return next((one for one in results if any(map(follows, one.records))), results[0])


def _published(folder: Path) -> "pd.DataFrame":
    return _module("published").read_published(folder)


def _print_beside(ours: "pd.DataFrame", theirs: "pd.DataFrame", metric: str) -> None:
    comparison = _module("comparison")
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
