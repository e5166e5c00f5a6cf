"""The commands `bnnbench report compare`, `export` and `timing`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bnnbench.commands.terminal.margins import add_margins, margins
from bnnbench.commands.terminal.parser import Parser
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.datasets.reading.whole_files import whole, write_whole
from bnnbench.engine.records.record import Record
from bnnbench.reports.pages.exports import runs
from bnnbench.reports.pages.exports.pairs import pair_table
from bnnbench.reports.pages.exports.tables import latex
from bnnbench.reports.pages.exports.trials import trial_table
from bnnbench.reports.pages.report import comparison, page, timing_page
from bnnbench.reports.pages.report.changes import changes
from bnnbench.reports.pages.report.content import content
from bnnbench.reports.read.bundles import results_of
from bnnbench.reports.read.load import Damage, Results, store_names
from bnnbench.reports.read.merge import merged
from bnnbench.reports.style.words import counted

COMPARE = """The changes between two folders of results, with tests. Exit codes: 0 all scores and
statuses are equal, 1 some differ, 2 nothing could be compared."""

EXPORT = """Every score, for other tools. The formats pairs and trials are CSV files of the
differences between all pairs of methods, and of all trials of hyperparameter searches."""

TIMING = """Write a page of timings from a JSON file of pytest-benchmark: the time per example of
every method's fit and prediction, their ratios to AdamW in the same session, and the timings that
are slower than in an earlier session by more than the noise."""

MOST_LINES = 15
"""The terminal shows at most this many entries of one kind; a file lists them all."""

EQUAL, CHANGED = 0, 1
"""Exit codes of `compare`."""

WRITTEN, MISUSED, DAMAGED = 0, 2, 3
"""Exit codes; `DAMAGED` means that all readable runs were written."""


def compare(arguments: Sequence[str]) -> int:
    """Print the changes, also write them with --out, and return the exit code."""
    parser = Parser("bnnbench report compare", description=COMPARE)
    parser.add_argument("before", type=Path, help="the earlier folder of results, or a bundle")
    parser.add_argument("after", type=Path, help="the later folder of results, or a bundle")
    parser.add_argument("--out", type=Path, help="also write all changes to this .html or .md file")
    add_margins(parser)
    options = parser.parse_args(arguments)
    try:
        if options.out and options.out.suffix not in (".html", ".md"):
            raise ValueError(f"--out is {options.out}; give a file that ends in .html or .md")
        names = store_names([options.before, options.after])
        sides = [_records(path) for path in (options.before, options.after)]
    except ValueError as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return MISUSED
    damage = [
        Damage(d.key, f"{name}: {d.reason}")
        for name, (_, damaged) in zip(names, sides, strict=True)
        for d in damaged
    ]
    differences = changes(
        (names[0], names[1]), sides[0][0], sides[1][0], damage, margins(options.margin)
    )
    print("\n".join(map(legible, comparison.lines(differences, MOST_LINES))))
    if options.out:
        text = (
            page.compared(differences, opening=comparison.opening, sections=comparison.sections)
            if options.out.suffix == ".html"
            else comparison.markdown(differences)
        )
        options.out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(options.out, text.encode())
    return CHANGED if differences.scores or differences.ended else EQUAL


def _records(results: Path) -> tuple[list[Record], list[Damage]]:
    suites = results_of(results).values()
    return [r for suite in suites for r in suite.records], [
        d for suite in suites for d in suite.damage
    ]


def export(arguments: Sequence[str]) -> int:
    """Write the file, and return the exit code."""
    parser = Parser("bnnbench report export", description=EXPORT)
    parser.add_argument(
        "results", nargs="+", type=Path, help="folders of results, or bundles; several are merged"
    )
    parser.add_argument("--format", choices=runs.FORMATS, default="csv")
    parser.add_argument("--out", type=Path, help="the file (default: results.<ending>)")
    add_margins(parser)
    options = parser.parse_args(arguments)
    out = options.out or Path(f"results{runs.FORMATS[options.format]}")
    try:
        if options.format == "parquet":
            runs.needs_parquet()
        suites = list(_results(options.results).values())
        if options.format == "csv":
            with whole(out) as file:
                runs.write_csv(suites, file)
        else:
            write_whole(out, _exported(suites, options))
    except (ValueError, OSError) as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return MISUSED
    damage = [d for results in suites for d in results.damage]
    for d in damage:
        print(legible(f"damaged: {d.key}: {d.reason}"), file=sys.stderr)
    count = counted(sum(len(results.records) for results in suites), "run")
    print(f"{out}: {count} of {counted(len(suites), 'suite')}")
    return DAMAGED if damage else WRITTEN


def _exported(suites: Sequence[Results], options: argparse.Namespace) -> bytes:
    """Return the file in a format other than CSV."""
    if options.format == "parquet":
        return runs.parquet(suites)
    if options.format == "pairs":
        return pair_table(suites, margins(options.margin)).encode()
    if options.format == "trials":
        return trial_table(suites).encode()
    contents = [content(results, margins(options.margin)) for results in suites]
    return latex([table for one in contents for table in one.tables]).encode()


def _results(paths: Sequence[Path]) -> dict[str, Results]:
    """Return suite → its results, with several stores merged."""
    by_suite: dict[str, dict[str, Results]] = {}
    for name, path in zip(store_names(paths), paths, strict=True):
        for suite, results in results_of(path).items():
            by_suite.setdefault(suite, {})[name] = results
    return {suite: merged(stores) for suite, stores in sorted(by_suite.items())}


def timing(arguments: Sequence[str]) -> int:
    """Write the page; return 0, 1 if something became slower, 2 if it was not written."""
    parser = Parser("bnnbench report timing", description=TIMING)
    parser.add_argument("session", type=Path, metavar="BENCHMARK.json")
    parser.add_argument("--previous", type=Path, help="an earlier session to compare with")
    parser.add_argument("--out", type=Path, help="a folder (default: the session's folder)")
    options = parser.parse_args(arguments)
    out = options.out or options.session.parent
    try:
        text, since = timing_page.timing_page(options.session, options.previous)
        out.mkdir(parents=True, exist_ok=True)
        write_whole(out / timing_page.NAME, text.encode())
    except (ValueError, OSError) as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return 2
    print(out / timing_page.NAME)
    slower = since.with_verdict("slower") if since else []
    for name, ratio in slower:
        print(f"slower: {legible(name)}: {ratio:.2f} times as long")
    return 1 if slower else 0
