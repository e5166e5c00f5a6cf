"""Every kind of page passes axe, in light and dark, on a phone and a wide screen."""

import pytest

from tests.reports.browsing import broken_rules
from tests.reports.pages.site.test_browser import KINDS, site, troubled

pytestmark = pytest.mark.long


__all__ = ["site", "troubled"]


@pytest.mark.parametrize("name", [*KINDS, "uci/report.html"])
@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1400)])
def test_a_page_breaks_no_rule(visit, name, scheme, width):
    page = visit(name, width, color_scheme=scheme)
    assert broken_rules(page) == []


def test_a_broken_rule_is_found(browser):
    page = browser.new_page()
    page.set_content("<title>A</title><h1>A</h1><img src='data:,'><input>")
    found = {rule.split(":")[0] for rule in broken_rules(page)}
    assert {"html-has-lang", "image-alt", "label"} <= found
