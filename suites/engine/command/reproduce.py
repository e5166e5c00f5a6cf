"""`bnnbench reproduce KEY`: repeat a stored run, and compare."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from bnnbench.datasets.errors import DataDamaged, DataUnavailable
from bnnbench.datasets.reading.foreign_text import legible
from bnnbench.parser import Parser
from bnnbench.suites.engine.command.reproduction import Comparison, Reproduction, Verdict, reproduce
from bnnbench.suites.engine.executors.base import prepare_process
from bnnbench.suites.engine.store.inspection import stores
from bnnbench.suites.engine.store.rebuilding import NotRepeatable
from bnnbench.suites.engine.store.record import Record
from bnnbench.suites.engine.store.store import Damaged, Store

CODES: dict[Verdict, int] = {"identical": 0, "within rounding": 1, "differs": 3}
MISUSED = 2

ABOUT = """\
Repeats a stored run from its record alone, and compares scores and predictions
bit for bit. Nothing is written.

Exit codes: 0 identical. 1 within rounding: everything agrees to half the digits of single
precision. 3 something differs. 2 usage, or a record that cannot be repeated here.
"""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Carry out what the command line asks for, and exit."""
    sys.exit(command(arguments))


def command(arguments: Sequence[str] | None = None) -> int:
    """Carry out what the command line asks for, and return the exit code."""
    parser = Parser(
        prog="bnnbench reproduce",
        description=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "key", metavar="KEY", help="key of the run (its folder's name), or the start of it"
    )
    parser.add_argument(
        "--results", type=Path, default=Path("results"), metavar="DIR", help="folder of results"
    )
    parser.add_argument(
        *("--allow",),
        action="append",
        default=[],
        metavar="PACKAGE",
        help="allow the record to name classes of this package",
    )
    options = parser.parse_args(arguments)
    prepare_process()
    try:
        store, record = _run_with_key(options.key, options.results)
        predictions = store.predictions(record.key) if record.predictions_sha256 else None
        result = reproduce(record, predictions, tuple(options.allow))
    except (NotRepeatable, Damaged, ValueError, DataUnavailable, DataDamaged) as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return MISUSED
    _print(record, result)
    return CODES[result.verdict]


def _run_with_key(start: str, results: Path) -> tuple[Store, Record]:
    """Return the store and record of the run whose key has this start.

    Raises ValueError unless there is exactly one.
    """
    keys = ((store, key) for store in stores(results) for key in store.run_keys())
    matches = [(store, key) for store, key in keys if key.startswith(start)]
    if len(matches) != 1:
        examples = ", ".join(key for _, key in matches[:5])
        raise ValueError(
            f"{len(matches)} keys begin with {start!r}: {examples}; give more of the key"
            if matches
            else f"no run in {results} begins with {start!r}; `bnnbench store list "
            f"{results}` prints all"
        )
    store, key = matches[0]
    record = store.read(key)
    if record is None:
        raise ValueError(f"{store.runs / key} has no record")
    return store, record


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
        print("differences from when it was recorded:")
        _table(result.circumstances)
    print(f"verdict: {result.verdict}")


def _table(rows: Sequence[Comparison]) -> None:
    width = max((len(row.name) for row in rows), default=0)
    for row in rows:
        print(legible(f"  {row.name:{width}}  recorded {row.recorded!s}, now {row.repeated!s}"))


if __name__ == "__main__":
    main()
