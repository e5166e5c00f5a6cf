"""Declarations about printed numbers: files of entries, each for some of the numbers.

followed.toml and departures.toml say how near our profiles are to the protocols of the papers.
"""

import functools
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from bnnbench.reports.papers.published import Published, table_number
from bnnbench.suites import departures as declarations


@functools.cache
def entries(file: str, kind: str) -> Sequence[Mapping[str, object]]:
    """Return the entries of one kind in a file of this folder, in their order."""
    text = (Path(__file__).parent / file).read_text(encoding="utf-8")
    return tomllib.loads(text)[kind]


def fits(entry: Mapping[str, object], published: Published) -> bool:
    """Return whether an entry is about a printed number.

    `tables` of papers, `methods`, `metrics` and `datasets` narrow an entry; each may be missing.
    """
    tables = entry.get("tables")
    values = {
        "methods": published.method,
        "metrics": published.metric,
        "datasets": published.dataset,
    }
    return (
        not isinstance(tables, Mapping)
        or table_number(published.table) in tables.get(published.paper, ())
    ) and all(
        value.casefold() in map(str.casefold, listed(entry, name))
        for name, value in values.items()
        if name in entry
    )


def listed(entry: Mapping[str, object], name: str) -> Sequence[str]:
    """Return the texts that an entry lists under a name."""
    values = entry[name]
    assert isinstance(values, list)
    return values


FILE = "followed.toml"


def place(published: Published, profile: str) -> int:
    """Return the place of a profile, such as "uci/paper", by nearness to a number's protocol.

    The nearest has place 0. A profile that is not declared comes after all that are.
    """
    profiles = nearest_first(published)
    return profiles.index(profile) if profile in profiles else len(profiles)


def nearest_first(published: Published) -> tuple[str, ...]:
    """Return the declared profiles for a printed number, by nearness to its protocol."""
    for entry in entries(FILE, "orders"):
        if fits(entry, published):
            return tuple(listed(entry, "profiles"))
    return ()


def departures(published: Published, profile: str) -> dict[str, str]:
    """Return the declared departures of a profile from the protocol of a printed number.

    A key is the departure as a suite lists it, with the rows that it is about.
    """
    return {
        declarations.in_words(entry): str(entry["text"])
        for entry in declarations.departures()
        if profile in listed(entry, "profiles") and fits(entry, published)
    }
