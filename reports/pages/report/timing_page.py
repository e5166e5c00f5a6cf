"""The page of timings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bnnbench.methods import METHODS
from bnnbench.reports.figures.canvas import FAINT, INK, OWN, Drawing, drawing
from bnnbench.reports.figures.methods import best_first, gid, shared
from bnnbench.reports.figures.ticks import logarithmic
from bnnbench.reports.pages.report import page
from bnnbench.reports.read.timings import (
    Changes,
    Group,
    Session,
    changes,
    groups,
    others,
    read_session,
)
from bnnbench.reports.style.numbers import identifier, span
from bnnbench.reports.style.palette import KNOWN, Style, styles

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


WIDTH, LEFT, LINE = 4.4, 1.45, 0.16
"""Sizes in inches."""


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
        drawings.append(draw_timings(seconds, method_styles, identifier("timing", k), where))
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


def draw_timings(
    seconds: Mapping[str, Mapping[str, float]],
    styles: Mapping[str, Style],
    identifier: str,
    where: str,
) -> Drawing:
    """Return a row for each method in the given order; fits are filled, predictions hollow."""
    with drawing(LINE * (len(seconds) + 1) + 0.4, left=LEFT, width=WIDTH) as figure:
        axes = figure.subplots()
        axes.grid(True, axis="x", color=FAINT, linewidth=0.5, alpha=0.6)
        axes.set_axisbelow(True)
        for k, (method, phases) in enumerate(seconds.items()):
            pen: dict[str, Any] = {"color": OWN, "gid": gid(method)}
            axes.axhline(k, color=FAINT, linewidth=0.4, zorder=0)
            if len(phases) > 1:
                axes.plot(list(phases.values()), [k, k], linewidth=0.8, alpha=0.5, **pen)
            for phase, value in phases.items():
                face = OWN if phase == "fit" else "none"
                axes.plot(value, k, marker="o", markersize=4.5, linestyle="",
                          markerfacecolor=face, **pen)  # fmt: skip
        axes.set_yticks(range(len(seconds)), list(seconds), color=INK)
        for text, method in zip(axes.get_yticklabels(), seconds, strict=True):
            text.set_gid(gid(method, "row"))
        axes.set_ylim(len(seconds) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.set(xlabel="time for one example")
        every = [value for phases in seconds.values() for value in phases.values()]
        logarithmic(axes, every, text_of=span)
        listed = "; ".join(
            f"{m} " + ", ".join(f"{phase} {value:.2g} s" for phase, value in phases.items())
            for m, phases in seconds.items()
        )
        description = f"Time for one example, {where}: {listed}."
        order = best_first({m: min(phases.values()) for m, phases in seconds.items()})
        return shared(figure, identifier, description, styles, order).under(where)
