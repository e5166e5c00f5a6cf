"""Profiles on the list of suites, and on the page of a data set, are chapters that open."""

import pytest

from bnnbench.commands.report import main
from tests.reports.browsing import settled
from tests.reports.synthetic import keep, runs_of

pytestmark = pytest.mark.long

SCORES = {"AdamW": [1.0, 1.1, 1.2], "SGD": [2.0, 2.1, 2.2]}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site of one suite with four profiles on one data set."""
    folder = tmp_path_factory.mktemp("chapters")
    profiles = ("quick", "paper", "ablation", "schedules")
    runs = [r for profile in profiles for r in runs_of(SCORES, profile=profile)]
    keep(folder / "results" / "cifar10", runs)
    assert main([str(folder / "results"), "--out", str(folder / "site")]) == 0
    return folder / "site"


@pytest.fixture
def page(browser):
    """A phone's page."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    yield context.new_page()
    context.close()


def test_a_profile_of_the_suites_opens_by_a_key_and_is_printed_anyway(page, site):
    page.goto((site / "suites.html").as_uri())
    profiles = settled(page).locator("details.chapter")
    assert profiles.count() == 4
    assert "2 methods, 1 data set, 6 runs" in profiles.first.locator("summary").inner_text()
    answer = profiles.first.locator("dl")
    assert not answer.is_visible()
    page.emulate_media(media="print")
    assert answer.is_visible()
    page.emulate_media(media="screen")
    profiles.first.locator("summary").focus()
    page.keyboard.press("Enter")
    assert answer.is_visible()


def test_of_a_data_set_only_the_first_profile_is_open(page, site):
    (address,) = (p for p in (site / "data").glob("*.html") if p.name != "index.html")
    page.goto(address.as_uri())
    profiles = settled(page).locator("details.chapter")
    assert profiles.evaluate_all("all => all.map(d => d.open)") == [True, False, False, False]
    assert profiles.first.locator("summary .note").inner_text() == "2 methods · NLL (nats)"
