"""The two parts of a data set, and how official its rows are."""

from typing import Literal

Part = Literal["train", "test"]

Origin = Literal["original", "own", "generated", "subset", "stand-in"]
"""`original`: the official files, by checksum. `own`: the user's file. `generated`: drawn from a
distribution by a seed, without files. `subset`: some rows of these. `stand-in`: small real data
that ships inside a dependency."""

ORIGINS: tuple[Origin, ...] = ("original", "own", "generated", "subset", "stand-in")
"""All origins, most official first."""


def least_official(*origins: Origin) -> Origin:
    """Return the origin that is farthest from the official data."""
    return max(origins, key=ORIGINS.index)
