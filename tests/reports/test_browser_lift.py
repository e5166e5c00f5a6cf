"""Curves that respond to the pointer and the keys, in real, headless Chromium."""

import pytest

from tests.reports.browsing import folders, keep_suites, reported
from tests.reports.read.test_timings import HOSTILE, of_method, written

pytestmark = pytest.mark.long


REST = {"light": "rgb(180, 186, 193)", "dark": "rgb(86, 94, 104)"}
STATE = """scope => Object.fromEntries([...scope.querySelectorAll('svg .curve')].map(g => {
  const path = g.querySelector(':scope > path'), width = path && getComputedStyle(path).strokeWidth;
  return [g.dataset.method, [getComputedStyle(g).color, width]];
}))"""
"""JavaScript: method → colour and width of its curve."""

KINDS = ["Risk and coverage", "Cost against quality", "Detection"]
METHODS = ["AdamW", "SGD", "MC dropout", "Ensemble", "MFVI", "IVON", "IVON@mean"]
TIMED = ["adamw", "sgd", "ivon", "mfvi", "ensemble", "pbp"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The suites in `browsing`, and timings of six methods, one with a hostile name."""
    results, site = folders(tmp_path_factory)
    keep_suites(results)
    written(results / "benchmark.json",
            [of_method(m, "fit", 1.0 + k) for k, m in enumerate([*TIMED, HOSTILE])])  # fmt: skip
    return reported(results, site)


def gallery(page, kind):
    """Return the figures below a heading that begins with `kind`, with their list of methods."""
    heading = page.locator("h3", has_text=kind).first
    return heading.locator("xpath=following-sibling::div[contains(@class, 'methods')][1]")


def entry(scope, name):
    """Return the button of a method in the list."""
    return scope.get_by_role("button", name=name, exact=True)


def colours(scope):
    return {method: colour for method, (colour, _) in scope.evaluate(STATE).items()}


def widths(scope):
    return {method: width for method, (_, width) in scope.evaluate(STATE).items() if width}


def only(scope, method, scheme="light"):
    """Assert that a method is in colour, and that all others are grey and drawn below it."""
    found = colours(scope)
    assert found.pop(method) != REST[scheme]
    assert set(found.values()) == {REST[scheme]}
    last = scope.evaluate("s => [...s.querySelectorAll('svg .curve')].at(-1).dataset.method")
    assert last == method


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_method_under_the_pointer_in_the_list_is_lifted_and_the_rest_greys(visit, kind, scheme):
    page = visit("cifar10", color_scheme=scheme)
    scope = gallery(page, kind)
    before, thin = scope.evaluate(STATE), widths(scope)
    grey = {m for m, (colour, _) in before.items() if colour == REST[scheme]}
    assert set(before) == set(METHODS)
    assert len(grey) == 4
    assert "IVON@mean" in grey
    entry(scope, "IVON@mean").hover()
    only(scope, "IVON@mean", scheme)
    for method, width in widths(scope).items():
        assert (width != thin[method]) == (method == "IVON@mean")
    page.mouse.move(0, 0)
    assert scope.evaluate(STATE) == before


@pytest.mark.parametrize("kind", KINDS)
def test_the_keys_lift_methods_and_escape_and_leaving_restore(visit, kind):
    page = visit("cifar10")
    scope = gallery(page, kind)
    before = scope.evaluate(STATE)
    page.keyboard.press("Tab")  # so that focus counts as moved by keys
    entry(scope, "AdamW").focus()
    only(scope, "AdamW")
    page.keyboard.press("ArrowRight")
    only(scope, "SGD")
    page.keyboard.press("End")
    only(scope, METHODS[-1])
    page.keyboard.press("Escape")
    assert scope.evaluate(STATE) == before
    page.keyboard.press("ArrowLeft")
    assert scope.evaluate(STATE) != before
    page.keyboard.press("Tab")
    assert scope.evaluate(STATE) == before
    assert not scope.evaluate("scope => scope.contains(document.activeElement)")


def test_the_list_is_one_stop_of_the_tab_key(visit):
    scope = gallery(visit("cifar10"), KINDS[0])
    assert scope.locator(".entry").count() == len(METHODS)
    assert scope.locator('.entry[tabindex="0"]').count() == 1
    assert scope.get_by_role("toolbar").count() == 1


def test_the_nearest_curve_under_the_pointer_is_lifted_and_named(visit):
    page = visit("cifar10")
    scope = gallery(page, "Risk and coverage")
    svg = scope.locator("svg:has(.curve)").first
    svg.scroll_into_view_if_needed()
    places = svg.evaluate("""svg => [...svg.querySelectorAll('.curve')].map(g => {
      const path = g.querySelector('path');
      const matrix = svg.getScreenCTM();
      const at = path.getPointAtLength(path.getTotalLength()).matrixTransform(matrix);
      return [g.dataset.method, at.x, at.y]; })""")
    ends = {method: (x, y) for method, x, y in places}
    for method in ("MFVI", "IVON@mean"):
        page.mouse.move(*ends[method])
        only(scope, method)
        shown = svg.locator(".label.lifted text").all_text_contents()
        assert shown == [method]
    page.mouse.move(0, 0)
    assert svg.locator(".label.lifted").count() == 0


def test_clicks_keep_methods_lifted_until_escape(visit):
    page = visit("cifar10")
    scope = gallery(page, "Cost against quality")
    before = scope.evaluate(STATE)
    for name in ("SGD", "MFVI"):
        entry(scope, name).click()
    page.mouse.move(0, 0)
    found = colours(scope)
    assert {m for m, colour in found.items() if colour != REST["light"]} == {"SGD", "MFVI"}
    assert entry(scope, "SGD").get_attribute("aria-pressed") == "true"
    entry(scope, "SGD").click()
    page.mouse.move(0, 0)
    only(scope, "MFVI")
    page.keyboard.press("Escape")
    assert scope.evaluate(STATE) == before
    assert entry(scope, "MFVI").get_attribute("aria-pressed") == "false"


def test_names_of_rows_answer_to_pointer_and_keys(visit):
    page = visit("timing.html")
    scope = page.locator(".ranks.methods").first
    before = scope.evaluate(STATE)
    assert len(before) == len(TIMED) + 1
    rows = scope.locator(".row")
    rows.nth(4).hover()
    only(scope, rows.nth(4).get_attribute("data-method"))
    page.mouse.move(0, 0)
    page.keyboard.press("Tab")
    rows.nth(0).focus()
    page.keyboard.press("ArrowDown")
    only(scope, rows.nth(1).get_attribute("data-method"))
    page.keyboard.press("Escape")
    assert scope.evaluate(STATE) == before
    assert page.evaluate("window.hit") is None


def test_without_script_the_best_and_the_plain_network_are_in_colour_and_named(visit):
    page = visit("cifar10", java_script_enabled=False)
    scope = page.locator(".methods:has(.legend)").last
    assert scope.locator(".legend li").all_inner_texts() == METHODS
    labels = scope.locator("figure svg").first.locator(".label text")
    assert labels.count() == 3
    assert all(labels.nth(k).is_visible() for k in range(3))
    assert "AdamW" in labels.all_text_contents()
    assert scope.locator("button").count() == 0
    page.context.close()


def test_figures_print_as_they_stand_without_a_pointer(visit):
    page = visit("cifar10")
    page.emulate_media(media="print")
    scope = gallery(page, KINDS[0])
    found = colours(scope)
    assert sum(colour == "rgb(153, 153, 153)" for colour in found.values()) == 4
    assert len(set(found.values())) == 4
