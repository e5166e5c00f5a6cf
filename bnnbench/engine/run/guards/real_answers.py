r"""Predictions of real numbers checked against themselves: density, cdf, moments and draws.

A check fails only where no distribution has these answers, whatever its shape: densities are
bounded by their smallest and largest values at the ends of intervals, which are refined where the
most mass may be, and moments by sums over intervals of

$$ E[y - c] = \int_c^\infty (1 - F(y)) dy - \int_{-\infty}^c F(y) dy. $$

Several outputs are one event for a density, whose mass is then not computed.
"""

import math
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

from bnnbench.methods.predictions.base import CannotAnswer

TOLERANCE = 0.05
"""Relative error of probabilities and moments that may come from rounding and from integration."""

LOG_TOLERANCE = 1e-2
"""Difference between two logs of one class's probability that may come from single precision."""

LEVELS = 4
"""Number of random intervals, each with `SHARE` of the mass, where density and cdf are compared."""

SHARE = 0.02

REACH, FAR = 1e5, 1e12
"""Moments are bounded, and cdfs are inverted, up to so many deviations of the targets away."""

HALVINGS, NODES = 50, 33

SPIKE = 10
"""Ratio of the density at a number to that beside it which only an atom has."""

GROUP_BYTES = 2**23
"""Size of the numbers of all rows that a prediction is asked about at once, but for one array."""

REFINEMENTS, HALVED = 40, 6
"""To bound a density's mass, so many times so many intervals are halved."""


class Inconsistent(ValueError):
    """Two answers of a prediction cannot belong to one distribution."""


def refuse(prediction: object, difference: str) -> None:
    """Raise `Inconsistent` for answers with this difference."""
    raise Inconsistent(
        f"the answers of {type(prediction).__name__} contradict each other: {difference}; no "
        "distribution has them, so they are not scored"
    )


def has(prediction: object, name: str) -> bool:
    """Return whether the prediction can give an attribute."""
    return hasattr(prediction, name)


def far(answer: Tensor, stated: Tensor) -> bool:
    """Return whether logs of probabilities differ by more than rounding."""
    near = (answer - stated).abs() <= LOG_TOLERANCE * (1 + stated.abs())
    tiny = (answer < -60) & (stated < -60)  # probabilities that vanish in single precision
    return not bool((near | (answer == stated) | tiny).all())


