"""Held-out scores of a search's trials against each setting, in adjacent panels."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np

from bnnbench.reports.figures.canvas import INK, Drawing, drawing, svg
from bnnbench.reports.judge.summaries.sensitivity import LENGTH, Sensitivity
from bnnbench.reports.style.palette import Style
from bnnbench.reports.style.words import joined

PANEL, LEFT, HEIGHT = 1.5, 0.84, 1.5
"""Sizes in inches."""

PANELS = 6
"""Minimum width of a figure in panels, so that all figures of a page have one scale."""

DEEPEST = 0.25
"""The vertical axis reaches down to this quantile of the finite deficits on each data set."""

DASHES = ((), (4, 1.5), (1, 1.2), (6, 1.5, 1, 1.5), (3, 1, 3, 3), (8, 2))
"""Dash patterns of the lines of data sets, in turn; beyond six data sets they repeat."""


def draw_sensitivity(
    method: str,
    by_set: Mapping[str, Sequence[Sensitivity]],
    style: Style,
    identifier: str,
) -> Drawing:
    """Return a row of panels, one per setting, with a line for each data set.

    Lines show the best trial nearby, averaged over folds. The vertical axis is scaled for each data
    set, whose worst quarter of trials lies below it.
    """
    depths = {name: _depth(settings) for name, settings in by_set.items()}
    named: dict[str, dict[str, Sensitivity]] = {}
    for name, settings in by_set.items():
        for one in settings:
            named.setdefault(one.setting, {})[name] = one
    dashes = dict(zip(by_set, cycle(DASHES), strict=False))
    columns = max(PANELS, len(named) + (len(by_set) > 1))
    with drawing(HEIGHT, LEFT, LEFT + PANEL * columns, top=0.24) as figure:
        grid = figure.add_gridspec(1, columns, wspace=0.16)
        row = [figure.add_subplot(grid[0])]
        row += [figure.add_subplot(grid[k], sharey=row[0]) for k in range(1, len(named))]
        for axes, (setting, of_sets) in zip(row, named.items(), strict=True):
            for name, one in of_sets.items():
                x, y = line(one)
                axes.plot(x, y / depths[name], color=style.colour, linewidth=1.3,
                          dashes=dashes[name], label=name)  # fmt: skip
            axes.set(xlim=(-0.04, 1.04), ylim=(-1.06, 0.06), yticks=[-1, 0])
            axes.set_yticklabels(["worst quarter", "best"])
            places = next(iter(of_sets.values())).places[0]
            axes.set_xticks([places.min(), places.max()])
            left, right = axes.set_xticklabels(_ends(list(of_sets.values())), fontsize=7)
            left.set_horizontalalignment("left")
            right.set_horizontalalignment("right")
            axes.set_title(setting.replace("_", " "), fontsize=8, color=INK)
            axes.label_outer()
        if len(by_set) > 1:
            row[0].legend(
                *row[0].get_legend_handles_labels(), loc="center left", frameon=False,
                bbox_to_anchor=(1.02, 0.5), bbox_transform=row[-1].transAxes, fontsize=7,
                labelcolor=INK, handlelength=3.2,
            )  # fmt: skip
        caption = f"From best to worst quarter: {joined(_in_nats(depths))}"
        return Drawing(svg(figure, identifier, _described(method, by_set)), method, caption)


def line(one: Sensitivity) -> tuple[np.ndarray, np.ndarray]:
    """Return the line's abscissae and ordinates: steps over a distribution, points over lengths."""
    if one.setting == LENGTH:
        means = one.deficits.mean(0)
        return one.places[0], np.where(np.isfinite(means), means, np.nan)
    heights = one.envelope()
    edges = np.linspace(0, 1, len(heights) + 1)
    return np.repeat(edges, 2)[1:-1], np.repeat(heights, 2)


def _depth(settings: Sequence[Sensitivity]) -> float:
    """Return the nats between the best trial and the start of the worst finite quarter."""
    finite = np.concatenate([one.deficits[np.isfinite(one.deficits)] for one in settings])
    return max(-float(np.quantile(finite, DEEPEST)), 1e-3)


def _in_nats(depths: Mapping[str, float]) -> list[str]:
    return [f"{depth:.2g} nats on {name}" for name, depth in depths.items()]


def _ends(of_sets: Sequence[Sensitivity]) -> tuple[str, str]:
    """Return the labels for the ends of a setting's axis.

    Trials are the same on all data sets, except for lengths, whose values can differ.
    """
    ends = of_sets[0].ends
    shared = all(one.ends == ends for one in of_sets)
    return ends if shared or of_sets[0].setting != LENGTH else ("shortest", "longest")


def _described(method: str, by_set: Mapping[str, Sequence[Sensitivity]]) -> str:
    listed = []
    for name, settings in by_set.items():
        trends = [f"{one.setting.replace('_', ' ')} {_trend(one)}" for one in settings]
        listed.append(f"on {name}, {'; '.join(trends)}")
    return f"{method}, held-out scores over each setting: {'. '.join(listed)}."


def _trend(one: Sensitivity) -> str:
    heights = line(one)[1]
    if not np.isfinite(heights).any():
        return "diverged in some fold everywhere"
    first, last = (f"{h:.2g}" if np.isfinite(h) else "diverged" for h in (heights[0], heights[-1]))
    return f"from {first} at {one.ends[0]} to {last} at {one.ends[1]}"
