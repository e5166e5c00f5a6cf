"""One colour, dash and marker per method, the same in every figure and on every page.

The colours are those of Okabe and Ito (2008), safe for colour-blind readers, without the
yellow and the black, which vanish on a light or a dark page.
"""

from collections.abc import Iterable
from dataclasses import dataclass

BLUE, VERMILLION, GREEN, ORANGE = "#0072b2", "#d55e00", "#009e73", "#e69f00"
PINK, SKY, BROWN, GREY = "#cc79a7", "#56b4e9", "#94703a", "#808080"
COLOURS = (BLUE, VERMILLION, GREEN, ORANGE, PINK, SKY, BROWN, GREY)
DASHES = ((), (5, 2), (1.5, 1.5), (6, 2, 1.5, 2))
MARKERS = ("o", "s", "^", "D")


@dataclass(frozen=True)
class Style:
    """How a method is drawn."""

    colour: str
    kind: int = 0
    """Which of the dashes and markers; methods that share a colour differ here."""

    @property
    def dash(self) -> tuple[float, ...]:
        """On and off lengths in points; empty for a solid line."""
        return DASHES[self.kind % len(DASHES)]

    @property
    def marker(self) -> str:
        """matplotlib's name of the marker."""
        return MARKERS[self.kind % len(MARKERS)]


KNOWN = {
    "Class frequency": Style(GREY),
    "Training mean": Style(GREY, 1),
    "AdamW": Style(BLUE),
    "SGD": Style(SKY),
    "MAP": Style(BLUE, 1),
    "MC dropout": Style(GREEN),
    "Ensemble": Style(ORANGE),
    "MFVI": Style(PINK),
    "IVON": Style(VERMILLION),
    "IVON@mean": Style(VERMILLION, 1),
    "Message passing": Style(BROWN),
    "PBP": Style(BROWN, 1),
    "HMC": Style(GREY, 2),
}


def method_order(label: str) -> tuple[int, str]:
    """Return a key that sorts methods as the tables list them: known ones first."""
    names = [name.casefold() for name in KNOWN]
    known = label.casefold() in names
    return (names.index(label.casefold()) if known else len(names), label)


def styles(labels: Iterable[str]) -> dict[str, Style]:
    """Return the style of each label; those not in `KNOWN` share out what it leaves."""
    known = {name.casefold(): style for name, style in KNOWN.items()}
    ordered = sorted(set(labels), key=method_order)
    every = (Style(colour, kind) for kind in range(len(ordered) + 4) for colour in COLOURS)
    free = (style for style in every if style not in known.values())
    return {label: known.get(label.casefold()) or next(free) for label in ordered}
