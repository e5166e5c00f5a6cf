"""Replacement of sources that are unavailable here."""

from bnnbench.datasets import Policy
from bnnbench.datasets.base import DataSource
from bnnbench.datasets.errors import DataUnavailable
from bnnbench.datasets.origins import Part
from bnnbench.datasets.reading.files import unavailable


def resolve(
    source: DataSource, policy: Policy = "auto", offline: bool = False, part: Part | None = None
) -> DataSource:
    """Return the source or its replacement, which records identify.

    With a `part`, only that part of an image source is needed. Raises DataUnavailable, with the
    remedy, if `policy` forbids all that is available.
    """
    needs = () if part is None else (part,)
    if policy == "stand-in":
        candidates = (source, *source.fallbacks(*needs))
        return next(s for s in candidates if s.origin in ("generated", "stand-in"))
    if policy == "original" and source.origin == "stand-in":
        raise DataUnavailable(f"{source.name} is a stand-in, which --data original forbids")
    if not source.missing(*needs):
        return source
    if not offline:
        try:
            source.fetch(*needs)
            return source
        except DataUnavailable:
            if policy == "original":
                raise
    elif policy == "original":
        raise unavailable(source.name, source.missing(*needs), "not here, and --offline")
    for fallback in source.fallbacks(*needs):
        if not fallback.missing(*needs):
            return fallback
    raise unavailable(source.name, source.missing(*needs), "not here, and nothing replaces it")
