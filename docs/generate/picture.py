"""The README's picture of the board, drawn in Chromium: `python -m docs.generate.picture`."""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from bnnbench.reports.pages.site.board_pages import board_pages
from docs.generate.finished_runs import ROOT, tasks
from tests.reports.browsing import settled

PICTURE = ROOT / "docs" / "pictures" / "board.png"


def main() -> None:
    """Draw the first screen of the board of docs/bundle."""
    page = board_pages(tasks(), {}, lambda _: {"methodPages": [], "search": []})["index.html"]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "index.html"
        path.write_text(page, encoding="utf-8")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        tab = browser.new_page(viewport={"width": 1280, "height": 820})
        tab.goto(path.as_uri())
        settled(tab).screenshot(path=PICTURE)
        browser.close()
    print(PICTURE)


if __name__ == "__main__":
    main()
