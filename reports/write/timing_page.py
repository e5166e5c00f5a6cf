"""The page of timings, and its command line."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.methods import METHODS
from bnnbench.reports.figures import timings as figure
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
from bnnbench.reports.write import page

SESSION, EARLIER = "benchmark.json", "benchmark_previous.json"
"""Files of a folder of results: what `make benchmark` writes, and what it is compared with."""

NAME = "timing.html"

ACRONYMS = frozenset(["dvi", "gp", "hmc", "pca", "sgd", "sgld", "swa", "swag", "vi", "vsd"])

ABOUT = """Write a page of timings from the JSON of pytest-benchmark: every method's fit and
prediction per example, their ratios to AdamW in the same session, and what is slower than in an
earlier session by more than noise."""


@dataclass(frozen=True)
class Timed:
    """The pages of timings of a site."""

    pages: Mapping[str, str]
    """address → page"""
    links: tuple[tuple[str, str], ...]
    """Address and title of each."""
    damage: tuple[str, ...]
    """Why sessions could not be read."""


def main(arguments: Sequence[str]) -> int:
    """Write the page; return 0, 2 where it could not be, and 1 where something became slower."""
    parser = argparse.ArgumentParser("bnnbench report timing", description=ABOUT)
    parser.add_argument("session", type=Path, metavar="BENCHMARK.json")
    parser.add_argument("--previous", type=Path, help="an earlier session to compare with")
    parser.add_argument("--out", type=Path, help="a folder (default: beside the session)")
    options = parser.parse_args(arguments)
    out = options.out or options.session.parent
    try:
        text, since = timing_page(options.session, options.previous)
        out.mkdir(parents=True, exist_ok=True)
        write_whole(out / NAME, text.encode())
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(out / NAME)
    slower = since.named("slower") if since else []
    for name, ratio in slower:
        print(f"slower: {name}: {ratio:.2f} times as long")
    return 1 if slower else 0


def timing_page(session: Path, previous: Path | None, home: str = "") -> tuple[str, Changes | None]:
    """Return the page of a session and what changed since the previous one.

    `home` is the address of a front page. Raises ValueError for a file that is no session.
    """
    now = read_session(session)
    since = changes(now, read_session(previous)) if previous else None
    found = groups(now, since, tuple(METHODS))
    return render(now, since, found, home), since


def render(now: Session, since: Changes | None, found: Sequence[Group], home: str) -> str:
    """Return the page."""
    titles = {name: title(name) for group in found for name in (*group.rows, *group.absent)}
    looks = styles(titles.values())
    drawings = []
    for k, group in enumerate(found):
        seconds = {
            titles[m]: {name: phases[name].seconds for name in ("fit", "predict") if name in phases}
            for m, phases in group.rows.items()
        }
        where = f"{group.problem}, {group.device}"
        drawings.append(figure.draw(seconds, looks, identifier("timing", k), where))
    return page.timings(
        session=now,
        since=since,
        groups=list(zip(found, drawings, strict=True)),
        others=others(now),
        titles=titles,
        looks=looks,
        home=home,
    )


def title(name: str) -> str:
    """Return a registered method's name for people, such as "MC dropout"."""
    words = name.replace("_", " ")
    spelled = " ".join(w.upper() if w in ACRONYMS else w for w in words.split())
    known = {label.casefold(): label for label in KNOWN}
    return known.get(words, spelled[:1].upper() + spelled[1:])


def site_pages(results: Mapping[str, Path], home: str) -> Timed:
    """Return the pages of sessions that lie in folders of results, given by name."""
    pages, links, damage = {}, [], []
    kept = {name: folder for name, folder in results.items() if (folder / SESSION).exists()}
    for name, folder in kept.items():
        earlier = folder / EARLIER
        address = NAME if len(kept) == 1 else f"timing-{identifier(name)}.html"
        try:
            previous = earlier if earlier.exists() else None
            pages[address], _ = timing_page(folder / SESSION, previous, home)
        except ValueError as error:
            damage.append(str(error))
        else:
            links.append((address, "Timings" if len(kept) == 1 else f"Timings, {name}"))
    return Timed(pages, tuple(links), tuple(damage))
