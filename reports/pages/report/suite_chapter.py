"""The files of one suite's report, and of many suites on all cores."""

import gc
import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.engine.store.tables import (
    COST_COLUMNS,
    METRIC_COLUMNS,
    cost_rows,
    csv_text,
    metric_rows,
)
from bnnbench.engine.workers import cores
from bnnbench.engine.workers.pool import Pool
from bnnbench.metrics.base import Margins
from bnnbench.reports.pages.drilldown.run_pages import RunPages
from bnnbench.reports.pages.exports.listing import RUN_COLUMNS, run_rows
from bnnbench.reports.pages.exports.tables import latex, markdown, tidy
from bnnbench.reports.pages.report import folder_site
from bnnbench.reports.pages.report.blocks import CHAPTERS
from bnnbench.reports.pages.report.content import Content, content
from bnnbench.reports.pages.report.page import MOST_DAMAGE, pages
from bnnbench.reports.read.load import Results
from bnnbench.reports.style.words import counted

UNPACKED_BYTES = 200_000
"""Larger files of a site, other than its pages, are compressed by gzip."""

OCCASIONAL = (
    "profile-*.html",
    *(f"{chapter.name}{number}.html" for chapter in CHAPTERS for number in ("", "-[0-9]*")),
    *("damage.csv*", "*.csv.gz", "tables.*.gz"),
)
"""Files that only some reports have."""

DAMAGED = 3
"""Exit code: reports were written, but some runs could not be read."""

MANY = 2_000
"""Minimum number of runs for which a process per core saves more time than it takes to start."""


LOST = (
    "its pages were not written: a process ended unexpectedly, perhaps for lack of memory; "
    "try again with fewer folders of results at once"
)


@dataclass(frozen=True)
class Order:
    """A report to write: into a site at `out`, which has pages of `runs`, or next to its runs."""

    results: Results
    margins: Margins
    out: Path | None = None
    runs: RunPages | None = None
    written: "Written | None" = None
    """The outcome if the report has been written before and nothing has changed since."""
    with_yardsticks: bool = False
    """True if methods that are no networks may take the headline."""


@dataclass(frozen=True)
class Written:
    """The outcome of writing a report: an exit code, lines to print, and the suite in short."""

    code: int
    lines: tuple[str, ...] = ()
    complaints: tuple[str, ...] = ()
    entry: folder_site.Entry | None = None

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "Written":
        """Return the outcome that `dataclasses.asdict` made plain, perhaps by way of JSON."""
        entry = plain["entry"] and folder_site.Entry.of(plain["entry"])
        return cls(plain["code"], tuple(plain["lines"]), tuple(plain["complaints"]), entry)


@contextmanager
def reports_under_way(orders: Sequence[Order]) -> Iterator[Iterator[Written]]:
    """Start writing reports, large ones on all cores; the outcomes are yielded in their order.

    Reports of few runs are written one by one, when their outcome is requested.
    """
    new = [k for k, order in enumerate(orders) if order.written is None]
    runs = sum(len(orders[k].results.records) for k in new)
    workers = min(cores(), len(new)) if runs >= MANY else 1
    if workers < 2:
        yield (order.written or written_report(order) for order in orders)
        return
    largest_first = sorted(new, key=lambda k: -len(orders[k].results.records))
    with Pool(workers) as pool:
        futures = {k: pool.submit(_of_many, written_report, orders[k]) for k in largest_first}
        yield (o.written or _outcome(futures[k], o) for k, o in enumerate(orders))


def _of_many(write: Callable[[Order], Written], order: Order) -> Written:
    """Write a report; the garbage collector rarely scans the records, millions of live objects."""
    gc.set_threshold(100_000, 20, 100)
    return write(order)


def _outcome(future: Future[Written], order: Order) -> Written:
    try:
        return future.result()
    except BrokenExecutor:
        return Written(2, complaints=(f"error: {order.results.suite}: {LOST}",))


def written_report(order: Order) -> Written:
    """Write one report, and return the outcome."""
    report = content(order.results, order.margins, order.with_yardsticks)
    folder = order.out / report.suite if order.out else order.results.store.folder
    try:
        damage = write(report, folder, order.runs)
    except OSError as error:
        reason = f"cannot write the report: {error}; choose another folder by --out"
        return Written(2, complaints=(f"error: {legible(reason)}",))
    complaints = [f"damaged: {legible(reason)}" for reason in damage[:MOST_DAMAGE]]
    if more := damage[MOST_DAMAGE:]:
        complaints.append(f"damaged: {len(more)} more; damage.csv lists them all")
    lines = [
        f"{folder / 'report.html'}: {counted(len(report.results.records), 'run')} of "
        f"{legible(report.suite)}",
        *(legible(text) for part in report.parts for text in part.answer.in_terminal),
        *dict.fromkeys(text for p in report.parts if (text := p.answer.from_others)),
    ]
    return Written(
        DAMAGED if damage else 0, tuple(lines), tuple(complaints), folder_site.entry(report)
    )


def write(report: Content, folder: Path, runs: RunPages | None = None) -> list[str]:
    """Write all files of one suite's report, and return the damage to its results.

    In a site, which has pages of `runs`, the pages link to these and to the front page, and large
    files are compressed.
    """
    in_site = runs is not None
    records = report.results.records
    texts = pages(report, folder_site.HOME * in_site, runs or {})
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
    return [f"{d.key}: {d.reason}" for d in report.damage if not d.whole]


def _packed(name: str, content: bytes) -> tuple[str, bytes]:
    """Return name and content of a file of a site; large files other than pages are compressed."""
    if name.endswith(".html") or len(content) <= UNPACKED_BYTES:
        return name, content
    return f"{name}.gz", gzip.compress(content, mtime=0)
