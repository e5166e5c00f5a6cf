"""Command-line parsers that suggest the nearest option for an unknown one."""

import argparse
import difflib
from collections.abc import Iterable, Sequence
from typing import Any


class Parser(argparse.ArgumentParser):
    """An argparse parser without abbreviations; unknown arguments end the process with code 2."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False} | settings)

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride] (its overloads)
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Return the options and no unknown arguments, which are an error."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            names = [name for name in unknown if name.startswith("-")]
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._hint(names)}")
        return options, []

    def _hint(self, names: Iterable[str]) -> str:
        """Return "; did you mean --methods?" for options that resemble this parser's."""
        known = list(self._option_string_actions)
        near = [difflib.get_close_matches(name.partition("=")[0], known, n=1) for name in names]
        guesses = dict.fromkeys(guess for guesses in near for guess in guesses)
        return f"; did you mean {' and '.join(guesses)}?" if guesses else ""
