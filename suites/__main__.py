"""`python -m suites`: what there is."""

import importlib
import pkgutil

from rich.console import Console
from rich.table import Table
from rich.text import Text

import suites
from methods import METHODS, method_type

COMMANDS = ("store", "reproduce")
"""Modules beside the suites that are none."""

SHOWN = 12
"""How many names of a kind are listed; a search has hundreds."""


def main() -> None:
    """Print every suite, method and command; one that cannot be imported says why."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    _show(console, "Suites", ("suite", "title", "profiles", "data sets", "methods"), _suites())
    _show(console, "Commands", ("command", "summary"), _commands())
    _show(console, "Methods", ("--methods", "class", "summary"), _methods())


def _suites() -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for module in pkgutil.iter_modules(suites.__path__):
        if module.ispkg or module.name in ("__main__", *COMMANDS):
            continue
        try:
            declared = importlib.import_module(f"suites.{module.name}").SUITES
        except Exception as error:
            rows.append((module.name, f"cannot be imported: {error!r}", "", "", ""))
            continue
        first = next(iter(declared.values()))
        datasets = dict.fromkeys(s.name for suite in declared.values() for s in suite.sources)
        labels = dict.fromkeys(label for suite in declared.values() for label in suite.methods)
        lists = (declared, datasets, labels)
        rows.append((module.name, first.title, *(_some(list(names)) for names in lists)))
    return rows


def _commands() -> list[tuple[str, ...]]:
    docs = ((importlib.import_module(f"suites.{name}").__doc__ or "").strip() for name in COMMANDS)
    rows = (doc.partition("\n")[0].partition(": ") for doc in docs)
    return [(command.strip("`"), summary) for command, _, summary in rows]


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
        rows.append((name, path, summary))
    return rows


def _show(
    console: Console, title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]
) -> None:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
    console.print()


if __name__ == "__main__":
    main()
