"""Printed tables whose protocol a profile follows."""

from collections.abc import Iterable

from bnnbench.engine.declare.grid import Reproduces
from bnnbench.suites.departures import declared


def following(
    profile: str, paper: str, tables: Iterable[str], *deviations: str, whole: bool = True
) -> tuple[Reproduces, ...]:
    """Return the tables with their deviations: the profile's departures, then these others.

    A profile is named with its suite, as in departures.toml: "uci/paper".
    """
    return tuple(
        Reproduces(paper, table, (*declared(profile, paper, table), *deviations), whole)
        for table in tables
    )
