"""Simulations of the decisions: `python -m tests.reports.judge.simulate [SHARE]`.

They print the share of tables that call a truly best method worse, the share of inferior methods
that are found, and the coverage of intervals. SHARE of the repetitions is run, 1 by default.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from bnnbench.reports.judge.statistics.crossed import Crossed, over_points
from bnnbench.reports.judge.statistics.elimination import Errors, eliminated, worse_p
from bnnbench.reports.judge.statistics.intervals import t_interval
from bnnbench.reports.judge.statistics.moderation import differences, level

FAR = 1e3
"""A distance from the best that every test finds, in standard deviations."""


@dataclass(frozen=True)
class Setting:
    """The size of a table, and the distance of inferior methods in standard deviations."""

    methods: int
    runs: int
    overlap: float
    gap: float
    repetitions: int


SETTINGS = (
    Setting(15, 3, 0, 5, 2500),
    Setting(25, 5, 1 / 9, 5, 600),
    Setting(25, 20, 1 / 9, 2.5, 500),
    Setting(10, 40, 0, 1, 1000),
    Setting(6, 3, 0, 5, 1500),
    Setting(8, 3, 0, 5, 1500),
    Setting(10, 3, 0, 5, 2500),
)

Noise = Callable[[np.random.Generator, int, int, float], Float[ndarray, "methods runs"]]


def noise(
    stds: Callable[[int], Float[ndarray, " methods"]],
    correlation: float = 0.0,
    freedom: float = np.inf,
) -> Noise:
    """Return errors of methods over runs: a common effect, and one for each method.

    Three families of methods share part of theirs. Errors over folds have a common part, which
    gives the variance of a mean the given `overlap`. In units of the median standard deviation.
    """

    def drawn(
        rng: np.random.Generator, methods: int, runs: int, overlap: float
    ) -> Float[ndarray, "methods runs"]:
        def errors(rows: int) -> ndarray:
            folds = rng.normal(size=(rows, runs)) + np.sqrt(overlap) * rng.normal(size=(rows, 1))
            if np.isfinite(freedom):
                tails = rng.chisquare(freedom, (rows, runs)) / freedom
                folds = folds / np.sqrt(tails) / np.sqrt(freedom / (freedom - 2))
            return folds

        own, family = errors(methods), np.arange(methods) % 3
        own = np.sqrt(1 - correlation) * own + np.sqrt(correlation) * errors(3)[family]
        spread = rng.permutation(stds(methods))
        return spread[:, None] / np.median(spread) * own + errors(1)

    return drawn


SPREADS: dict[str, Noise] = {
    "equal": noise(np.ones),
    "one wild": noise(lambda m: np.append(np.ones(m - 1), 8.0)),
    "two kinds": noise(lambda m: np.where(np.arange(m) % 2, 1.0, 3.0)),
    "20-fold": noise(lambda m: np.geomspace(1, 20, m)),
    "families": noise(np.ones, correlation=0.8),
    "t of 3": noise(np.ones, freedom=3.0),
}


def means_of(setting: Setting) -> dict[str, Float[ndarray, " methods"]]:
    """Return the true means; lower is better."""
    index = np.arange(setting.methods)
    return {
        "all": np.zeros(setting.methods),
        "half": np.where(index % 2, FAR, 0.0),
        "gap": np.where(index, setting.gap, 0.0),
        "ladder": index * setting.gap / 4,
    }


def worse(scores: Float[ndarray, "methods runs"], overlap: float) -> Bool[ndarray, " methods"]:
    """Return which methods are called worse."""
    methods, runs = scores.shape
    found = differences(scores)
    errors = Errors(found.mean, found.variance * (1 / runs + overlap), found.freedom)
    return _called_worse(errors, scores.mean(1), level(methods, runs))


def _called_worse(errors: Errors, means: ndarray, at: float) -> Bool[ndarray, " methods"]:
    called = eliminated(worse_p(errors)) <= at
    called[means.argmin()] = False
    return called


def rates(
    setting: Setting, drawn: Noise, means: Float[ndarray, " methods"], seed: int = 0
) -> tuple[float, float]:
    """Return the share of tables with a false "worse", and of inferior methods that are found."""
    rng, best = np.random.default_rng(seed), means == means.min()
    false, found = 0, []
    for _ in range(setting.repetitions):
        errors = drawn(rng, setting.methods, setting.runs, setting.overlap)
        called = worse(means[:, None] + errors, setting.overlap)
        false += called[best].any()
        found.append(called[~best].mean() if (~best).any() else np.nan)
    return false / setting.repetitions, float(np.mean(found))


@dataclass(frozen=True)
class Images:
    """Accuracies of networks on one test set: standard deviations of their components."""

    seeds: float = 0.0078
    points: float = 0.07
    """of a method at a point, the same for all seeds"""
    interaction: float = 0.335
    wild: float = 1.0
    """The factor of the last method's deviation between seeds."""

    def drawn(
        self, rng: np.random.Generator, methods: int = 15, seeds: int = 3, points: int = 2000
    ) -> Float[ndarray, "methods seeds points"]:
        """Return scores of equal methods by seed and point."""
        scale = np.where(np.arange(methods) < methods - 1, 1.0, self.wild)[:, None, None]
        return (
            scale * self.seeds * rng.normal(size=(methods, seeds, 1))
            + self.points * rng.normal(size=(methods, 1, points))
            + self.interaction * rng.normal(size=(methods, seeds, points))
        )


