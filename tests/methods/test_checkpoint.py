"""A fit that is killed and goes on equals one that nobody disturbed, bit for bit."""

from collections.abc import Callable
from functools import partial

import pytest

from methods import METHODS, checkpoint, method_type, progress
from methods.base import PackageMissing, Problem, Unsupported
from tests.contracts.test_every_method import SMALL, VARIANTS, assert_identical, small
from tests.methods.problems import classification, regression, stream

WITHOUT = {
    "marginal": "a fit of milliseconds",
    "hmc_hamiltorch": "its chains run inside of a package, which cannot go on with them",
    "laplace_diagonal": "a few quasi-Newton searches, whose state SciPy keeps",
}
"""Methods that begin anew, and why that does no harm."""
KEPT = [name for name in METHODS if name not in WITHOUT]


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.fixture(params=[*KEPT, *VARIANTS])
def method(request, monkeypatch):
    monkeypatch.setitem(SMALL, "epochs", 4)
    monkeypatch.setitem(SMALL, "iterations", (1, 1, 2, 2))
    monkeypatch.setitem(SMALL, "warmup", 30)
    name = request.param
    return small(VARIANTS[name] if name in VARIANTS else method_type(METHODS[name])())


def problems_of(method, count: int) -> list[Problem]:
    """Return the first problems that a method covers."""
    for make in (partial(regression, rows=16), partial(classification, rows=16)):
        try:
            method.fit(make(0), stream(0))
            return [make(seed) for seed in range(count)]
        except PackageMissing as missing:
            pytest.skip(str(missing))
        except Unsupported:
            continue
    raise AssertionError("covers neither")


def counted(fit: Callable[[], object]) -> tuple[object, int]:
    """Return what the fit returns and how many epochs it reports."""
    reports = []
    with progress.listening(lambda *report: reports.append(report)):
        return fit(), len(reports)


def killed_after(fit: Callable[[], object], epochs: int) -> None:
    """Let the fit end with the report of so many epochs."""
    left = epochs

    def listen(done: int, total: int, loss: float) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise Killed

    with progress.listening(listen), pytest.raises(Killed):
        fit()


def at(folder, fit, every=0.0, of=None):
    """Return a fit that has a place for checkpoints."""

    def inside():
        with checkpoint.kept_in(folder, of or {"fit": "this"}, every):
            return fit()

    return inside


def test_a_fit_that_is_killed_goes_on_bit_for_bit(method, tmp_path):
    (problem,) = problems_of(method, 1)
    whole, epochs = counted(lambda: method.fit(problem, stream(1)))
    fit = at(tmp_path / "fit", lambda: method.fit(problem, stream(1)))
    for killed in sorted({2, epochs // 2, epochs}):
        killed_after(fit, killed)
        resumed, left = counted(fit)
        assert left <= epochs - killed + 1
        assert_identical(whole, resumed, problem.train.inputs)
        again, left = counted(fit)
        assert left == 0
        assert_identical(whole, again, problem.train.inputs)
        checkpoint.remove(tmp_path / "fit")
