"""`bnnbench reproduce KEY`: carry out a kept run again, and compare."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from bnnbench.datasets.base import DataDamaged, DataUnavailable
from bnnbench.suites.engine.command.reproduction import Comparison, Reproduction, Verdict, reproduce
from bnnbench.suites.engine.command.stores import legible
from bnnbench.suites.engine.executors.base import prepare_process
from bnnbench.suites.engine.store.inspection import stores
from bnnbench.suites.engine.store.rebuilding import NotRepeatable
from bnnbench.suites.engine.store.record import Record
from bnnbench.suites.engine.store.store import Damaged, Store

CODES: dict[Verdict, int] = {"identical": 0, "within rounding": 1, "differs": 3}
MISUSED = 2

ABOUT = """\
Carries out a kept run again, from what its record says, and compares scores and predictions
bit for bit. Nothing is written.

Exit codes: 0 identical. 1 within rounding: everything agrees to half the digits of single
precision. 3 something differs. 2 usage, or a record that cannot be repeated here.
"""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Carry out what the command line asks for, and exit."""
    sys.exit(command(arguments))


def command(arguments: Sequence[str] | None = None) -> int:
    """Carry out what the command line asks for, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="bnnbench reproduce",
        description=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("key", metavar="KEY", help="a run's name on disk, or the start of it")
    parser.add_argument("--results", type=Path, default=Path("results"), metavar="DIR")
    parser.add_argument(
        *("--allow",),
        action="append",
        default=[],
        metavar="PACKAGE",
        help="also make classes of this package that the record names",
    )
    options = parser.parse_args(arguments)
    prepare_process()
    try:
        store, record = _found(options.key, options.results)
        kept = store.predictions(record.key) if record.predictions_sha256 else None
        result = reproduce(record, kept, tuple(options.allow))
    except (NotRepeatable, Damaged, ValueError, DataUnavailable, DataDamaged) as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return MISUSED
    _print(record, result)
    return CODES[result.verdict]


def _found(start: str, results: Path) -> tuple[Store, Record]:
    """Return the run whose key begins so; raises ValueError unless there is exactly one."""
    every = ((store, key) for store in stores(results) for key in store.run_keys())
    found = [(store, key) for store, key in every if key.startswith(start)]
    if len(found) != 1:
        many = ", ".join(key for _, key in found[:5])
        raise ValueError(
            f"{len(found)} runs begin with {start!r}: {many}; give more of the key"
            if found
            else f"no run in {results} begins with {start!r}; `bnnbench store list "
            f"{results}` prints all"
        )
    store, key = found[0]
    record = store.read(key)
    if record is None:
        raise ValueError(f"{store.runs / key} has no record")
    return store, record


def _print(record: Record, result: Reproduction) -> None:
    where = f"{record.dataset}, fold {record.fold}, seed {record.seed}"
    print(legible(f"{record.method} on {where} ({record.suite}, {record.profile}): {record.key}"))
    for verdict in CODES:
        same = [one for one in result.results if one.verdict == verdict]
        if same:
            print(f"{verdict}: {len(same)} of {len(result.results)}")
        if verdict != "identical":
            _table(same)
    for line in result.not_compared:
        print(f"not compared: {line}")
    if result.circumstances:
        print("other than when it was kept:")
        _table(result.circumstances)
    print(f"verdict: {result.verdict}")


def _table(rows: Sequence[Comparison]) -> None:
    width = max((len(row.what) for row in rows), default=0)
    for row in rows:
        print(legible(f"  {row.what:{width}}  kept {row.kept!s}, now {row.again!s}"))


if __name__ == "__main__":
    main()
