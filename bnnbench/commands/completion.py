"""`bnnbench completion`: a script with which a shell completes commands, options and names."""

import argparse
import importlib
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType

from bnnbench.commands import COMMANDS
from bnnbench.commands.running import arguments as of_suites
from bnnbench.commands.terminal.parser import Lenient, Parser, parser_of
from bnnbench.datasets import FILE_SETS, SOURCES
from bnnbench.methods import METHODS
from bnnbench.suites import LISTED, SUITES, Entry

SHELLS = ("bash", "zsh", "tcsh")

ABOUT = """Print a script with which a shell completes commands, suites, options, files, and names
of methods and data sets. Needs shtab: pip install 'bnnbench[completion]'."""

INSTALL = """bash: bnnbench completion bash > ~/.local/share/bash-completion/completions/bnnbench
zsh: bnnbench completion zsh > DIR/_bnnbench, with a folder DIR of $fpath
tcsh: bnnbench completion tcsh > /etc/profile.d/bnnbench.completion.csh"""

KNOWN: Mapping[str, Collection[str]] = {
    "suite": SUITES,
    "method": METHODS,
    "methods": METHODS,
    "name": (*SOURCES, *FILE_SETS),
    "names": (*SOURCES, *FILE_SETS),
}
"""Argument without a list of its values in its parser → names to offer."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the script; return 0, or 2 without shtab."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser("bnnbench completion", description=ABOUT, epilog=INSTALL, formatter_class=raw)
    parser.add_argument("shell", choices=SHELLS)
    shell = parser.parse_args(arguments).shell
    try:
        import shtab
    except ImportError:
        print("error: needs shtab: pip install 'bnnbench[completion]'", file=sys.stderr)
        return 2
    print(shtab.complete(whole(shtab), shell))
    return 0


def whole(shtab: ModuleType) -> Parser:
    """Return one parser with all commands and suites, whose arguments say what completes them."""
    top = Parser("bnnbench", description="Compare Bayesian inference methods")
    top.add_argument("--version", action="store_true", help="release and place of finished runs")
    commands = top.add_subparsers()
    for name, summary, parents in _parsers():
        added = commands.add_parser(
            name, help=summary, parents=parents, add_help=False, conflict_handler="resolve"
        )
        _say_how_to_complete(added, shtab)
    return top


def _parsers() -> Iterator[tuple[str, str, list[Parser]]]:
    """Yield each command and suite, its summary and its parsers."""
    for name, suite in LISTED.items():
        yield name, suite.title, [parser_of(partial(of_suites.parse, name, suite))]
    for name, (module, summary) in COMMANDS.items():
        if name not in LISTED:
            parser = parser_of(importlib.import_module(module).main)
            rest = parser_of(partial(of_suites.parse, "own", Entry("", ("quick", "all"))))
            yield name, summary, [rest, parser] if isinstance(parser, Lenient) else [parser]


def _say_how_to_complete(parser: argparse.ArgumentParser, shtab: ModuleType) -> None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                _say_how_to_complete(inner, shtab)
        elif action.type is Path:
            folder = action.metavar in ("DIR", "FOLDER")
            action.complete = shtab.DIRECTORY if folder else shtab.FILE  # pyright: ignore
        elif action.choices is None and action.dest in KNOWN:
            action.choices = sorted(KNOWN[action.dest])
