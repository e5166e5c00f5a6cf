"""Command-line parsers that suggest the nearest option for an unknown one."""

import argparse
import difflib
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any

_described: ContextVar[bool] = ContextVar("described", default=False)
"""True while a command's parser is wanted instead of the command's action."""


class _Described(BaseException):
    """Carries a parser from the command that made it; no command may handle it."""

    def __init__(self, parser: "Parser") -> None:
        super().__init__(parser.prog)
        self.parser = parser


class Parser(argparse.ArgumentParser):
    """An argparse parser without abbreviations; unknown arguments end the process with code 2."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False} | settings)

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride] (its overloads)
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Return the options and no unknown arguments, which are an error."""
        self._stop_if_described()
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            names = [name for name in unknown if name.startswith("-")]
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._hint(names)}")
        return options, []

    def _stop_if_described(self) -> None:
        if _described.get():
            raise _Described(self)

    def _hint(self, names: Iterable[str]) -> str:
        """Return "; did you mean --methods?" for options that resemble this parser's."""
        known = list(self._option_string_actions)
        near = [difflib.get_close_matches(name.partition("=")[0], known, n=1) for name in names]
        guesses = dict.fromkeys(guess for guesses in near for guess in guesses)
        return f"; did you mean {' and '.join(guesses)}?" if guesses else ""


class Lenient(Parser):
    """A parser that leaves unknown options to the suite's parser, which names the nearest one."""

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride] (its overloads)
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Return the options and the unknown arguments."""
        self._stop_if_described()
        return argparse.ArgumentParser.parse_known_args(self, args, namespace)


def add_yardsticks(parser: argparse.ArgumentParser) -> None:
    """Add the option --with-yardsticks to a command."""
    parser.add_argument(
        "--with-yardsticks",
        action="store_true",
        help="methods that are no networks, such as boosting and Gaussian processes, may take the "
        "headline; tables show them in any case",
    )


def parser_of(command: Callable[[Sequence[str]], object]) -> Parser:
    """Return the first parser that a command's function makes; nothing of the command is run."""
    token = _described.set(True)
    try:
        command([])
    except _Described as stopped:
        return stopped.parser
    finally:
        _described.reset(token)
    raise ValueError(f"{command!r} parses nothing")
