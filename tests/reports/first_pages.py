"""The first page of a suite's report."""

from bnnbench.reports.pages.report.page import FIRST, pages


def render(content):
    """Return the first page of a suite."""
    return pages(content)[FIRST]
