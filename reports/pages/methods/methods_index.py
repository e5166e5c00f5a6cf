"""The list of all methods: a line with a sparkline for each, its variants folded inside."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bnnbench.methods.card import FAMILIES
from bnnbench.reports.pages.layout import page
from bnnbench.reports.pages.methods.groups import Group, groups_of
from bnnbench.reports.pages.methods.method_pages import Site
from bnnbench.reports.pages.methods.places import HEIGHT, Sparkline, sparkline_of, standings_of


@dataclass(frozen=True)
class Listed:
    """A method in the list, with a sparkline if the overview has it."""

    group: Group
    sparkline: Sparkline | None


def methods_index(
    address: str, pages: Mapping[str, str], site: Site, common: dict[str, Any]
) -> str:
    """Return the list of all methods by family; `pages` has the page of each variant."""
    groups = groups_of(site.suites)
    states = Counter(site.code_states.values())
    return page(
        *("methods.html", address, "Methods · bnnbench", "Methods", common),
        families={
            family: [_listed(group, site) for group in groups if group.family == family]
            for family in FAMILIES
            if any(group.family == family for group in groups)
        },
        pages=pages,
        count=len(groups),
        variants=len(pages),
        questions=[column.head for column in site.overview.columns] if site.overview else [],
        height=HEIGHT,
        runs=states.total(),
        current=states["current"],
        unknown=states["unknown"],
    )


def _listed(group: Group, site: Site) -> Listed:
    if site.overview is None:
        return Listed(group, None)
    standings = standings_of(site.overview, group.variants, group.family)
    return Listed(group, sparkline_of(standings))
