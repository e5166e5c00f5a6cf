"""Texts of digits that are codes, not numbers: those with leading zeros."""

import pandas as pd

from bnnbench.datasets.own.notes import Note

LEADING_ZERO = r"0\d+"


def are_codes(texts: pd.Series) -> bool:
    """Return whether digits are codes: some begin with zeros, by which texts differ or are aligned.

    Zeros tell codes if all texts have one length, most begin with one, or two texts are one number.
    """
    unique = pd.Series(texts.dropna().unique(), dtype="string")
    if not len(unique) or not unique.str.fullmatch(r"\d+").all():
        return False
    has_zero = unique.str.fullmatch(LEADING_ZERO)
    if not has_zero.any():
        return False
    are_aligned = unique.str.len().nunique() == 1
    return bool(are_aligned or 2 * has_zero.sum() > len(unique) or _are_merged(unique))


def on_codes(name: str, texts: pd.Series) -> Note:
    """Return a note on codes, which are no numbers."""
    example = next(text for text in texts if str(text).startswith("0"))
    cause = f"leading zeros, such as in {example!r}"
    cure = "write numbers without them, or texts with a letter"
    return Note(f"{name}: {cause}: its values are texts", f"column {name!r} has {cause}: {cure}")


def _are_merged(unique: pd.Series) -> bool:
    """Return whether different texts are the same number."""
    return bool(unique.str.lstrip("0").duplicated().any())
