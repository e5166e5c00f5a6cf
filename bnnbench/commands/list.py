"""`bnnbench list`: suites and methods."""

import importlib
from collections.abc import Sequence

from bnnbench.commands.methods import print_methods, print_table
from bnnbench.commands.terminal.parser import Parser
from bnnbench.commands.terminal.terminal import console_of
from bnnbench.suites import LISTED

SHOWN = 12
"""Maximum number of names listed per kind; a search has hundreds."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print every suite and method, or why it cannot be imported. Returns 0."""
    Parser("bnnbench list", description=__doc__).parse_args(arguments)
    console = console_of(width_of_files=160)
    print_table(
        console, "Suites", ("suite", "title", "profiles", "data sets", "methods"), _suites()
    )
    print_methods(console)
    return 0


def _suites() -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name, suite in LISTED.items():
        try:
            declared = importlib.import_module(f"bnnbench.suites.{name}").SUITES
        except Exception as error:
            rows.append((name, f"cannot be imported: {error!r}", "", "", ""))
            continue
        datasets = dict.fromkeys(c.name for one in declared.values() for c in one.cases)
        labels = dict.fromkeys(label for one in declared.values() for label in one.methods)
        lists = (list(suite.profiles), list(datasets), list(labels))
        rows.append((name, suite.title, *map(_some, lists)))
    return rows


def _some(names: list[str]) -> str:
    """Return the names, shortened to the first `SHOWN`."""
    more = f", and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


if __name__ == "__main__":
    main()
