"""`bnnbench score PREDICTIONS`: score predictions of another program next to a suite's own."""

import argparse
import getpass
import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from bnnbench.commands.terminal.parser import Parser
from bnnbench.datasets import Policy
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.engine.external import reading
from bnnbench.engine.external.forms import BadPredictions
from bnnbench.engine.external.reading import HandedIn
from bnnbench.suites import SUITES, unknown

if TYPE_CHECKING:
    from bnnbench.engine.declare.case import Case
    from bnnbench.engine.declare.grid import Suite
    from bnnbench.engine.records.record import Record
    from bnnbench.engine.store.store import Store

COMPLETED, NO_REPORT, MISUSED = 0, 1, 2

LONGEST = 1000
"""Maximum number of characters in a description of a method."""

ABOUT = """\
Scores predictions of test rows made by another program, and stores the scores as records next to
the suite's own runs. `bnnbench data export` writes the training and test rows of a data set;
`bnnbench score --export DIR`, without PREDICTIONS, those of a profile that uses part of it.

PREDICTIONS is an npz, csv or parquet file, a folder of them, or - for standard input.

  npz      arrays             probabilities or log_probabilities: points x classes, or
                              draws x points x classes; means and variances (noise included)
                              or samples: points, or draws x points; levels and quantiles:
                              points x levels; level, low and high; level and members
  csv,     columns            p0, p1, ... or log_p0, ...; mean and variance; sample; q0.05, ...;
  parquet                     low, high and level; in0, in1, ... and level. One line per row;
                              with a column draw, one line per row and draw

All formats need row, the names of the exported test rows, or rows_sha256, the digest printed by
the export; fold and seed are optional. Predictions are in the order of the exported rows and, for
real-valued targets, in the original units.

Exit codes: 0 scored. 1 scored, but the report could not be written. 2 usage, or predictions that
cannot be scored; nothing is stored.
"""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line, and exit."""
    sys.exit(command(arguments))


def command(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        _check(options)
        handed_in = [] if options.export else _with_places(_read(options.predictions), options)
    except BadPredictions as error:
        return _misused(error)
    from bnnbench.commands.suite import MISTAKES  # imports torch

    try:
        return _export(options) if options.export else _score(handed_in, options)
    except (*MISTAKES, BadPredictions) as error:
        return _misused(error)


def _misused(error: Exception) -> int:
    print(f"error: {legible(error)}", file=sys.stderr)
    return MISUSED


def _parser() -> Parser:
    parser = Parser(
        prog="bnnbench score",
        description=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "predictions", nargs="?", metavar="PREDICTIONS", help="a file, a folder, or -"
    )
    what.add_argument(
        "--export", type=Path, metavar="DIR", help="write the rows to a new folder; score nothing"
    )
    add("--suite", required=True, metavar="NAME", help="a suite listed by `bnnbench list`")
    add(
        "--profile",
        metavar="NAME",
        help="a profile of the suite; default: quick, or the suite's first",
    )
    add("--dataset", required=True, metavar="NAME", help="a data set of the profile")
    add("--method", default="", metavar="LABEL", help="name of the method in the tables")
    add("--fold", type=_whole, metavar="N", help="fold, if no file states it; default: 0")
    add("--seed", type=_whole, metavar="N", help="seed, if no file states it; default: 0")
    add(
        "--rows-sha256",
        metavar="DIGEST",
        help="digest printed by `bnnbench data export`, for files without row names: confirms the "
        "order of the rows",
    )
    add("--by", metavar="NAME", help="name of the submitter; default: the user's name")
    add("--code", default="", metavar="TEXT", help="location of the method's code, as free text")
    add("--cost", default="", metavar="TEXT", help="cost of the fit, as free text")
    add(
        "--data",
        choices=("auto", "original", "stand-in"),
        default="auto",
        help="official files, small substitutes, or (auto) substitutes for missing files",
    )
    add("--data-dir", type=Path, metavar="DIR", help="folder of data files")
    add("--offline", action="store_true", help="download nothing")
    add(
        "--out",
        type=Path,
        metavar="DIR",
        default=Path("results"),
        help="folder for results; default: %(default)s",
    )
    add("--no-report", action="store_true", help="do not write the report")
    return parser


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"needs a whole number from 0; got {text!r}")
    return int(text)


def _check(options: argparse.Namespace) -> None:
    """Raise BadPredictions for options that no suite accepts."""
    if options.suite not in SUITES:
        raise BadPredictions(f"--suite: {unknown(options.suite, ())}")
    profiles = SUITES[options.suite].profiles
    if options.profile not in (None, *profiles):
        raise BadPredictions(
            f"--profile: {options.suite} has no profile {options.profile!r}; it has "
            f"{', '.join(profiles)}"
        )
    for name in ("method", "by", "code", "cost"):
        text = getattr(options, name) or ""
        if len(text) > LONGEST or not text.isprintable():
            raise BadPredictions(f"--{name}: give one line of at most {LONGEST} characters")
    if not options.export and not options.method.strip():
        raise BadPredictions("--method: give the method a name")
    if options.out.exists() and not options.out.is_dir():
        raise BadPredictions(f"--out: {options.out} is a file; give a folder")


def _read(place: str) -> list[HandedIn]:
    if place == "-":
        return reading.read_content(sys.stdin.buffer.read(), reading.STDIN)
    return reading.read(Path(place))


def _with_places(handed_in: list[HandedIn], options: argparse.Namespace) -> list[HandedIn]:
    """Return the predictions with fold, seed and digest, from the file or the command line."""
    placed = []
    for one in handed_in:
        known = {"fold": one.fold, "seed": one.seed, "rows_sha256": one.rows_sha256}
        for name, value in known.items():
            asked = getattr(options, name)
            if None not in (asked, value) and asked != value:
                raise BadPredictions(
                    f"{one.file} says {name} {value}, and the command line {asked}: correct one"
                )
            known[name] = asked if value is None else value
        fold, seed = known["fold"] or 0, known["seed"] or 0
        placed.append(replace(one, fold=fold, seed=seed, rows_sha256=known["rows_sha256"]))
    return placed


def _score(handed_in: list[HandedIn], options: argparse.Namespace) -> int:
    from bnnbench.commands import suite as cli
    from bnnbench.engine.external.recording import Statement, records_of
    from bnnbench.engine.store.store import Store
    from bnnbench.engine.workers.base import prepare_process

    prepare_process()
    suite, case = _chosen(options)
    store = Store(options.out / suite.name)
    _check_label(options.method, suite, store)
    statement = Statement(options.method, options.by or _user(), options.code, options.cost)
    records = records_of(handed_in, suite, case, statement)
    replaced = len({record.key for record, _ in records} & set(store.run_keys()))
    _keep(records, suite, case, store)
    _print(suite, case, store)
    again = f", {replaced} of them again" * bool(replaced)
    print(legible(f"{options.method}: {len(records)} scored{again}: {store.folder}"))
    if not options.no_report and not cli.write_report(options.out):
        return NO_REPORT
    return COMPLETED


def _export(options: argparse.Namespace) -> int:
    """Write the rows of the case, and print their folder and their digest."""
    from bnnbench.datasets.export import export

    _, case = _chosen(options)
    try:
        rows = export(case.source, options.fold or 0, options.export)
    except (ValueError, OSError) as error:
        raise BadPredictions(f"--export: {error}") from error
    counts = f"{len(rows.train_inputs)} training and {len(rows.test_inputs)} test rows"
    print(legible(f"{options.export}: {counts} of {case.name} ({case.source.origin})"))
    print(f"digest of the rows: {rows.rows_sha256}")
    return COMPLETED


def _chosen(options: argparse.Namespace) -> "tuple[Suite, Case]":
    """Return the profile, and its case with the data available on this machine."""
    if options.data_dir:
        os.environ["BNNBENCH_DATA"] = str(options.data_dir.absolute())
    if options.offline:
        os.environ["BNNBENCH_OFFLINE"] = "1"
    from bnnbench.commands.planning.selection import cases_named
    from bnnbench.datasets.resolve import resolve

    profiles = importlib.import_module(f"bnnbench.suites.{options.suite}").SUITES
    first = "quick" if "quick" in profiles else next(iter(profiles))
    suite = profiles[options.profile or first]
    cases = cases_named(suite, [options.dataset], profiles)
    policy: Policy = options.data
    return suite, cases[0].on(resolve(cases[0].source, policy, options.offline))


def _check_label(label: str, suite: "Suite", store: "Store") -> None:
    """Raise BadPredictions if the name is taken by a method of this program."""
    from bnnbench.methods import METHODS

    taken = {name.casefold() for name in (*suite.methods, *METHODS)}
    in_store = {r.method.casefold() for r in store.readable()[0] if r.external is None}
    if label.casefold() in taken | in_store:
        raise BadPredictions(
            f"--method: {label!r} is the name of a method of this program; give another, such as "
            f"{f'{label} (external)'!r}"
        )


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # the user's number has no name
        return "unknown"


def _keep(
    records: "Sequence[tuple[Record, bytes]]", suite: "Suite", case: "Case", store: "Store"
) -> None:
    """Write the records, and the data for their tables and figures."""
    from bnnbench.commands.suite import now_and_then
    from bnnbench.engine.store.data_points import keep_curves
    from bnnbench.engine.store.leases import LEASES, Leases
    from bnnbench.engine.store.rescoring.distances import add_distances
    from bnnbench.engine.store.tables import write_tables

    of_case = replace(suite, cases=(case,), optional=())
    with Leases(store.folder / LEASES) as leases, leases.held("upkeep", lambda: None):
        store.write_all(records)
        for line in add_distances(of_case, store, now_and_then(print)):
            print(legible(line))
        keep_curves(of_case, store)
        write_tables(store)


def _print(suite: "Suite", case: "Case", store: "Store") -> None:
    """Print the tables of the data set, as at the end of a suite's command."""
    from bnnbench.commands.running.summary import print_tables
    from bnnbench.commands.suite import belongs
    from bnnbench.commands.terminal.terminal import console_of
    from bnnbench.engine.declare.description import describe
    from bnnbench.engine.records.record import newest

    source = {case.name: describe(case.source)}
    readable, damaged = store.readable()
    for error in damaged:
        print(f"damaged: {legible(error)}", file=sys.stderr)
    records = [r for r in newest(readable) if belongs(r, suite, source)]
    print_tables(suite, records, console_of())


if __name__ == "__main__":
    main()
