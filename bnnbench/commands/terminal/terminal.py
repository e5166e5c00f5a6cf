"""The console of a command, and printing sentences on it."""

from rich.console import Console

from bnnbench.datasets.reading.third_party_text import legible

WIDTH_OF_FILES = 120
"""Columns if standard output is not a terminal."""


def console_of(width_of_files: int = WIDTH_OF_FILES) -> Console:
    """Return the console of a command, with a fixed width if it is not a terminal."""
    console = Console()
    return console if console.is_terminal else Console(width=width_of_files)


def say(console: Console, line: str) -> None:
    """Print a sentence verbatim, wrapped only by a narrow terminal."""
    console.print(legible(line), markup=False, highlight=False, soft_wrap=True)
