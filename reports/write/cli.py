"""The command line for reports, sites, comparisons and exports from stored runs."""

import gzip
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bnnbench.datasets.reading.foreign_text import legible
from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.metrics.base import Margins
from bnnbench.parser import Parser
from bnnbench.reports.board import site as board
from bnnbench.reports.board.run_pages import RunPages, run_addresses
from bnnbench.reports.read.bundles import holds_bundle, read_bundle
from bnnbench.reports.read.load import Results, read, store_names, suite_folders
from bnnbench.reports.read.merge import merged
from bnnbench.reports.read.predictions.bundled import (
    BundledStore,
    Span,
    spans_in,
    with_predictions,
)
from bnnbench.reports.style.words import counted
from bnnbench.reports.write import compare, site, timing_page
from bnnbench.reports.write.content import Content, content
from bnnbench.reports.write.exports import runs as export_runs
from bnnbench.reports.write.exports.listing import RUN_COLUMNS, run_rows
from bnnbench.reports.write.exports.tables import latex, markdown, tidy
from bnnbench.reports.write.margins import add_margins, margins
from bnnbench.reports.write.page import MOST_DAMAGE, pages
from bnnbench.suites.engine.store.tables import (
    COST_COLUMNS,
    METRIC_COLUMNS,
    cost_rows,
    csv_text,
    metric_rows,
)

ABOUT = """Rebuild the report of every suite from its stored results, without fitting anything:
report.html, tables.md, tables.tex, tables.csv, runs.csv, metrics.csv and costs.csv.
With --out, write a site: the board, which answers which method to use first, pages of methods and
data sets, and the same files for each suite. A bundle is read like results."""

OTHERS = """Other commands: `bnnbench report compare A B` shows what changed between two folders of
results. `bnnbench report export RESULTS --format parquet|csv|latex` writes every score,
`--format pairs` the differences between all pairs of methods, and `--format trials` what searches
for settings tried.
`bnnbench report timing BENCHMARK.json` writes a page of timings. A site has this page if a folder
of results holds benchmark.json; benchmark_previous.json, if present, is compared with it."""

UNPACKED_BYTES = 200_000
"""Larger files of a site, other than its pages, are compressed by gzip."""

OCCASIONAL = ("details.html", "figures*.html", "damage.csv*", "*.csv.gz", "tables.*.gz")
"""Files that only some reports have."""

DAMAGED = 3
"""Exit code: reports were written, but some runs could not be read."""


def main(arguments: Sequence[str]) -> int:
    """Run the command; return 0, 3 where something was damaged, 2 where nothing was written."""
    if arguments and arguments[0] in COMMANDS:
        return COMMANDS[arguments[0]](arguments[1:])
    parser = Parser("bnnbench report", description=ABOUT, epilog=OTHERS)
    parser.add_argument(
        *("results",), nargs="+", type=Path,
        help="folders of results, as passed to a suite by --out, or bundles; several are merged",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, help="folder for a site (default: reports are written beside the runs)"
    )
    parser.add_argument(
        *("--predictions",), action="append", type=Path, default=[], metavar="FILE.tar",
        help="predictions of a bundle's runs, from `bnnbench bundle --predictions`; repeatable",
    )  # fmt: skip
    add_margins(parser)
    options = parser.parse_args(arguments)
    if len(options.results) > 1 and options.out is None:
        return _error("several folders are merged into a site; give its folder by --out FOLDER")
    try:
        suites = _suites(options.results, spans_in(options.predictions))
        if options.out is None and any(map(holds_bundle, options.results)):
            return _error("a bundle's pages are a site; give its folder by --out FOLDER")
    except ValueError as error:
        return _error(str(error))
    contents = [_content(sources, margins(options.margin)) for sources in suites.values()]
    of_suites = {report.suite: report.benchmarks for _, report in contents if report}
    runs = run_addresses(of_suites) if options.out else {}
    codes, reports = [], []
    for code, report in contents:
        written = _write(report, options.out, runs) if report else code
        codes.append(written if written == 2 else (code or written) and DAMAGED)
        if report and written != 2:
            reports.append(report)
    if options.out and reports:
        names = store_names(options.results)
        timed = timing_page.site_pages(
            dict(zip(names, options.results, strict=True)), "suites.html"
        )
        codes += [_damaged(reason) for reason in timed.damage]
        front = site.Front(tuple(map(site.entry, reports)), tuple(timed.links))
        of_suites = {report.suite: report.benchmarks for report in reports}
        stores = {report.suite: report.results.store for report in reports}
        try:
            files = dict(timed.pages) | board.pages_of(of_suites, front, stores)
            for address, text in files.items():
                (options.out / address).parent.mkdir(parents=True, exist_ok=True)
                write_whole(options.out / address, text.encode())
        except OSError as error:
            return _error(f"cannot write the front page: {error}; choose another folder by --out")
        print(f"{options.out / 'index.html'}: {len(reports)} suites")
    return 2 if all(code == 2 for code in codes) else max(codes) and DAMAGED


