"""The titles and facts by which pages name and group a test condition.

Records store these plain data with the scores, so that a page needs neither the condition's
class nor torch, and no code parses names.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Family:
    """Conditions that differ only in size."""

    title: str
    """The treatment of the inputs, such as "Corruption: frost"."""
    size_name: str
    """The meaning of a size, such as "severity"."""
    short: str = ""
    """A title for a narrow column, such as "frost"; "" if `title` is short enough."""


@dataclass(frozen=True)
class Traits:
    """The title of a test condition and the facts by which pages group it."""

    title: str
    """The condition's title in running text."""
    clean: bool = False
    """True for the unchanged test split."""
    family: Family | None = None
    size: float | None = None
    """The size within the family; clean data have size 0 in every family."""
    outside: str = ""
    """Title of the out-of-distribution data, whose target is 1; "" if there are none."""
    variant_of: str = ""
    """Name of the condition of which this is a variant: on other data, or without a part of the
    preprocessing; "" if none."""
    acquisitions: int | None = None
    """Number of acquisitions of active learning before the fit; None without active learning."""
    parts: tuple[str, ...] = ()
    """Names of the conditions whose scores this one averages."""
    draws: int | None = None
    """Number of weight draws given to a probe."""
    layer: int | None = None
    """Depth of the layer that a probe measured, counted from 1."""
    layer_kind: str = ""
    """Letters for the operations of that layer, such as "CA": a convolution, then an activation."""
    output: int | None = None
    """Number of the output that a probe measured, counted from 0."""
    level: float | None = None
    """Level of the quantile of that output's samples; None for propagated moments."""
    position: float | None = None
    """Value of the single input at which a probe measured."""

    @property
    def order(self) -> tuple[float, str]:
        """Return a sort key for probe results: by depth, number of draws or output; others last."""
        numbers = self.layer, self.draws, self.output
        number = next((n for n in numbers if n is not None), math.inf)
        return number, self.title

    def as_data(self) -> dict[str, Any]:
        """Return the traits as plain data, omitting defaults."""
        data = {f.name: getattr(self, f.name) for f in fields(self)}
        data = {f.name: data[f.name] for f in fields(self) if data[f.name] != f.default}
        return data | ({"family": vars(self.family)} if self.family else {})


def from_data(data: Mapping[str, Any]) -> Traits:
    """Return the traits described by the output of `as_data`; unknown ones (of a later version) are
    ignored.

    Raises TypeError or ValueError for data of another kind.
    """
    known = {f.name for f in fields(Traits)}
    values: dict[str, Any] = {name: value for name, value in data.items() if name in known}
    if family := values.get("family"):
        known = {f.name for f in fields(Family)}
        values["family"] = Family(**{n: v for n, v in family.items() if n in known})
    values["parts"] = tuple(values.get("parts", ()))
    return Traits(**values)


def families(conditions: Mapping[str, Traits]) -> dict[Family, dict[str, float]]:
    """Return family → condition → size, ascending, for families with two or more sizes."""
    sizes: dict[Family, dict[str, float]] = {}
    for name, traits in conditions.items():
        if traits.family and traits.size is not None:
            sizes.setdefault(traits.family, {})[name] = traits.size
    return {
        family: dict(sorted(sizes[family].items(), key=lambda item: item[1]))
        for family in sorted(sizes, key=lambda family: min(sizes[family]))
        if len(sizes[family]) > 1
    }
