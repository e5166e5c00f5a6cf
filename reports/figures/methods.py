"""Figures shared by several methods: each has its own group, and a few are coloured.

Readers can distinguish only a few hues: with more than `MOST` methods, only the best and the plain
network are coloured and labelled, and the page's script highlights the one a reader points at.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from html import escape

from matplotlib.artist import Artist
from matplotlib.figure import Figure

from bnnbench.reports.figures.canvas import Drawing, keep_in_reach, svg
from bnnbench.reports.figures.labels import label
from bnnbench.reports.style.families import FLOORS, PLAIN
from bnnbench.reports.style.palette import Style

MOST = 4
"""Maximum number of methods that are all coloured."""

CHOSEN = 3
"""The number coloured if there are more, so that a fourth colour remains for the one pointed at."""

KINDS = ("curve", "band", "label", "row")
"""Kinds of groups: lines and marks, error bands, direct labels, row names."""


def gid(method: str, kind: str = "curve") -> str:
    """Return the name of the group of a method's artists, whose colour is `OWN`."""
    return f"{kind}-{method.encode().hex()}"


def tag(method: str, *artists: Artist) -> None:
    """Add artists to a method's group."""
    for artist in artists:
        artist.set_gid(gid(method))


def best_first(values: Mapping[str, float], higher_is_better: bool = False) -> list[str]:
    """Return the methods ordered by value; methods with NaN come last."""
    sign = -1 if higher_is_better else 1
    return sorted(values, key=lambda m: math.inf if math.isnan(values[m]) else sign * values[m])


def chosen(methods: Collection[str], order: Sequence[str]) -> tuple[str, ...]:
    """Return the methods to colour: all if they are few, else the best and the plain network."""
    if len(methods) <= MOST:
        return tuple(methods)
    plain = [name for name in PLAIN if name in methods][:1]
    best = [name for name in order if name in methods and name not in (*plain, *FLOORS)]
    return (*best[: CHOSEN - len(plain)], *plain)


def shared(
    figure: Figure,
    identifier: str,
    description: str,
    styles: Mapping[str, Style],
    order: Sequence[str],
    named: bool = True,
) -> Drawing:
    """Return the drawing of a figure whose artists carry the `gid` of their methods.

    `order` has the best method first. Coloured methods are drawn on top and, if `named`, labelled
    in the figure's first axes, unless its row names already label them.
    """
    groups: dict[str, list[Artist]] = {}
    for artist in figure.findobj(lambda artist: artist.get_gid() is not None):
        groups.setdefault(str(artist.get_gid()), []).append(artist)
    artists = {method: groups[gid(method)] for method in styles if gid(method) in groups}
    methods = tuple(artists)
    coloured = chosen(methods, order)
    for method in coloured:
        for artist in artists[method]:
            artist.set_zorder(artist.get_zorder() + 0.5)
    if named and not any(gid(method, "row") in groups for method in methods):
        keep_in_reach(figure)
        places = {method: gid(method, "label") for method in coloured}
        label(figure.axes[0], artists, places)
    attributes = {
        gid(method, kind): _attributes(method, kind, styles[method], method not in coloured)
        for method in methods
        for kind in KINDS
    }
    return Drawing(svg(figure, identifier, description, attributes), "", "", methods, coloured)


def _attributes(method: str, kind: str, style: Style, is_rest: bool) -> str:
    """Return the attributes of a group; the page's style sheet greys the class "rest"."""
    classes = f"{kind} rest" if is_rest else kind
    return f'class="{classes}" data-method="{escape(method)}" color="{style.colour}"'
