"""The command line: rebuild every report from the store, without fitting."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from reports.content import content
from reports.export import csv_text, latex, markdown, tidy
from reports.load import Results, read, suite_folders
from reports.page import render
from suites.engine.store import write_whole
from suites.engine.tables import COST_COLUMNS, METRIC_COLUMNS, cost_rows, metric_rows

ABOUT = """Rebuild the report of every suite from what it kept, without fitting anything:
report.html, tables.md, tables.tex, tables.csv, metrics.csv and costs.csv."""

DAMAGED = 3
"""Exit code: reports were written, and name what could not be read."""


def main(arguments: Sequence[str]) -> int:
    """Write the reports; return 0, 3 where something was damaged, 2 where nothing was written."""
    parser = argparse.ArgumentParser("python -m reports", description=ABOUT)
    parser.add_argument("results", type=Path, help="the folder that a suite's --out names")
    parser.add_argument(
        "--out", type=Path, help="write <out>/<suite>/report.html (default: beside the runs)"
    )
    options = parser.parse_args(arguments)
    try:
        folders = suite_folders(options.results)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    codes = [_report(folder, options.out) for folder in folders]
    return 2 if all(code == 2 for code in codes) else max(codes) and DAMAGED


def _report(folder: Path, out: Path | None) -> int:
    try:
        results = read(folder)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    try:
        damage = write(results, out / results.suite if out else folder)
    except OSError as error:
        print(f"error: cannot write the report: {error}; choose a folder by --out", file=sys.stderr)
        return 2
    for reason in damage:
        print(f"damaged: {reason}", file=sys.stderr)
    return DAMAGED if damage else 0


def write(results: Results, folder: Path) -> list[str]:
    """Write all files of one suite's report, and return what of the results was damaged."""
    shown = content(results)
    files = {
        "report.html": render(shown),
        "tables.md": markdown(shown.tables),
        "tables.tex": latex(shown.tables),
        "tables.csv": tidy(shown.tables),
        "metrics.csv": csv_text(METRIC_COLUMNS, metric_rows(results.records)),
        "costs.csv": csv_text(COST_COLUMNS, cost_rows(results.records)),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_whole(folder / name, text.encode("utf-8"))
    print(f"{folder / 'report.html'}: {len(results.records)} runs of {results.suite}")
    return [f"{damage.key}: {damage.reason}" for damage in shown.damage]
