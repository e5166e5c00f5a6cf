"""The two parts of a data set, and how official its rows are."""

from typing import Literal

Part = Literal["train", "test"]

Origin = Literal["original", "repackaged", "own", "generated", "subset", "stand-in"]
"""`original`: the official files, by checksum. `repackaged`: all rows, by checksum, in numbers that
others have shifted or scaled. `own`: the user's file. `generated`: drawn from a distribution by a
seed, without files. `subset`: some rows of these. `stand-in`: small real data that ships inside a
dependency."""

ORIGINS: tuple[Origin, ...] = ("original", "repackaged", "own", "generated", "subset", "stand-in")
"""All origins, most official first."""
PUBLISHED: tuple[Origin, ...] = ("original", "repackaged")
"""Origins of complete data that others have published."""


def least_official(*origins: Origin) -> Origin:
    """Return the origin that is farthest from the official data."""
    return max(origins, key=ORIGINS.index)


def of_subset(origin: Origin) -> Origin:
    """Return the origin of some rows: "subset", unless the rows are of a stand-in."""
    return "stand-in" if origin == "stand-in" else "subset"
