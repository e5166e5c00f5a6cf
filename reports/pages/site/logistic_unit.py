"""Divergence of a logistic unit's approximations from the truth: figure C.2 of paper 001."""

import numpy as np
from jaxtyping import Float

from bnnbench.reports.figures.canvas import INK, Drawing, drawing, svg
from bnnbench.reports.papers.logistic_unit import (
    APPROXIMATIONS,
    SAMPLES,
    TRIALS,
    WEIGHTS,
    LogisticUnit,
)
from bnnbench.reports.sections.base import Gallery

BIASES = np.linspace(-40, 10, 201)
COUNTS = range(1, len(WEIGHTS) + 1)
HIGHEST, TIMES = 0.07, 20
"""Upper end of the axes in bits, and how many times higher it is for AP1 (in the paper, ten)."""
COARSE = "AP1"

SAMPLED = f"{SAMPLES} samples"
TITLE = "A logistic unit with random inputs"
NOTE = (
    "As figure C.2 of the paper: the divergence of a logistic unit's approximate probability from "
    "the exact one, in bits, against its bias, for one (faint) to five (strong) inputs that are 0 "
    f"or 1 with equal probability; the axis of {COARSE} is {TIMES} times as high. Weights are "
    f"{', '.join(f'{weight:.1f}' for weight in WEIGHTS)}, one draw from 0 to 10; the paper does "
    f"not print its own. With {SAMPLED} of the inputs: mean of {TRIALS:,} repetitions, and dashed "
    "the ends of their middle 90 %."
)


def gallery_of_logistic_unit() -> Gallery:
    """Return a figure for each approximation, and one of estimates by samples."""
    units = [LogisticUnit(count, BIASES) for count in COUNTS]
    formulas = {name: [unit.divergence(name) for unit in units] for name in APPROXIMATIONS}
    sampled = [unit.sampled_divergences() for unit in units]
    figures = [_drawn(name, curves) for name, curves in formulas.items()]
    means = [trials.mean(0) for trials in sampled]
    ends = [np.quantile(trials, (0.05, 0.95), axis=0) for trials in sampled]
    return Gallery(TITLE, NOTE, (*figures, _drawn(SAMPLED, means, ends)))


def _drawn(
    name: str,
    curves: list[Float[np.ndarray, " biases"]],
    ends: list[Float[np.ndarray, "ends biases"]] | None = None,
) -> Drawing:
    """Return the figure of one approximation, with the ends of an interval as dashes."""
    highest = HIGHEST * (TIMES if name == COARSE else 1)
    with drawing(1.9, left=0.55) as figure:
        axes = figure.subplots()
        for count, curve in zip(COUNTS, curves, strict=True):
            axes.plot(BIASES, curve, color=INK, linewidth=0.9, alpha=_strength(count))
        for count, pair in zip(COUNTS, ends or [], strict=False):
            for end in pair:
                style = {"dashes": (3, 2), "linewidth": 0.5, "alpha": _strength(count)}
                axes.plot(BIASES, end, color=INK, **style)
        axes.set(xlabel="bias", ylabel="divergence in bits", ylim=(0, highest))
        axes.locator_params(axis="both", nbins=5)
        caption = f"At most {max(float(curve.max()) for curve in curves):.2g} bits"
        description = (
            f"{name}: divergence from the exact probability against the bias from "
            f"{BIASES[0]:.0f} to {BIASES[-1]:.0f}, for 1 to {len(WEIGHTS)} inputs. {caption}."
        )
        identifier = f"logistic-{name.replace(' ', '-').lower()}"
        return Drawing(svg(figure, identifier, description), name, caption)


def _strength(count: int) -> float:
    return 0.2 + 0.8 * count / len(WEIGHTS)
