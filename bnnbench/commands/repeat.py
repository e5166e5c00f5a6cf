"""`bnnbench repeat`: re-run stored runs with the present code, and compare."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from bnnbench.commands.running import values
from bnnbench.commands.stored_runs.bundle_repetition import Choice, CodeNotCommitted, repeat_bundle
from bnnbench.commands.stored_runs.reproduction import Comparison, Reproduction, Verdict, reproduce
from bnnbench.commands.terminal.parser import Parser
from bnnbench.datasets.errors import DataDamaged, DataUnavailable
from bnnbench.datasets.reading import finished_runs
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.engine.records.record import Record
from bnnbench.engine.store import bundles, repetitions
from bnnbench.engine.store.folders import real, stores_in
from bnnbench.engine.store.inspection import stores
from bnnbench.engine.store.rebuilding import NotRepeatable
from bnnbench.engine.store.store import RECORD, CorruptRecord, Store
from bnnbench.engine.workers import cores
from bnnbench.engine.workers.base import prepare_process

CODES: dict[Verdict, int] = {"identical": 0, "within rounding": 1, "differs": 3}
MISUSED, REFUSED = 2, 3

RESULTS = (Path("results"), Path("results") / "try")
"""Folders searched for runs before the finished ones; `bnnbench try` writes to the second."""

OUTCOMES = Path("reproduced")
"""Default folder for outcomes of the installed or downloaded runs, which nothing changes."""

ABOUT = """\
Re-run stored runs from their records only, with the present code, and compare.

One run: scores and predictions are compared bitwise, and nothing is written. Bundles contain
scores but no predictions. Exit codes: 0 identical. 1 within rounding: everything agrees to half the
digits of single precision. 3 something differs. 2 usage, or a record that cannot be re-run here.