Sources = Mapping[str, Path | Results]
"""Name of a store → its folder for one suite, or the runs themselves, out of a bundle."""


def _suites(
    results: Sequence[Path], spans: Mapping[str, Span]
) -> dict[str, dict[str, Path | Results]]:
    """Return suite → store → where its runs are; stores are named after the folders of results.

    `spans` are where predictions of bundled runs are. Raises ValueError where they are of others.
    """
    by_suite: dict[str, dict[str, Path | Results]] = {}
    names = store_names(results)
    for name, path in zip(names, results, strict=True):
        if holds_bundle(path):
            for suite, bundled in read_bundle(path).items():
                by_suite.setdefault(suite, {})[name] = with_predictions(bundled, spans)
            continue
        for folder in suite_folders(path):
            by_suite.setdefault(folder.resolve().name, {})[name] = folder
    every = [source.store for of in by_suite.values() for source in of.values()
             if isinstance(source, Results)]  # fmt: skip
    if spans and not any(isinstance(store, BundledStore) for store in every):
        raise ValueError("--predictions has those of none of the bundled runs")
    return dict(sorted(by_suite.items()))


def _content(sources: Sources, margins: Margins) -> tuple[int, Content | None]:
    """Return an exit code, and what the report of a suite shows; None where no store is legible."""
    results_by_store: dict[str, Results] = {}
    code = 0
    for name, source in sources.items():
        try:
            results_by_store[name] = read(source) if isinstance(source, Path) else source
        except ValueError as error:
            code = _error(str(error))
    if not results_by_store:
        return code, None
    return code, content(merged(results_by_store), margins)


def _write(report: Content, out: Path | None, runs: RunPages) -> int:
    """Write a suite's report, beside its runs or into a site, and return the exit code."""
    folder = out / report.suite if out else report.results.store.folder
    try:
        damage = write(report, folder, runs if out else None)
    except OSError as error:
        return _error(f"cannot write the report: {error}; choose another folder by --out")
    for reason in damage[:MOST_DAMAGE]:
        print(f"damaged: {legible(reason)}", file=sys.stderr)
    if more := damage[MOST_DAMAGE:]:
        print(f"damaged: {len(more)} more; damage.csv lists them all", file=sys.stderr)
    return DAMAGED if damage else 0


def write(report: Content, folder: Path, runs: RunPages | None = None) -> list[str]:
    """Write all files of one suite's report, and return the damage to its results.

    In a site, which has pages of `runs`, the pages link to these and to the front page, and large
    files are compressed.
    """
    in_site = runs is not None
    records = report.results.records
    texts = pages(report, site.HOME * in_site, runs or {})
    files = {name: text.encode() for name, text in texts.items()}
    metrics = csv_text(METRIC_COLUMNS, metric_rows(records)).encode()
    files |= {
        "tables.md": markdown(report.tables).encode(),
        "tables.tex": latex(report.tables).encode(),
        "tables.csv": tidy(report.tables).encode(),
        "runs.csv": csv_text(RUN_COLUMNS, run_rows(records, report.results.places)).encode(),
    }
    if report.damage:
        lines = [(damage.key, damage.reason) for damage in report.damage]
        files["damage.csv"] = csv_text(("key", "reason"), lines).encode()
    costs = csv_text(COST_COLUMNS, cost_rows(records)).encode()
    files |= {"metrics.csv": metrics, "costs.csv": costs}
    if in_site:
        files = dict(_packed(name, content) for name, content in files.items())
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_whole(folder / name, text)
    for old in [path for name in OCCASIONAL for path in folder.glob(name)]:
        if old.name not in files:
            old.unlink()  # left by an earlier, larger report
    print(f"{folder / 'report.html'}: {counted(len(records), 'run')} of {legible(report.suite)}")
    for text in (text for part in report.parts for text in part.answer.conclusions):
        print(legible(text))
    return [f"{d.key}: {d.reason}" for d in report.damage if not d.whole]


def _packed(name: str, content: bytes) -> tuple[str, bytes]:
    """Return name and content of a file of a site; large files other than pages are compressed."""
    if name.endswith(".html") or len(content) <= UNPACKED_BYTES:
        return name, content
    return f"{name}.gz", gzip.compress(content, mtime=0)


def _damaged(reason: str) -> int:
    print(f"damaged: {legible(reason)}", file=sys.stderr)
    return DAMAGED


def _error(text: str) -> int:
    print(f"error: {legible(text)}", file=sys.stderr)
    return 2


COMMANDS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "compare": compare.main,
    "export": export_runs.main,
    "timing": timing_page.main,
}