IMAGES = {
    "as measured": Images(),
    "one wild": Images(wild=8.0),
    "no seed effect": Images(seeds=0.0),
    "three times the seed effect": Images(seeds=3 * 0.0078),
}


def crossed_rates(images: Images, repetitions: int, seed: int = 0) -> Iterator[tuple[float, float]]:
    """Yield the rates of false "worse" and power at 5 points of accuracy for three questions.

    They are new seeds, these networks, and both; all are read as claims about new seeds and points.
    """
    counts = np.zeros((3, 2))
    for behind in (0.0, 0.05):
        rng = np.random.default_rng(seed)
        for _ in range(repetitions):
            scores = images.drawn(rng)
            scores[1:] += behind
            found = Crossed(scores.mean(2), [over_points(scores)])
            assert found.runs is not None
            seeds = Errors(found.runs.mean, found.runs.variance / 3, found.runs.freedom)
            for k, errors in enumerate((seeds, found.these_networks(), found.both())):
                called = _called_worse(errors, found.means, level(15, 3))
                counts[k, int(behind > 0)] += called[1:].mean() if behind else called.any()
    for false, power in counts / repetitions:
        yield float(false), float(power)


LAWS: dict[str, tuple[Callable[[np.random.Generator, int], ndarray], float]] = {
    "normal": (lambda rng, n: rng.normal(size=n), 0.0),
    "gamma, shape 2": (lambda rng, n: rng.gamma(2.0, size=n), 2.0),
    "lognormal 0.5": (lambda rng, n: rng.lognormal(0, 0.5, n), float(np.exp(0.125))),
    "t of 3": (lambda rng, n: rng.standard_t(3, n), 0.0),
}


def coverage(law: str, count: int, repetitions: int, seed: int = 0) -> float:
    """Return how often the 95 % interval of this many values contains the mean."""
    (draw, mean), rng, held = LAWS[law], np.random.default_rng(seed), 0
    for _ in range(repetitions):
        found = t_interval(draw(rng, count).tolist())
        assert found is not None, "several values have an interval"
        held += found.low <= mean <= found.high
    return held / repetitions


def main() -> None:
    """Print all rates."""
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    print(f"{'methods, runs, overlap, spread':34} false, all   half  power, gap  ladder")
    for setting in SETTINGS:
        few = Setting(
            *(setting.methods, setting.runs, setting.overlap, setting.gap),
            max(1, round(share * setting.repetitions)),
        )
        for name, drawn in SPREADS.items():
            found = [rates(few, drawn, means) for means in means_of(few).values()]
            title = f"{few.methods}, {few.runs}, {few.overlap:.2f}, {name}"
            numbers = found[0][0], found[1][0], found[2][1], found[3][1]
            print(f"{title:34}", *(f"{number:9.3f}" for number in numbers), flush=True)
    print(
        "\nfalse and power of: new seeds; these networks; both (15 methods, 3 seeds, 2,000 points)"
    )
    for name, images in IMAGES.items():
        pairs = crossed_rates(images, max(1, round(150 * share)))
        print(f"{name:34}", *(f"{a:6.2f} {b:5.2f};" for a, b in pairs), flush=True)
    print("\ncoverage of 95 % intervals at 3, 5, 10, 20, 40 values")
    for law in LAWS:
        found = [coverage(law, n, max(1, round(4000 * share))) for n in (3, 5, 10, 20, 40)]
        print(f"{law:34}", *(f"{number:6.3f}" for number in found), flush=True)


if __name__ == "__main__":
    main()