class RealAnswers:
    """The checks of a prediction of real numbers, in some of its rows."""

    def __init__(
        self, prediction: Any, targets: Tensor, rows: Tensor, rng: torch.Generator
    ) -> None:
        self.prediction, self.all_targets, self.rows, self.rng = prediction, targets, rows, rng
        self.targets = targets[rows]
        spread = float(targets.std()) if len(targets) > 1 else 1.0
        self.scale = max(spread, 1e-6 * float(targets.abs().max()), 1e-12)
        self.centre = self._centre()
        """A number of each row near which its mass is to be expected."""
        self.given = {name for name in ("log_prob", "cdf") if self._is_given(name)}
        """The answers about numbers that the prediction has at the targets."""

    def check(self) -> None:
        """Carry out the checks for which the prediction has the answers."""
        for check in (self._check_mass, self._check_spikes, self._check_cdf):
            try:
                check()
            except CannotAnswer as error:
                refuse(self.prediction, f"it answers at the targets, but not elsewhere: {error}")
        for check in (self._check_draw_densities, self._check_samples):
            with suppress(CannotAnswer):
                check()

    def _is_given(self, name: str) -> bool:
        """Return whether there is an answer at the targets; if not, metrics that need it say so."""
        if not has(self.prediction, name):
            return False
        try:
            answer = torch.as_tensor(getattr(self.prediction, name)(self.all_targets))
        except Exception:
            return False
        needed = self.all_targets.shape
        return answer.shape == (needed[:1] if name == "log_prob" else needed)

    def _centre(self) -> Tensor:
        if not has(self.prediction, "mean"):
            return self.targets
        mean = self.prediction.mean.double()[self.rows]
        return torch.where(mean.isfinite(), mean, self.targets)

    def _ask(self, name: str, numbers: Tensor) -> Tensor:
        """Return the answers of the rows to arrays of numbers, `arrays rows outputs`."""
        size = max(1, GROUP_BYTES // max(1, self.all_targets.nbytes))
        return torch.cat([self._ask_group(name, group) for group in numbers.split(size)])

    def _ask_group(self, name: str, numbers: Tensor) -> Tensor:
        """Return the answers to a few arrays; they take memory in proportion to all rows."""
        count = len(self.all_targets)  # the other rows are asked about targets of any rows
        asked = self.all_targets[torch.randint(count, (len(numbers), count), generator=self.rng)]
        asked[:, self.rows] = numbers
        if many := getattr(self.prediction, "many", None):
            answers = many(name, asked)
        else:
            answers = torch.stack(
                [torch.as_tensor(getattr(self.prediction, name)(one)) for one in asked]
            )
        return answers.detach().double()[:, self.rows]

    def cdf(self, numbers: Tensor) -> Tensor:
        """Return the cdf at numbers, in their shape `arrays rows outputs`."""
        return self._ask("cdf", numbers)

    def density(self, numbers: Tensor) -> Tensor:
        """Return the density at numbers, `arrays rows`."""
        return self._ask("log_prob", numbers).exp()

    def _grid(self, centre: Tensor) -> Tensor:
        """Return ascending numbers of all rows, denser towards the centre."""
        fine, middle = torch.logspace(-8, -3, 40), torch.logspace(-3, 2, 160)[1:]
        steps = torch.cat([fine, middle, torch.logspace(2, math.log10(REACH), 20)[1:]]).double()
        steps *= self.scale * (1 + 0.01 * float(torch.rand((), generator=self.rng)))
        return centre + torch.cat([-steps.flip(0), steps])[:, None, None]

    def _has_density(self) -> bool:
        """Return whether the prediction has a density whose mass can be computed."""
        return "log_prob" in self.given and self.targets.shape[1] == 1

    def _check_cdf(self) -> None:
        """Require a cdf that rises from 0 to 1, with these moments and this density."""
        if "cdf" not in self.given:
            return
        grid, far = self._grid(self.centre), FAR * self.scale
        ends = torch.cat([self.centre[None] - far, grid, self.centre[None] + far])
        values = self.cdf(ends)
        if not bool(((values >= -1e-5) & (values <= 1 + 1e-5)).all()):
            refuse(self.prediction, "its cdf is below 0 or above 1, or is not a number")
        if bool((values.diff(dim=0) < -1e-4).any()):
            refuse(self.prediction, "its cdf falls")
        if bool(((values[0] > TOLERANCE) | (values[-1] < 1 - TOLERANCE)).any()):
            refuse(self.prediction, "its cdf does not rise from 0 to 1")
        for name, power in (("mean", 1), ("variance", 2)):
            if has(self.prediction, name):
                stated = getattr(self.prediction, name).double()[self.rows]
                moved = stated - self.centre if power == 1 else stated + self._shift()
                self._check_moment(name, moved, grid - self.centre, values[1:-1], power)
        if self._has_density():
            self._check_intervals(ends, values)

    def _shift(self) -> Tensor:
        """Return E[(y - c)^2] - Var[y] for the centre c; 0 if the mean is not known."""
        if not has(self.prediction, "mean"):
            return torch.zeros_like(self.centre)
        return (self.prediction.mean.double()[self.rows] - self.centre).square()

    def _check_moment(
        self, name: str, stated: Tensor, numbers: Tensor, values: Tensor, power: int
    ) -> None:
        """Compare a moment with its bounds, where far numbers contribute little to it."""
        lower, upper = _moment_bounds(numbers, values, power)
        inner = numbers.abs().amax((1, 2)) < REACH / 100 * self.scale
        _, most = _moment_bounds(numbers, values, 2)
        _, inside = _moment_bounds(numbers[inner], values[inner], 2)
        room = TOLERANCE * torch.maximum(upper.abs(), lower.abs()) + 1e-6 * self.scale**power
        outside = (stated < lower - room) | (stated > upper + room)
        if bool((outside & (most - inside <= 0.01 * most) & stated.isfinite()).any()):
            refuse(self.prediction, f"its {name} is not that of its cdf")

    def _check_mass(self) -> None:
        """Require that no density has more mass than 1, near its mean and near the targets."""
        if not self._has_density():
            return
        centres = torch.cat([self._grid(self.centre)[::6], self._grid(self.targets)[::6]])
        mass = self._least_mass(centres.sort(0).values)
        if bool((mass > 1 + TOLERANCE).any()):
            refuse(
                self.prediction,
                f"its density has a mass of at least {float(mass.max()):.3g}, not 1",
            )

    def _least_mass(self, start: Tensor) -> Tensor:
        """Return a lower bound of the mass between the first and the last of ascending numbers.

        The intervals that may have the most mass are halved. Half of the bound is returned where
        more than that is in intervals that single precision does not tell from numbers.
        """
        numbers, values = start[..., 0], self.density(start).nan_to_num(0.0, 0.0)
        for _ in range(REFINEMENTS):
            ends = torch.maximum(values[:-1], values[1:])
            worst = (ends * numbers.diff(dim=0)).topk(HALVED, 0).indices
            middle = (numbers.gather(0, worst) + numbers.gather(0, worst + 1)) / 2
            value = self.density(middle[..., None]).nan_to_num(0.0, 0.0)
            numbers, order = torch.cat([numbers, middle]).sort(0)
            values = torch.cat([values, value]).gather(0, order)
        widths = numbers.diff(dim=0)
        masses = torch.minimum(values[:-1], values[1:]) * widths
        single = widths < 1e-6 * self._size(numbers[1:, :, None])[..., 0]
        # A single-precision class has one density per cell, which is false next to a pole.
        return torch.maximum(torch.where(single, 0.0, masses).sum(0), masses.sum(0) / 2)

    def _check_spikes(self) -> None:
        """Require a density that is about as high beside the targets as at them."""
        if not self._has_density():
            return
        steps = torch.stack(
            [torch.full_like(self.targets, 1e-9 * self.scale), 4e-7 * self._size(self.targets)]
        )
        at, below, above = (self.density(self.targets + sign * steps) for sign in (0, -1, 1))
        if bool(((at > SPIKE * torch.maximum(below, above)) & at.isfinite()).any()):
            refuse(self.prediction, "its density is higher at targets than right beside them")

    def _size(self, numbers: Tensor) -> Tensor:
        """Return the size of numbers, of which single precision has some 1e-7."""
        return numbers.abs() + self.scale

    def _check_intervals(self, ends: Tensor, values: Tensor) -> None:
        """Compare density and cdf on random intervals with a small share of the mass."""
        shape = (LEVELS, *self.centre.shape)
        level = SHARE + (1 - 2 * SHARE) * torch.rand(shape, generator=self.rng).double()
        levels = torch.cat([level - SHARE / 2, level + SHARE / 2])
        low, high = self._roots(levels, ends, values).chunk(2)
        blur = 1e-6 * torch.maximum(high.abs(), low.abs())  # for cdfs of single precision
        both = self._disagree(low, high) & self._disagree(low - blur, high + blur)
        if bool(both.any()):
            refuse(self.prediction, "its cdf is not the integral of its density")

    def _disagree(self, low: Tensor, high: Tensor) -> Tensor:
        """Return whether the density between numbers is not what the cdf gains there.

        It is False where the density varies too much for bounds of its integral.
        """
        mass = (self.cdf(high) - self.cdf(low))[..., 0]
        steps = torch.linspace(0, 1, NODES).double()[:, None, None, None]
        numbers = (low + steps * (high - low)).flatten(0, 1)
        density = self.density(numbers).unflatten(0, (NODES, LEVELS))
        width = (high - low)[..., 0] / (NODES - 1)
        lower = torch.minimum(density[:-1], density[1:]).sum(0) * width
        upper = torch.maximum(density[:-1], density[1:]).sum(0) * width
        room, smooth = TOLERANCE * mass, upper - lower < 0.4 * torch.maximum(upper, mass)
        return ((lower > mass + room) | (upper < mass - room)) & smooth

    def _roots(self, levels: Tensor, ends: Tensor, values: Tensor) -> Tensor:
        """Return numbers at which the cdf reaches levels, by bisection between `ends`."""
        rising = values.cummax(0).values
        place = (rising[None] < levels[:, None]).sum(1).clamp(1, len(ends) - 1)
        low, high = ends.gather(0, place - 1), ends.gather(0, place)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            below = self.cdf(middle) < levels
            low, high = torch.where(below, middle, low), torch.where(below, high, middle)
        return high

    def _check_draw_densities(self) -> None:
        """Require that the densities of draws average to that of the prediction."""
        if not (self._has_density() and has(self.prediction, "draw_log_probs")):
            return
        for numbers in (self.centre, self.centre + self.scale, self.targets):
            asked = self.all_targets.clone()
            asked[self.rows] = numbers
            draws = self.prediction.draw_log_probs(asked).double()[:, self.rows]
            mixed = draws.logsumexp(0) - math.log(len(draws))
            if far(mixed, self.prediction.log_prob(asked).double()[self.rows]):
                refuse(self.prediction, "draw_log_probs do not average to log_prob")

    def _check_samples(self) -> None:
        """Compare samples with mean and cdf, loosely: samples of a chain depend on each other."""
        if not has(self.prediction, "samples"):
            return
        samples = self.prediction.samples.double()[:, self.rows]
        error = TOLERANCE + 6 / len(samples) ** 0.5
        if has(self.prediction, "mean"):
            mean = self.prediction.mean.double()[self.rows]
            room = error * samples.std(0, correction=0) + 1e-6 * self._size(mean)
            if bool(((samples.mean(0) - mean).abs() > room).any()):
                refuse(self.prediction, "its mean is not that of its samples")
        if "cdf" in self.given:
            middle = samples.sort(0).values[len(samples) // 2]
            blur = 1e-6 * self._size(middle)
            below, above = self.cdf(torch.stack([middle - blur, middle + blur]))
            if bool(((below > 0.5 + error) | (above < 0.5 - error)).any()):
                refuse(self.prediction, "its cdf is not that of its samples")


def _moment_bounds(numbers: Tensor, cdf: Tensor, power: int) -> tuple[Tensor, Tensor]:
    """Return bounds of E[y], or of E[y^2] for power 2, from the cdf at ascending numbers."""
    widths = (numbers if power == 1 else numbers * numbers.abs()).diff(dim=0)
    right = numbers[:-1] + numbers[1:] > 0
    above, below = torch.where(right, widths, 0.0), torch.where(right, 0.0, widths)
    least, most = (above * (1 - cdf[1:])).sum(0), (above * (1 - cdf[:-1])).sum(0)
    few, many = (below * cdf[:-1]).sum(0), (below * cdf[1:]).sum(0)
    return (least - many, most - few) if power == 1 else (least + few, most + many)
