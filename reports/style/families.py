"""The families of methods, and the labels of baselines."""

from collections.abc import Mapping

from bnnbench.methods.card import Family, card_of

PLAIN = ("AdamW", "MAP", "SGD", "AdamW (tempered)")
"""Labels of the plain network, the baseline for others: the first of them that was run counts."""

FLOORS = ("Class frequency", "Training mean")
"""Labels of methods that ignore inputs: shown for scale, never the best of a figure."""

YARDSTICKS: tuple[Family, ...] = ("not a network", "pretrained on tables")
"""Families that stand beside networks as yardsticks; every table says which methods these are."""

NO_NETWORKS: tuple[Family, ...] = (*YARDSTICKS, "Gaussian processes")
"""Families that are no Bayesian networks: shown for scale, they take no headline unless asked."""


def family_of(description: object) -> Family:
    """Return the family of a method as described in a record; "other" if unknown."""
    described = description if isinstance(description, Mapping) else {}
    card = card_of(str(described.get("type")))
    return family_of(described.get("method")) if card.around else card.family
