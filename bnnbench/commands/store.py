"""`bnnbench store`: check, clean, list and merge stores of results."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn, get_args

from bnnbench.commands.stored_runs.own_classes import with_modules
from bnnbench.commands.terminal.parser import Parser
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.engine.records.flat import flattened
from bnnbench.engine.records.record import Record, Status, time_chosen
from bnnbench.engine.store.cleaning import Busy, collect, living
from bnnbench.engine.store.inspection import inspect, stores
from bnnbench.engine.store.merging import merge
from bnnbench.engine.store.store import CorruptRecord, Store
from bnnbench.wording import counted

SOUND, LITTER, MISUSED, UNSOUND = 0, 1, 2, 3

ABOUT = """\
verify  read every file; print each invalid one with problem and remedy; --rescore also
        recomputes every score from the stored predictions
gc      remove files that no run needs, repair what can be repaired
list    print the runs, one per line
merge   copy the runs of several folders into a new one

Exit codes: 0 all runs are valid, including superseded runs. 1 there are, or gc leaves, orphans,
interrupted runs or foreign files. 2 usage, or a folder that cannot be used. 3 there are, or gc or
merge leaves, runs that are damaged, have false scores, cannot be scored by --rescore, or are of a
later version or in the future.
"""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line, and exit."""
    sys.exit(command(arguments))


def command(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return options.act(options)
    except BrokenPipeError:
        raise  # the command ends quietly
    except (ValueError, OSError, Busy) as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return MISUSED


def _parser() -> Parser:
    parser = Parser(
        prog="bnnbench store",
        description=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    subcommands = parser.add_subparsers(required=True, metavar="verify|gc|list|merge")

    def add(name: str, act: Callable[[argparse.Namespace], int]) -> Parser:
        parser = subcommands.add_parser(name)
        folders = "a folder of results, or one suite's folder in it"
        parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help=folders)
        parser.set_defaults(act=act)
        return parser

    verify = add("verify", _verify)
    verify.add_argument(
        "--rescore", action="store_true", help="recompute every score from the stored predictions"
    )
    verify.add_argument(
        *("--allow",), action="append", default=[], metavar="MODULE",
        help="import this module, of the present folder, to score its class of predictions",
    )  # fmt: skip
    gc = add("gc", _gc)
    gc.add_argument(
        "--superseded", action="store_true", help="also remove runs of earlier settings"
    )
    gc.add_argument(
        "--dry-run", action="store_true", help="print what would be done; change nothing"
    )
    lister = add("list", _list)
    for name in ("method", "dataset"):
        lister.add_argument(f"--{name}", metavar=name.upper())
    lister.add_argument("--status", type=str.casefold, choices=get_args(Status))
    lister.add_argument("--json", action="store_true", help="print a JSON array")
    add("merge", _merge).add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="new folder for the runs"
    )
    return parser


def _stores(options: argparse.Namespace) -> Iterator[Store]:
    for folder in options.folders:
        yield from stores(folder)


def _verify(options: argparse.Namespace) -> int:
    kinds: Counter[str] = Counter()
    for store in _stores(options):
        if drivers := living(store):
            _say(
                f"{store.folder}: {counted(len(drivers), 'command')} running; their unfinished "
                "files are listed too"
            )
        inspection = inspect(store, options.rescore, with_modules(options.allow, Path.cwd()))
        for finding in inspection.findings:
            kinds[finding.kind] += 1
            _say(f"{finding.kind}: {finding.path}: {finding.reason}. Remedy: {finding.remedy}")
        unscored = sum(finding.kind == "unscored" for finding in inspection.findings)
        more = f", {unscored} not scored" * bool(unscored)
        _say(f"{store.folder}: {counted(inspection.valid, 'valid run')}{more}")
    return _code(kinds)


def _gc(options: argparse.Namespace) -> int:
    problems: Counter[str] = Counter()
    for store in _stores(options):
        counts: Counter[str] = Counter()
        for action in collect(store, options.superseded, options.dry_run):
            would = "would be " * (options.dry_run and action.outcome is not None)
            finding = action.finding
            counts[f"{would}{action.outcome or 'left'}"] += 1
            problems[finding.kind] += action.outcome is None or options.dry_run
            cure = "" if action.outcome else f". Remedy: {finding.remedy}"
            reason = f"({finding.kind}: {finding.reason}){cure}"
            _say(f"{would}{action.outcome or 'left'}: {finding.path} {reason}")
        summary = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        _say(f"{store.folder}: {summary or 'nothing to do'}")
    return _code(problems)


def _code(kinds: Counter[str]) -> int:
    if any(kinds[kind] for kind in ("damaged", "later", "future", "false", "unscored")):
        return UNSOUND
    return LITTER if kinds["orphan"] or kinds["interrupted"] or kinds["foreign"] else SOUND


def _list(options: argparse.Namespace) -> int:
    bad = 0
    rows: list[dict[str, object]] = []
    for store in _stores(options):
        for key in store.run_keys():
            try:
                record = store.read(key)
            except CorruptRecord as error:
                bad += 1
                print(f"damaged: {legible(error)}", file=sys.stderr)
                continue
            if record and _passes_filters(record, options):
                rows.append(_row(record))
    if options.json:
        print("[" + ",\n ".join(json.dumps(row) for row in rows) + "]")
        return UNSOUND if bad else SOUND
    if not rows:
        print("no run" + " with these names" * _is_filtered(options), file=sys.stderr)
    widths = {name: max((len(str(row[name])) for row in rows), default=0) for name in _COLUMNS}
    for row in rows:
        _say("  ".join(f"{row[name]!s:{widths[name]}}" for name in _COLUMNS).rstrip())
    return UNSOUND if bad else SOUND


def _is_filtered(options: argparse.Namespace) -> bool:
    return any(getattr(options, name) for name in ("method", "dataset", "status"))


_COLUMNS = ("key", "suite", "profile", "dataset", "method", "fold", "seed", "status", "fit_seconds")


def _passes_filters(record: Record, options: argparse.Namespace) -> bool:
    fields = {"method": record.method, "dataset": record.dataset, "status": record.outcome.status}
    filters = ((getattr(options, name), value) for name, value in fields.items())
    return all(text is None or text.casefold() == value.casefold() for text, value in filters)


def _row(record: Record) -> dict[str, object]:
    names = ("key", "suite", "profile", "dataset", "origin", "method", "fold", "seed", "status")
    fields = flattened(record)
    seconds = round(record.cost.fit_seconds, 3) if record.cost else ""
    details = {"fit_seconds": seconds, "chosen": time_chosen(record)}
    return {name: fields[name] for name in names} | details


def _merge(options: argparse.Namespace) -> int:
    merged = merge(options.folders, options.out)
    for line in merged.lines:
        _say(line)
    equal = f", {merged.equal} of them equal in several" * bool(merged.equal)
    _say(f"{options.out}: {counted(merged.runs)}{equal}")
    if merged.left_out:
        _say(f"without an undamaged copy, left out: {counted(merged.left_out)}")
    return UNSOUND if merged.left_out else SOUND


def _say(line: str) -> None:
    print(legible(line))


if __name__ == "__main__":
    main()
