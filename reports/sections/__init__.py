"""The sections of a page, each in a file of its own: its tables, its figures and its texts.

A file here has a function `sections(material)` that returns the sections of one profile, or none
if there is nothing to show. To add a kind of section, add a file and a line below.
"""

import importlib
from collections.abc import Iterator

from bnnbench.reports.sections.base import Material, Section

SECTIONS = (
    "layers",
    "sizes",
    "few_samples",
    "overviews",
    "ranking",
    "learning",
    "steps",
    "networks",
    "coverage",
    "predictions",
    "distances",
    "truth",
    "oracles",
    "agreement",
    "tuning",
    "literature",
    "costs",
    "work",
)
"""Modules in this folder, in the order of a page."""


def sections_of(material: Material) -> Iterator[Section]:
    """Return every section that has something to show, in the order of a page."""
    for name in SECTIONS:
        yield from importlib.import_module(f"{__name__}.{name}").sections(material)
