"""Third-party predictions are refused if their answers contradict each other, and only then."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from bnnbench.engine.run.guards import real_answers
from bnnbench.engine.run.guards.consistency import check_consistent
from bnnbench.engine.run.guards.real_answers import Inconsistent
from bnnbench.methods.predictions.base import CannotAnswer

POINTS = 40
TARGETS = torch.from_numpy(np.random.default_rng(0).normal(0.3, 1.0, (POINTS, 1)))


@dataclass
class Told:
    """The answers of a distribution of scipy at every point, moved by `shift`."""

    law: Any
    shift: torch.Tensor
    single: bool = False
    """True if it computes in single precision."""

    def __len__(self):
        return len(self.shift)

    def _at(self, target):
        if self.single:
            target = target.float().double()
        return (target.double() - self.shift).numpy()

    def _given(self, numbers):
        tensor = torch.from_numpy(np.asarray(numbers))
        return tensor.float() if self.single else tensor

    def log_prob(self, target):
        with np.errstate(divide="ignore"):
            return self._given(self.law.logpdf(self._at(target)))[:, 0]

    def cdf(self, target):
        return self._given(self.law.cdf(self._at(target)))

    @property
    def mean(self):
        if not math.isfinite(self.law.mean()):
            raise CannotAnswer("it has no mean")
        return self.shift + self.law.mean()

    @property
    def variance(self):
        if not math.isfinite(self.law.var()):
            raise CannotAnswer("it has no variance")
        return torch.full_like(self.shift, self.law.var())


class Mixture:
    """Normal distributions with equal weights."""

    def __init__(self, centres, spread):
        self.centres, self.spread = np.asarray(centres, float), spread

    def _each(self, y):
        return (y[..., None] - self.centres) / self.spread

    def logpdf(self, y):
        return np.log(stats.norm.pdf(self._each(y)).mean(-1) / self.spread)

    def cdf(self, y):
        return stats.norm.cdf(self._each(y)).mean(-1)

    def mean(self):
        return self.centres.mean()

    def var(self):
        return self.centres.var() + self.spread**2


LAWS = {
    "normal": stats.norm(0, 0.5),
    "narrow": stats.norm(0, 1e-6),
    "very narrow": stats.norm(0, 1e-9),
    "wide": stats.norm(0, 1e4),
    "far": stats.norm(300, 0.1),
    "infinite variance": stats.t(1.5),
    "nearly infinite variance": stats.t(2.1),
    "no mean": stats.cauchy(),
    "skewed": stats.lognorm(1.0),
    "very skewed": stats.lognorm(2.5),
    "uniform": stats.uniform(-1, 2),
    "exponential": stats.expon(),
    "infinite density": stats.gamma(0.3),
    "bimodal": Mixture([-2, 2], 1e-3),
    "far modes": Mixture([-100, 0, 0.001, 70], 0.01),
    "almost discrete": Mixture(np.linspace(-3, 3, 61), 1e-4),
    "histogram": stats.rv_histogram((np.arange(1, 31) % 7 + 1, np.linspace(-2, 2, 31))),
}


OTHERS = [pytest.param(name, marks=pytest.mark.long) for name in LAWS if name != "bimodal"]


@pytest.mark.parametrize("single", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ["bimodal", *OTHERS])
def test_distributions_of_every_shape_agree_with_themselves(name, single):
    shift = TARGETS + 0.3 * torch.randn(POINTS, 1, generator=torch.Generator().manual_seed(1))
    if single and "narrow" in name:
        shift = torch.zeros(POINTS, 1, dtype=torch.float64)  # others have no digits for its width
    check_consistent(Told(LAWS[name], shift, single), TARGETS)


class Lies(Told):
    """A normal distribution with one answer of another."""

    lie: str = ""
    mixed = stats.norm(0, 0.5)

    def log_prob(self, target):
        honest, y = super().log_prob(target), self._at(target)[:, 0]
        changes = {
            "density everywhere": torch.full_like(honest, 20.0),
            "density of mass 1.2": honest + math.log(1.2),
            "density without the Jacobian": honest + math.log(6.0),
            "density of half the spread": torch.from_numpy(stats.norm.logpdf(y, 0, 0.25)),
            "density of some rows": honest + torch.where(torch.arange(POINTS) % 8 == 0, 3.0, 0.0),
            "density at known numbers": honest + 5.0 * torch.isin(target[:, 0], TARGETS),
            "density below": honest - 0.5,
            "a second mode": torch.logaddexp(
                honest, torch.from_numpy(stats.norm.logpdf(y, 3, 0.2)) - 1
            ),
        }
        return changes.get(self.lie, honest)

    def cdf(self, target):
        honest, y = super().cdf(target), self._at(target)
        changes = {
            "cdf of a fiftieth": torch.from_numpy(stats.norm.cdf(y, 0, 0.01)),
            "cdf of a step": torch.from_numpy(np.float64(y > 0)),
            "cdf that falls": 1 - honest,
            "cdf that ends at 1/2": honest / 2,
            "cdf beyond 1": honest * 1.5,
            "cdf of another place": torch.from_numpy(stats.norm.cdf(y, 0.1, 0.5)),
            "cdf that is not a number": honest * math.nan,
        }
        return changes.get(self.lie, honest)

    @property
    def mean(self):
        return super().mean + (0.3 if self.lie == "mean" else 0.0)

    @property
    def variance(self):
        return super().variance * {"small variance": 0.3, "large variance": 3.0}.get(self.lie, 1)


@pytest.mark.long
@pytest.mark.parametrize(
    ("lie", "said"),
    [
        ("density everywhere", "mass of at least"),
        ("density of mass 1.2", "mass of at least 1."),
        ("density without the Jacobian", "mass of at least"),
        ("density of some rows", "mass of at least"),
        ("density at known numbers", "right beside"),
        ("a second mode", "mass|integral"),
        ("density of half the spread", "not the integral of its density"),
        ("density below", "not the integral of its density"),
        ("cdf of a fiftieth", "cdf"),
        ("cdf of a step", "cdf"),
        ("cdf that falls", "falls|rise"),
        ("cdf that ends at 1/2", "rise from 0 to 1"),
        ("cdf beyond 1", "above 1"),
        ("cdf of another place", "cdf"),
        ("cdf that is not a number", "not a number"),
        ("mean", "its mean is not that of its cdf"),
        ("small variance", "its variance is not that of its cdf"),
        ("large variance", "its variance is not that of its cdf"),
    ],
)
def test_one_false_answer_is_found(lie, said):
    told = Lies(stats.norm(0, 0.5), TARGETS + 0.2)
    check_consistent(told, TARGETS)
    told.lie = lie
    with pytest.raises(Inconsistent, match=said):
        check_consistent(told, TARGETS)


@pytest.mark.parametrize("lie", ["density everywhere", "density of mass 1.2"])
def test_a_density_alone_must_have_no_more_mass_than_one(lie):
    class Bare(Lies):
        cdf = property()
        mean = property()
        variance = property()

    told = Bare(stats.norm(0, 0.5), TARGETS + 0.2)
    check_consistent(told, TARGETS)
    told.lie = lie
    with pytest.raises(Inconsistent, match="mass of at least"):
        check_consistent(told, TARGETS)


@dataclass
class OfClasses:
    """Probabilities of three classes by two draws, one answer of which may be changed."""

    lie: str = ""

    def __post_init__(self):
        rng = torch.Generator().manual_seed(2)
        self.draws = torch.randn(2, POINTS, 3, generator=rng).log_softmax(-1)

    def __len__(self):
        return POINTS

    @property
    def mixture_log_probs(self):
        return self.draws.logsumexp(0) - math.log(2)

    def log_prob(self, target):
        log_probs = self.mixture_log_probs.gather(1, target[:, None])[:, 0]
        return log_probs * 0.5 if self.lie == "log_prob" else log_probs

    def draw_log_probs(self, target):
        draws = self.draws.gather(2, target.expand(2, -1)[..., None])[..., 0]
        return draws + (self.lie == "draws")

    @property
    def expected_entropy(self):
        entropy = -(self.draws.exp() * self.draws).sum(-1).mean(0)
        return entropy + (2 if self.lie == "entropy" else 0)


def test_probabilities_of_classes_agree_with_log_prob_draws_and_entropy():
    labels = torch.arange(POINTS) % 3
    check_consistent(OfClasses(), labels)
    for lie, said in (("log_prob", "log_prob"), ("draws", "draw_log"), ("entropy", "entropy")):
        with pytest.raises(Inconsistent, match=said):
            check_consistent(OfClasses(lie), labels)


def test_probabilities_of_classes_that_have_no_table_sum_to_one():
    class Bare(OfClasses):
        mixture_log_probs = property()
        draw_log_probs = property()
        expected_entropy = property()
        factor = 0.0

        def log_prob(self, target):
            log_probs = (self.draws.logsumexp(0) - math.log(2)).gather(1, target[:, None])[:, 0]
            return log_probs + self.factor

    labels = torch.arange(POINTS) % 3
    check_consistent(Bare(), labels)
    Bare.factor = 0.2
    with pytest.raises(Inconsistent, match=r"sum to 1\.22"):
        check_consistent(Bare(), labels)


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_samples_agree_with_mean_and_cdf(shift):
    class Sampled(Told):
        @property
        def samples(self):
            rng = torch.Generator().manual_seed(3)
            draws = torch.randn(200, POINTS, 1, generator=rng, dtype=torch.float64)
            return self.shift + 0.5 * draws + shift

    told = Sampled(stats.norm(0, 0.5), TARGETS)
    if not shift:
        check_consistent(told, TARGETS)
        return
    with pytest.raises(Inconsistent, match="samples"):
        check_consistent(told, TARGETS)


@dataclass
class Nearby(Told):
    """A density without a distribution, told only of numbers like the targets."""

    name: str = "log_prob"

    def __getattribute__(self, name):
        if name == object.__getattribute__(self, "name"):
            return self._told
        return object.__getattribute__(self, name)

    def _told(self, target):
        if (target - TARGETS).abs().max() > 10:
            raise CannotAnswer("too far")
        shape = target.shape[:1] if self.name == "log_prob" else target.shape
        return torch.full(shape, 0.5, dtype=torch.float64)


@pytest.mark.parametrize("name", ["log_prob", "cdf"])
def test_answers_that_are_given_at_the_targets_are_given_elsewhere(name):
    with pytest.raises(Inconsistent, match="at the targets, but not elsewhere: too far"):
        check_consistent(Nearby(stats.norm(), torch.zeros(POINTS, 1), name=name), TARGETS)


@pytest.mark.parametrize("answer", ["raises", "has another shape"])
def test_an_answer_that_no_metric_could_use_is_left_to_the_metrics(answer):
    class Without(Told):
        def log_prob(self, target):
            if answer == "raises":
                raise TypeError("no density")
            return torch.zeros(2)

    check_consistent(Without(stats.norm(), torch.zeros(POINTS, 1)), TARGETS)


class Counting(Told):
    """Counts the numbers of each question, as a class in another process is asked."""

    def many(self, name, numbers):
        self.largest = max(getattr(self, "largest", 0), numbers.nbytes)
        return torch.stack([getattr(self, name)(one) for one in numbers])


@pytest.mark.parametrize("arrays", [1, 7])
def test_questions_about_many_rows_are_asked_in_groups(monkeypatch, arrays):
    monkeypatch.setattr(real_answers, "GROUP_BYTES", arrays * TARGETS.nbytes)
    asked = Counting(stats.norm(), torch.full_like(TARGETS, 0.3))
    check_consistent(asked, TARGETS)
    assert asked.largest == arrays * TARGETS.nbytes
