"""The page of timings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bnnbench.methods import METHODS
from bnnbench.reports.pages.report import page
from bnnbench.reports.pages.report import timing_page_figure as figure
from bnnbench.reports.read.timings import (
    Changes,
    Group,
    Session,
    changes,
    groups,
    others,
    read_session,
)
from bnnbench.reports.style.numbers import identifier
from bnnbench.reports.style.palette import KNOWN, styles

SESSION, EARLIER = "benchmark.json", "benchmark_previous.json"
"""Files in a folder of results: the output of `make benchmark`, and its predecessor."""

NAME = "timing.html"

ACRONYMS = frozenset(["dvi", "gp", "hmc", "pca", "sgd", "sgld", "swa", "swag", "vi", "vsd"])


@dataclass(frozen=True)
class Timed:
    """The pages of timings of a site."""

    pages: Mapping[str, str]
    """address → page"""
    links: tuple[tuple[str, str], ...]
    """Address and title of each page."""
    damage: tuple[str, ...]
    """The reasons why sessions could not be read."""


def timing_page(session: Path, previous: Path | None, home: str = "") -> tuple[str, Changes | None]:
    """Return the page of a session and the changes since the previous one.

    `home` is the address of a front page. Raises ValueError for a file that is not a session.
    """
    now = read_session(session)
    since = changes(now, read_session(previous)) if previous else None
    timed_groups = groups(now, since, tuple(METHODS))
    return render(now, since, timed_groups, home), since


def render(now: Session, since: Changes | None, timed_groups: Sequence[Group], home: str) -> str:
    """Return the page."""
    titles = {name: title(name) for group in timed_groups for name in (*group.rows, *group.absent)}
    method_styles = styles(titles.values())
    drawings = []
    for k, group in enumerate(timed_groups):
        seconds = {
            titles[m]: {name: phases[name].seconds for name in ("fit", "predict") if name in phases}
            for m, phases in group.rows.items()
        }
        where = f"{group.problem}, {group.device}"
        drawings.append(figure.draw(seconds, method_styles, identifier("timing", k), where))
    return page.timings(
        session=now,
        since=since,
        groups=list(zip(timed_groups, drawings, strict=True)),
        others=others(now),
        titles=titles,
        styles=method_styles,
        home=home,
    )


def title(name: str) -> str:
    """Return the title of a registered method, such as "MC dropout"."""
    spaced = name.replace("_", " ")
    spelled = " ".join(w.upper() if w in ACRONYMS else w for w in spaced.split())
    known = {label.casefold(): label for label in KNOWN}
    return known.get(spaced, spelled[:1].upper() + spelled[1:])


def site_pages(results: Mapping[str, Path], home: str) -> Timed:
    """Return the pages of the sessions in folders of results; the keys are names of folders."""
    pages, links, damage = {}, [], []
    folders = {name: folder for name, folder in results.items() if (folder / SESSION).exists()}
    for name, folder in folders.items():
        earlier = folder / EARLIER
        address = NAME if len(folders) == 1 else f"timing-{identifier(name)}.html"
        try:
            previous = earlier if earlier.exists() else None
            pages[address], _ = timing_page(folder / SESSION, previous, home)
        except ValueError as error:
            damage.append(str(error))
        else:
            links.append((address, "Timings" if len(folders) == 1 else f"Timings, {name}"))
    return Timed(pages, tuple(links), tuple(damage))
