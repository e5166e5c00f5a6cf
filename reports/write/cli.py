"""The command line: reports, a site, comparisons and exports from the store, without fitting."""

import argparse
import gzip
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.reports.read.load import Results, read, store_names, suite_folders
from bnnbench.reports.read.merge import merged
from bnnbench.reports.write import compare, export_runs, site, timing_page
from bnnbench.reports.write.content import Content, content
from bnnbench.reports.write.export import csv_text, latex, markdown, tidy
from bnnbench.reports.write.listing import RUN_COLUMNS, run_rows
from bnnbench.reports.write.page import MOST_DAMAGE, pages
from bnnbench.suites.engine.store.tables import COST_COLUMNS, METRIC_COLUMNS, cost_rows, metric_rows

ABOUT = """Rebuild the report of every suite from what it kept, without fitting anything:
report.html, tables.md, tables.tex, tables.csv, runs.csv, metrics.csv and costs.csv.
With --out, a site: a front page over all suites, and the same files for each of them."""

OTHERS = """Also: `bnnbench report compare A B` tells what changed between two folders of
results, `bnnbench report export RESULTS --format parquet|csv|latex` writes every score,
`bnnbench report timing BENCHMARK.json` writes a page of timings; in a site it is written where
a folder of results holds benchmark.json, beside benchmark_previous.json where that is there."""

UNPACKED_BYTES = 200_000
"""Larger files of a site are packed by gzip, but for its pages."""

OCCASIONAL = ("details.html", "figures*.html", "damage.csv*", "*.csv.gz", "tables.*.gz")
"""Files that not every report has."""

DAMAGED = 3
"""Exit code: reports were written, and name what could not be read."""


def main(arguments: Sequence[str]) -> int:
    """Do what is asked; return 0, 3 where something was damaged, 2 where nothing was written."""
    if arguments and arguments[0] in COMMANDS:
        return COMMANDS[arguments[0]](arguments[1:])
    parser = argparse.ArgumentParser("bnnbench report", description=ABOUT, epilog=OTHERS)
    parser.add_argument(
        *("results",), nargs="+", type=Path, help="folders that a suite's --out names; merged"
    )
    parser.add_argument("--out", type=Path, help="write a site there (default: beside the runs)")
    options = parser.parse_args(arguments)
    if len(options.results) > 1 and options.out is None:
        return _error("several folders are merged into a site: say where, by --out FOLDER")
    try:
        suites = _suites(options.results)
    except ValueError as error:
        return _error(str(error))
    codes, entries = [], []
    for name, folders in suites.items():
        code, shown = _report(name, folders, options.out)
        codes.append(code)
        if shown:
            entries.append(site.entry(shown))
    if options.out and entries:
        names = store_names(options.results)
        timed = timing_page.site_pages(dict(zip(names, options.results, strict=True)), "index.html")
        codes += [_damaged(reason) for reason in timed.damage]
        try:
            for address, text in timed.pages.items():
                write_whole(options.out / address, text.encode())
            front = site.front_page(entries, timed.links)
            write_whole(options.out / "index.html", front.encode())
        except OSError as error:
            return _error(f"cannot write the front page: {error}; choose a folder by --out")
        print(f"{options.out / 'index.html'}: {len(entries)} suites")
    return 2 if all(code == 2 for code in codes) else max(codes) and DAMAGED


def _suites(results: Sequence[Path]) -> dict[str, dict[str, Path]]:
    """Return suite → store → its folder, stores by the name of the folder of results."""
    found: dict[str, dict[str, Path]] = {}
    names = store_names(results)
    for name, path in zip(names, results, strict=True):
        for folder in suite_folders(path):
            found.setdefault(folder.resolve().name, {})[name] = folder
    return dict(sorted(found.items()))


def _report(
    suite: str, folders: Mapping[str, Path], out: Path | None
) -> tuple[int, Content | None]:
    found: dict[str, Results] = {}
    code = 0
    for name, folder in folders.items():
        try:
            found[name] = read(folder)
        except ValueError as error:
            code = _error(str(error))
    if not found:
        return code, None
    shown = content(merged(found))
    try:
        damage = write(shown, out / suite if out else next(iter(folders.values())), bool(out))
    except OSError as error:
        return _error(f"cannot write the report: {error}; choose a folder by --out"), None
    for reason in damage[:MOST_DAMAGE]:
        print(f"damaged: {reason}", file=sys.stderr)
    if more := damage[MOST_DAMAGE:]:
        print(f"damaged: {len(more)} more; damage.csv has them all", file=sys.stderr)
    return DAMAGED if damage or code else 0, shown


def write(shown: Content, folder: Path, in_site: bool = False) -> list[str]:
    """Write all files of one suite's report, and return what of the results was damaged.

    In a site the pages link to the front page, and large files are packed.
    """
    records = shown.results.records
    files = {name: text.encode() for name, text in pages(shown, site.HOME * in_site).items()}
    metrics = csv_text(METRIC_COLUMNS, metric_rows(records)).encode()
    files |= {
        "tables.md": markdown(shown.tables).encode(),
        "tables.tex": latex(shown.tables).encode(),
        "tables.csv": tidy(shown.tables).encode(),
        "runs.csv": csv_text(RUN_COLUMNS, run_rows(records, shown.results.places)).encode(),
    }
    if shown.damage:
        lines = [(damage.key, damage.reason) for damage in shown.damage]
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
            old.unlink()  # of an earlier, larger report
    print(f"{folder / 'report.html'}: {len(records)} runs of {shown.suite}")
    return [f"{one.key}: {one.reason}" for one in shown.damage if not one.whole]


def _packed(name: str, content: bytes) -> tuple[str, bytes]:
    """Return a file of a site: large ones that are no pages are packed."""
    if name.endswith(".html") or len(content) <= UNPACKED_BYTES:
        return name, content
    return f"{name}.gz", gzip.compress(content, mtime=0)


def _damaged(reason: str) -> int:
    print(f"damaged: {reason}", file=sys.stderr)
    return DAMAGED


def _error(text: str) -> int:
    print(f"error: {text}", file=sys.stderr)
    return 2


COMMANDS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "compare": compare.main,
    "export": export_runs.main,
    "timing": timing_page.main,
}
