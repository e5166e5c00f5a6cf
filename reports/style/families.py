"""The families of methods, and the labels of baselines."""

from collections.abc import Collection, Mapping

from bnnbench.methods.card import Family, card_of

PLAIN = ("AdamW", "MAP", "SGD", "AdamW (tempered)")
"""Labels of the plain network, the baseline for others: the first of them that was run counts."""

FLOORS = ("Class frequency", "Training mean")
"""Labels of methods that ignore inputs: shown for scale, never the best of a figure."""

NO_NETWORKS: tuple[Family, ...] = ("not a network", "pretrained on tables", "Gaussian processes")
"""Families that are no Bayesian networks, but yardsticks: every table says which methods these are,
and they take no headline unless asked."""


def networks_among(families: Mapping[str, str], constants: Collection[str]) -> list[str]:
    """Return the methods that are networks, and constants; all methods if none is a network.

    They may take a headline. `families` has each method's family.
    """
    networks = [m for m, family in families.items() if family not in NO_NETWORKS]
    return networks if set(networks) - set(constants) else list(families)


def family_of(description: object) -> Family:
    """Return the family of a method as described in a record; "other" if unknown."""
    described = description if isinstance(description, Mapping) else {}
    card = card_of(str(described.get("type")))
    return family_of(described.get("method")) if card.around else card.family
