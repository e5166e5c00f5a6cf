"""`bnnbench try`: compare your method with the finished runs of all others.

Only your method is fitted, by the protocol of the runs in a bundle: the same data, splits, network
and, if the suite searches for settings, the same budget.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.commands.terminal.parser import Lenient, add_yardsticks
from bnnbench.datasets.reading import finished_runs
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.methods import own_files

if TYPE_CHECKING:
    from bnnbench.commands.running.arguments import Options
    from bnnbench.engine.records.record import Record
    from bnnbench.engine.run.sandbox.sandbox import Sandbox

CHECK_SECONDS = 3600.0
"""Maximum time of the checks of one method in a process of its own."""

ARGUMENTS = "bnnbench.commands.running.arguments"

ABOUT = """Fit one method by the protocol of finished runs, and report its place among their
methods, the places that the tests leave open, and its cost. Options not listed here go to the
suite, such as --folds, --workers or --timeout (bnnbench uci --help)."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code of the suite."""
    parser = Lenient("bnnbench try", description=ABOUT)
    parser.add_argument("method", help="file.py:Class, module:Class or a name, with settings")
    parser.add_argument("--suite", required=True, help="a suite with runs in the bundle")
    parser.add_argument(
        "--profile",
        default="",
        help="default: the profile with most runs, preferably with searched settings",
    )
    parser.add_argument("--datasets", default="", metavar="A,B", help="default: all in the bundle")
    parser.add_argument(
        "--bundle", type=Path, metavar="DIR",
        help="bundle of finished runs (default: those of bnnbench)",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, default=Path("results") / "try", metavar="DIR",
        help="folder for results (results/try)",
    )  # fmt: skip
    parser.add_argument(
        "--details", action="store_true",
        help="also its place on each data set, and the methods that it beats and loses to",
    )  # fmt: skip
    add_yardsticks(parser)
    options, rest = parser.parse_known_args(arguments)
    asked = _asked(options.suite, ["--methods", options.method, *rest])
    # imported here because options are refused without them
    from bnnbench.commands.reporting import rivals
    from bnnbench.engine.records.record import newest
    from bnnbench.engine.store.store import CorruptRecord, Store
    from bnnbench.metrics.base import NO_MARGINS
    from bnnbench.reports.pages.report.suite_chapter import Order, written_report
    from bnnbench.reports.read.load import Results

    try:
        options.bundle = options.bundle or finished_runs.folder()
        methods = _of_files(options.method)
        print(f"Reading the finished runs of {options.suite} in {options.bundle}", flush=True)
        others = rivals.stored(options.bundle, options.suite, options.profile)
        if "--dry-run" not in rest:
            _check_predictions(methods, _kinds(others), _sandbox(asked, options))
    except (ValueError, CorruptRecord) as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return 2
    profile = others[0].profile
    names = options.datasets or ",".join(sorted({record.dataset for record in others}))
    asked = ["--profile", profile, "--datasets", names, "--methods", options.method]
    asked += ["--out", str(options.out), "--no-report", *rest]
    code = _carry_out(options.suite, asked, options.bundle)
    if code not in (0, 3) or "--dry-run" in rest:
        return code
    store = Store(options.out / options.suite)
    readable, _ = store.readable()  # the suite has named the others
    new_runs = [record for record in newest(readable) if record.profile == profile]
    records = rivals.beside(new_runs, others)
    everyone = Results(store, (*records, *new_runs), (), ())
    asked_for = options.with_yardsticks
    for line in written_report(Order(everyone, NO_MARGINS, with_yardsticks=asked_for)).lines:
        print(line)
    labels = _labels(options.suite, profile, options.method)
    tried = [record for record in new_runs if record.method in _of_arm(labels, record.strategy)]
    for line in rivals.standing_of(tried, others, options.details, asked_for):
        print(legible(line))
    return code


