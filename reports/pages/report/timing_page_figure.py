"""Seconds per example of every method's fit and prediction."""

from collections.abc import Mapping
from typing import Any

from bnnbench.reports.figures.canvas import FAINT, INK, OWN, Drawing, drawing
from bnnbench.reports.figures.methods import best_first, gid, shared
from bnnbench.reports.figures.ticks import logarithmic
from bnnbench.reports.style.numbers import span
from bnnbench.reports.style.palette import Style

WIDTH, LEFT, LINE = 4.4, 1.45, 0.16
"""Sizes in inches."""


def draw(
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
