"""`bnnbench store`: check, clean, list and merge what suites kept."""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from bnnbench.suites.engine.store.cleaning import Busy, collect
from bnnbench.suites.engine.store.inspection import inspect, stores
from bnnbench.suites.engine.store.merging import merge
from bnnbench.suites.engine.store.record import Record, chosen
from bnnbench.suites.engine.store.store import Damaged, Store

SOUND, LITTER, MISUSED, UNSOUND = 0, 1, 2, 3

ABOUT = """\
verify  read every file; say of each that is not sound what it is and what cures it
gc      remove what no run needs, repair what can be repaired; --dry-run only says what
list    print the runs, one a line
merge   make one folder of several; nothing of them is changed

Exit codes: 0 all is sound (superseded runs are). 1 there is, or gc leaves, litter: orphans,
interrupted runs, foreign files. 2 usage, or a folder that cannot be used. 3 there are, or gc
or merge leaves, damaged runs or such of a later version.
"""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Carry out what the command line asks for, and exit."""
    sys.exit(command(arguments))


def command(arguments: Sequence[str] | None = None) -> int:
    """Carry out what the command line asks for, and return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return options.act(options)
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SOUND
    except (ValueError, OSError, Busy) as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return MISUSED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bnnbench store",
        description=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    acts = parser.add_subparsers(required=True, metavar="verify|gc|list|merge")

    def add(name: str, act: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        one = acts.add_parser(name, allow_abbrev=False)
        what = "a folder of results, or one suite's folder in it"
        one.add_argument("folders", nargs="+", type=Path, metavar="DIR", help=what)
        one.set_defaults(act=act)
        return one

    add("verify", _verify)
    gc = add("gc", _gc)
    gc.add_argument("--superseded", action="store_true", help="also runs of earlier settings")
    gc.add_argument("--dry-run", action="store_true", help="change nothing")
    lister = add("list", _list)
    for name in ("method", "dataset", "status"):
        lister.add_argument(f"--{name}", metavar=name.upper())
    lister.add_argument("--json", action="store_true", help="a JSON array")
    add("merge", _merge).add_argument("--out", type=Path, required=True, metavar="DIR")
    return parser


def _stores(options: argparse.Namespace) -> Iterator[Store]:
    for folder in options.folders:
        yield from stores(folder)


def _verify(options: argparse.Namespace) -> int:
    kinds: Counter[str] = Counter()
    for store in _stores(options):
        seen = inspect(store)
        for finding in seen.findings:
            kinds[finding.kind] += 1
            _say(f"{finding.kind}: {finding.path}: {finding.reason}. Cure: {finding.cure}")
        unsealed = f", {seen.unsealed} of them without checksums (schema 1)" * bool(seen.unsealed)
        _say(f"{store.folder}: {seen.sound} sound runs{unsealed}")
    return _code(kinds)


def _gc(options: argparse.Namespace) -> int:
    left: Counter[str] = Counter()
    for store in _stores(options):
        counts: Counter[str] = Counter()
        for one in collect(store, options.superseded, options.dry_run):
            would = "would be " * (options.dry_run and one.deed is not None)
            kind, path = one.finding.kind, one.finding.path
            counts[f"{would}{one.deed or 'left'}"] += 1
            left[kind] += one.deed is None or options.dry_run
            rest = "" if one.deed else f". Cure: {one.finding.cure}"
            _say(f"{would}{one.deed or 'left'}: {path} ({kind}: {one.finding.reason}){rest}")
        told = ", ".join(f"{count} {what}" for what, count in counts.items())
        _say(f"{store.folder}: {told or 'nothing to do'}")
    return _code(left)


def _code(kinds: Counter[str]) -> int:
    if kinds["damaged"] or kinds["later"]:
        return UNSOUND
    return LITTER if kinds["orphan"] or kinds["interrupted"] or kinds["foreign"] else SOUND


def _list(options: argparse.Namespace) -> int:
    bad = 0
    rows: list[dict[str, object]] = []
    for store in _stores(options):
        for key in store.run_keys():
            try:
                record = store.read(key)
            except Damaged as error:
                bad += 1
                print(f"damaged: {legible(error)}", file=sys.stderr)
                continue
            if record and _asked_for(record, options):
                rows.append(_row(record))
    if options.json:
        print("[" + ",\n ".join(json.dumps(row) for row in rows) + "]")
        return UNSOUND if bad else SOUND
    widths = {name: max((len(str(row[name])) for row in rows), default=0) for name in _COLUMNS}
    for row in rows:
        _say("  ".join(f"{row[name]!s:{widths[name]}}" for name in _COLUMNS).rstrip())
    return UNSOUND if bad else SOUND


_COLUMNS = ("key", "suite", "profile", "dataset", "method", "fold", "seed", "status", "fit_seconds")


def _asked_for(record: Record, options: argparse.Namespace) -> bool:
    wanted = {"method": record.method, "dataset": record.dataset, "status": record.status}
    asked = ((getattr(options, name), value) for name, value in wanted.items())
    return all(text is None or text.casefold() == value.casefold() for text, value in asked)


def _row(record: Record) -> dict[str, object]:
    names = ("key", "suite", "profile", "dataset", "origin", "method", "fold", "seed", "status")
    seconds = round(record.cost.fit_seconds, 3) if record.cost else ""
    rest = {"fit_seconds": seconds, "chosen": chosen(record), "schema": record.schema}
    return {name: getattr(record, name) for name in names} | rest


def _merge(options: argparse.Namespace) -> int:
    merged = merge(options.folders, options.out)
    for line in merged.lines:
        _say(line)
    equal = f", {merged.equal} of them equal in several" * bool(merged.equal)
    _say(f"{options.out}: {merged.runs} runs{equal}")
    if merged.left_out:
        _say(f"{merged.left_out} runs are whole nowhere and were left out")
    return UNSOUND if merged.left_out else SOUND


def legible(text: object) -> str:
    """Return text in which bytes of a name that are no characters show as \\xff."""
    return os.fsencode(str(text)).decode("utf-8", "backslashreplace")


def _say(line: str) -> None:
    print(legible(line))


if __name__ == "__main__":
    main()
