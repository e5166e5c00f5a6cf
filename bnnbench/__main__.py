"""`bnnbench`: one command for suites, reports, data and stores."""

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

COMMANDS: Mapping[str, tuple[str, str]] = {
    "list": ("bnnbench.suites.__main__", "list suites and methods"),
    "methods": ("bnnbench.suites.engine.command.methods.page", "list methods, or describe one"),
    "check": ("bnnbench.suites.check.__main__", "check a method's contract on small problems"),
    "report": ("bnnbench.reports.write.cli", "write the report of a folder of results"),
    "site": ("bnnbench.reports.board.command", "build the board and its pages from a bundle"),
    "try": ("bnnbench.reports.board.trial", "one method of yours beside all finished runs"),
    "own": ("bnnbench.suites.own.__main__", "every method on data of your own"),
    "bundle": (
        "bnnbench.suites.engine.command.stored_runs.bundle",
        "keep finished runs as one small file",
    ),
    "submit": (
        "bnnbench.suites.engine.command.stored_runs.submit",
        "a method's runs as one file for others",
    ),
    "admit": (
        "bnnbench.suites.engine.command.stored_runs.admit",
        "check such a file, and add it to a bundle",
    ),
    "score": (
        "bnnbench.suites.engine.command.stored_runs.score",
        "score predictions of another program",
    ),
    "data": ("bnnbench.datasets.__main__", "list, download and describe data sets"),
    "corruptions": ("bnnbench.datasets.corruptions.__main__", "make CIFAR-10-C and CIFAR-100-C"),
    "references": (
        "bnnbench.suites.references.__main__",
        "make, verify and list reference posteriors",
    ),
    "oracles": (
        "bnnbench.suites.oracles.__main__",
        "make, verify and list problems whose law is known",
    ),
    "store": (
        "bnnbench.suites.engine.command.stored_runs.stores",
        "check, clean, list and merge results",
    ),
    "rented": (
        "bnnbench.suites.engine.command.rented.command",
        "a paper's profile on a GPU that is rented for minutes",
    ),
    "reproduce": (
        "bnnbench.suites.engine.command.stored_runs.reproduce",
        "repeat a run and compare",
    ),
    "repeat": (
        "bnnbench.suites.engine.command.stored_runs.repeat",
        "repeat a run of each method of a bundle, and keep what came of it",
    ),
}
"""Command → the module whose `main(arguments)` carries it out, and its summary."""

ALIASES: Mapping[str, str] = {
    "suites": "list",
    "reports": "report",
    "datasets": "data",
    "suites.own": "own",
    "datasets.corruptions": "corruptions",
}
"""Module that `python -m` runs in a checkout → command; any other `suites.NAME` is a suite."""


INTERRUPTED = 130
"""Exit code: ended by Ctrl-C, as shells report it."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Carry out the command line, and exit with the command's code."""
    try:
        try:
            _carry_out(arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:  # by Ctrl-C, in a command that has nothing to keep
        print("interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)


def _carry_out(arguments: Sequence[str] | None) -> NoReturn:
    typed = sys.argv[1:] if arguments is None else arguments
    name, *remaining = typed or ["--help"]
    if name in COMMANDS:
        sys.exit(importlib.import_module(COMMANDS[name][0]).main(remaining))
    if name in ("-h", "--help"):
        _help()
        sys.exit()
    suites = importlib.import_module("bnnbench.suites")
    if name not in suites.SUITES:
        print(f"error: {suites.unknown(name, COMMANDS)}", file=sys.stderr)
        sys.exit(2)
    parser = importlib.import_module("bnnbench.suites.engine.command.arguments")
    # before the suite's import: --help does not need torch
    options = parser.parse(name, suites.SUITES[name], remaining)
    declared = importlib.import_module(f"bnnbench.suites.{name}").SUITES
    sys.exit(importlib.import_module("bnnbench.suites.engine.command.cli").run(declared, options))


def _help() -> None:
    suites = importlib.import_module("bnnbench.suites").SUITES
    width = max(map(len, (*suites, *COMMANDS)))
    print("usage: bnnbench SUITE|COMMAND [options]\n\nsuites:")
    for name, suite in suites.items():
        print(f"  {name:{width}}  {suite.title}")
    print("\ncommands:")
    for name, (_, summary) in COMMANDS.items():
        print(f"  {name:{width}}  {summary}")
    print("\n`bnnbench NAME --help` shows the options of one.")


if __name__ == "__main__":
    main()
