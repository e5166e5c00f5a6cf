"""`bnnbench list`: suites and methods."""

import argparse
import importlib
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bnnbench.datasets.reading.foreign_text import legible
from bnnbench.methods import METHODS, method_type
from bnnbench.suites import SUITES

SHOWN = 12
"""Most names of a kind that are listed; a search has hundreds."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print every suite and method; one that cannot be imported says why. Returns 0."""
    argparse.ArgumentParser("bnnbench list", description=__doc__).parse_args(arguments)
    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    _show(console, "Suites", ("suite", "title", "profiles", "data sets", "methods"), _suites())
    _show(console, "Methods", ("--methods", "class", "summary"), _methods())
    return 0


def _suites() -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name, suite in SUITES.items():
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
    """Return the names, or the first of too many."""
    more = f", and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _methods() -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name, path in METHODS.items():
        try:
            summary = (method_type(path).__doc__ or "").strip().partition("\n")[0]
        except Exception as error:
            summary = f"cannot be imported: {error!r}"
        rows.append((name, path.partition(":")[2], summary))
    return rows


def _show(
    console: Console, title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]
) -> None:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(legible(cell)) for cell in row))
    console.print(table)
    console.print()


if __name__ == "__main__":
    main()