A bundle, or a folder of bundles, by default the finished runs of bnnbench: the cheapest run of each
method in each profile is re-run if its data are on this machine, and the outcome is recorded in
`repeated.csv` next to the runs, or for installed runs in the folder `reproduced`: identical scores,
scores within rounding, or the score farthest from the recorded one, relative to the spread of
comparable runs. Runs already re-run with the same code are skipped, so that an interrupted command
continues. GPU runs are re-run only on a machine with a GPU. Exit codes: 0 done. 2 usage, or damaged
data. 3 uncommitted code.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code."""
    options = _parsed(arguments)
    prepare_process()
    if options.allow and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # as for a method named by its file
    try:
        what = str(finished_runs.folder()) if options.what is None else options.what
        if bundles.folders(Path(what)):
            return _bundle(Path(what), options)
        return _single_run(what, options.results, options.allow)
    except CodeNotCommitted as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return REFUSED
    except (NotRepeatable, CorruptRecord, ValueError, DataUnavailable, DataDamaged) as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return MISUSED


def _parsed(arguments: Sequence[str] | None) -> Any:
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser("bnnbench repeat", description=ABOUT, formatter_class=raw)
    parser.add_argument(
        "what", metavar="KEY|FOLDER", nargs="?",
        help="a run's key or its start, or the run's folder; or a bundle, or a folder of bundles; "
        "default: the finished runs of bnnbench",
    )  # fmt: skip
    parser.add_argument(
        "--results", type=Path, metavar="DIR",
        help="folder of results, or a bundle, in which to look for the key (default: results, "
        "results/try, then the finished runs of bnnbench)",
    )  # fmt: skip
    parser.add_argument(
        *("--allow",), action="append", default=[], metavar="PACKAGE",
        help="allow records to name classes of this package",
    )  # fmt: skip
    parser.add_argument(
        *("--at-most",), type=values.seconds, default=60.0, metavar="SECONDS",
        help="in bundles, skip methods whose cheapest run took longer than this many seconds (60)",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, metavar="DIR",
        help="folder for the outcomes of bundles (default: next to the runs; for installed runs: "
        f"{OUTCOMES})",
    )  # fmt: skip
    parser.add_argument(
        *("--workers",), type=values.count(), default=cores(),
        help="worker processes for bundles (one per core)",
    )  # fmt: skip
    return parser.parse_args(arguments)


def _bundle(bundle: Path, options: Any) -> int:
    out = options.out or (OUTCOMES if finished_runs.is_released(bundle) else None)
    choice = Choice(options.at_most, options.allow, out)
    repeat_bundle(bundle, choice, options.workers, Console())
    print(f"outcomes: {out or bundle}, in {repetitions.NAME} of each folder")
    return 0


def _single_run(what: str, results: Path | None, packages: Sequence[str]) -> int:
    if (Path(what) / RECORD).is_file():
        folder = real(Path(what))
        what, results = folder.name, folder.parents[1]
    store, record = _run_with_key(what, results)
    has_predictions = store is not None and record.outcome.predictions_sha256
    predictions = store.packed(record.key) if store and has_predictions else None
    result = reproduce(record, predictions, tuple(packages))
    _print(record, result)
    return CODES[result.verdict]


def _run_with_key(start: str, results: Path | None) -> tuple[Store | None, Record]:
    """Return the record of the run whose key starts like this, and its store; None for a bundle.

    Raises ValueError unless there is exactly one.
    """
    usual = (*RESULTS, finished_runs.part(""))
    places = [results] if results else [place for place in usual if _holds_runs(place)]
    for place in places:
        matches = list(_matches(start, place))
        if len(matches) > 1:
            examples = ", ".join(record.key for _, record in matches[:5])
            raise ValueError(
                f"{len(matches)} keys begin with {start!r}: {examples}; give more of the key"
            )
        if matches:
            return matches[0]
    if Path(start).is_dir():
        raise ValueError(f"{start} is neither a run's folder nor a bundle, nor has it bundles")
    named = " or ".join(map(str, places)) or "the folder `results`, which has no runs,"
    finished = "" if list(finished_runs.present()) else f"; {finished_runs.NoFinishedRuns()}"
    raise ValueError(
        f"no run in {named} begins with {start!r}; `bnnbench store list DIR` prints the runs of a "
        "folder of results, bnnbench.results(DIR) has the keys of a bundle, and --results names "
        f"another folder{finished}"
    )


def _holds_runs(place: Path) -> bool:
    """Return whether a folder is a bundle or has results."""
    return bool(bundles.folders(place) or stores_in(place))


def _matches(start: str, place: Path) -> Iterator[tuple[Store | None, Record]]:
    """Yield the runs of a folder of results or of a bundle whose keys begin with `start`."""
    folders = bundles.folders(place)
    for folder in folders:
        for record in bundles.read(folder, start):
            yield None, record
    if folders:
        return
    for store in stores(place):
        for key in store.run_keys():
            if key.startswith(start) and (record := store.read(key)):
                yield store, record


def _print(record: Record, result: Reproduction) -> None:
    where = f"{record.dataset}, fold {record.fold}, seed {record.seed}"
    print(legible(f"{record.method} on {where} ({record.suite}, {record.profile}): {record.key}"))
    for verdict in CODES:
        comparisons = [comparison for comparison in result.results if comparison.verdict == verdict]
        if comparisons:
            print(f"{verdict}: {len(comparisons)} of {len(result.results)}")
        if verdict != "identical":
            _table(comparisons)
    for line in result.not_compared:
        print(legible(f"not compared: {line}"))
    if result.circumstances:
        print("differences from the recorded circumstances:")
        _table(result.circumstances)
    print(f"verdict: {result.verdict}")


def _table(rows: Sequence[Comparison]) -> None:
    width = max((len(row.name) for row in rows), default=0)
    for row in rows:
        print(legible(f"  {row.name:{width}}  recorded {row.recorded!s}, now {row.repeated!s}"))
