"""The README's pictures of the overview: `python -m docs.generate.picture`."""

from bnnbench.reports.pages.site.overview.overview import overview
from bnnbench.reports.pages.site.overview.picture import DARK, LIGHT, picture
from docs.generate.finished_runs import ROOT, tasks

FOLDER = ROOT / "docs" / "pictures"


def pictures() -> dict[str, str]:
    """Return name → the picture of docs/bundle on a light and on a dark page."""
    of = overview(tasks())
    return {"board-light.svg": picture(of, LIGHT), "board-dark.svg": picture(of, DARK)}


def main() -> None:
    """Write both pictures."""
    for name, text in pictures().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(FOLDER / name)


if __name__ == "__main__":
    main()
