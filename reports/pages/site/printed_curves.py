"""Small figures of printed numbers and ours against one condition, such as an angle."""

from collections.abc import Sequence
from dataclasses import dataclass

from bnnbench.reports.papers.coverage import Printed
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import typographic

WIDTH, HEIGHT = 200, 110
MARGIN = 8
FEWEST = 5
"""Minimum number of a condition's values for a curve."""


@dataclass(frozen=True)
class Point:
    """A printed number, in the figure's units; filled if it differs from ours."""

    x: float
    y: float
    differs: bool


@dataclass(frozen=True)
class Curve:
    """One method by one metric: a line for our numbers, and the printed points."""

    title: str
    """Data set, metric and condition; curves with the same title have common axes."""
    method: str
    line: str
    """Our numbers, as the points of a polyline."""
    points: Sequence[Point]
    range: str
    """The ends of both axes as text."""


def curves(numbers: Sequence[Printed]) -> list[Curve]:
    """Return a figure for each method whose printed numbers vary with one numerical condition."""
    by_axis: dict[tuple[str, str, str], list[tuple[float, Printed]]] = {}
    for printed in numbers:
        if printed.judgement and (axis := _axis(printed)):
            published = printed.published
            place = published.dataset, published.metric, axis[0]
            by_axis.setdefault(place, []).append((axis[1], printed))
    return [
        curve
        for place, series in by_axis.items()
        if len({x for x, _ in series}) >= FEWEST
        for curve in _drawn(place, series)
    ]


def _axis(printed: Printed) -> tuple[str, float] | None:
    """Return the only numerical condition of a number and its value; None if there is not one."""
    parts = {k: v for k, v in printed.published.protocol.items() if k != "epochs"}
    if len(parts) != 1:
        return None
    ((name, text),) = parts.items()
    try:
        return name, float(text)
    except ValueError:
        return None


def _drawn(place: tuple[str, str, str], series: Sequence[tuple[float, Printed]]) -> list[Curve]:
    dataset, metric, name = place
    xs = [x for x, _ in series]
    ys = [y for _, printed in series for y in _pair(printed)]
    scale = 100 if metric in labels.PERCENT else 1

    def across(x: float) -> float:
        return round(MARGIN + (WIDTH - 2 * MARGIN) * (x - min(xs)) / (max(xs) - min(xs)), 1)

    def down(y: float) -> float:
        span = (max(ys) - min(ys)) or 1.0
        return round(HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * (y - min(ys)) / span, 1)

    ends = [typographic(f"{value:.4g}") for value in (min(xs), max(xs))]
    heights = [typographic(f"{scale * value:.3g}") for value in (min(ys), max(ys))]
    text = f"{name} {ends[0]} to {ends[1]}, {labels.in_text(metric)} {heights[0]} to {heights[1]}"
    title = f"{labels.sentence(labels.in_text(metric))} against {name}, {dataset.replace('_', ' ')}"
    drawn = []
    for method in dict.fromkeys(printed.published.method for _, printed in series):
        of_method = sorted(
            ((x, printed) for x, printed in series if printed.published.method == method),
            key=lambda item: item[0],
        )
        line = " ".join(f"{across(x)},{down(_pair(printed)[0])}" for x, printed in of_method)
        points = [Point(across(x), down(_pair(p)[1]), p.sign != "") for x, p in of_method]
        judgement = of_method[0][1].judgement
        assert judgement
        drawn.append(Curve(title, judgement.comparison.method, line, points, text))
    return drawn


def _pair(printed: Printed) -> tuple[float, float]:
    """Return our number and the printed one."""
    assert printed.judgement
    return printed.judgement.comparison.mean, printed.published.value
