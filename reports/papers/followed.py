"""How near our profiles are to the protocols of the papers: followed.toml and departures.toml."""

from bnnbench.reports.papers.entries import entries, fits, listed
from bnnbench.reports.papers.published import Published
from bnnbench.suites import departures as declarations

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


def departures(published: Published, profile: str) -> tuple[str, ...]:
    """Return the declared departures of a profile from the protocol of a printed number."""
    return tuple(
        str(entry["text"])
        for entry in declarations.departures()
        if profile in listed(entry, "profiles") and fits(entry, published)
    )
