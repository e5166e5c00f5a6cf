"""Reports of suites and sites from stored runs: the slow part of `bnnbench report`."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from bnnbench.commands.terminal.margins import margins
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.engine.store import code_digests
from bnnbench.engine.store.folders import real
from bnnbench.reports.pages.drilldown.run_pages import RunPages, run_addresses
from bnnbench.reports.pages.report import folder_site, timing_page
from bnnbench.reports.pages.report.content import judged_benchmarks
from bnnbench.reports.pages.report.suite_chapter import DAMAGED, Order, Written, reports_under_way
from bnnbench.reports.pages.site import site as board
from bnnbench.reports.pages.site import state
from bnnbench.reports.pages.site.state import NOT_BUILT, Inputs, State
from bnnbench.reports.read.bundles import holds_bundle, read_bundle, repeated_runs, uncollected
from bnnbench.reports.read.load import Results, read, store_names, suite_folders
from bnnbench.reports.read.merge import merged
from bnnbench.reports.read.predictions.bundled import (
    BundledStore,
    Span,
    spans_in,
    with_predictions,
)
from bnnbench.reports.style.words import counted


def write(
    options: argparse.Namespace, inputs: Inputs | None = None, built: State = NOT_BUILT
) -> int:
    """Write the reports, in a site if it has a folder, and return the exit code.

    A site was `built` earlier; its reports that depend on nothing that has changed stay.
    """
    try:
        suites = _suites(options.results, spans_in(options.predictions))
        if options.out is None and any(map(holds_bundle, options.results)):
            return _error("a bundle's pages are a site; give its folder with --out FOLDER")
    except ValueError as error:
        return _error(str(error))
    was_read = {suite: _read(sources) for suite, sources in suites.items()}
    of_suites = {suite: results for suite, (_, results) in was_read.items() if results}
    codes = {suite: code for suite, (code, _) in was_read.items()}
    judged_by = margins(options.margin)
    in_site = of_suites if options.out else {}
    everyone = options.with_yardsticks
    judged = {suite: judged_benchmarks(one, judged_by, everyone) for suite, one in in_site.items()}
    runs = run_addresses(judged) if options.out else None
    digests = {suite: _digest(inputs, results, runs or {}) for suite, results in of_suites.items()}
    orders = [
        Order(
            *(results, judged_by, options.out, runs),
            _unchanged(suite, digests, built, options.out),
            with_yardsticks=everyone,
        )
        for suite, results in of_suites.items()
    ]
    damaged = False
    written: dict[str, Written] = {}
    with reports_under_way(orders) as reports:
        entries = _told(of_suites, reports, codes, written)
        if options.out and judged:
            try:
                with uncollected():
                    damaged = _write_site(options.out, options.results, of_suites, judged, entries)
            except OSError as error:
                return _error(
                    f"cannot write the front page: {error}; choose another folder with --out"
                )
        else:
            list(entries)  # prints each report once it is written
    if set(codes.values()) == {2}:
        return 2
    code = DAMAGED if damaged or any(codes.values()) else 0
    if inputs and options.out:
        outcomes = {s: {"digest": digests[s], "written": asdict(r)} for s, r in written.items()}
        try:
            state.write(options.out, "" if code else inputs.digest, outcomes)
        except OSError as error:
            return _error(f"cannot write {state.NAME}: {error}; choose another folder with --out")
    return code


def _digest(inputs: Inputs | None, results: Results, runs: RunPages) -> str:
    """Return the digest of all that a suite's report in a site depends on; "" without a site."""
    if inputs is None:
        return ""
    addresses = [(place, address) for place, address in runs.items() if place[0] == results.suite]
    stores = sorted(set(results.places.values()))
    return inputs.digest_of(results.sources, results.suite, stores, addresses)


def _unchanged(
    suite: str, digests: Mapping[str, str], built: State, site: Path | None
) -> Written | None:
    """Return the outcome of writing a report that need not be written again, or None."""
    report = built.reports.get(suite, {"digest": None})
    same = digests[suite] and report["digest"] == digests[suite]
    if site is None or not same or not built.is_whole(site, suite):
        return None
    return Written.of(report["written"])


