"""`bnnbench`: one command for suites, reports, data and stores."""

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from bnnbench.commands import COMMANDS

VERBS: Mapping[str, Sequence[str]] = {"truth": ("make", "verify", "sbc", "list")}
"""Command that shares its name with a suite → first arguments that distinguish it."""

OTHER_NAMES: Mapping[str, str] = {"own": "compare", "rented": "short-gpu", "reproduce": "repeat"}
"""Second name of a command → its name."""

MISUSED = 2
"""Exit code for a file or folder that cannot be used."""

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells report it."""


LONGEST_ERROR = 500


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line, and exit with the command's code."""
    try:
        try:
            _carry_out(arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output, such as `head`, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (OSError, MemoryError) as error:  # of a file that the user named, or of a full disk
        print(f"error: {_in_words(error)}", file=sys.stderr)
        sys.exit(MISUSED)
    except KeyboardInterrupt:  # Ctrl-C in a command that has nothing to save
        print("interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)


def _in_words(error: OSError | MemoryError) -> str:
    if isinstance(error, MemoryError):
        return "there is not enough memory for this"
    text = ascii(str(error)).strip("'\"")
    return text if len(text) <= LONGEST_ERROR else f"{text[:LONGEST_ERROR]}..."


def _carry_out(arguments: Sequence[str] | None) -> NoReturn:
    typed = sys.argv[1:] if arguments is None else arguments
    name, *remaining = typed or ["--help"]
    name = OTHER_NAMES.get(name, name)
    if name in COMMANDS and (name not in VERBS or {*remaining[:1]} & {*VERBS[name]}):
        sys.exit(importlib.import_module(COMMANDS[name][0]).main(remaining))
    if name in ("-h", "--help"):
        _help()
        sys.exit()
    if name == "--version":
        print(importlib.import_module("bnnbench.commands.terminal.version").in_words())
        sys.exit()
    suites = importlib.import_module("bnnbench.suites")
    if name not in suites.SUITES:
        print(f"error: {suites.unknown(name, COMMANDS)}", file=sys.stderr)
        sys.exit(2)
    parser = importlib.import_module("bnnbench.commands.running.arguments")
    # parsed before the suite is imported: --help does not need torch
    options = parser.parse(name, suites.SUITES[name], remaining)
    declared = importlib.import_module(f"bnnbench.suites.{name}").SUITES
    sys.exit(importlib.import_module("bnnbench.commands.suite").run(declared, options))


def _help() -> None:
    suites = importlib.import_module("bnnbench.suites").LISTED
    width = max(map(len, (*suites, *COMMANDS)))
    print("usage: bnnbench SUITE|COMMAND [options]\n\nsuites:")
    for name, suite in suites.items():
        print(f"  {name:{width}}  {suite.title}")
    print("\ncommands:")
    for name, (_, summary) in COMMANDS.items():
        print(f"  {name:{width}}  {summary}")
    print("\n`bnnbench NAME --help` shows the options of a suite or command.")
    print("`bnnbench --version` shows the release and the place of the finished runs.")


if __name__ == "__main__":
    main()
