"""The command line, run in this process, and its results."""

import csv
from dataclasses import dataclass, replace
from pathlib import Path

from bnnbench.commands import suite as cli
from bnnbench.engine.declare.case import cases_of
from tests.suites import fakes
from tests.suites.fakes import Elsewhere, Line, Mean
from tests.suites.miniature import QUICK, SUITES

FAST = replace(QUICK, methods={"Mean": Mean(), "Together": fakes.Together()})

WITH_OPTIONAL = replace(
    FAST, cases=cases_of((Line(), Elsewhere()), ()), optional=("elsewhere",), folds=1
)


@dataclass(frozen=True)
class Answer:
    """The results of a command."""

    code: int
    output: str
    errors: str


def call(out: Path, *flags: str, suite=FAST, serial: bool = True) -> Answer:
    from _pytest.capture import SysCapture

    captures = SysCapture(1), SysCapture(2)
    for capture in captures:
        capture.start()
    arguments = ["--out", str(out), "--no-report", *flags]
    if serial and "--executor" not in flags:
        arguments += ["--executor", "serial", "--in-process"]
    try:
        code = cli.command({"quick": suite, "paper": SUITES["paper"]}, arguments)
    except SystemExit as stop:
        code = stop.code
    finally:
        output, errors = (capture.snap() for capture in captures)
        for capture in captures:
            capture.done()
    return Answer(code, output, errors)


def rows(out: Path) -> list[dict[str, str]]:
    with (out / "miniature" / "metrics.csv").open() as file:
        return list(csv.DictReader(file))


def times(out: Path) -> dict[str, int]:
    records = (out / "miniature" / "runs").glob("*/record.json")
    return {path.parent.name: path.stat().st_mtime_ns for path in records}
