"""The console of a command, and how sentences are printed on it."""

from rich.console import Console

from bnnbench.datasets.reading.third_party_text import legible

WIDTH_OF_FILES = 120
"""Columns where standard output is not a terminal."""


def console_of(width_of_files: int = WIDTH_OF_FILES) -> Console:
    """Return the console of a command, so wide where it is not a terminal."""
    console = Console()
    return console if console.is_terminal else Console(width=width_of_files)


def say(console: Console, line: str) -> None:
    """Print a sentence as it is, which a narrow terminal breaks."""
    console.print(legible(line), markup=False, highlight=False, soft_wrap=True)
