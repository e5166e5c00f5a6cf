"""One colour, dash and marker per method, the same in every figure and on every page.

The colours are from Okabe and Ito (2008), safe for colour-blind readers, without yellow and
black, which vanish on a light or a dark page.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bnnbench.reports.style.strategies import Arm

BLUE, VERMILLION, GREEN, ORANGE = "#0072b2", "#d55e00", "#009e73", "#e69f00"
PINK, SKY, BROWN, GREY = "#cc79a7", "#56b4e9", "#94703a", "#808080"
COLOURS = (BLUE, VERMILLION, GREEN, ORANGE, PINK, SKY, BROWN, GREY)
DASHES = (
    *((), (5, 2), (1.5, 1.5), (6, 2, 1.5, 2)),
    *((9, 2.5), (3, 1, 1, 1, 1, 1), (1, 3), (8, 1.5, 3, 1.5)),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")


@dataclass(frozen=True)
class Style:
    """The colour, dash and marker of a method."""

    colour: str
    kind: int = 0
    """The index of the dash and the marker; methods with the same colour differ here."""

    @property
    def dash(self) -> tuple[float, ...]:
        """The on and off lengths in points; empty for a solid line."""
        return DASHES[self.kind % len(DASHES)]

    @property
    def marker(self) -> str:
        """matplotlib's name of the marker."""
        return MARKERS[self.kind % len(MARKERS)]


KNOWN = {
    "AP1": Style(BLUE),
    "AP2": Style(VERMILLION),
    "AP2 paper": Style(ORANGE, 1),
    "AP2 rank 4": Style(GREEN),
    "AP2 rank 16": Style(GREEN, 1),
    "AP2 rank 64": Style(GREEN, 2),
    "AP2 rank 256": Style(GREEN, 3),
    "Monte Carlo": Style(BLUE),
    "CIBER min/max": Style(ORANGE, 1),
    "CIBER moment": Style(VERMILLION),
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
    "MP": Style(BROWN),
    "MP sequential": Style(GREY, 3),
    "MP groups of 4": Style(ORANGE, 2),
    "MP groups of 8": Style(ORANGE, 3),
    "MP groups of 8 without own force": Style(PINK, 2),
    "MP coupled 16": Style(GREEN, 3),
    "MP coupled 64": Style(BROWN, 2),
    "MP coupled 64 undamped": Style(SKY, 2),
    "MP coupled 128": Style(VERMILLION, 2),
    "PBP": Style(BROWN, 1),
    "VI": Style(PINK, 1),
    "BP": Style(SKY, 1),
    "LA": Style(ORANGE, 1),
    "HMC": Style(GREY, 2),
    "HMC vague": Style(GREEN, 2),
    "SGLD": Style(VERMILLION, 3),
    "SWA": Style(SKY, 3),
    "SWAG": Style(BROWN, 3),
    "PCA+ESS": Style(PINK, 5),
    "PCA+VI": Style(PINK, 6),
    "KFAC": Style(ORANGE, 5),
    "Laplace KFAC": Style(ORANGE, 6),
    "Laplace last layer": Style(ORANGE, 7),
    "NL": Style(GREEN, 5),
    "DVI": Style(BLUE, 5),
    "VSD": Style(BLUE, 6),
    "CIBER": Style(GREY, 4),
    "Radial": Style(SKY, 4),
    "Rank1": Style(BROWN, 4),
    "MAP fVI": Style(BLUE, 4),
    "MC dropout fVI": Style(GREEN, 4),
    "Ensemble fVI": Style(ORANGE, 4),
    "MFVI fVI": Style(PINK, 4),
    "Radial fVI": Style(SKY, 5),
    "Rank1 fVI": Style(BROWN, 5),
}
"""Methods of several suites; methods of only one suite share the remaining styles."""

LABELS = {label.casefold(): label for label in KNOWN}
"""A method in lower case, as printed tables name it → its label in our tables."""


def in_order(labels: Iterable[str], arms: Mapping[str, Arm] | None = None) -> list[str]:
    """Return methods in table order: known ones first, others by name.

    Acquisition strategies, such as "HMC-A", take the place of their method.
    """
    arms = arms or {}
    places = {name.casefold(): place for place, name in enumerate(KNOWN)}

    def place(label: str) -> tuple[int, str]:
        method = arms[label].method if label in arms else label
        return places.get(method.casefold(), len(places)), label

    return sorted(labels, key=place)


ARM_KINDS = (0, 2, 3)
RANDOM_KIND = 1


def styles(labels: Iterable[str], arms: Mapping[str, Arm] | None = None) -> dict[str, Style]:
    """Return the style of each label; labels not in `KNOWN` take styles that it does not use.

    Acquisition strategies have the colour of their method; the random one is dashed.
    """
    arms = arms or {}
    labels = in_order(set(labels), arms)
    by_method = _of_methods([arms[label].method if label in arms else label for label in labels])
    others = sorted({arm.name for arm in arms.values() if not arm.random})
    kinds = {name: ARM_KINDS[k % len(ARM_KINDS)] for k, name in enumerate(others)}
    return {
        label: Style(by_method[arm.method].colour, RANDOM_KIND if arm.random else kinds[arm.name])
        if (arm := arms.get(label))
        else by_method[label]
        for label in labels
    }


def _of_methods(labels: Iterable[str]) -> dict[str, Style]:
    known = {name.casefold(): style for name, style in KNOWN.items()}
    ordered = in_order(set(labels))
    every = (Style(colour, kind) for kind in range(len(ordered) + 4) for colour in COLOURS)
    free = (style for style in every if style not in known.values())
    return {label: known.get(label.casefold()) or next(free) for label in ordered}
