"""Every kind of page against the rules of axe, in light and dark, on a phone and a wide screen."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.reports.board.test_browser import KINDS, site, troubled
from tests.reports.browsing import settled

__all__ = ["site", "troubled"]

PAGES = (*KINDS, "uci/report.html")
SCREENS = [("light", 390), ("dark", 1400)]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("scheme", "width"), SCREENS)
def test_a_page_breaks_no_rule(browser, site, name, scheme, width):
    page = browser.new_page(
        color_scheme=scheme, viewport={"width": width, "height": 844}, reduced_motion="reduce"
    )
    page.goto((site / name).as_uri())
    broken = Axe().run(settled(page)).response["violations"]
    page.close()
    assert not broken, "\n".join(
        f"{rule['id']}: {rule['help']}: {node['target']}" for rule in broken for node in rule["nodes"]
    )
