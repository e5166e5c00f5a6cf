"""Bytes, first paint and rules of axe of every kind of page of a site.

    python -m tests.documents.page_measures SITE --out FILE

Pages are opened from files in headless Chromium, each in a window of its own, three times; the
median time to the first paint of text counts, which a busy machine lengthens.
"""

import argparse
import csv
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, sync_playwright

from tests.reports.browsing import broken_rules, settled

KINDS = {
    "board": "index.html",
    "compare": "compare.html",
    "suites": "suites.html",
    "methods": "methods/index.html",
    "method": "methods/adamw.html",
    "data sets": "data/index.html",
    "data set": "data/boston.html",
    "papers": "papers/index.html",
    "paper": "papers/003.html",
    "runs": "runs/uci-quick-boston.html",
    "suite report": "uci/report.html",
}
WIDTHS, TIMES = (390, 1400), 3
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


@dataclass(frozen=True)
class Measures:
    """A page at one width."""

    page: str
    address: str
    width: int
    kilobytes: int
    first_paint_ms: int
    height_px: int
    broken_rules: int


def measures(browser: Browser, site: Path) -> Iterator[Measures]:
    """Yield the measures of every kind of page of a site, in light and dark by turns."""
    for kind, address in KINDS.items():
        size = round((site / address).stat().st_size / 1000)
        for width, scheme in zip(WIDTHS, ("light", "dark"), strict=True):
            paints, heights, rules = [], [], []
            for _ in range(TIMES):
                page = browser.new_page(
                    viewport={"width": width, "height": 844}, color_scheme=scheme
                )
                page.goto((site / address).as_uri())
                settled(page).wait_for_timeout(200)
                paints.append(page.evaluate(PAINT))
                heights.append(page.evaluate("document.documentElement.scrollHeight"))
                rules = broken_rules(page)
                page.close()
            yield Measures(
                kind, address, width, size, round(median(paints)), heights[0], len(rules)
            )


def main() -> None:
    """Write the measures of a site's pages to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, options.out.open("w", newline="") as file:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        writer = csv.DictWriter(file, [field.name for field in fields(Measures)])
        writer.writeheader()
        for row in measures(browser, options.site):
            writer.writerow(asdict(row))
        browser.close()


if __name__ == "__main__":
    main()