def _told(
    suites: Iterable[str],
    reports: Iterator[Written],
    codes: dict[str, int],
    written: dict[str, Written],
) -> Iterator[tuple[str, folder_site.Entry]]:
    """Print the messages of each report, store its outcome, and yield what was written."""
    for suite, report in zip(suites, reports, strict=True):
        for line in report.complaints:
            print(line, file=sys.stderr)
        for line in report.lines:
            print(line)
        codes[suite] = 2 if report.code == 2 else (codes[suite] or report.code) and DAMAGED
        if report.entry:
            written[suite] = report
            yield suite, report.entry


def _write_site(
    out: Path,
    sources: Sequence[Path],
    of_suites: Mapping[str, Results],
    judged: board.Suites,
    entries: Iterator[tuple[str, folder_site.Entry]],
) -> bool:
    """Write the pages of a site except the reports, and return whether timings were corrupt.

    The reports, written meanwhile, become `entries`. Pages include only the suites whose report
    was written.
    """
    names = store_names(sources)
    timed = timing_page.site_pages(dict(zip(names, sources, strict=True)), "suites.html")
    for reason in timed.damage:
        print(f"damaged: {legible(reason)}", file=sys.stderr)
    repeated = {key: r for path in sources for key, r in repeated_runs(path).items()}
    known = {old: new for path in sources for old, new in code_digests.read(path).items()}
    written: dict[str, folder_site.Entry] = {}

    def front() -> folder_site.Front:
        written.update(entries)
        return folder_site.Front(tuple(written.values()), tuple(timed.links))

    def pages(suites: Iterable[str]) -> dict[str, str]:
        stores = {suite: of_suites[suite].store for suite in suites}
        chosen = {suite: judged[suite] for suite in suites}
        return board.pages_of(chosen, front, stores, repeated, known)

    files = pages(judged)
    if not written:
        return bool(timed.damage)
    if written.keys() != judged.keys():
        files = pages(tuple(written))
    for address, text in (dict(timed.pages) | files).items():
        (out / address).parent.mkdir(parents=True, exist_ok=True)
        write_whole(out / address, text.encode())
    print(f"{out / 'index.html'}: {counted(len(written), 'suite')}")
    return bool(timed.damage)


Sources = Mapping[str, Path | Results]
"""Name of a store → its folder for one suite, or the runs themselves if from a bundle."""


def _suites(
    results: Sequence[Path], spans: Mapping[str, Span]
) -> dict[str, dict[str, Path | Results]]:
    """Return suite → store → where its runs are; stores are named after the folders of results.

    `spans` locates the predictions of bundled runs. Raises ValueError if they belong to other runs.
    """
    by_suite: dict[str, dict[str, Path | Results]] = {}
    names = store_names(results)
    for name, path in zip(names, results, strict=True):
        if holds_bundle(path):
            for suite, bundled in read_bundle(path).items():
                by_suite.setdefault(suite, {})[name] = with_predictions(bundled, spans)
            continue
        for folder in suite_folders(path):
            by_suite.setdefault(real(folder).name, {})[name] = folder
    every = [source.store for of in by_suite.values() for source in of.values()
             if isinstance(source, Results)]  # fmt: skip
    if spans and not any(isinstance(store, BundledStore) for store in every):
        raise ValueError("--predictions: the file has predictions of none of the bundled runs")
    return dict(sorted(by_suite.items()))


def _read(sources: Sources) -> tuple[int, Results | None]:
    """Return an exit code and the runs of a suite; None if no store is readable."""
    results_by_store: dict[str, Results] = {}
    code = 0
    for name, source in sources.items():
        try:
            results_by_store[name] = read(source) if isinstance(source, Path) else source
        except ValueError as error:
            code = _error(str(error))
    return code, merged(results_by_store) if results_by_store else None


def _error(text: str) -> int:
    print(f"error: {legible(text)}", file=sys.stderr)
    return 2
