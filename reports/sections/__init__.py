"""The sections of a page, one per file: its tables, figures and texts.

A file here has a function `sections(material)` that returns the sections of one profile, or none
if there is nothing to show. To add a kind of section, add a file and a line below.
"""

import importlib
from collections.abc import Iterator
from dataclasses import replace

from bnnbench.reports.sections.base import Material, Section

SECTIONS = (
    "suites.layers",
    "suites.outputs",
    "suites.sizes",
    "suites.few_samples",
    "suites.approximation_levels",
    "suites.treatments",
    "overviews",
    "over_sets",
    "ranking",
    "failures",
    "suites.learning",
    "suites.steps",
    "deviations",
    "suites.networks",
    "suites.coverage",
    "predictions",
    "suites.distances",
    "suites.truth",
    "suites.oracles",
    "agreement",
    "tuning",
    "literature",
    "costs",
    "work",
)
"""Modules in this folder and those below, in the order of a page."""


def sections_of(material: Material) -> Iterator[Section]:
    """Return every section that has something to show, in the order of a page."""
    for name in SECTIONS:
        module = importlib.import_module(f"{__name__}.{name}")
        for section in module.sections(material):
            yield replace(section, of_suites=module.__package__ == f"{__name__}.suites")
