"""Moments of single units against the mean of a normal input: figures 2 and 3 of paper 001."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.units.binary import (
    heaviside,
    logistic_bernoulli,
    logistic_transform,
)
from bnnbench.methods.moments.units.rectified import leaky_relu, relu
from bnnbench.reports.figures.bands import DEVIATIONS, Band
from bnnbench.reports.figures.canvas import INK, Drawing, drawing, svg
from bnnbench.reports.sections.base import Gallery
from bnnbench.reports.style.palette import KNOWN

REACH, VARIANCE = 6.0, 1.0
"""The largest mean of the input, and its variance, as in the paper."""
NODES = 16_000
"""Intervals of the integral over eight deviations to both sides."""
COLOUR = KNOWN["AP2 paper"].colour


@dataclass(frozen=True)
class Unit:
    """A unit, and the paper's formulas for its moments."""

    name: str
    expected: Callable[[Tensor], Tensor]
    """The function from inputs to the unit's expected output."""
    rule: Callable[[Moments], Moments]
    binary: bool = False
    """True if the output is 0 or 1."""

    def propagated(self, mean: Float[Tensor, " points"]) -> Band:
        """Return the moments by the paper's formulas."""
        return _band(self.rule(Moments(mean, torch.full_like(mean, VARIANCE))))

    def integrated(self, mean: Float[Tensor, " points"]) -> Band:
        """Return the moments by integration over the normal distribution, to 1e-6."""
        edges = torch.linspace(-8, 8, NODES + 1, dtype=mean.dtype)
        z = (edges[1:] + edges[:-1]) / 2
        mass = torch.exp(-z * z / 2)
        outputs = self.expected(mean[:, None] + VARIANCE**0.5 * z)
        squares = outputs if self.binary else outputs.square()
        first, second = (of @ mass / mass.sum() for of in (outputs, squares))
        return _band(Moments(first, (second - first.square()).clamp(min=0)))


UNITS = (
    Unit("Heaviside", lambda x: (x >= 0).to(x.dtype), heaviside, binary=True),
    Unit("Logistic Bernoulli", torch.sigmoid, logistic_bernoulli, binary=True),
    Unit("Logistic transform", torch.sigmoid, logistic_transform),
    Unit("ReLU", torch.relu, lambda x: relu(x, "paper")),
    Unit("Leaky ReLU, slope 0.1", lambda x: F.leaky_relu(x, 0.1),
         lambda x: leaky_relu(x, 0.1, "paper")),
)  # fmt: skip


TITLE = "Units: moments of a normal input"
NOTE = (
    "As figures 2 and 3 of the paper: inputs of variance 1 about the mean below. Colour: the "
    f"output's mean ± {DEVIATIONS} deviations by the paper's formulas; dashes: the same by "
    "integration; thin line: the unit's expected output at each input."
)


def gallery_of_units() -> Gallery:
    """Return the figures of all units."""
    return Gallery(TITLE, NOTE, tuple(draw_units()))


def draw_units() -> list[Drawing]:
    """Return a figure of each unit: formulas, the exact moments and the unit itself."""
    return [_drawn(unit, f"unit{number}") for number, unit in enumerate(UNITS)]


def _drawn(unit: Unit, identifier: str) -> Drawing:
    means = torch.linspace(-REACH, REACH, 61, dtype=torch.float64)
    ours, exact = unit.propagated(means), unit.integrated(means)
    x = means.numpy()
    with drawing(1.9) as figure:
        axes = figure.subplots()
        inputs = torch.linspace(-REACH, REACH, 1201, dtype=torch.float64)
        axes.plot(inputs.numpy(), unit.expected(inputs).numpy(), color=INK, linewidth=0.9)
        axes.fill_between(x, *ours.ends, color=COLOUR, alpha=0.25, linewidth=0)
        axes.plot(x, ours.mean, color=COLOUR)
        for line in (exact.mean, *exact.ends):
            axes.plot(x, line, color=INK, linewidth=0.9, dashes=(3, 2))
        axes.set(xlabel="mean of the input", ylabel="output", xlim=(-REACH, REACH))
        axes.locator_params(axis="both", nbins=5)
        caption = f"Mean {_off(ours.mean, exact.mean)}, deviation {_off(ours.std, exact.std)}"
        description = (
            f"{unit.name}: output's mean and ± {DEVIATIONS} deviations by the paper's formulas and "
            f"integrated, against the input's mean from {-REACH:.0f} to {REACH:.0f}; {caption}."
        )
        return Drawing(svg(figure, identifier, description), unit.name, caption)


def _band(moments: Moments) -> Band:
    assert moments.variance is not None
    return Band(moments.mean.numpy(), moments.variance.sqrt().numpy())


def _off(ours: Float[np.ndarray, " points"], exact: Float[np.ndarray, " points"]) -> str:
    """Return text with the largest error; the integrals are exact to 1e-6."""
    largest = float(np.abs(ours - exact).max())
    return "exact" if largest < 1e-6 else f"off by up to {largest:.2g}"
