"""`bnnbench methods`: list the methods, or describe one and its settings."""

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bnnbench.commands.terminal.parser import Parser
from bnnbench.commands.terminal.terminal import console_of, say
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.engine.method_settings.labels import default_of, shown
from bnnbench.engine.method_settings.registry import class_of, known_methods, registered
from bnnbench.engine.method_settings.search_spaces import searched_in
from bnnbench.engine.method_settings.settings import constructed, fields_of, needed, types_of
from bnnbench.methods import METHODS, glossary, method_type
from bnnbench.methods.card import PROBLEMS, card_of
from bnnbench.methods.tuning.space import Space
from bnnbench.wording import UsageError


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what the command line requests; return the exit code: 0, or 2 for usage."""
    parser = Parser("bnnbench methods", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="a method, or the class of a setting such as descent; module:Class or file.py:Class "
        "for any other; default: list all methods",
    )
    names = parser.parse_args(arguments).names
    console = console_of()
    try:
        kinds = [class_of(name) for name in names]
    except UsageError as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return 2
    if not names:
        print_methods(console)
    for name, kind in zip(names, kinds, strict=True):
        _print_class(console, name, kind)
    return 0


def print_methods(console: Console) -> None:
    """Print a line for each method, or why it cannot be imported."""
    rows = []
    for name, path in known_methods().items():
        try:
            summary = _summary(method_type(path))
        except (Exception, SystemExit) as error:
            summary = f"cannot be imported: {error!r}"
        rows.append((name, path.partition(":")[2], summary))
    print_table(console, "Methods", ("--methods", "class", "summary"), rows)


def print_table(
    console: Console, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """Print a table below its title; cells that are too wide continue on the next line."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(legible(cell)) for cell in row))
    console.print(table)
    console.print()


def _print_class(console: Console, name: str, kind: type) -> None:
    name = registered(name) or name
    facts = {"class": f"{kind.__module__}:{kind.__qualname__}"}
    if hasattr(kind, "fit"):
        facts["source"] = glossary.source_of(kind) or "not stated in its module"
        facts["takes"] = _takes(name)
    try:
        instance = constructed(kind, {})
    except UsageError:  # settings without defaults
        instance = kind
    facts["lacks"] = getattr(instance, "lacks", "")
    console.print(Text(legible(name), "bold"))
    say(console, _summary(kind))
    for title, text in facts.items():
        if text:
            say(console, f"  {title:6}  {text}")
    console.print()
    if settings := list(settings_of(kind)):
        print_table(console, "Settings", ("name", "default", "values", "meaning"), settings)
    else:
        say(console, "It has no settings.")
    if isinstance(space := getattr(instance, "space", None), Space):
        for line in _search(space):
            say(console, line)
        console.print()


def _takes(name: str) -> str:
    if name not in METHODS:
        return f"unknown; `bnnbench check {name}` finds out"
    kinds = "; ".join(PROBLEMS[kind] for kind in card_of(name).problems)
    return kinds + "; all with a trained network" * card_of(name).trained


def settings_of(kind: type) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, default, possible values and meaning of each setting."""
    hints = types_of(kind)
    for field in fields_of(kind):
        default = default_of(field)
        text = "required" if default is dataclasses.MISSING else shown(default)
        values = needed(hints.get(field.name, Any))
        yield field.name, text, values, glossary.meaning(kind, field.name)


def _search(space: Space) -> Iterator[str]:
    """Yield lines about the settings that tuned profiles search."""
    if space.is_empty:
        yield "Tuned profiles search none of its settings."
        return
    yield "Tuned profiles search:"
    for path, values in searched_in(space):
        yield f"  {path}: {values}"


def _summary(kind: type) -> str:
    return (kind.__doc__ or "").strip().partition("\n")[0]