def _asked(suite: str, arguments: Sequence[str]) -> "Options | None":
    """Return the suite's options; ends the process, as the suite would, for unknown ones.

    Returns None for an unknown suite.
    """
    suites = importlib.import_module("bnnbench.suites").SUITES
    if suite in suites:
        return importlib.import_module(ARGUMENTS).parse(suite, suites[suite], arguments)
    return None


def _sandbox(asked: "Options | None", options: argparse.Namespace) -> "Sandbox | None":
    """Return the sandbox of the checks, which hides data, results and the bundle, if asked for."""
    from bnnbench.commands.running import sandboxing
    from bnnbench.datasets.reading import files

    data = (asked and asked.data_dir) or files.folder()
    hidden = sandboxing.around([data, options.bundle, options.out])
    return hidden if asked and asked.sandbox else None


def _of_files(request: str) -> dict[str, Any]:
    """Return text → method for the methods named by files and modules, which are imported."""
    from bnnbench.engine.method_settings.expressions import parsed, parts
    from bnnbench.engine.method_settings.requested import method_of  # this imports torch

    return {text: method_of(text) for text in parts(request) if ":" in parsed(text).name}


def _labels(suite: str, profile: str, request: str) -> set[str]:
    """Return the labels of the requested methods in the tables."""
    from bnnbench.engine.method_settings.expressions import parts
    from bnnbench.engine.method_settings.requested import with_methods

    declared = importlib.import_module(f"bnnbench.suites.{suite}").SUITES[profile]
    return {*with_methods(declared, parts(request))["methods"]}


def _of_arm(labels: set[str], arm: str) -> set[str]:
    """Return the labels of methods with an acquisition strategy."""
    return {f"{label}-{arm}" for label in labels} if arm else labels


def _check_predictions(
    methods: Mapping[str, Any], kinds: Sequence[str], sandbox: "Sandbox | None"
) -> None:
    """Raise ValueError for a method whose predictions on small problems cannot be scored."""
    from bnnbench.engine.workers.base import prepare_small_fits
    from bnnbench.suites.check.predictions import first_fault  # this imports torch

    prepare_small_fits()
    for name, method in methods.items():
        print(f"Checking {name} on a small problem", flush=True)
        fault = _fault_apart(name, kinds, sandbox) if sandbox else first_fault(method, kinds)
        if fault:
            raise ValueError(
                f"{name} cannot be scored: {fault}. `bnnbench check {name}` runs all checks"
            )


def _fault_apart(name: str, kinds: Sequence[str], sandbox: "Sandbox") -> str:
    """Return the first fault of a method that is fitted in a process in a sandbox."""
    from bnnbench.engine.workers.separate import NoAnswer, answer

    folders = os.pathsep.join(own_files.folders())
    try:
        return str(
            answer(_fault, name, kinds, folder=folders, seconds=CHECK_SECONDS, sandbox=sandbox)
            or ""
        )
    except NoAnswer as error:
        return str(error)


def _fault(name: str, kinds: Sequence[str]) -> str:
    from bnnbench.engine.method_settings.requested import method_of
    from bnnbench.suites.check.predictions import first_fault

    return first_fault(method_of(name), kinds)


def _kinds(records: "Sequence[Record]") -> list[str]:
    """Return the kinds of small problems that match the records."""
    from bnnbench.methods.card import PROBLEMS

    task = "regression" if records[0].circumstances.target else "classification"
    return [kind for kind in PROBLEMS if task in kind]


def _carry_out(suite: str, arguments: Sequence[str], bundle: Path) -> int:
    parser = importlib.import_module(ARGUMENTS)
    suites = importlib.import_module("bnnbench.suites").SUITES
    parsed = replace(parser.parse(suite, suites[suite], arguments), hidden=(bundle,))
    declared = importlib.import_module(f"bnnbench.suites.{suite}").SUITES
    return importlib.import_module("bnnbench.commands.suite").run(declared, parsed)
