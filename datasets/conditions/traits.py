"""The titles and facts by which pages name and group a test condition.

Records hold these plain data beside the scores, so that a page needs neither the condition's
class nor torch, and nobody decodes a name.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Family:
    """Conditions that differ in size alone."""

    title: str
    """The treatment of the inputs, such as "Corruption: frost"."""
    size_name: str
    """The meaning of a size, such as "severity"."""
    short: str = ""
    """A title for a narrow column, such as "frost"; "" where `title` will do."""


@dataclass(frozen=True)
class Traits:
    """The title of a test condition and all that tells pages where it belongs."""

    title: str
    """The condition in running text."""
    clean: bool = False
    """True for the test split as it is."""
    family: Family | None = None
    size: float | None = None
    """The size within the family; clean data have size 0 in every family."""
    outside: str = ""
    """Title of the data to be told from the test data, whose targets are 1; "" for none."""
    variant_of: str = ""
    """Name of the condition that this one is on other data, or without a part of the treatment."""
    acquisitions: int | None = None
    """Number of acquisitions of active learning before the fit; None without active learning."""
    parts: tuple[str, ...] = ()
    """Names of the conditions whose scores this one averages."""
    draws: int | None = None
    """Number of draws of the weights that a probe was given."""
    layer: int | None = None
    """Depth of the layer that a probe measured, from 1."""
    layer_kind: str = ""
    """Letters for the operations of that layer, such as "CA": a convolution, then an activation."""
    output: int | None = None
    """Number of the output that a probe measured, from 0."""
    level: float | None = None
    """Level of the quantile of that output's samples; None for what was propagated."""

    @property
    def order(self) -> tuple[float, str]:
        """Return a key that sorts what probes measured: by depth, number of draws or output, the
        rest behind."""
        numbers = self.layer, self.draws, self.output
        number = next((n for n in numbers if n is not None), math.inf)
        return number, self.title

    def as_data(self) -> dict[str, Any]:
        """Return the traits as plain data, without defaults."""
        data = {f.name: getattr(self, f.name) for f in fields(self)}
        data = {f.name: data[f.name] for f in fields(self) if data[f.name] != f.default}
        return data | ({"family": vars(self.family)} if self.family else {})


def from_data(data: Mapping[str, Any]) -> Traits:
    """Return the traits that `as_data` described; traits of a later version are left out.

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
    """Return family → condition → size, ascending, of families of two sizes or more."""
    sizes: dict[Family, dict[str, float]] = {}
    for name, traits in conditions.items():
        if traits.family and traits.size is not None:
            sizes.setdefault(traits.family, {})[name] = traits.size
    return {
        family: dict(sorted(sizes[family].items(), key=lambda item: item[1]))
        for family in sorted(sizes, key=lambda family: min(sizes[family]))
        if len(sizes[family]) > 1
    }
