"""Pages of examples in real, headless Chromium."""

import numpy as np
import pytest

from bnnbench.commands.report import main
from bnnbench.reports.pages.examples.book import MOST_METHODS
from bnnbench.reports.pages.site.compare_pages import compare_page
from bnnbench.reports.pages.site.site import tasks_of
from bnnbench.reports.read.benchmarks import benchmarks
from tests.reports.browsing import CONTRAST, HOSTILE, broken_rules, settled
from tests.reports.pages.drilldown.test_run_pages import COMMON
from tests.reports.pages.examples.stores import CLEAN, COLOURS, TURNED, of_digits, of_patients
from tests.reports.pages.site.stores import regressions

pytestmark = pytest.mark.long


DIGITS, TURNED_DIGITS, PATIENTS, STRANGE, MANY = KINDS = (
    "examples/digits-quick-digits-as-mnist.html",
    "examples/digits-quick-digits-as-mnist-rotated-90.html",
    "examples/patients-quick-diabetes.html",
    "examples/strange-quick-digits-as-mnist.html",
    "examples/many-quick-digits-as-cifar10.html",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site of suites with predictions: images, rows, hostile names, data that do not agree."""
    results, site = tmp_path_factory.mktemp("results"), tmp_path_factory.mktemp("site")
    of_digits(results / "digits", conditions=(CLEAN, TURNED))
    of_patients(results / "patients")
    strange = {name: 1.0 + k for k, name in enumerate(HOSTILE)}
    of_digits(results / "strange", names=strange, data_sha256="0" * 64)
    many = {f"method {k}": 0.5 + 0.1 * k for k in range(MOST_METHODS)}
    of_digits(results / "many", COLOURS, names=many, seeds=1)
    assert main([str(results), "--out", str(site)]) == 0
    return site


def names_of(page):
    """Return the methods that the page compares."""
    chosen = (
        "[...document.querySelectorAll('#question select')].map(s => s.selectedOptions[0].text)"
    )
    return page.evaluate(chosen)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (820, "dark"), (1400, "light")])
def test_every_page_fits_and_is_legible(visit, name, width, scheme):
    page = visit(name, width, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CONTRAST) >= 4.5
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    headings = page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map(e => e.tagName)")
    assert headings[0] == "H1"
    assert set(headings[1:]) == {"H2"}


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1400)])
def test_a_page_breaks_no_rule_of_axe(visit, scheme, width):
    assert broken_rules(visit(DIGITS, width, color_scheme=scheme)) == []
    assert broken_rules(visit(PATIENTS, width, color_scheme=scheme)) == []


def test_images_are_shown_with_names_and_nothing_is_blocked(visit):
    page = visit(DIGITS)
    sizes = page.evaluate("[...document.images].map(i => [i.naturalWidth, i.naturalHeight, i.alt])")
    assert len(sizes) == 24
    assert all((width, height) == (28, 28) for width, height, _ in sizes)
    assert all(alt.startswith("Test image, row ") for *_, alt in sizes)


def test_hostile_names_are_text_and_nothing_else(visit):
    page = visit(STRANGE)
    assert page.evaluate("window.hit") is None
    assert page.evaluate("document.images.length") == 0
    assert set(names_of(page)) <= set(HOSTILE)
    assert "checksums differ" in page.locator(".caution").last.inner_text()


def test_two_methods_are_chosen_by_keyboard_and_stay_in_the_address(visit):
    page = visit(DIGITS)
    first, second = names_of(page)
    before = page.locator("#headline").inner_text()
    page.locator("select[data-name=b]").focus()
    page.keyboard.press("ArrowDown")
    changed = names_of(page)
    assert changed[0] == first
    assert changed[1] not in (first, second)
    assert page.evaluate("document.activeElement.dataset.name") == "b"
    after = page.locator("#headline").inner_text()
    assert after != before
    assert "a=" in page.url
    assert "b=" in page.url
    page.reload()
    assert names_of(page) == changed
    assert page.locator("#headline").inner_text() == after
    page.go_back()
    page.wait_for_function("text => document.getElementById('headline').textContent === text",
                           arg=before)  # fmt: skip
    assert names_of(page) == [first, second]


SEEN = """() => {
  const number = (e, name) => Number(e.getAttribute(name));
  const bin = (e) => number(e, "width");
  return {
    counts: [...document.querySelectorAll("#counts td.number")].map(e => e.textContent),
    cells: [...document.querySelectorAll(".cell")].map(e => [
      Math.round((number(e, "x") - 46) / bin(e)), Math.round((304 - number(e, "y")) / bin(e)) - 1]),
    examples: [...document.querySelectorAll(".examples img")].map(e => e.alt),
  };
}"""
"""JavaScript: what a page shows for a pair, with cells as numbers of columns and rows."""


def test_the_other_order_is_the_same_pair_from_the_other_side(visit):
    one, other = visit(DIGITS), visit(DIGITS)
    for page, pair in ((one, "#a=sgd&b=ivon"), (other, "#a=ivon&b=sgd")):
        page.goto(page.url + pair)
        page.wait_for_function("pair => document.querySelector('#question select').value === pair",
                               arg=pair[3:].split("&")[0])  # fmt: skip
    assert names_of(one) == names_of(other)[::-1] == ["SGD", "IVON"]
    first, second = one.evaluate(SEEN), other.evaluate(SEEN)
    both, only, others, none = first["counts"]
    assert second["counts"] == [both, others, only, none]
    assert only != others
    turned = [[row, column] for column, row in first["cells"]]
    assert sorted(second["cells"]) == sorted(turned) != sorted(first["cells"])
    listed = first["examples"]
    assert second["examples"] == listed[:12] + listed[18:] + listed[12:18]


def test_nonsense_in_the_address_is_the_usual_pair(visit):
    page = visit(DIGITS)
    usual = names_of(page)
    page.goto(page.url.split("#")[0] + "#a=nobody&b=constructor&x=1")
    page.reload()
    assert names_of(page) == usual
    page.goto(page.url.split("#")[0] + "#a=sgd&b=sgd")
    page.reload()
    assert page.locator("#headline").inner_text() == "Choose two methods."


def test_a_condition_keeps_the_chosen_pair(visit):
    page = visit(DIGITS)
    page.locator("select[data-name=a]").select_option("sgd")
    chosen = names_of(page)
    page.locator("nav.conditions a").nth(1).click()
    page.wait_for_url("**rotated-90.html#**")
    assert names_of(page) == chosen
    assert page.locator("h1").inner_text().endswith("Rotation, degrees 90")


def test_a_pair_of_another_page_is_found_there(visit):
    page = visit(MANY)
    page.locator("select[data-name=a]").select_option("method-0")
    page.wait_for_url("**/many-quick-digits-as-cifar10.*.html#**")
    assert names_of(page)[0] == "method 0"
    assert "method 0 and" in page.locator("#headline").inner_text()
    assert page.evaluate("document.images.length") > 12


def test_rows_name_their_features_and_the_target(visit):
    page = visit(PATIENTS)
    head = page.locator("table.rows").first.locator("thead").inner_text()
    assert "disease progression after one year, index points" in head
    inputs = page.locator(".inputs").first.inner_text()
    assert [name for name in inputs.split() if name.startswith("x")] == [f"x{k}" for k in range(10)]
    assert page.locator("table.rows").count() == 3


def test_an_example_under_the_pointer_lifts_its_ring(visit):
    page = visit(DIGITS)
    page.locator(".examples li").nth(3).hover()
    assert page.locator(".ring.lit").count() == 1
    page.locator("h1").hover()
    assert page.locator(".ring.lit").count() == 0


def test_data_set_and_runs_lead_to_the_examples(visit):
    for name in ("data/digits-as-mnist.html", "runs/digits-quick-digits-as-mnist.html"):
        page = visit(name)
        page.get_by_role("link", name="Examples on which methods differ").first.click()
        page.wait_for_url(f"**/{DIGITS}")


def test_the_list_of_suites_and_a_method_lead_to_the_examples(visit):
    page = visit("suites.html")
    page.locator(f"a[href='{PATIENTS}']").click()
    page.wait_for_url(f"**/{PATIENTS}")

    page = visit("methods/ivon.html")
    page.get_by_role("link", name="examples").first.click()
    page.wait_for_url(f"**/{DIGITS}#a=ivon")
    assert names_of(page)[0] == "IVON"


def test_a_comparison_leads_to_the_examples_of_the_pair(browser, tmp_path):
    runs = {"uci": benchmarks(regressions(np.random.default_rng(0)))}
    examples = {
        ("uci", b.identity): "examples/it.html" for b in runs["uci"] if b.dataset == "boston"
    }
    text = compare_page("compare.html", tasks_of(runs), COMMON, examples)
    (tmp_path / "compare.html").write_text(text)
    page = browser.new_page()
    page.goto((tmp_path / "compare.html").as_uri() + "#a=sgd&b=pbp")
    settled(page)
    links = page.get_by_role("link", name="Examples of boston")
    rows = page.locator("#differences tbody tr", has_text="boston")
    assert links.count() == rows.count() == page.locator("#differences tbody a").count() > 0
    address = links.first.evaluate("e => e.href")
    assert address == (tmp_path / "examples/it.html").as_uri() + "#a=sgd&b=pbp"
    page.close()


def test_without_a_script_the_first_pair_is_a_table(browser, site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / DIGITS).as_uri())
    assert page.locator("noscript tbody tr").count() == 12
    assert " and " in page.locator("noscript h2").inner_text()
    page.locator("nav.conditions a").nth(1).click()
    assert page.url.endswith("rotated-90.html")
    context.close()
