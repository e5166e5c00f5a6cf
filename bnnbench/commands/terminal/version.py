"""The release of this code, and of the finished runs that it finds."""

import tomllib
from importlib import metadata
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3] / "pyproject.toml"
"""The project's file; only a checkout has it."""


def version() -> str:
    """Return the release of this code: that of the checkout, else that of the installed package."""
    if PROJECT.is_file():
        return tomllib.loads(PROJECT.read_text("utf-8"))["project"]["version"]
    return metadata.version("bnnbench")


def in_words() -> str:
    """Return the lines of `bnnbench --version`."""
    from bnnbench.datasets.reading import finished_runs

    try:
        return f"bnnbench {version()}\nfinished runs: {finished_runs.folder()}"
    except finished_runs.NoFinishedRuns:
        return f"bnnbench {version()}\nfinished runs: none; {finished_runs.CURE}"
