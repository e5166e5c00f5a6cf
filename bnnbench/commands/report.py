"""The command line for reports, sites, comparisons and exports from stored runs."""

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from bnnbench.commands.terminal.margins import add_margins
from bnnbench.commands.terminal.parser import Parser, add_yardsticks
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.engine.store import bundles
from bnnbench.engine.store.folders import has_runs, real, stores_in
from bnnbench.reports.pages.site import state

ABOUT = """Rebuild the report of every suite from its stored results, without fitting:
report.html, tables.md, tables.tex, tables.csv, runs.csv, metrics.csv and costs.csv.
With --out, write a site: the board, which answers which method to use first, pages of methods and
data sets, and the same files for each suite. Bundles are read like results."""

OTHERS = """Other commands: `bnnbench report compare A B` shows what changed between two folders of
results. `bnnbench report export RESULTS --format parquet|csv|latex` writes every score,
`--format pairs` the differences between all pairs of methods, and `--format trials` the trials of
the searches for settings.
`bnnbench report timing BENCHMARK.json` writes a page of timings. A site includes this page if a
folder of results contains benchmark.json, compared with benchmark_previous.json if present."""


OTHER_COMMANDS = ("compare", "export", "timing")


def main(arguments: Sequence[str]) -> int:
    """Run the command; return 0, 3 if something was corrupt, 2 if nothing was written."""
    if arguments and arguments[0] in OTHER_COMMANDS:
        tools = importlib.import_module("bnnbench.commands.reporting.tools")
        return getattr(tools, arguments[0])(arguments[1:])
    parser = Parser("bnnbench report", description=ABOUT, epilog=OTHERS)
    parser.add_argument(
        *("results",), nargs="+", type=Path,
        help="folders of results, as passed to a suite by --out, or bundles; several are merged",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, help="folder for a site (default: reports are written next to the runs)"
    )
    parser.add_argument(
        *("--predictions",), action="append", type=Path, default=[], metavar="FILE.tar",
        help="predictions of a bundle's runs, from `bnnbench bundle --predictions`; repeatable",
    )  # fmt: skip
    add_margins(parser)
    add_yardsticks(parser)
    options = parser.parse_args(arguments)
    if len(options.results) > 1 and options.out is None:
        return _error("several folders are merged into a site; give its folder with --out FOLDER")
    if options.out is None:
        return _written(options)
    if reason := _overlap(options.out, options.results):
        return _error(f"{reason}; choose another folder with --out")
    asked = [*map(str, options.margin), str(options.with_yardsticks)]
    inputs = state.inputs([*options.results, *options.predictions], asked)
    built = state.read(options.out)
    if built.digest == inputs.digest and built.is_whole(options.out):
        print(f"{options.out / 'index.html'}: nothing has changed")
        return 0
    return _written(options, inputs, built)


def _overlap(out: Path, sources: Sequence[Path]) -> str:
    """Return the reason why a site would get mixed up with runs, which it reads; "" if none."""
    place = real(out)
    for folder in (place, *place.parents):
        if has_runs(folder) or (folder / bundles.NAME).exists():
            return f"--out {out} lies in {folder}, which has the runs of a suite"
    if any(map(has_runs, stores_in(place))) or bundles.folders(place):
        return f"--out {out} has folders with runs of suites"
    for source in map(real, sources):
        if bundles.folders(source) and place.is_relative_to(source):
            return f"--out {out} lies in the bundle {source}"
    return ""


def _written(options: argparse.Namespace, *of_site: state.Inputs | state.State) -> int:
    writing = importlib.import_module("bnnbench.commands.reporting.writing")  # slow to import
    return writing.write(options, *of_site)


def _error(text: str) -> int:
    print(f"error: {legible(text)}", file=sys.stderr)
    return 2
