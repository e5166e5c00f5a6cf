"""Parsers of flag values; each raises argparse's error with what is needed."""

import argparse
import math
import re
from collections.abc import Callable, Sequence

from bnnbench.datasets.reading.third_party_text import shortened
from bnnbench.engine.method_settings.expressions import Misspelt, parts
from bnnbench.engine.workers import slurm_option
from bnnbench.methods import environments

MOST_HIDDEN_UNITS = 10_000

UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def device(text: str) -> str:
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", text):
        raise argparse.ArgumentTypeError(
            f"needs auto, cpu, cuda or a GPU such as cuda:1; got {text!r}"
        )
    return text


def slurm(text: str) -> tuple[str, str | bool]:
    try:
        return slurm_option(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def workers(text: str) -> int | None:
    return None if text == "auto" else count(others=", or auto")(text)


def head(text: str) -> int:
    return 0 if text == "linear" else count(others=", or linear", most=MOST_HIDDEN_UNITS)(text)


def seconds(text: str) -> float:
    return positive(text, "a number of seconds above 0")


def minutes(text: str) -> float:
    return positive(text, "a number of minutes above 0")


def share(text: str) -> float:
    return 0.0 if text == "0" else positive(text, "a number of GPUs, 0 or more")


def size(text: str) -> int:
    """Return the bytes of a size such as 500M, 4G or 1.5GiB."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT])(?:i?B)?", text, re.IGNORECASE)
    if not match or not (size := int(float(match[1]) * UNITS[match[2].upper()])):
        raise argparse.ArgumentTypeError(f"needs a size such as 500M or 4G; got {text!r}")
    return size


def positive(text: str, needed: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"needs {needed}; got {text!r}")
    return number


def methods(text: str) -> tuple[str, ...]:
    try:
        return names(text, parts(text))
    except Misspelt as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def environment(text: str) -> tuple[str, str]:
    try:
        return environments.checked(text)
    except environments.NoSuchEnvironment as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def names(text: str, pieces: Sequence[str] | None = None) -> tuple[str, ...]:
    stripped = (name.strip() for name in pieces or text.split(","))
    names = tuple(name for name in stripped if name)
    if not names:
        raise argparse.ArgumentTypeError("needs at least one name")
    return names


LONGEST_NUMBER = 1000
"""Maximum number of digits; Python converts no more than 4,300."""


def count(others: str = "", most: int | None = None) -> Callable[[str], int]:
    """Return a parser of whole numbers from 1; its message also names the alternatives."""
    limit = f" to {most:,}" if most else ", 1 or more"
    needed = f"needs a whole number{' from 1' if most else ''}{limit}{others}"

    def read(text: str) -> int:
        is_number = text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER
        number = int(text) if is_number else 0
        if number < 1 or (most and number > most):
            raise argparse.ArgumentTypeError(f"{needed}; got {shortened(text, 60)!r}")
        return number

    return read
